"""Table 3 of S²LCT: failures on seeds, expansions and CheckList's cases, by capability."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import common

import s2lct
from s2lct.labels import check_label_map
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.tables import KINDS

COLUMNS = (
    *("capability", "model", "seeds", "expansions", "seeds fail %", "expansions fail %"),
    *("pass-to-fail", "fail-to-pass", "CheckList cases", "CheckList fails %"),
)
ALL = "all"
PAPER_MODELS = ("BERT", "RoBERTa", "DistilBERT")
# Numbers of seeds, expansions and CheckList's cases; then by model: seeds and expansions that fail
# in %, pass-to-fail, CheckList's cases that fail in %. Of all: sums, not printed in the paper.
PRINTED = """
LC1 | 19 210 1716 | 78.95 86.67 19 77.51 | 89.47 76.19 9 81.06 | 100 94.29 0 96.79
LC2 | 50 394 8658 | 4 4.31 4 0.3 | 4 4.82 5 1.61 | 2 2.79 8 1.44
LC3 | 50 - 8000 | 24 - - 21 | 56 - - 10.36 | 78 - - 31.65
LC4 | 50 1784 6786 | 92 94.17 49 11.77 | 82 86.15 64 3.21 | 88 88.51 26 10.82
LC5 | 26 1009 2496 | 92.31 92.37 62 97.24 | 92.31 93.06 38 92.31 | 92.31 95.24 74 98.16
LC6 | 50 1486 2124 | 100 100 0 88.09 | 100 100 0 20.95 | 100 100 0 100
LC7 | 50 1634 1000 | 84 88 40 86 | 42 40.64 54 41.6 | 76 78.34 9 86.5
LC8 | 50 2323 8528 | 44 50.06 134 43.87 | 26 31.21 78 31.57 | 40 44.77 31 41.45
LC9 | 50 1373 9204 | 4 2.69 43 19.48 | 2 4.15 46 13.71 | 6 5.54 14 16.92
LC10 | 50 1218 - | 42 46.14 40 - | 58 64.53 18 - | 92 87.6 8 -
LC11 | 50 1161 - | 100 100 0 - | 100 100 0 - | 94 98.97 4 -
all | 495 12592 - | - - 391 - | - - 312 - | - - 174 -
"""
NOTES = (
    "Pass-to-fail: failing expansions whose seed passes; fail-to-pass, the other way round, is not "
    "printed in the paper. CheckList's cases are those of the test that a capability was modelled "
    "on.",
    "The paper's models were fine-tuned on SST-2. Its figures are of the newest draft, CheckList's "
    "of the draft before; that has LC10 and LC11 together (7,644 cases: 53.1 / 59.9 / 84.2 % "
    "fail), and its LC9 includes CheckList's neutral questions. Of LC9 and BERT the paper prints "
    "more pass-to-fail (43) than failing expansions (2.69 % of 1,373 are 37).",
)


def main(
    model: common.Models,
    suite: common.Suite,
    checklist: common.CheckLists,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    label_map: common.LabelMap = None,
) -> None:
    """Print Table 3 of S²LCT: failures by capability, beside CheckList's."""
    cases = common.random_families(s2lct.load_suite(suite), limit, seed)
    checklist_cases = common.checklist_suite(checklist, cases.capabilities, limit, seed)
    checked_label_map = check_label_map(label_map)
    rows: list[tuple[common.Cell, ...]] = []
    for name in model:
        scores, checklist_scores = (
            s2lct.score(name, part, label_map=checked_label_map)
            for part in (cases, checklist_cases)
        )
        for capability in (*cases.capabilities, ALL):
            chosen = [capability] if capability != ALL else [*cases.capabilities]
            figures = [scores.capabilities[chosen_name] for chosen_name in chosen]
            seeds, expansions = (failed_cases(scores, chosen, kind) for kind in KINDS)
            checklist_failures = failed_cases(checklist_scores, chosen, "seed")
            rows.append(
                (
                    *(capability, name, len(seeds), len(expansions)),
                    *(common.percent(seeds), common.percent(expansions)),
                    sum(figure.pass_to_fail for figure in figures),
                    sum(figure.fail_to_pass for figure in figures),
                    *(len(checklist_failures) or None, common.percent(checklist_failures)),
                )
            )
    order = (*cases.capabilities, ALL)
    printed = [row for row in printed_rows() if row[0] in order]
    rows = sorted([*rows, *printed], key=lambda row: order.index(str(row[0])))
    limited = f"At most {limit} cases of each capability and test. " if limit else ""
    notes = [f"{limited}Suite {cases.name} {cases.version}.", *NOTES]
    title = "Table 3 of S²LCT: failures by capability, beside CheckList's"
    common.print_table(title, COLUMNS, rows, notes)


def printed_rows() -> Iterator[tuple[common.Cell, ...]]:
    """The rows of `PRINTED`, in the table's columns."""
    for line in PRINTED.strip().splitlines():
        capability, counts, *rates = line.split(" | ")
        n_seeds, n_expansions, n_checklist = (None if n == "-" else int(n) for n in counts.split())
        for name, figures in zip(PAPER_MODELS, rates, strict=True):
            rates_of_model = [None if n == "-" else float(n) for n in figures.split()]
            seeds_fail, expansions_fail, pass_to_fail, checklist_fail = rates_of_model
            yield (
                *(capability, f"paper: {name}", n_seeds, n_expansions),
                *(seeds_fail, expansions_fail),
                *(None if pass_to_fail is None else int(pass_to_fail), None),
                *(n_checklist, checklist_fail),
            )


def failed_cases(outcomes: Outcomes, capabilities: Collection[str], kind: str) -> list[bool]:
    """Whether each case fails, for the cases of a kind in some capabilities."""
    return [
        bool(failed)
        for case, failed in zip(outcomes.cases, outcomes.failed, strict=True)
        if case.capability in capabilities and case.kind == kind
    ]


if __name__ == "__main__":
    common.run(main)
