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
"""Called with the number of steps that were done, and ``note=`` to show beside them."""
SECONDS_BETWEEN_LINES = 30.0
"""Of plain output, where nothing can be drawn over."""
_NEW_BAR: ContextVar[Callable[[str, int | None], Bar] | None] = ContextVar("new_bar", default=None)


def bar(name: str, total: int | None) -> Bar:
    """A progress bar, which does nothing outside of the command line.

    Args:
        name: of the work.
        total: its steps; None if nobody knows.
    """
    new_bar = _NEW_BAR.get()
    return new_bar(name, total) if new_bar else lambda done, note="": None


@contextmanager
def show_bars(console: Console) -> Iterator[None]:
    """Show bars with counts and the time left on a terminal, a line now and then elsewhere."""
    if not console.file.isatty():
        with _bars_made_by(lambda name, total: _plain_bar(console, name, total)):
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
        with _bars_made_by(new_bar):
            yield
    finally:
        if progress.live.is_started:
            progress.stop()


def _plain_bar(console: Console, name: str, total: int | None) -> Bar:
    steps, of_total, last_line = 0, f" of {total:,}" if total else "", monotonic()

    def advance(done: int, note: str = "") -> None:
        nonlocal steps, last_line
        steps += done
        if monotonic() - last_line >= SECONDS_BETWEEN_LINES:
            last_line = monotonic()
            console.print(f"{name}: {steps:,}{of_total} {note}".rstrip(), soft_wrap=True)

    return advance


@contextmanager
def _bars_made_by(new_bar: Callable[[str, int | None], Bar] | None) -> Iterator[None]:
    token = _NEW_BAR.set(new_bar)
    try:
        yield
    finally:
        _NEW_BAR.reset(token)


def without_bars() -> AbstractContextManager[None]:
    """Show no bars meanwhile, for work that consists of many short pieces."""
    return _bars_made_by(None)
