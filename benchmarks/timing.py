"""Wall times of several ways to do the same, in rounds, each way once a round."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def seconds(work: Callable[[], object]) -> float:
    """Wall time of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_rounds(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """The times of each way, without those of a first round, which warms up.

    Every other round goes through the ways backwards: what slows a machine down as it goes on
    falls on each of them alike.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in list(ways.items())[:: -1 if number % 2 else 1]:
            times[name].append(seconds(way))
    return {name: taken[1:] for name, taken in times.items()}
