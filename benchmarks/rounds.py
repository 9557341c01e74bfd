"""Measurements that hold still: warmed up, in many short interleaved rounds, and judged or refused.

A ratio is taken within a round, in which every way runs once on the same input, and every other
round goes through the ways backwards: what slows a machine down falls on all of them alike.
Given are the median over rounds and its spread, the middle half of the rounds over the median.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from rich.console import Console
from rich.table import Table

ROUNDS = 15
WARM_UPS = 2
MOST_SPREAD = 0.10
MOST_LOAD = 0.5
"""Cores that other processes may keep busy."""
CONSOLE = Console(width=110)


@dataclass(frozen=True)
class Figure:
    """What was measured, and how far its rounds lay apart.

    Attributes:
        what: in words.
        rounds: one value a round.
        unit: behind the figure: ``s``, ``MiB``, or nothing for a ratio.
        bar: the most (seconds, MiB) or the least (ratios) that is asked of it, if anything is.
    """

    what: str
    rounds: tuple[float, ...]
    unit: str = ""
    bar: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        if len(self.rounds) < 4:
            return (max(self.rounds) - min(self.rounds)) / self.median
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / self.median

    @property
    def steady(self) -> bool:
        return self.spread <= MOST_SPREAD

    def __str__(self) -> str:
        digits = 0 if self.median >= 100 else 1 if self.unit else 2
        figure = f"{self.median:.{digits}f} {self.unit}".strip()
        return figure if self.steady else f"{figure} (rounds differ too much)"

    @property
    def asked(self) -> str:
        """The bar, and whether it is met."""
        if self.bar is None:
            return ""
        text = f"at {'most' if self.unit else 'least'} {self.bar:g} {self.unit}".strip()
        if not self.steady:
            return text
        is_met = self.median <= self.bar if self.unit else self.median >= self.bar
        return f"{text}: {'met' if is_met else 'missed'}"


def seconds(work: Callable[[], object]) -> float:
    """Wall time of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_rounds(
    ways: Mapping[str, Callable[[int], object]], rounds: int = ROUNDS
) -> dict[str, tuple[float, ...]]:
    """The wall time of each way in each round, the rounds that warm up left out.

    Args:
        ways: each is called with the number of the round, which says what part of the input to
            take; rounds that warm up have numbers from 0 on too.
        rounds: that count.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-WARM_UPS, rounds):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            started = time.perf_counter()
            ways[name](turn % rounds)
            if turn >= 0:
                times[name].append(time.perf_counter() - started)
    return {name: tuple(taken) for name, taken in times.items()}


def faster(
    what: str, ours: Sequence[float], theirs: Sequence[float], bar: float | None = None
) -> Figure:
    """How many times as fast ours is, round by round."""
    rounds = tuple(other / own for own, other in zip(ours, theirs, strict=True))
    return Figure(what, rounds, bar=bar)


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print a table of figures."""
    table = Table(title=title)
    for column in ("", "median", "spread", "rounds", "asked"):
        table.add_column(column, justify="right" if column else "left")
    for figure in figures:
        table.add_row(
            figure.what, str(figure), f"{figure.spread:.0%}", str(len(figure.rounds)), figure.asked
        )
    CONSOLE.print(table)


def load_of_others(watched: float = 3.0) -> float:
    """How many cores other processes keep busy while this one sleeps."""
    return psutil.cpu_percent(interval=watched) / 100 * (psutil.cpu_count() or 1)


@contextmanager
def quiet_machine() -> Iterator[None]:
    """Refuse to measure, or to believe what was measured, where others keep the machine busy.

    Raises:
        SystemExit: they do, before or after the block.
    """
    for when in ("before", "after"):
        load = load_of_others()
        if load > MOST_LOAD:
            sys.exit(
                f"other processes keep {load:.1f} cores busy {when} the measurement (at most "
                f"{MOST_LOAD}): nothing measured beside them can be judged"
            )
        if when == "before":
            yield
