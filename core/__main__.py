"""``python -m s2lct``: the command line."""

from __future__ import annotations

import sys
import threading
from _thread import interrupt_main
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130
_A_MOMENT = 0.05


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    sys.unraisablehook = _interrupt_again
    try:
        from s2lct.cli.main import main as run

        run()
    except KeyboardInterrupt:  # Before the command began, or when it had ended.
        print("Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _interrupt_again(ignored: UnraisableHookArgs) -> None:
    """Send an interrupt anew that Python lost, as it does where an object is deleted."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        timer = threading.Timer(_A_MOMENT, interrupt_main)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(ignored)


if __name__ == "__main__":
    main()
