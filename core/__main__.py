"""``python -m s2lct``: the command line."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    try:
        from s2lct.cli.main import main as run

        run()
    except KeyboardInterrupt:  # Before the command began, or when it had ended.
        print("Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
