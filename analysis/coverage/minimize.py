"""Smaller suites: a case stays only where it makes coverage grow.

Sekhon et al. 2022 (MNCOVER), section 4.1: the cases of a test are gone through in order, and one
stays if it raises coverage by more than a threshold. Each capability starts with nothing covered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.suite.cases import Case


@dataclass(frozen=True, slots=True)
class Reduced:
    """What is left of a suite at one threshold.

    Attributes:
        threshold: by more than it a case had to raise coverage.
        kept: ids of the cases that stay.
        for_expansions: ids of those of them that stay only because an expansion of theirs does.
    """

    threshold: float
    kept: frozenset[str]
    for_expansions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reduction:
    """What reducing did to one capability.

    Attributes:
        cases: before.
        kept: after, at each threshold.
        before: failure rate of all cases, in [0, 1].
        after: of the kept ones, at each threshold; None where none is kept.
    """

    cases: int
    kept: tuple[int, ...]
    before: float
    after: tuple[float | None, ...]

    @property
    def mean_reduction(self) -> float:
        """Share of the cases that went, mean over thresholds."""
        return 1 - sum(self.kept) / (len(self.kept) * self.cases)

    @property
    def mean_after(self) -> float | None:
        """Failure rate after, mean over the thresholds that keep a case."""
        rates = [rate for rate in self.after if rate is not None]
        return sum(rates) / len(rates) if rates else None

    @property
    def max_after(self) -> float | None:
        """Failure rate after, at the best threshold."""
        return max((rate for rate in self.after if rate is not None), default=None)


def minimize(
    encoder: EncoderModel,
    cases: Sequence[Case],
    metric: Coverage,
    thresholds: Sequence[float],
    *,
    advance: Advance = silently,
) -> list[Reduced]:
    """Greedy passes over a suite, one for each threshold, in one run of the model.

    A capability's first case raises coverage from 0, thresholds are shares of the metric's main
    figure. A seed whose expansion stays stays too, so that every expansion keeps its seed.

    Raises:
        AnalysisError: a negative threshold, or a metric of another model.
    """
    if not thresholds or not all(0 <= one < math.inf for one in thresholds):
        raise AnalysisError(
            f"--threshold {','.join(map(str, thresholds))}", mend="pass 0 or more, such as 0,1e-4"
        )
    metric.check_model(encoder)
    by_capability: dict[str, list[Case]] = {}
    for case in cases:
        by_capability.setdefault(case.capability, []).append(case)
    kept: list[set[str]] = [set() for _ in thresholds]
    for own in by_capability.values():
        states = [metric.emptied() for _ in thresholds]
        found = encoder.in_order([case.text for case in own], metric.marks)
        for case, marks in zip(own, found, strict=True):
            for state, threshold, ids in zip(states, thresholds, kept, strict=True):
                if state.growth(marks) > threshold:
                    state.add(marks)
                    ids.add(case.id)
            advance(1)
    known = {case.id for case in cases}
    reduced = []
    for threshold, ids in zip(thresholds, kept, strict=True):
        seeds = {case.seed_id for case in cases if case.id in ids} & known
        reduced.append(Reduced(threshold, frozenset(ids | seeds), frozenset(seeds - ids)))
    return reduced


def reductions(
    cases: Sequence[Case], failed: Failed, reduced: Sequence[Reduced]
) -> dict[str, Reduction]:
    """Sizes and failure rates of each capability before and after, in the suite's order.

    ``failed`` says which cases the model fails, shape (cases,).
    """
    table: dict[str, Reduction] = {}
    for capability in dict.fromkeys(case.capability for case in cases):
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        sizes: list[int] = []
        rates: list[float | None] = []
        for one in reduced:
            left = [n for n in own if cases[n].id in one.kept]
            sizes.append(len(left))
            rates.append(float(failed[left].mean()) if left else None)
        table[capability] = Reduction(
            len(own), tuple(sizes), float(failed[own].mean()), tuple(rates)
        )
    return table
