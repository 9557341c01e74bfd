"""Retraining, Table 2 of an older S²LCT draft: on the suite, tested on CheckList, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from s2lct.analysis.reproduce.runner import (
    PAPER_MODELS,
    Cell,
    Inputs,
    PaperTable,
    Reproduction,
    beside,
    comes_back,
    described,
    of_families,
)
from s2lct.analysis.retrain.records import Change, Matrix, TrainOptions
from s2lct.analysis.retrain.train import Retrainer
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows, load_rows
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import require
from s2lct.identity import fingerprint_of

MARK = "*"
"""Behind a capability's name: CheckList's cases of the test that it stands beside."""
ALL = "all"


@dataclass(frozen=True)
class Outcome:
    """What a training changed on cases that it did not see; both by name, see `MARK`."""

    model: str
    trained_on: str
    tested_on: str
    changes: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Whether they are one capability, of one suite or of both."""
        return self.trained_on.strip(MARK) == self.tested_on.strip(MARK)

    @property
    def crossed(self) -> bool:
        """Whether they are one capability of both suites."""
        return self.same and self.trained_on != self.tested_on and not self.of_all

    @property
    def of_all(self) -> bool:
        """Whether all capabilities of a suite were trained on."""
        return self.trained_on.strip(MARK) == ALL

    def counts(self) -> list[int]:
        """Cases, what turned, and what fails and passes before and after."""
        cases, to_pass, to_fail, before, after = (
            sum(getattr(change, name) for change in self.changes)
            for name in (
                "cases", "fail_to_pass", "pass_to_fail", "failures_before", "failures_after",
            )
        )  # fmt: skip
        return [cases, to_pass, to_fail, before, cases - before, after, cases - after]

    def row(self) -> list[Cell]:
        """A row of the table."""
        return [self.model, self.trained_on, self.tested_on, *self.counts()]


def retraining(inputs: Inputs) -> Reproduction:
    """Fail-to-pass and pass-to-fail of trainings on a capability of the suite, or of CheckList.

    Each training is tested on every capability of both, on cases that share no sentence with
    those trained on. So are trainings on all capabilities of either. Where a reference corpus is
    given, accuracy on its test split is told too.
    """
    require("accelerate", "sklearn")
    inputs.need("model", "suite", "checklist")
    suite = both_suites(inputs)
    corpus = None if inputs.reference is None else read_corpus(inputs.reference)
    names, settings = suite.capabilities, TrainOptions()
    trainings: dict[str, Sequence[str]] = {name: (name,) for name in names}
    trainings[ALL] = [name for name in names if not name.endswith(MARK)]
    trainings[ALL + MARK] = [name for name in names if name.endswith(MARK)]
    found = {
        model: Retrainer(inputs.judge(model), suite, corpus, settings).matrix(
            trainings, inputs.seeds
        )
        for model in inputs.model
    }
    outcomes = [one for model, matrix in found.items() for one in _outcomes(model, matrix)]
    crossed = [one for one in outcomes if one.crossed]
    problems = [
        f"{model}, trained on {row.name}: {row.problem}"
        for model, matrix in found.items()
        for row in matrix.rows
        if row.problem
    ]
    accuracies = [
        f"{model}, trained on {row.name}: {100 * row.corpus.before:.1f} % of "
        f"{row.corpus.sentences:,} test sentences of {matrix.corpus} right before, "
        f"{100 * row.corpus.after:.1f} % after."
        for model, matrix in found.items()
        for row in matrix.rows
        if row.corpus is not None and row.name.strip(MARK) == ALL
    ]
    table = PaperTable.of(
        inputs.name,
        [*(one.row() for one in crossed), *_printed()],
        limited=inputs.limited,
        epochs=settings.epochs,
        batch=settings.batch_size,
        lr=settings.lr,
        seeds=inputs.seeds,
    )
    every = replace(
        table,
        title="Every training on every test",
        rows=[one.row() for one in outcomes],
        in_page=False,
    )
    table = replace(table, notes=[*table.notes, *problems, *accuracies])
    return Reproduction([table, every], _verdict(crossed))


def both_suites(inputs: Inputs) -> SuiteRows:
    """The suite's cases and CheckList's beside them, as one suite to train and test on."""
    suite = load_rows(str(inputs.suite))
    cases = of_families([row.case for row in suite.rows], inputs.limit, inputs.seed)
    kept = {case.id for case in cases}
    rows = [row for row in suite.rows if row.case.id in kept]
    capabilities = dict.fromkeys(case.capability for case in cases)
    found = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    others = [
        # With the label that suites give cases of several.
        SuiteRow(replace(case, capability=case.capability + MARK), max(case.passes), "", (), ())
        for part in found.values()
        for case in part
    ]
    described = [[row.case.id, row.case.text, row.label] for row in [*rows, *others]]
    return replace(suite, rows=(*rows, *others), fingerprint=fingerprint_of(described))


def _outcomes(model: str, matrix: Matrix) -> Iterator[Outcome]:
    for row in matrix.rows:
        if row.name.strip(MARK) != ALL:
            for name, change in row.unseen.items():
                yield Outcome(model, row.name, name, (change,))
            continue
        for marked in (True, False):
            of = tuple(one for to, one in row.unseen.items() if to.endswith(MARK) == marked)
            if of:
                yield Outcome(model, row.name, ALL + MARK * marked, of)


def _printed() -> Iterator[list[Cell]]:
    """The paper's rows."""
    for name, row in described("s2lct-retraining")["printed"].items():
        (fails, passes), after = row["before"], row["after"]
        turned = after[0] - fails + row["fail_to_pass"]
        counts = (row["fail_to_pass"], turned, fails, passes, *after)
        yield [PAPER_MODELS[0], None, name + MARK, fails + passes, *counts]


def _verdict(crossed: Sequence[Outcome]) -> str:
    """Whether tests after training are failed as a whole or passed as a whole, as the paper's."""
    if not crossed:
        return "Cannot be compared: nothing could be trained and tested on the other suite."
    counts = [one.counts() for one in crossed]
    extreme = sum(0 in one[-2:] for one in counts)
    cases, to_pass, to_fail, before, _, after, _ = map(sum, zip(*counts, strict=True))
    rows = described("s2lct-retraining")["printed"].values()
    printed = sum(0 in row["after"] for row in rows)
    return (
        f"{comes_back(extreme > len(crossed) / 2)}: after training on a capability the same "
        f"capability of the other suite is passed or failed as a whole in {extreme} of "
        f"{len(crossed)} tests (the paper's rows: {printed} of {len(rows)}). Of {cases:,} "
        f"cases {before:,} failed before and {after:,} after; {to_pass:,} turned from fail to "
        f"pass, {to_fail:,} from pass to fail. The counts cannot be compared: the paper's names of "
        "what was trained on are lost."
    )
