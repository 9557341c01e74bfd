"""Progress: how far long work is, within the command line alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Bar = Callable[..., None]
"""Called with how many more steps are done, and ``note=`` to show beside them."""
SECONDS_BETWEEN_LINES = 30.0
"""Where nothing can be drawn over: of a log nobody wants more."""
_SHOWN: ContextVar[Callable[[str, int | None], Bar] | None] = ContextVar("shown", default=None)


def bar(name: str, total: int | None) -> Bar:
    """A bar for a piece of work: shown within the command line, and nowhere else.

    Args:
        name: of the work.
        total: its steps; None if nobody knows.
    """
    new_bar = _SHOWN.get()
    return new_bar(name, total) if new_bar else lambda done, note="": None


@contextmanager
def shown_bars(console: Console) -> Iterator[None]:
    """Bars with counts and the time left on a terminal, a plain line now and then elsewhere."""
    if not console.file.isatty():
        with _shown_by(partial(_lines, console)):
            yield
        return
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

    def drawn(name: str, total: int | None) -> Bar:
        progress.start()  # with the first bar: without one an empty line would be shown
        task = progress.add_task(name, total=total, note="")
        return lambda done, note="": progress.update(task, advance=done, note=note)

    try:
        with _shown_by(drawn):
            yield
    finally:
        if progress.live.is_started:
            progress.stop()


def _lines(console: Console, name: str, total: int | None) -> Bar:
    """Lines of how far a piece of work is; none of one that is done sooner."""
    steps, of, said = 0, f" of {total:,}" if total else "", monotonic()

    def step(done: int, note: str = "") -> None:
        nonlocal steps, said
        steps += done
        if monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = monotonic()
            console.print(f"{name}: {steps:,}{of} {note}".rstrip(), soft_wrap=True)

    return step


@contextmanager
def _shown_by(new_bar: Callable[[str, int | None], Bar] | None) -> Iterator[None]:
    token = _SHOWN.set(new_bar)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def without_bars() -> AbstractContextManager[None]:
    """Show nothing of what is done meanwhile, for work of so many short pieces."""
    return _shown_by(None)
