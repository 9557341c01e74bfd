"""Where a command line starts: quiet libraries, and nothing of a stranger's that a terminal obeys.

What is set here is set for the whole process, so no library use of this package calls it.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from s2lct.cli.console import told_errors
from s2lct.hub_calls import be_impatient, without_token
from s2lct.plain_text import plain_lines

_QUIET = {
    # transformers takes the first for its own bars, "Loading weights" among them.
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
    "EVALUATE_VERBOSITY": "error",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}


class Commands(TyperGroup):
    """Commands that tell in a few words what a user can mend, or that they were interrupted.

    Errors are told while a command is imported and while its options are read, too. Usage errors
    show what was given and do not obey it.
    """

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the options in front of the command."""
        with told_errors(), _plain_usage_errors():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's options and run it."""
        with told_errors(), _plain_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _plain_usage_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Typer carries a copy of click from some version on, so the class has two names.
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = plain_lines(error.message)  # type: ignore[attr-defined]
        raise


class _PlainRecord(logging.LogRecord):
    """What a library logs, as a terminal may show it."""

    def getMessage(self) -> str:  # noqa: N802
        return plain_lines(without_token(super().getMessage()))


def quiet_libraries() -> None:
    """Switch off bars, warnings and chatter of the libraries, as far as the user said nothing."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.setLogRecordFactory(_PlainRecord)


def run(app: Callable[[], Any]) -> None:
    """Run a command line; a defect shows its traceback, without escapes or tokens in it."""
    quiet_libraries()
    be_impatient()
    try:
        app()
    except Exception:
        sys.stderr.write(plain_lines(without_token(traceback.format_exc())))
        sys.exit(1)
