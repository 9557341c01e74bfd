"""What coverage leaves of a test at the ten deciles of the increments, and what chance leaves.

In their order, the cases of a test stay that raise coverage at all. The increments that they
brought are cut at their ten deciles; at each, those stay whose increment is as large. Beside the
failure rates of these ten subsets, the last of which is a single case (and ties), stands what
chance gives: subsets of the same sizes, nested alike, of cases drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SHUFFLES = 200
DECILES = tuple(tenth / 10 for tenth in range(1, 11))


@dataclass(frozen=True, slots=True)
class Passed:
    """One test gone through: which cases fail, and how much coverage each brought, by metric."""

    name: str
    whole: int
    failed: list[bool]
    increments: dict[str, list[float]]

    @property
    def rate(self) -> float:
        """The share of the cases tried that fail."""
        return float(np.mean(self.failed))


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a metric leaves of a test at the ten deciles, and what chance leaves.

    Attributes:
        kept: cases that raised coverage at all.
        sizes: of the ten subsets.
        rates: their failure rates.
        control: mean over shuffles of the greatest and of the mean rate of subsets as large.
    """

    kept: int
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    control: tuple[float, float]

    @property
    def greatest(self) -> float:
        """The greatest of the ten rates."""
        return max(self.rates)

    @property
    def mean(self) -> float:
        """The mean of the ten rates."""
        return float(np.mean(self.rates))

    @property
    def size_of_greatest(self) -> int:
        """How many cases the largest subset with the greatest rate has."""
        return self.sizes[self.rates.index(self.greatest)]


def filtered(
    increments: Sequence[float], failed: Sequence[bool], *, name: str = "", seed: int = 0
) -> Filtered | None:
    """Subsets at the deciles of the increments above 0; None where no case raised coverage.

    The name is the test's: each has shuffles of its own.
    """
    brought, fails = np.array(increments), np.array(failed, dtype=bool)
    kept = brought[brought > 0]
    if not len(kept):
        return None
    subsets = [brought >= bound for bound in np.quantile(kept, DECILES)]
    sizes = [int(subset.sum()) for subset in subsets]
    rates = [float(fails[subset].mean()) for subset in subsets]
    rng = np.random.default_rng([seed, *name.encode()])
    last = np.array(sizes) - 1
    by_chance = np.array(
        [rng.permutation(fails).cumsum()[last] / (last + 1) for _ in range(SHUFFLES)]
    )
    control = float(by_chance.max(axis=1).mean()), float(by_chance.mean())
    return Filtered(len(kept), tuple(sizes), tuple(rates), control)


Shown = Sequence[tuple[Passed, Mapping[str, Filtered | None]]]


def rows_of(passed: Sequence[Passed], *, seed: int = 0) -> Shown:
    """Each test with what each metric leaves of it."""
    rows: list[tuple[Passed, Mapping[str, Filtered | None]]] = []
    for one in passed:
        left = {
            metric: filtered(own, one.failed, name=one.name, seed=seed)
            for metric, own in one.increments.items()
        }
        rows.append((one, left))
    return rows
