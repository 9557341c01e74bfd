"""Output of the command line: text that no terminal obeys, and errors in a few words.

`run` changes settings of the whole process, so only the command line calls it.
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

INTERRUPTED_STATUS = 130
_QUIET_LIBRARIES = {
    # transformers uses the first for its bars, too.
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
    "EVALUATE_VERBOSITY": "error",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}


class PlainConsole(Console):
    """A console for text of unknown origin: no string is markup, and no escape is printed.

    Style what is printed with ``style=`` or `rich.text.Text`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments with printable text, and rich's own control segments."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


console = PlainConsole()
error_console = PlainConsole(stderr=True)


def show(line: object) -> None:
    """Print a line without breaking it at the width of the terminal."""
    console.print(line, soft_wrap=True)


def show_json(content: object) -> None:
    """Print one line of ASCII JSON for a program to read."""
    show(json.dumps(content, allow_nan=False))


def note(line: str) -> None:
    """Print a notice on standard error."""
    error_console.print(line, style="yellow", soft_wrap=True)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show each warning in a line, without its place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", S2lctWarning)
        warnings.showwarning = lambda message, *_, **__: note(f"Warning: {message}")
        yield


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show errors that a user can fix in a few words; other errors keep their traceback."""
    status = 1
    try:
        yield
        return
    except S2lctError as error:
        problem, hint, status = error.problem, error.hint, error.exit_status
    except KeyboardInterrupt:
        note("Interrupted. The same command goes on where it stopped.")
        raise typer.Exit(INTERRUPTED_STATUS) from None
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name or "")) is None:
            raise
        problem, hint = (
            f"the package {error.name} is not installed",
            f'pip install "s2lct[{extra}]"',
        )
    except OSError as error:
        if error.errno in (None, errno.EPIPE):  # not from a disk; a closed pipe
            raise
        problem = f"{error.filename or 'disk'}: {error.strerror}"
        hint = "make room or choose another --out; the same command then goes on"
    except Exception as error:
        # Usage errors repeat what the user typed. They have no common class: some versions of typer
        # carry a copy of click.
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = plain_lines(error.message)  # type: ignore[attr-defined]
        raise
    error_console.print("Error:", style="bold red", end=" ")
    error_console.print(problem, soft_wrap=True)
    error_console.print(f"  → {hint}", soft_wrap=True)
    raise typer.Exit(status)


class Commands(TyperGroup):
    """A group of commands that shows errors as `errors_shown` does."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options in front of the command."""
        with errors_shown():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's options and run it."""
        with errors_shown():
            return super().invoke(ctx)


class OneCommand(TyperCommand):
    """A command that refuses an option given twice, unless it is a list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options and arguments; an `OptionError` if one is given twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        for option, count in Counter(order).items():
            if count > 1 and not (option.multiple or option.is_eager):
                name = max(option.opts, key=len)
                raise OptionError(f"{name}: given twice", hint="give it once")
        return super().parse_args(ctx, args)


class PlainRecord(logging.LogRecord):
    """A log record whose message is safe for a terminal."""

    def getMessage(self) -> str:  # noqa: N802
        """The message without escapes and tokens."""
        return plain_lines(without_token(super().getMessage()))


def run(app: Callable[[], Any]) -> None:
    """Run a command line with quiet libraries, unless the environment says otherwise.

    Unexpected errors show their traceback, without escapes or tokens.
    """
    for name, value in _QUIET_LIBRARIES.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.setLogRecordFactory(PlainRecord)
    try:
        app()
    except Exception:
        sys.stderr.write(plain_lines(without_token(traceback.format_exc())))
        sys.exit(1)
