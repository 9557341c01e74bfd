"""``python -m s2lct``: the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    try:
        from s2lct.cli.main import main as run

        run()
    except KeyboardInterrupt:  # before the command began, or when it had ended
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
