"""Progress bars of long work: shown by the command line, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Bar = Callable[..., None]
"""A function to call with the number of steps just done, and ``note=`` with a text to show."""
SECONDS_BETWEEN_LINES = 30.0
"""The interval of progress lines where output is no terminal."""
_NEW_BAR: ContextVar[Callable[[str, int | None], Bar] | None] = ContextVar("new_bar", default=None)


def bar(name: str, total: int | None) -> Bar:
    """A progress bar, which does nothing outside of the command line.

    Args:
        name: the name of the work.
        total: the number of its steps; None if it is unknown.
    """
    new_bar = _NEW_BAR.get()
    return new_bar(name, total) if new_bar else lambda done, note="": None


@contextmanager
def show_bars(console: Console) -> Iterator[None]:
    """Show bars with counts and the remaining time on a terminal, and lines elsewhere."""
    if not console.file.isatty():
        with _use_bars(lambda name, total: _plain_bar(console, name, total)):
            yield
        return
    from rich import progress as rich

    progress = rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}", markup=False),
        console=console,
    )

    def new_bar(name: str, total: int | None) -> Bar:
        progress.start()  # with the first bar: without one an empty line would be shown
        task = progress.add_task(name, total=total, note="")
        return lambda done, note="": progress.update(task, advance=done, note=note)

    try:
        with _use_bars(new_bar):
            yield
    finally:
        if progress.live.is_started:
            progress.stop()


def _plain_bar(console: Console, name: str, total: int | None) -> Bar:
    steps, total_text, last_line_time = 0, f" of {total:,}" if total else "", monotonic()

    def advance(done: int, note: str = "") -> None:
        nonlocal steps, last_line_time
        steps += done
        if monotonic() - last_line_time >= SECONDS_BETWEEN_LINES:
            last_line_time = monotonic()
            console.print(f"{name}: {steps:,}{total_text} {note}".rstrip(), soft_wrap=True)

    return advance


@contextmanager
def _use_bars(new_bar: Callable[[str, int | None], Bar] | None) -> Iterator[None]:
    token = _NEW_BAR.set(new_bar)
    try:
        yield
    finally:
        _NEW_BAR.reset(token)


def without_bars() -> AbstractContextManager[None]:
    """Show no bars within the block, for work that consists of many short steps."""
    return _use_bars(None)
