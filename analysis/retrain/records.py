"""What is kept of models that were trained: each run, and what the runs changed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.records import Record

LEAST_FAMILIES = 5
"""A bootstrap of fewer families is no interval."""
Group = Literal["train", "validation", "test", "left_out", "unseen", "shared"]


class TrainOptions(Record):
    """How a model is fine-tuned, see `training.fine_tune`.

    ``mix`` is the share of the corpus's own training data that is trained on beside the cases.
    """

    epochs: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    lr: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch_size: int = Field(default=16, ge=1)
    mix: float = Field(default=0.0, ge=0, le=1)


class CaseOutcome(Record):
    """Whether a model failed a case before and after training; its group is of `splits.Split`.

    The family is the number that `families_of` gives it among all of the suite's cases.
    """

    id: str
    capability: str
    family: int
    group: Group
    before: bool
    after: bool


class CorpusAccuracy(Record):
    """Accuracy on sentences of the corpus's own test split, before and after training.

    Of models without a neutral class on negative and positive sentences, by the likelier of the
    two. ``left_out`` counts sentences of the split that were trained on, as part of a case.
    """

    sentences: int = Field(ge=0)
    left_out: int = Field(ge=0)
    before: float
    after: float


class Run(Record):
    """A model trained once on some capabilities.

    ``inputs`` is a fingerprint of all that decides it, ``seed`` of the split, the order of batches
    and dropout. ``train`` counts cases without ``dropped_neutral``: cases and sentences that a
    model without a neutral class cannot learn. ``mixed`` counts sentences of the corpus, ``steps``
    the optimiser's.
    """

    inputs: str
    on: tuple[str, ...]
    seed: int
    train: int
    validation: int
    test: int
    dropped_neutral: int
    mixed: int
    steps: int
    corpus: CorpusAccuracy | None
    cases: tuple[CaseOutcome, ...]


class Change(Record):
    """Failures on the same cases, of so many families, before and after training.

    Over several seeds a case counts in each seed that held it out. ``change`` is the failure rate
    after less before, ``ci`` its 95 % bootstrap interval, of whole families.
    """

    cases: int = Field(ge=0)
    families: int = Field(ge=0)
    failures_before: int = Field(ge=0)
    failures_after: int = Field(ge=0)
    fail_to_pass: int = Field(ge=0)
    pass_to_fail: int = Field(ge=0)
    change: float = Field(ge=-1, le=1)
    ci: tuple[float, float]

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0; of too few families none tells."""
        return self.families >= LEAST_FAMILIES and (self.ci[0] > 0 or self.ci[1] < 0)


class Row(Record):
    """What training on a capability, or on several, changed; counts are of each seed, see `Run`.

    ``unseen`` has for each capability the cases that share no sentence with what was trained on.
    ``corpus`` has mean accuracies over the seeds, and the first seed's sentences. ``problem`` says
    why there was no training, if so.
    """

    name: str
    trained_on: tuple[str, ...]
    problem: str = ""
    train: tuple[int, ...] = ()
    validation: tuple[int, ...] = ()
    dropped_neutral: tuple[int, ...] = ()
    mixed: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    unseen: dict[str, Change] = Field(default_factory=dict)
    corpus: CorpusAccuracy | None = None


class Matrix(Record):
    """What ``s2lct retrain`` writes."""

    format: Literal[1] = 1
    model: str
    model_fingerprint: str
    label_rule: str
    suite: str
    suite_fingerprint: str
    corpus: str
    options: TrainOptions
    seeds: tuple[int, ...]
    capabilities: tuple[str, ...]
    rows: tuple[Row, ...]


def change_of(outcomes: Sequence[CaseOutcome]) -> Change:
    """The change on some cases, at least one."""
    families = [one.family for one in outcomes]
    before = np.array([one.before for one in outcomes])
    after = np.array([one.after for one in outcomes])
    change, ci = mean_and_interval(families, after.astype(np.float64) - before, 0)
    return Change(
        cases=len(outcomes),
        families=len(set(families)),
        failures_before=int(before.sum()),
        failures_after=int(after.sum()),
        fail_to_pass=int((before & ~after).sum()),
        pass_to_fail=int((~before & after).sum()),
        change=change,
        ci=ci,
    )


def row_of(name: str, runs: Sequence[Run]) -> Row:
    """The runs of one training, with different seeds, taken together."""
    unseen: dict[str, list[CaseOutcome]] = {}
    for run in runs:
        for one in run.cases:
            if one.group in ("test", "unseen"):
                unseen.setdefault(one.capability, []).append(one)
    counts: dict[str, Any] = {
        field: tuple(getattr(run, field) for run in runs)
        for field in ("train", "validation", "dropped_neutral", "mixed", "steps")
    }
    corpus = None
    if accuracies := [run.corpus for run in runs if run.corpus is not None]:
        means = {
            when: float(np.mean([getattr(one, when) for one in accuracies]))
            for when in ("before", "after")
        }
        corpus = accuracies[0].model_copy(update=means)
    return Row(
        name=name,
        trained_on=runs[0].on,
        unseen={capability: change_of(outcomes) for capability, outcomes in unseen.items()},
        corpus=corpus,
        **counts,
    )
