"""Progress: bars that show how far long work is, within the command line alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Bar = Callable[..., None]
"""Called with how many more steps are done, and ``note=`` to show beside them."""
_SHOWN: ContextVar[Progress | None] = ContextVar("shown", default=None)


def bar(name: str, total: int | None) -> Bar:
    """A bar for a piece of work: shown within the command line, and nowhere else.

    Args:
        name: of the work.
        total: its steps; None if nobody knows.
    """
    progress = _SHOWN.get()
    if progress is None:
        return lambda done, note="": None
    progress.start()  # with the first bar: without one an empty line would be shown
    task = progress.add_task(name, total=total, note="")
    return lambda done, note="": progress.update(task, advance=done, note=note)


@contextmanager
def shown_bars(console: Console) -> Iterator[None]:
    """Bars with counts and the time left on a console."""
    from rich import progress as rich

    progress = rich.Progress(
        # Names are text: what is in brackets is no markup.
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}", markup=False),
        console=console,
    )
    token = _SHOWN.set(progress)
    try:
        yield
    finally:
        _SHOWN.reset(token)
        if progress.live.is_started:
            progress.stop()


@contextmanager
def without_bars() -> Iterator[None]:
    """Show nothing of what is done meanwhile, for work of so many short pieces."""
    token = _SHOWN.set(None)
    try:
        yield
    finally:
        _SHOWN.reset(token)
