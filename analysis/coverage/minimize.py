"""Smaller suites: a case stays only where it makes coverage grow.

Sekhon et al. 2022 (MNCOVER), section 4.1: the cases of a test are gone through in order, and one
stays if it raises coverage by more than a threshold. Each capability starts with nothing covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.pairs import given
from s2lct.analysis.progress import Advance, silently
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.suite.cases import Case


@dataclass(frozen=True, slots=True)
class Reduced:
    """Ids of the cases that stay, each raising coverage by more than the threshold.

    ``for_expansions`` are those of them that stay only because an expansion of theirs does.
    """

    threshold: float
    kept: frozenset[str]
    for_expansions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reduction:
    """What reducing did to one capability: sizes and failure rates in [0, 1]."""

    cases: int
    kept: tuple[int, ...]  # at each threshold
    before: float
    after: tuple[float | None, ...]  # likewise; None where no case is kept

    @property
    def mean_reduction(self) -> float:
        """Share of the cases that went, mean over thresholds."""
        return 1 - sum(self.kept) / (len(self.kept) * self.cases)

    @property
    def mean_after(self) -> float | None:
        """Failure rate after, mean over the thresholds that keep a case."""
        return _mean(self.after)

    @property
    def max_after(self) -> float | None:
        """Failure rate after, at the best threshold."""
        return max((rate for rate in self.after if rate is not None), default=None)


def _mean(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None


def minimize(
    encoder: EncoderModel,
    cases: Sequence[Case],
    metric: Coverage,
    thresholds: Sequence[float],
    *,
    advance: Advance = silently,
) -> list[Reduced]:
    """Greedy passes over a suite, one for each threshold, in one run of the model.

    Thresholds are shares of the metric's main figure. A seed whose expansion stays stays too.
    """
    kept: list[set[str]] = [set() for _ in thresholds]
    for capability in dict.fromkeys(case.capability for case in cases):
        own = [case for case in cases if case.capability == capability]
        states = [metric.emptied() for _ in thresholds]
        found = encoder.in_order([given(case) for case in own], metric.marks)
        for case, marks in zip(own, found, strict=True):
            for state, threshold, ids in zip(states, thresholds, kept, strict=True):
                if state.growth(marks) > threshold:
                    state.add(marks)
                    ids.add(case.id)
            advance(1)
    known = {case.id for case in cases}
    seeds = [{case.seed_id for case in cases if case.id in ids} & known for ids in kept]
    return [
        Reduced(threshold, frozenset(ids | own), frozenset(own - ids))
        for threshold, ids, own in zip(thresholds, kept, seeds, strict=True)
    ]


def reductions(
    cases: Sequence[Case], failed: Failed, reduced: Sequence[Reduced]
) -> dict[str, Reduction]:
    """Sizes and failure rates of each capability before and after, in the suite's order.

    ``failed`` says which cases the model fails, shape (cases,).
    """
    table: dict[str, Reduction] = {}
    for capability in dict.fromkeys(case.capability for case in cases):
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        left = [[n for n in own if cases[n].id in one.kept] for one in reduced]
        rates = tuple(float(failed[some].mean()) if some else None for some in left)
        before = float(failed[own].mean())
        table[capability] = Reduction(len(own), tuple(map(len, left)), before, rates)
    return table


@dataclass(frozen=True, slots=True)
class Overall:
    """All capabilities: sizes summed, everything else averaged over the capabilities' own figures.

    So ``max_after`` is the mean of the capabilities' maxima, as in the last row of Tables 1 and 2
    of Sekhon et al. 2022: capabilities reach theirs at different thresholds, and no one suite fails
    as often.
    """

    cases: int
    kept: tuple[int, ...]  # at each threshold
    before: float
    mean_reduction: float
    mean_after: float | None  # over the capabilities that keep a case at some threshold
    max_after: float | None  # likewise


def overall(table: Mapping[str, Reduction]) -> Overall:
    """The last row of a table of reductions."""
    rows = list(table.values())
    return Overall(
        cases=sum(row.cases for row in rows),
        kept=tuple(map(sum, zip(*(row.kept for row in rows), strict=True))),
        before=sum(row.before for row in rows) / len(rows),
        mean_reduction=sum(row.mean_reduction for row in rows) / len(rows),
        mean_after=_mean([row.mean_after for row in rows]),
        max_after=_mean([row.max_after for row in rows]),
    )
