"""Score a model on a suite, for the command line, scripts, the metric and the callback alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from s2lct.cache import FILE
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.answers.label_rules import Array, Labels
from s2lct.leaderboard.models.load import as_model
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord, OptionsRecord
from s2lct.leaderboard.scoring.figures import (
    CapabilityFigures,
    Figures,
    OverallFigures,
    Pairs,
    failed_cases,
    figures,
    in_words,
    pairs,
)
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.suite.cases import Case, SuiteCases, load_suite
from s2lct.suite.tables import KINDS


class SelectionRecord(BaseModel):
    """The criteria by which a part of a suite was chosen; all are None if there were others.

    Attributes:
        capabilities: ids of the chosen capabilities; None for all.
        kind: the kind of the cases; None for seeds and expansions.
        limit: the most cases of a capability; None for all.
        contrasts: ``none`` if the contrasts were left out; None if those of all cases are in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    capabilities: tuple[str, ...] | None = None
    kind: Literal["seed", "expansion"] | None = None
    limit: int | None = Field(default=None, ge=1)
    contrasts: Literal["none"] | None = None

    def __str__(self) -> str:
        parts = [
            ", ".join(self.capabilities or ()),
            f"{self.kind}s" if self.kind else "",
            f"at most {self.limit} of a capability" if self.limit else "",
            "without contrasts" if self.contrasts else "",
        ]
        return "; ".join(filter(None, parts)) or "a choice of cases"


@dataclass(frozen=True)
class Outcomes:
    """A model's predictions on a suite, and the figures that follow from them.

    ::

        scores.failure_rate
        scores.capabilities["LC4"].expansion.failure_rate
        scores.flat()["LC4/expansion/failure_rate"]

    Attributes:
        model: the record of the model and its options.
        suite: the cases, and the contrasts that the model predicted too.
        labels: the predicted label id of each case, then of each contrast; or `REFUSED` or
            `UNREADABLE`, which fail; shape (texts,).
        probabilities: probabilities of labels, shape (texts, labels); None if the model gives
            labels only.
        selection: the criteria by which the cases were chosen; None for a whole suite.
    """

    model: ModelRecord
    suite: SuiteCases
    labels: Labels
    probabilities: Array | None = None
    selection: SelectionRecord | None = None

    def __repr__(self) -> str:
        suite = self.suite
        part = ", a part of it" if suite.partial else ""
        name = f"{self.model.name} on {suite.name} {suite.version or '?'}{part}"
        return f"<{name}: {in_words(self.overall)}>"

    @property
    def cases(self) -> tuple[Case, ...]:
        """The suite's cases, without contrasts."""
        return self.suite.cases

    @cached_property
    def failed(self) -> Failed:
        """Which cases fail, shape (cases,)."""
        return failed_cases(self.cases, self.labels[: len(self.cases)])

    @cached_property
    def figures(self) -> Figures:
        """All figures of the model on the suite."""
        return figures(self.cases, self.suite.contrasts, self.labels)

    @property
    def overall(self) -> OverallFigures:
        """Consistency and failure rate of all capabilities together, macro and micro."""
        return self.figures.overall

    @property
    def capabilities(self) -> dict[str, CapabilityFigures]:
        """The figures of each capability."""
        return self.figures.capabilities

    @property
    def failure_rate(self) -> float:
        """The macro failure rate: the mean of the capabilities' failure rates, in [0, 1]."""
        return self.overall.failure_rate.macro

    def flat(self) -> dict[str, float]:
        """Every figure by a name for loggers, such as ``LC4/expansion/failure_rate``."""
        return self.figures.flat()

    @property
    def label_counts(self) -> dict[Label, int]:
        """For each label the number of cases that the model gave it."""
        labels = self.labels[: len(self.cases)]
        return {label: int((labels == label_id).sum()) for label_id, label in enumerate(LABELS)}

    def pairs(self) -> Pairs:
        """The pairs of a case and its contrast, and which of them the model gets right."""
        return pairs(self.cases, self.suite.contrasts, self.labels)


