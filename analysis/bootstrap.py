"""Means over cases, with bootstrap intervals of whole families; see `suite.cases.families_of`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from s2lct.leaderboard.scoring.statistics import Floats, interval, resampled_rates


def mean_and_interval(
    families: Sequence[Hashable], values: Sequence[float] | Floats, seed: int
) -> tuple[float, tuple[float, float]]:
    """The mean of at least one value and its 95 % interval, by the family of each value."""
    number_of = {name: number for number, name in enumerate(dict.fromkeys(families))}
    numbers = [number_of[name] for name in families]
    sums = np.bincount(numbers, weights=values).astype(np.float64)
    counts = np.bincount(numbers).astype(np.float64)
    return float(sums.sum() / counts.sum()), interval(resampled_rates(sums, counts, seed))
