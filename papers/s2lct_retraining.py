"""Retraining in S²LCT's older draft: train on a capability, test on the other suite's cases."""

from __future__ import annotations

from dataclasses import replace

import common

import s2lct
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.analysis.retrain import Retrainer
from s2lct.analysis.training import TrainOptions
from s2lct.errors import require
from s2lct.identity import fingerprint_of
from s2lct.labels import check_label_map

COLUMNS = (
    *("model", "trained on", "tested on", "cases", "fail-to-pass", "pass-to-fail"),
    *("fail before", "pass before", "fail after", "pass after"),
)
CHECKLIST_MARK = "*"
# The paper's counts for BERT on CheckList's cases, in the same columns.
PRINTED: tuple[tuple[common.Cell, ...], ...] = (
    ("paper: BERT", None, "LC1*", 1716, 1330, 0, 1330, 386, 0, 1716),
    ("paper: BERT", None, "LC2*", 8658, 0, 8632, 26, 8632, 8658, 0),
    ("paper: BERT", None, "LC3*", 8000, 0, 6320, 1680, 6320, 8000, 0),
    ("paper: BERT", None, "LC5*", 2496, 2427, 0, 2427, 69, 0, 2496),
    ("paper: BERT", None, "LC7*", 1000, 0, 140, 860, 140, 1000, 0),
    ("paper: BERT", None, "LC8*", 8528, 0, 4787, 3741, 4787, 8528, 0),
    ("paper: BERT", None, "LC9*", 9204, 1540, 7391, 1793, 7411, 7644, 1560),
)
PAPER_NOTE = (
    "The paper's rows are of an older draft, whose names are garbled: the test follows from its "
    "number of cases, what was trained on from nothing, pass-to-fail from the other counts. Most "
    "of its counts after training are those of a model that answers neutral to everything."
)


def main(
    model: common.Models,
    suite: common.Suite,
    checklist: common.CheckLists,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    label_map: common.LabelMap = None,
    device: common.Device = "auto",
) -> None:
    """Print what training on a capability changes on the same capability of the other suite."""
    require("accelerate", "sklearn")
    cases = common.random_families(s2lct.load_suite(suite), limit, seed)
    checklist_cases = common.checklist_suite(checklist, cases.capabilities, limit, seed)
    marked = [
        replace(case, capability=case.capability + CHECKLIST_MARK) for case in checklist_cases.cases
    ]
    fingerprint = fingerprint_of([cases.fingerprint, len(cases.cases), checklist_cases.fingerprint])
    both_suites = replace(
        cases, cases=(*cases.cases, *marked), contrasts=(), fingerprint=fingerprint
    )
    target_of = {name: name + CHECKLIST_MARK for name in cases.capabilities}
    target_of |= {target: name for name, target in target_of.items()}
    options = TrainOptions()
    rows: list[tuple[common.Cell, ...]] = []
    notes: list[str] = []
    for name in model:
        model_with_labels = LabelledClassifier.load(
            name, device=device, label_map=check_label_map(label_map)
        )
        retrainer = Retrainer(model_with_labels, both_suites, None, options)
        for training in retrainer.matrix(
            {name: (name,) for name in both_suites.capabilities}
        ).trainings:
            source, target = training.name, target_of[training.name]
            if training.problem:
                notes.append(f"{name}, trained on {source}: {training.problem}")
            elif change := training.changes.get(target):
                before, after = change.failures_before, change.failures_after
                rows.append(
                    (
                        *(name, source, target, change.cases),
                        *(change.fail_to_pass, change.pass_to_fail),
                        *(before, change.cases - before, after, change.cases - after),
                    )
                )
    limited = f"At most {limit} cases of each capability and test. " if limit else ""
    settings_note = (
        f"{limited}{CHECKLIST_MARK}: CheckList's cases of the test that the capability was "
        f"modelled on. Each training: 8:1:1 by corpus sentence, {options.epochs:g} epoch, batches "
        f"of {options.batch_size}, learning rate {options.lr:g}; tested on cases whose sentences "
        "it did not see. Cases that pass as positive and as neutral are trained as positive."
    )
    title = "Retrained on a capability, tested on that of the other suite"
    common.print_table(title, COLUMNS, [*rows, *PRINTED], [settings_note, PAPER_NOTE, *notes])


if __name__ == "__main__":
    common.run(main)