def score(
    model: Any,
    suite: str | Path | SuiteCases | Any,
    *,
    name: str | None = None,
    tokenizer: Any = None,
    classes: Sequence[str] | None = None,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
    label_map: Mapping[Any, Any] | None = None,
    cache: Path | bool = True,
) -> Outcomes:
    """Score a model on a suite: a failure rate for each capability.

    Args:
        model: a Hub id (``ID@REVISION`` pins one), a folder, ``vader``, ``textblob``, ``afinn``,
            ``embedded-2class``, ``embedded-3class``, a function from texts to labels or
            probabilities, a text-classification pipeline, a Trainer, a `LanguageModel`, a
            transformers model with ``tokenizer``, or the two as a pair.
        suite: a result or an argument of `load_suite`.
        name: the name of the model in results; by default its own name.
        tokenizer: the tokenizer of a transformers model in memory.
        classes: the names of all classes of the model behind a function, in its order; needed if
            it gives numbers or probabilities without names.
        capabilities: ids, in upper or lower case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: the most cases of a capability; None for all.
        label_map: labels of classes, such as ``{"LABEL_0": "negative", "LABEL_1": "positive"}``;
            for a Trainer by default that of its `CapabilityCallback`.
        cache: whether to cache predictions of named models, so that scoring again costs nothing; or
            the file of the cache.

    Raises:
        ScoringError: the model or suite cannot be used; the message says why, and what to do.
    """
    if label_map is None and hasattr(model, "callback_handler"):  # a Trainer
        callbacks = model.callback_handler.callbacks
        label_maps = (getattr(callback, "label_map", None) for callback in callbacks)
        label_map = next(filter(None, label_maps), None)
    part, selection = select_cases(load_suite(suite), capabilities, kind, limit)
    model = as_model(model, tokenizer=tokenizer, classes=classes)
    shown_name = model.name if name is None else name
    if shown_name in BUILT_IN and not (shown_name == model.name and model.revision):
        raise ScoringError(
            f"name {shown_name!r}: is a model that comes with s2lct", hint="pass another name="
        )
    texts = [case.text for case in part.with_contrasts]
    cache_file = cache_folder() / FILE if cache is True else cache or None
    predictions = model.predict(texts, check_label_map(label_map), cache_file)
    answers_sha256 = ""
    if not model.weights_sha256 and predictions.endpoint is None:
        ids = [case.id for case in part.with_contrasts]
        answers_sha256 = fingerprint_of([ids, predictions.labels.tolist()])
    record = ModelRecord(
        name=shown_name,
        # The revision is recorded only with the model's own name.
        revision=model.revision if shown_name == model.name else "",
        weights_sha256=model.weights_sha256,
        answers_sha256=answers_sha256,
        label_rule=predictions.label_rule,
        options=OptionsRecord.of(predictions.label_map, model.prompt),
        endpoint=predictions.endpoint,
        **model.facts._asdict(),
    )
    outcomes = outcomes_of(record, part, predictions.labels, predictions.probabilities)
    return replace(outcomes, selection=selection)


def select_cases(
    suite: SuiteCases,
    capabilities: str | Sequence[str] | None,
    kind: str | None,
    limit: int | None,
) -> tuple[SuiteCases, SelectionRecord | None]:
    """Select cases of a suite, and record the criteria; see `SuiteCases.select`.

    The record is None if the suite was only a part before, because its criteria are unknown.
    """
    part = suite.select(capabilities, kind, limit)
    if suite.partial:
        return part, None
    names = tuple(dict.fromkeys(case.capability for case in part.cases)) if capabilities else None
    return part, SelectionRecord.model_validate(
        {"capabilities": names, "kind": kind, "limit": limit}
    )


def outcomes_of(
    model: ModelRecord, suite: SuiteCases, labels: Labels, probabilities: Array | None = None
) -> Outcomes:
    """The outcomes on a suite; contrasts among its cases are moved after them."""
    rows = suite.with_contrasts
    is_case = np.array([row.kind in KINDS for row in rows], dtype=bool)
    order = [*np.flatnonzero(is_case), *np.flatnonzero(~is_case)]
    ordered, case_count = tuple(rows[index] for index in order), int(is_case.sum())
    suite = replace(suite, cases=ordered[:case_count], contrasts=ordered[case_count:])
    return Outcomes(
        model, suite, labels[order], None if probabilities is None else probabilities[order]
    )
