"""Progress bars: one a stage, with counts and the time left."""

from __future__ import annotations

from types import TracebackType

from rich import progress as bars
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Progress:
    """Told how far each stage of a long task is; this one says nothing."""

    def start(self, stage: str, total: int) -> None:
        """A stage begins that has ``total`` steps."""

    def advance(self, stage: str, steps: int = 1, note: str = "") -> None:
        """Some of them are done."""


def counted_progress(console: Console, *more: ProgressColumn) -> bars.Progress:
    """Bars with counts and the time left.

    Args:
        console: where they are shown.
        more: further columns, behind these.
    """
    return bars.Progress(
        # Names are text: what is in brackets is no markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        *more,
        console=console,
    )


class StageProgress(Progress):
    """Shows each stage of a build as a bar."""

    def __init__(self, console: Console) -> None:
        self._progress = bars.Progress(
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
