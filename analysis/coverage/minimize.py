"""Smaller suites: a case stays only where it makes coverage grow.

Sekhon et al. 2022 (MNCOVER), section 4.1: the cases of a test are gone through in order, and one
stays if it raises coverage by more than a threshold. Each capability starts with nothing covered.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.analysis.coverage.activations import EncoderModel
from s2lct.analysis.coverage.criteria import Advance, Coverage
from s2lct.errors import AnalysisError
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.suite.cases import Case, SuiteCases

if TYPE_CHECKING:
    from s2lct.suite.read import WrittenSuite


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
    advance: Advance | None = None,
) -> list[Reduced]:
    """Greedy passes over a suite, one for each threshold, in one run of the model.

    A seed whose expansion stays stays too, so that every expansion keeps its seed.

    Args:
        encoder: the model.
        cases: of the suite, in order; a capability's first case raises coverage from 0.
        metric: what to raise; nothing covered.
        thresholds: shares of the metric's main figure, 0 or more.
        advance: told how many cases were done.

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
            if advance:
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

    Args:
        cases: of the suite.
        failed: which of them the model fails, shape (cases,).
        reduced: see `minimize`.
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


def write_reduced_suite(
    folder: Path, reduced: Reduced, out: Path, about: Mapping[str, Any]
) -> None:
    """Write the kept cases of a built suite as a suite of the same schema.

    Args:
        folder: the suite that was reduced.
        reduced: what stays of it.
        out: folder of the new suite; it must not exist or hold a reduced suite.
        about: how it was reduced, recorded in ``suite.json`` under ``reduced_from``.

    Raises:
        AnalysisError: ``out`` is in the way, or nothing stays.
        SuiteError: the suite cannot be read.
    """
    from s2lct.files import whole_folder
    from s2lct.suite.read import read_suite

    check_out(out)
    suite = read_suite(folder)
    with whole_folder(out) as work:
        _fill(work, suite, reduced, about)


def _fill(work: Path, suite: WrittenSuite, reduced: Reduced, about: Mapping[str, Any]) -> None:
    from s2lct.suite.write import write_suite_files

    described = suite.described
    rows_of = {
        name: [row for row in rows if row["id"] in reduced.kept]
        for name, rows in suite.rows.items()
    }
    if not any(rows_of.values()):
        raise AnalysisError(
            f"threshold {reduced.threshold:g}: no case stays", mend="pass a lower --threshold"
        )
    counts: dict[str, dict[str, Any]] = {}
    for name, before in described["counts"].items():
        kinds = Counter(row["kind"] for row in rows_of.get(name, ()))
        counts[name] = {**before, "seeds": kinds["seed"], "expansions": kinds["expansion"]}
    reduced_from = {
        **about,
        "fingerprint": described["fingerprint"],
        "threshold": reduced.threshold,
        "seeds_kept_for_expansions": len(reduced.for_expansions),
    }
    write_suite_files(work, rows_of, {**described, "counts": counts, "reduced_from": reduced_from})


def check_out(out: Path) -> None:
    """Refuse to write over what is no reduced suite.

    Raises:
        AnalysisError: something else is there.
    """
    from s2lct.errors import SuiteError
    from s2lct.files import check_folder_out
    from s2lct.suite.read import read_description

    check_folder_out(out, "--out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        if "reduced_from" in read_description(out):
            return
    except SuiteError:
        pass
    raise AnalysisError(
        f"--out {out}: something else is there", mend="name a folder that does not exist yet"
    )


def check_reducible(suite: SuiteCases) -> None:
    """Refuse a suite that cannot be written again: one of the Hub.

    Raises:
        AnalysisError: it is neither a folder nor CheckList's JSON lines.
    """
    from s2lct.analysis.coverage.measured_suites import is_checklist

    if not Path(suite.name).is_dir() and not is_checklist(suite.name):
        raise AnalysisError(
            f"suite {suite.name}: no folder",
            mend="download it first: hf download --repo-type dataset ID --local-dir DIR",
        )
