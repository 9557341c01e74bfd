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
    """The times of each way, without those of a first round, which warms up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            times[name].append(seconds(way))
    return {name: taken[1:] for name, taken in times.items()}
