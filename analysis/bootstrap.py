"""Means over cases, with bootstrap intervals that resample whole families of cases.

`suite.cases.families_of` gives the family of each case.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from s2lct.leaderboard.scoring.statistics import Floats, interval, resampled_rates


def mean_and_interval(
    families: Sequence[Hashable], values: Sequence[float] | Floats, random_seed: int
) -> tuple[float, tuple[float, float]]:
    """The mean of at least one value and its 95 % interval; each value has a family."""
    index_of_family = {family: index for index, family in enumerate(dict.fromkeys(families))}
    indices = [index_of_family[family] for family in families]
    sums = np.bincount(indices, weights=values).astype(np.float64)
    counts = np.bincount(indices).astype(np.float64)
    return float(sums.sum() / counts.sum()), interval(resampled_rates(sums, counts, random_seed))
