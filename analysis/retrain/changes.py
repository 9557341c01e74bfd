"""What retraining changed: failures of each capability before and after, and what it forgot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.records import Record
from s2lct.analysis.retrain.runs import CaseOutcome, Group, Run, TrainOptions

UNSEEN: tuple[Group, ...] = ("test", "unseen")
"""Cases none of whose sentences was trained on or validated by."""
LEAST_FAMILIES = 5
"""A bootstrap of fewer families is no interval."""


class Change(Record):
    """Failures on the same cases before and after training.

    Attributes:
        cases: how many; over several seeds a case counts in each seed that held it out.
        families: how many seed families they belong to.
        failures_before, failures_after: how many of them fail.
        fail_to_pass, pass_to_fail: how many changed.
        change: failure rate after less before, in [-1, 1].
        ci: bounds of its 95 % bootstrap interval, of whole families.
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
    def before(self) -> float:
        """The failure rate before."""
        return self.failures_before / self.cases if self.cases else 0.0

    @property
    def after(self) -> float:
        """The failure rate after."""
        return self.failures_after / self.cases if self.cases else 0.0

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0; of too few families none tells."""
        return self.families >= LEAST_FAMILIES and (self.ci[0] > 0 or self.ci[1] < 0)


class Forgotten(Record):
    """Accuracy on the corpus's own test split, means over the seeds.

    Attributes:
        sentences: how many, in the first seed.
        left_out: sentences that were trained on as part of a case, likewise.
        before, after: accuracies.
    """

    sentences: int
    left_out: int
    before: float
    after: float


class Row(Record):
    """What one training changed.

    Attributes:
        name: the capability trained on, or ``all``.
        trained_on: the capabilities.
        problem: why there was no training; empty otherwise.
        train, validation, dropped_neutral, mixed, steps: of each seed, see `retrain.Run`.
        unseen: for each capability the cases that share no sentence with what was trained on.
        shared: the cases of other capabilities that do.
        corpus: what was forgotten; None without a corpus.
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
    shared: dict[str, Change] = Field(default_factory=dict)
    corpus: Forgotten | None = None


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
    """The change on some cases; of no cases, zeros."""
    if not outcomes:
        return Change(
            cases=0, families=0, failures_before=0, failures_after=0, fail_to_pass=0,
            pass_to_fail=0, change=0.0, ci=(0.0, 0.0),
        )  # fmt: skip
    families = [one.seed_id for one in outcomes]
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
    outcomes = [outcome for run in runs for outcome in run.cases]

    def changes(*groups: Group) -> dict[str, Change]:
        found: dict[str, list[CaseOutcome]] = {one.capability: [] for one in outcomes}
        for one in outcomes:
            if one.group in groups:
                found[one.capability].append(one)
        return {capability: change_of(own) for capability, own in found.items() if own}

    accuracies = [run.corpus for run in runs if run.corpus is not None]
    return Row(
        name=name,
        trained_on=runs[0].on,
        train=tuple(run.train for run in runs),
        validation=tuple(run.validation for run in runs),
        dropped_neutral=tuple(run.dropped_neutral for run in runs),
        mixed=tuple(run.mixed for run in runs),
        steps=tuple(run.steps for run in runs),
        unseen=changes(*UNSEEN),
        shared=changes("shared"),
        corpus=Forgotten(
            sentences=accuracies[0].sentences,
            left_out=accuracies[0].left_out,
            before=float(np.mean([one.before for one in accuracies])),
            after=float(np.mean([one.after for one in accuracies])),
        )
        if accuracies
        else None,
    )
