"""Retraining, Table 2 of an older S²LCT draft: on the suite, tested on CheckList, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from s2lct.analysis.reproduce.runner import (
    Cell,
    Inputs,
    PaperTable,
    Reproduction,
    beside,
    comes_back,
    described,
    of_families,
)
from s2lct.analysis.retrain import Change, Retrainer, Training
from s2lct.analysis.training import TrainOptions
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import require
from s2lct.identity import fingerprint_of
from s2lct.suite.cases import SuiteCases, load_cases

MARK = "*"
"""Behind a capability's name: CheckList's cases of the test that it stands beside."""
ALL = "all"


def retraining(inputs: Inputs) -> Reproduction:
    """Fail-to-pass and pass-to-fail of trainings on a capability of the suite, or of CheckList.

    Each training is tested on every capability of both, on cases that share no sentence with
    those trained on. So are trainings on all capabilities of either. Where a reference corpus is
    given, a note has the accuracy on its test split.
    """
    require("accelerate", "sklearn")
    inputs.need("model", "suite", "checklist")
    suite = both_suites(inputs)
    corpus = None if inputs.reference is None else read_corpus(inputs.reference)
    names, options = suite.capabilities, TrainOptions()
    trainings: dict[str, Sequence[str]] = {name: (name,) for name in names}
    trainings[ALL] = [name for name in names if not name.endswith(MARK)]
    trainings[ALL + MARK] = [name for name in names if name.endswith(MARK)]
    crossed: list[list[Cell]] = []
    notes: list[str] = []
    for model in inputs.model:
        retrainer = Retrainer(inputs.judge(model), suite, corpus, options)
        for training in retrainer.matrix(trainings, inputs.seeds).trainings:
            called = f"{model}, trained on {training.name}"
            if training.problem:
                notes.append(f"{called}: {training.problem}")
            if training.corpus is not None and training.name.strip(MARK) == ALL:
                notes.append(
                    f"{called}: {100 * training.corpus.before:.1f} % of "
                    f"{training.corpus.sentences:,} test sentences right before, "
                    f"{100 * training.corpus.after:.1f} % after."
                )
            for tested_on, changes in _tested(training):
                same = training.name.strip(MARK) == tested_on.strip(MARK)
                if same and training.name != tested_on:
                    crossed.append([model, training.name, tested_on, *_counts(changes)])
    table = PaperTable.of(
        inputs.name,
        [*crossed, *described(inputs.name)["printed"]],
        limited=inputs.limited,
        epochs=options.epochs,
        batch=options.batch_size,
        lr=options.lr,
        seeds=inputs.seeds,
    )
    table = replace(table, notes=[*table.notes, *notes])
    of_each = [row[3:] for row in crossed if str(row[1]).strip(MARK) != ALL]
    return Reproduction([table], _verdict(of_each))


def both_suites(inputs: Inputs) -> SuiteCases:
    """The suite's cases and CheckList's beside them, as one suite to train and test on."""
    suite = load_cases(str(inputs.suite))
    cases = of_families(suite.cases, inputs.limit, inputs.seed)
    capabilities = dict.fromkeys(case.capability for case in cases)
    found = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    others = [
        # With the label that suites give cases of several.
        replace(case, capability=case.capability + MARK, label=max(case.passes))
        for part in found.values()
        for case in part
    ]
    described = [[case.id, case.text, case.label] for case in (*cases, *others)]
    return replace(suite, cases=(*cases, *others), fingerprint=fingerprint_of(described))


def _tested(training: Training) -> Iterator[tuple[str, Sequence[Change]]]:
    """What a training was tested on; one on all capabilities on all of each suite together."""
    if training.name.strip(MARK) != ALL:
        for name, change in training.changes.items():
            yield name, [change]
        return
    for mark in (MARK, ""):
        of = [one for name, one in training.changes.items() if name.endswith(MARK) == bool(mark)]
        if of:
            yield ALL + mark, of


def _counts(changes: Sequence[Change]) -> list[int]:
    """Cases, what turned, and what fails and passes before and after."""
    cases, to_pass, to_fail, before, after = (
        sum(getattr(change, name) for change in changes)
        for name in ("cases", "fail_to_pass", "pass_to_fail", "failures_before", "failures_after")
    )
    return [cases, to_pass, to_fail, before, cases - before, after, cases - after]


def _verdict(crossed: Sequence[Sequence[Any]]) -> str:
    """Whether tests after training are failed as a whole or passed as a whole, as the paper's.

    Of the `_counts` of each test of a capability on that of the other suite.
    """
    if not crossed:
        return "Cannot be compared: nothing could be trained and tested on the other suite."
    extreme = sum(0 in counts[-2:] for counts in crossed)
    cases, to_pass, to_fail, before, _, after, _ = map(sum, zip(*crossed, strict=True))
    printed = [0 in row[-2:] for row in described("s2lct-retraining")["printed"]]
    return (
        f"{comes_back(extreme > len(crossed) / 2)}: after training on a capability the same "
        f"capability of the other suite is passed or failed as a whole in {extreme} of "
        f"{len(crossed)} tests (the paper's rows: {sum(printed)} of {len(printed)}). Of {cases:,} "
        f"cases {before:,} failed before and {after:,} after; {to_pass:,} turned from fail to "
        f"pass, {to_fail:,} from pass to fail. The counts cannot be compared: the paper's names of "
        "what was trained on are lost."
    )
