"""Table 3 of the S²LCT paper: what models fail, capability by capability, beside CheckList."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.s2lct_figures import PAPER_MODELS, QUESTION_NO, TABLE_3
from s2lct.analysis.reproduce.suite_inputs import (
    beside,
    listed,
    named,
    needed_checklist,
    needed_models,
    needed_suite,
    of_families,
)
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.score import default_cache, score
from s2lct.leaderboard.scoring.statistics import CapabilityResult, model_figures
from s2lct.suite.cases import Case, SuiteCases, load_cases

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bar, Bars

ALL = "all"
COLUMNS = (
    "capability",
    "model",
    "seeds",
    "expansions",
    "seeds fail %",
    "expansions fail %",
    "pass-to-fail",
    "fail-to-pass",
    "CheckList cases",
    "CheckList fails %",
)
_FAILED = TypeAdapter(list[bool])


@dataclass(frozen=True)
class Failures:
    """What a model fails of a suite's cases and of CheckList's, by capability."""

    model: str
    suite: Mapping[str, CapabilityResult]
    checklist: Mapping[str, Sequence[bool]]


def table3(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Numbers of seeds and expansions, what fails of each, and pass-to-fail, of each model.

    CheckList's cases of the same capability stand beside, and the paper's own figures.

    Raises:
        AnalysisError: models, a suite or CheckList's cases are missing.
        ScoringError: a model or the suite cannot be used.
    """
    models, read = needed_models(options), load_cases(needed_suite(options))
    cases = of_families(read.cases, options.limit, options.seed)
    capabilities = tuple(dict.fromkeys(case.capability for case in cases))
    others = beside(needed_checklist(options), capabilities, options.limit, options.seed)
    found = []
    for number, model in enumerate(models):
        asked = [*cases, *(case for own in others.values() for case in own)]
        bar = bars(model, len({case.text for case in asked}))
        failed = steps.kept(f"failed-{number}", _FAILED)
        if failed is None:
            failed = steps.keep(f"failed-{number}", _FAILED, _failed(options, model, asked, bar))
        found.append(_figures(model, cases, others, failed))
    rows = [row for name in (*capabilities, ALL) for row in _rows(name, found)]
    some = f"At most {options.limit} cases of a capability and of a CheckList test. "
    notes = [
        f"{some if options.limit else ''}Suite {named(read)}. Pass-to-fail counts failing "
        "expansions whose seed passes, fail-to-pass the other way round, which the paper does not "
        "print. CheckList's cases are those of the test that a capability "
        "was modelled on.",
        "The paper's models were fine-tuned on SST-2. Its figures are those of the newest draft, "
        "CheckList's of the draft before; it "
        f"has LC10 and LC11 together there ({QUESTION_NO[0]:,} cases: "
        f"{' / '.join(f'{share:.1f}' for share in QUESTION_NO[1])} % fail). Its LC9 counts "
        "CheckList's neutral questions too. Of LC9 and BERT it prints more pass-to-fail (43) than "
        "failing expansions (2.69 % of 1,373 are 37).",
    ]
    title = "Table 3 of S²LCT: failures by capability, beside CheckList's"
    return Reproduction([PaperTable(title, COLUMNS, rows, notes)], _verdict(found))


def _failed(
    options: ReproduceOptions, model: str, asked: Sequence[Case], advance: Bar
) -> list[bool]:
    described = fingerprint_of([[case.id, case.text, sorted(case.passes)] for case in asked])
    outcomes = score(
        load_classifier(model, device=options.device, dtype="float32"),
        SuiteCases("cases to score", "", described, tuple(asked), partial=True),
        label_map=options.label_map,
        neutral_band=options.neutral_band,
        cache=default_cache(),
    )
    advance(len({case.text for case in asked}))
    return [bool(one) for one in outcomes.failed]


