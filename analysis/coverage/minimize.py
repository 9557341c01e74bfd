"""Smaller suites: a case stays only where it makes coverage grow.

Sekhon et al. 2022 (MNCOVER), section 4.1: the cases of a test are gone through in order, and one
stays if it raises coverage by more than a threshold. Each capability starts with nothing covered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.errors import AnalysisError
from s2lct.files import whole_folder
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.progress import bar
from s2lct.suite.cases import Case
from s2lct.suite.read import read_suite
from s2lct.suite.tables import COUNTERPART, KINDS
from s2lct.suite.write import write_suite_files


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
    """What reducing did to a capability, or to all of them: sizes, and failure rates in [0, 1].

    Of all capabilities sizes are summed and everything else is averaged over their own figures. So
    ``max_after`` is then the mean of their maxima, as in the last row of Tables 1 and 2 of Sekhon
    et al. 2022: capabilities reach theirs at different thresholds, and no one suite fails as often.

    Attributes:
        kept: cases that stay, at each threshold.
        smaller: share of the cases that went, mean over thresholds.
        before: failure rate of all cases.
        mean_after, max_after: of those that stay, over the thresholds that keep any; None for none.
    """

    cases: int
    kept: tuple[int, ...]
    smaller: float
    before: float
    mean_after: float | None
    max_after: float | None


def minimize(
    encoder: EncoderModel, cases: Sequence[Case], metric: Coverage, thresholds: Sequence[float]
) -> list[Reduced]:
    """Greedy passes over a suite, one for each threshold, in one run of the model.

    Thresholds are shares of the metric's main figure. A seed whose expansion stays stays too.
    """
    kept: list[set[str]] = [set() for _ in thresholds]
    shown = bar("reduction", len(cases))
    for capability in dict.fromkeys(case.capability for case in cases):
        members = [case for case in cases if case.capability == capability]
        states = [metric.emptied() for _ in thresholds]
        found = encoder.activations([case.text for case in members])
        for case, one in zip(members, found, strict=True):
            marks = metric.marks(one)
            for state, threshold, ids in zip(states, thresholds, kept, strict=True):
                if state.growth(marks) > threshold:
                    state.add(marks)
                    ids.add(case.id)
            shown(1)
    known = {case.id for case in cases}
    seeds = [{case.seed_id for case in cases if case.id in ids} & known for ids in kept]
    return [
        Reduced(threshold, frozenset(ids | of_them), frozenset(of_them - ids))
        for threshold, ids, of_them in zip(thresholds, kept, seeds, strict=True)
    ]


def reductions(
    cases: Sequence[Case], failed: Failed, reduced: Sequence[Reduced]
) -> dict[str, Reduction]:
    """Each capability before and after, in the suite's order, then ``all``.

    ``failed`` says which cases the model fails, shape (cases,).
    """
    table: dict[str, Reduction] = {}
    for capability in dict.fromkeys(case.capability for case in cases):
        members = [n for n, case in enumerate(cases) if case.capability == capability]
        left = [[n for n in members if cases[n].id in one.kept] for one in reduced]
        rates = [float(failed[chosen].mean()) for chosen in left if chosen]
        table[capability] = Reduction(
            len(members),
            tuple(map(len, left)),
            1 - sum(map(len, left)) / (len(left) * len(members)),
            float(failed[members].mean()),
            _mean(rates),
            max(rates, default=None),
        )
    rows = list(table.values())
    table["all"] = Reduction(
        sum(row.cases for row in rows),
        tuple(map(sum, zip(*(row.kept for row in rows), strict=True))),
        float(np.mean([row.smaller for row in rows])),
        float(np.mean([row.before for row in rows])),
        _mean([row.mean_after for row in rows]),
        _mean([row.max_after for row in rows]),
    )
    return table


def _mean(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return float(np.mean(known)) if known else None


def write_reduced(suite: Path, reduced: Reduced, out: Path, about: Mapping[str, Any]) -> None:
    """Write the cases that stay as a suite; ``about`` is recorded there under ``reduced_from``.

    Raises:
        AnalysisError: nothing stays.
        OutputError: something is in the way.
        SuiteError: the suite cannot be read.
    """
    read = read_suite(suite)
    rows_of = {
        name: [row for row in rows if row["id"] in reduced.kept] for name, rows in read.rows.items()
    }
    if not any(rows_of.values()):
        raise AnalysisError(
            f"threshold {reduced.threshold:g}: no case stays", hint="pass a lower --threshold"
        )
    counts: dict[str, dict[str, Any]] = {}
    for name, before in read.described["counts"].items():
        kinds = Counter(row["kind"] for row in rows_of.get(name, ()))
        counts[name] = {**before, **{f"{kind}s": kinds[kind] for kind in (*KINDS, COUNTERPART)}}
    reduced_from = {
        **about,
        "fingerprint": read.described["fingerprint"],
        "threshold": reduced.threshold,
        "seeds_kept_for_expansions": len(reduced.for_expansions),
    }
    described = {**read.described, "counts": counts, "reduced_from": reduced_from}
    with whole_folder(out) as work:
        write_suite_files(work, rows_of, described)
