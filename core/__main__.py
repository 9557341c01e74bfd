"""``python -m s2lct``: the command line."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    # What a command makes is many small records that refer to each other in no circle: by default
    # Python looks for one so often that it takes a sixth of a build.
    gc.set_threshold(100_000, 50, 100)
    try:
        from s2lct.cli.main import main as run

        run()
    except KeyboardInterrupt:  # before the command began, or when it had ended
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # or Python goes through all that models consist of once more before it ends


if __name__ == "__main__":
    main()