def _figures(
    model: str, cases: Sequence[Case], others: Mapping[str, Sequence[Case]], failed: Sequence[bool]
) -> Failures:
    """What was told of all cases, CheckList's behind the suite's, by capability."""
    own = np.array(failed[: len(cases)], dtype=bool)
    checklist: dict[str, Sequence[bool]] = {}
    start = len(cases)
    for name, part in others.items():
        checklist[name] = failed[start : start + len(part)]
        start += len(part)
    return Failures(model, model_figures(cases, own[None])[0].capabilities, checklist)


def _rows(name: str, found: Sequence[Failures]) -> list[list[Cell]]:
    """A capability's rows, or those of `ALL`: a row a model, then the paper's."""
    rows: list[list[Cell]] = []
    for one in found:
        parts = [one.suite[name]] if name != ALL else list(one.suite.values())
        outcomes = [
            failed for of, each in one.checklist.items() if name in (of, ALL) for failed in each
        ]
        rows.append(
            [
                name,
                one.model,
                sum(part.seed.cases for part in parts),
                sum(part.expansion.cases for part in parts),
                _percent([(part.seed.failures, part.seed.cases) for part in parts]),
                _percent([(part.expansion.failures, part.expansion.cases) for part in parts]),
                sum(part.pass_to_fail for part in parts),
                sum(part.fail_to_pass for part in parts),
                len(outcomes) or None,
                _percent([(sum(outcomes), len(outcomes))]),
            ]
        )
    return rows + _printed(name)


def _percent(counts: Sequence[tuple[int, int]]) -> float | None:
    """Failures of all cases together; None where there is no case."""
    failures, cases = (sum(part) for part in zip(*counts, strict=True))
    return 100 * failures / cases if cases else None


def _printed(name: str) -> list[list[Cell]]:
    """The paper's rows of a capability; of all, the sums that it does not print."""
    if name == ALL:
        seeds = sum(row.seeds for row in TABLE_3.values())
        expansions = sum(row.expansions or 0 for row in TABLE_3.values())
        flips = [
            sum(row.pass_to_fail[number] for row in TABLE_3.values() if row.pass_to_fail)
            for number in range(len(PAPER_MODELS))
        ]
        return [
            [ALL, model, seeds, expansions, None, None, flipped, None, None, None]
            for model, flipped in zip(PAPER_MODELS, flips, strict=True)
        ]
    if name not in TABLE_3:
        return []
    row = TABLE_3[name]
    return [
        [
            name,
            model,
            row.seeds,
            row.expansions,
            row.seeds_fail[number],
            row.expansions_fail[number] if row.expansions_fail else None,
            row.pass_to_fail[number] if row.pass_to_fail else None,
            None,
            row.checklist,
            row.checklist_fail[number] if row.checklist_fail else None,
        ]
        for number, model in enumerate(PAPER_MODELS)
    ]


def _verdict(found: Sequence[Failures]) -> str:
    """Whether expansions find failures that their seeds do not, and seeds more than CheckList's."""
    flips = {
        one.model: (
            sum(part.pass_to_fail for part in one.suite.values()),
            sum(part.fail_to_pass for part in one.suite.values()),
        )
        for one in found
    }
    told = "; ".join(
        f"{model} {fail}, and {back} turn the other way" for model, (fail, back) in flips.items()
    )
    if all(fail for fail, _ in flips.values()):
        first = f"Comes back: expansions fail whose seed passes ({told}; the paper has 174 to 391)."
    else:
        first = f"Does not come back: of a model no expansion fails whose seed passes ({told})."
    harder = []
    for one in found:
        pairs = [
            (one.suite[name].all.failure_rate, sum(other) / len(other))
            for name, other in one.checklist.items()
            if other
        ]
        more = sum(own > other for own, other in pairs)
        harder.append(f"in {more} of {len(pairs)} capabilities for {one.model}")
    both = [(row.seeds_fail, row.checklist_fail) for row in TABLE_3.values() if row.checklist_fail]
    printed = [sum(own[n] > other[n] for own, other in both) for n in range(len(PAPER_MODELS))]
    return (
        f"{first} More of the suite's cases fail than of CheckList's {listed(harder)} (the "
        f"paper's seeds: {', '.join(map(str, printed))} of {len(both)}). The rates themselves "
        "cannot be compared: models and cases are others."
    )
