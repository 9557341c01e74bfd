"""Seeds answered right on both sides: they pass, and so does the counterpart of each.

A counterpart has its seed's sentence with the opposite answer, so that an answer which passes
whatever the sentence says, such as neutral where two labels pass, is right on one side alone.
Counterparts are in no failure rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from s2lct.leaderboard.scoring import statistics
from s2lct.suite.cases import Case
from s2lct.suite.tables import COUNTERPART, KINDS

BOTH_SIDES = "both_sides"
BOTH_SIDES_WORDS = (
    "Both sides: the share of seeds that pass and whose counterpart (the same sentence with the "
    "opposite answer) passes too, of the seeds that have one; the mean over their capabilities; "
    "higher is better"
)

Right = npt.NDArray[np.bool_]


class Pairs(NamedTuple):
    """Seeds, their counterparts, and of which pairs a model gets both right, shape (pairs,)."""

    seeds: list[Case]
    counterparts: list[Case]
    right: Right


@dataclass(frozen=True, slots=True)
class Share:
    """A share of pairs in [0, 1], with bounds of its `statistics.intervals`."""

    pairs: int  # seeds with their counterparts
    right: int  # pairs of which both pass
    share: float
    ci: tuple[float, float]


@dataclass(frozen=True, slots=True)
class BothSides:
    """What a model gets right on both sides: the mean of the capabilities' shares, and each."""

    overall: Share
    capabilities: dict[str, Share]


def counted(rows: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which rows are cases, shape (rows,); the others are counterparts."""
    return np.array([row.kind in KINDS for row in rows], dtype=bool)


def pairs_of(
    cases: Sequence[Case], counterparts: Sequence[Case]
) -> tuple[statistics.Integers, statistics.Integers]:
    """Numbers of the seeds that have a counterpart, and of these, of each shape (pairs,).

    Rows of other kinds may stand among either.
    """
    seed_number = {(c.capability, c.id): n for n, c in enumerate(cases) if c.kind == "seed"}
    pairs = [
        (seed_number[key], n)
        for n, contrast in enumerate(counterparts)
        if contrast.kind == COUNTERPART
        and (key := (contrast.capability, contrast.seed_id)) in seed_number
    ]
    seeds, others = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return seeds, others


def both_sides(seeds: Sequence[Case], right: Right) -> list[BothSides | None]:
    """The shares of each model; None where there is no pair.

    Args:
        seeds: the seed of each pair, whose family the pair is of.
        right: of which pairs both pass, shape (models, pairs).
    """
    if not len(seeds):
        return [None] * len(right)
    parts: list[dict[str, Share]] = [{} for _ in right]
    known: list[statistics.Evidence] = []
    for capability, numbers in statistics.by_name(seeds).items():
        counts = statistics.family_counts([seeds[n] for n in numbers], right[:, numbers])
        known.append(statistics.evidence(*counts))
        for part, share in zip(parts, _shares(right[:, numbers], known[-1]), strict=True):
            part[capability] = share
    means = _shares(right, statistics.mean_evidence(known))
    return [BothSides(mean, part) for mean, part in zip(means, parts, strict=True)]


def _shares(right: Right, known: statistics.Evidence) -> list[Share]:
    rates = statistics.rates_of(right, known)
    return [Share(rate.cases, rate.failures, rate.failure_rate, rate.ci) for rate in rates]
