"""What is shown on the terminal: nothing of a stranger's that it obeys, errors in a few words.

`run` sets what it sets for the whole process, so no library use of this package calls it.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typer.core import TyperCommand, TyperGroup

from s2lct.errors import OptionError, S2lctError, S2lctWarning, extra_of
from s2lct.hub_calls import without_token
from s2lct.plain_text import plain_lines

INTERRUPTED = 130
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


class PlainConsole(Console):
    """A console for text of unknown origin: no string is markup, no escape reaches the terminal.

    Style what is printed with ``style=`` or `rich.text.Text`.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **more)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments whose text is harmless; what rich itself sends to the terminal stays."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


console = PlainConsole()
error_console = PlainConsole(stderr=True)


def show(line: object) -> None:
    """Print a line that may be longer than the terminal is wide, without breaking it."""
    console.print(line, soft_wrap=True)


def show_json(content: object) -> None:
    """Print one line of JSON for a program to read, in ASCII and nothing but JSON."""
    show(json.dumps(content, allow_nan=False))


def note(line: str) -> None:
    """Print on standard error what a user should look at."""
    error_console.print(line, style="yellow", soft_wrap=True)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show warnings in a line each, without the place in the code that they come from."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", S2lctWarning)
        warnings.showwarning = lambda message, *_, **__: note(f"Warning: {message}")
        yield


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what a user can mend in a few words; let defects show their traceback."""
    status = 1
    try:
        yield
        return
    except S2lctError as error:
        problem, hint, status = error.problem, error.hint, error.exit_status
    except KeyboardInterrupt:
        note("Interrupted. The same command goes on where it stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name or "")) is None:
            raise
        problem, hint = (
            f"the package {error.name} is not installed",
            f'pip install "s2lct[{extra}]"',
        )
    except OSError as error:
        if error.errno in (None, errno.EPIPE):  # no disk's; a reader that left
            raise
        problem = f"{error.filename or 'disk'}: {error.strerror}"
        hint = "make room or choose another --out; the same command then goes on"
    except Exception as error:
        # Usage errors repeat what was given. Typer carries a copy of click from some version on, so
        # their class has two names.
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = plain_lines(error.message)  # type: ignore[attr-defined]
        raise
    error_console.print("Error:", style="bold red", end=" ")
    error_console.print(problem, soft_wrap=True)
    error_console.print(f"  → {hint}", soft_wrap=True)
    raise typer.Exit(status)


class Commands(TyperGroup):
    """Commands whose errors are shown in a few words, while options are read too."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the options in front of the command."""
        with errors_shown():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's options and run it."""
        with errors_shown():
            return super().invoke(ctx)


class OneCommand(TyperCommand):
    """A command that takes one value of an option once, instead of the last of several."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options and arguments; refuse what was given twice and is no list."""
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        for option, count in Counter(order).items():
            if count > 1 and not (option.multiple or option.is_eager):
                name = max(option.opts, key=len)
                raise OptionError(f"{name}: given twice", hint="give it once")
        return super().parse_args(ctx, args)


class PlainRecord(logging.LogRecord):
    """What a library logs, as a terminal may show it."""

    def getMessage(self) -> str:  # noqa: N802
        """The message, harmless."""
        return plain_lines(without_token(super().getMessage()))


def run(app: Callable[[], Any]) -> None:
    """Run a command line with quiet libraries, as far as the user does not want them otherwise.

    A defect shows its traceback, without escapes or tokens in it.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.setLogRecordFactory(PlainRecord)
    try:
        app()
    except Exception:
        sys.stderr.write(plain_lines(without_token(traceback.format_exc())))
        sys.exit(1)
