"""Progress: what long work tells of its steps, and bars that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


class Bar(Protocol):
    """Told how many more steps are done, and what to show beside them."""

    def __call__(self, done: int, note: str = "") -> None:
        """Go on by so many steps."""


Bars = Callable[[str, "int | None"], Bar]
"""Given the name of a piece of work and its steps (None: unknown), gives what to tell of them."""


def no_bars(name: str, total: int | None) -> Bar:
    """Show nothing."""
    return lambda done, note="": None


@contextmanager
def shown_bars(console: Console) -> Iterator[Bars]:
    """Bars with counts and the time left on a console."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        # Names are text: what is in brackets is no markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
    ) as progress:

        def bar(name: str, total: int | None) -> Bar:
            task = progress.add_task(name, total=total, note="")
            return lambda done, note="": progress.update(task, advance=done, note=note)

        yield bar


class StageProgress:
    """Shows each stage of a build as a bar."""

    def __init__(self, console: Console) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description:<10}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> StageProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def start(self, stage: str, total: int) -> None:
        """Add a stage's bar."""
        self._tasks[stage] = self._progress.add_task(stage, total=total, note="")

    def advance(self, stage: str, steps: int = 1, note: str = "") -> None:
        """Move a stage's bar on."""
        self._progress.update(self._tasks[stage], advance=steps, note=note)
