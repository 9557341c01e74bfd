"""Progress: what long work tells of its steps, and bars that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


class Bar(Protocol):
    """Told how many more steps are done, and what to show beside them."""

    def __call__(self, done: int, note: str = "") -> None:
        """Go on by so many steps."""


Bars = Callable[[str, "int | None"], Bar]
"""Given the name of a piece of work and its steps (None: unknown), gives what to tell of them."""


def no_bars(name: str, total: int | None) -> Bar:
    """Show nothing."""
    return lambda done, note="": None


_SHOWN_BY: ContextVar[Bars] = ContextVar("shown_by", default=no_bars)


def bar(name: str, total: int | None) -> Bar:
    """A bar for a piece of work: shown within the command line, and nowhere else.

    Args:
        name: of the work.
        total: its steps; None if nobody knows.
    """
    return _SHOWN_BY.get()(name, total)


@contextmanager
def without_bars() -> Iterator[None]:
    """Show nothing of what is done meanwhile, for work of so many short pieces."""
    token = _SHOWN_BY.set(no_bars)
    try:
        yield
    finally:
        _SHOWN_BY.reset(token)


@contextmanager
def shown_bars(console: Console) -> Iterator[Bars]:
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

    def add(name: str, total: int | None) -> Bar:
        progress.start()  # with the first bar: without one an empty line would be shown
        task = progress.add_task(name, total=total, note="")
        return lambda done, note="": progress.update(task, advance=done, note=note)

    token = _SHOWN_BY.set(add)
    try:
        yield add
    finally:
        _SHOWN_BY.reset(token)
        if progress.live.is_started:
            progress.stop()
