"""``python -m s2lct``: the command line."""

from __future__ import annotations

import gc
import sys
from importlib import import_module


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    # Records contain no reference cycles: searching for them would take a sixth of a build.
    gc.set_threshold(100_000, 50, 100)
    try:
        import_module("s2lct.cli.main").main()
    except KeyboardInterrupt:  # before the command began, or when it had ended
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # no search for cycles in the models at exit


if __name__ == "__main__":
    main()
