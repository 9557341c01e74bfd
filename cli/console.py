"""What is shown on the terminal: two consoles that only show, and errors in a few words."""

from __future__ import annotations

import errno
import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from s2lct.errors import S2lctError, extra_of
from s2lct.plain_text import plain_lines, words

INTERRUPTED = 130
_DISK_ERRORS = {
    getattr(errno, name)
    for name in words(
        "ENOSPC EDQUOT EFBIG EACCES EROFS EPERM ENOTDIR EISDIR EEXIST ENAMETOOLONG ELOOP"
    )
}


class PlainConsole(Console):
    """A console for text of unknown origin: no string is markup, no escape reaches the terminal.

    Style what is printed with ``style=`` or `rich.text.Text`; ``markup=True`` is only for strings
    that are wholly our own.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **more)

    def status(self, status: RenderableType, **more: Any) -> Status:
        """A spinner beside a text that is no markup, whatever it is updated to."""
        return PlainStatus(_as_text(status), console=self, **more)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments whose text is harmless; what rich itself tells the terminal stays."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


class PlainStatus(Status):
    """A spinner whose text is no markup."""

    def update(self, status: RenderableType | None = None, **more: Any) -> None:
        """Show another text."""
        super().update(None if status is None else _as_text(status), **more)


def _as_text(shown: RenderableType) -> RenderableType:
    return Text(shown) if isinstance(shown, str) else shown


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
def told_warnings(kind: type[Warning]) -> Iterator[None]:
    """Tell warnings of a kind in a line each, without the place in the code they come from."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, kind):
                note(f"Warning: {message}")
            else:
                others(message, category, *more, **named)

        warnings.simplefilter("always", kind)
        warnings.showwarning = show
        yield


@contextmanager
def told_errors() -> Iterator[None]:
    """Tell what a user can mend in a few words; let defects show their traceback."""
    status = 1
    try:
        yield
    except S2lctError as error:
        problem, hint, status = error.problem, error.hint, error.exit_status
    except KeyboardInterrupt:
        error_console.print(
            "Interrupted. The same command goes on where it stopped.", style="yellow"
        )
        raise typer.Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        extra = extra_of(error.name or "")
        if extra is None:
            raise
        problem, hint = (
            f"the package {error.name} is not installed",
            f'pip install "s2lct[{extra}]"',
        )
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        problem = f"{error.filename or 'disk'}: {error.strerror}"
        hint = "make room or choose another --out; the same command then goes on"
    else:
        return
    error_console.print("Error:", style="bold red", end=" ")
    error_console.print(problem, soft_wrap=True)
    error_console.print(f"  → {hint}", soft_wrap=True)
    raise typer.Exit(status)
