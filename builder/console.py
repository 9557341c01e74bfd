"""What is shown on the terminal: two consoles that only show, and errors in a few words."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from s2lct.builder.errors import BuilderError
from s2lct.builder.plain_text import plain_lines

INTERRUPTED = 130
_DISK_ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EROFS,
    errno.EPERM,
)


class PlainConsole(Console):
    """A console for text of unknown origin: no string is markup, no escape reaches the terminal.

    Style what is printed with ``style=`` or `rich.text.Text`; ``markup=True`` is only for strings
    that are wholly our own.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None, **more: Any) -> None:
        super().__init__(stderr=stderr, file=file, markup=False, highlight=False, **more)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments whose text is harmless; what rich itself tells the terminal stays."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


console = PlainConsole()
errors = PlainConsole(stderr=True)


def tell(problem: str, mend: str) -> None:
    """Print what is wrong and what to do about it, a line each, on standard error."""
    errors.print("Error:", style="bold red", end=" ")
    errors.print(problem, soft_wrap=True)
    errors.print(f"  → {mend}", soft_wrap=True)


@contextmanager
def told_warnings(kind: type[Warning]) -> Iterator[None]:
    """Tell warnings of a kind in a line each, without the place in the code they come from."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, kind):
                errors.print(f"Warning: {message}", style="yellow", soft_wrap=True)
            else:
                others(message, category, *more, **named)

        warnings.simplefilter("always", kind)
        warnings.showwarning = show
        yield


@contextmanager
def told_errors() -> Iterator[None]:
    """Tell what a user can mend in a few words; let defects show their traceback."""
    try:
        yield
    except BuilderError as error:
        tell(error.problem, error.mend)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        errors.print("Interrupted. The same command goes on where it stopped.", style="yellow")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        tell(
            f"{error.filename or 'disk'}: {error.strerror}",
            "make room or choose another --out; the same command then goes on",
        )
        raise typer.Exit(1) from None
