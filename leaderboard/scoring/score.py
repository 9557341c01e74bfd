"""Score a model on a suite: behind the command line, scripts, the metric and the callback alike."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from s2lct.cache import FILE, Cache, predictions
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.identity import fingerprint_of, predicting_versions, source_fingerprint
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.classifier import Classifier, Function, facts_of
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.load import as_classifier
from s2lct.leaderboard.models.network import Network, state_sha256
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord, OptionsRecord
from s2lct.leaderboard.scoring.figures import (
    CapabilityFigures,
    Figures,
    OverallFigures,
    contrasts_of_pairs,
    failed_cases,
    figures,
    in_words,
    paired_cases,
    pairs_of,
)
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.progress import bar
from s2lct.suite.cases import Case, SuiteCases, load_suite
from s2lct.suite.tables import CONTRAST, KINDS

_ANSWER = TypeAdapter(TextAnswer)


class SelectionRecord(BaseModel):
    """What a part of a suite was chosen by; nothing where it was chosen in another way.

    Attributes:
        capabilities: that were asked; None for all.
        kind: of the cases; None for both.
        limit: most cases of a capability; None for all.
        contrasts: ``none`` where no contrast was asked; None for those of all the cases.
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


class Pairs(NamedTuple):
    """Cases, their contrasts, and of which pairs a model gets both right, shape (pairs,)."""

    cases: tuple[Case, ...]
    contrasts: tuple[Case, ...]
    right: Failed

    def __repr__(self) -> str:
        return f"<{len(self.cases):,} pairs, {self.right.sum():,} right>"


@dataclass(frozen=True)
class Outcomes:
    """What a model predicts of a suite, and how well it does.

    ::

        scores.failure_rate
        scores.capabilities["LC4"].expansion.failure_rate
        scores.flat()["LC4/expansion/failure_rate"]

    Attributes:
        model: which, and with what options.
        suite: its cases, and the contrasts that the model was asked.
        labels: ids of labels of all that the suite asks, shape (asked,). Ids beyond those of labels
            are of cases that it refused or answered in a way that cannot be read, see
            `text_answers`: they fail.
        probabilities: of the labels, shape (asked, labels); None of a model that says labels alone.
        selection: how the cases were chosen, where they are a part of the suite.
    """

    model: ModelRecord
    suite: SuiteCases
    labels: Labels
    probabilities: rules.Array | None = None
    selection: SelectionRecord | None = None

    def __repr__(self) -> str:
        suite = self.suite
        part = ", a part of it" if suite.partial else ""
        name = f"{self.model.name} on {suite.name} {suite.version or '?'}{part}"
        return f"<{name}: {in_words(self.overall)}>"

    @property
    def cases(self) -> tuple[Case, ...]:
        """The suite's cases."""
        return self.suite.cases

    @cached_property
    def failed(self) -> Failed:
        """Which cases fail, shape (cases,)."""
        return failed_cases(self.cases, self.labels[: len(self.cases)])

    @cached_property
    def figures(self) -> Figures:
        """What it does on the suite."""
        return figures(self.cases, self.suite.contrasts, self.labels)

    @property
    def overall(self) -> OverallFigures:
        """Consistency and failure rate of all capabilities together, macro and micro."""
        return self.figures.overall

    @property
    def capabilities(self) -> dict[str, CapabilityFigures]:
        """Failure rates of each capability, on all its cases, seeds and expansions."""
        return self.figures.capabilities

    @property
    def failure_rate(self) -> float:
        """The macro failure rate: the mean of the capabilities' own, in [0, 1]."""
        return self.overall.failure_rate.macro

    def flat(self) -> dict[str, float]:
        """Every figure under a name such as ``LC4/expansion/failure_rate``, as loggers take it."""
        return self.figures.flat()

    @property
    def label_counts(self) -> dict[Label, int]:
        """How often the model gave each label to a case."""
        labels = self.labels[: len(self.cases)]
        return {label: int((labels == number).sum()) for number, label in enumerate(LABELS)}

    def pairs(self) -> Pairs:
        """The cases with a contrast that it was asked."""
        contrasts = self.suite.contrasts
        own, others = pairs_of(self.cases, contrasts, CONTRAST)
        wrong = failed_cases(contrasts, self.labels[len(self.cases) :])
        return Pairs(
            paired_cases(self.cases, contrasts),
            contrasts_of_pairs(self.cases, contrasts),
            ~(self.failed[own] | wrong[others]),
        )


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
        suite: what `load_suite` gives, or takes.
        name: what results call the model; by default as it is named itself.
        tokenizer: of a transformers model in memory.
        classes: the names of all classes of the model behind a function, in its order; needed where
            it gives numbers or probabilities without names.
        capabilities: ids in any case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: most cases of a capability; None for all.
        label_map: what classes mean, such as ``{"LABEL_0": "negative", "LABEL_1": "positive"}``;
            of a Trainer by default what its `CapabilityCallback` was given.
        cache: keep what named models predict, so that scoring again costs nothing; in a file of
            another place where one is given.

    Raises:
        ScoringError: model or suite cannot be used as they are; it says which, and what to do.
    """
    if label_map is None and hasattr(model, "callback_handler"):  # a Trainer
        given = [getattr(each, "label_map", None) for each in model.callback_handler.callbacks]
        label_map = next(filter(None, given), None)
    part, selection = selected(load_suite(suite), capabilities, kind, limit)
    classifier = as_classifier(model, tokenizer=tokenizer, classes=classes)
    called = classifier.name if name is None else name
    if called in BUILT_IN and (called != classifier.name or isinstance(classifier, Function)):
        raise ScoringError(
            f"name {called!r}: is a model that comes with s2lct", hint="pass another name="
        )
    file = cache_folder() / FILE if cache is True else cache or None
    endpoint, probabilities = None, None
    asks: LabelPrompt | None = getattr(classifier, "asks", None)
    label_map = check_label_map(label_map)
    texts = [case.text for case in part.with_contrasts]
    if isinstance(classifier, Function):
        labels, label_rule = labels_of_predictions(
            classifier.predict(texts), len(texts), classes=classifier.classes, label_map=label_map
        )
    elif isinstance(classifier, EndpointModel):
        if label_map is not None:
            raise ScoringError(
                f"model {classifier.name}: answers in words, which no label map is for",
                hint="leave it out: its label words say what its answers mean",
            )
        kept = _predictions(classifier, [], texts, file)
        answers = {text: _ANSWER.validate_json(kept[text]) for text in texts}
        meanings = [LABELS.index(label) for label in classifier.asks.classes]
        words = classifier.asks.words
        label_of_text = {text: label_of(of, words, meanings) for text, of in answers.items()}
        labels = np.array([label_of_text[text] for text in texts], dtype=np.int64)
        label_rule, endpoint = classifier.label_rule, classifier.use(answers.values())
    else:
        rule, label_map = rules.rule_and_map(
            classifier.classes, model=classifier.name, label_map=label_map
        )
        found = probabilities_of(classifier, texts, file)
        labels, label_rule = rule.labels(found), rule_in_words(rule, asks)
        probabilities = rule.folded(found)
    weights = _weights_of(classifier)
    answers_sha256 = ""
    if not weights and endpoint is None:
        answers_sha256 = fingerprint_of(
            [[case.id for case in part.with_contrasts], labels.tolist()]
        )
    record = ModelRecord(
        name=called,
        # A revision is one of the model that is called so.
        revision=classifier.revision if called == classifier.name else "",
        weights_sha256=weights,
        answers_sha256=answers_sha256,
        label_rule=label_rule,
        options=OptionsRecord.of(label_map, asks),
        endpoint=endpoint,
        **facts_of(classifier)._asdict(),
    )
    return replace(outcomes_of(record, part, labels, probabilities), selection=selection)


def _weights_of(classifier: Any) -> str:
    """SHA-256 of a model's weights, or what stands for them; empty where there are none here."""
    known = getattr(classifier, "weights_sha256", None)
    if known is None and isinstance(classifier, Network):
        known = state_sha256(classifier.model)
    return str(classifier.fingerprint if known is None else known)


def selected(
    suite: SuiteCases,
    capabilities: str | Sequence[str] | None,
    kind: str | None,
    limit: int | None,
) -> tuple[SuiteCases, SelectionRecord | None]:
    """Some of a suite's cases, and how they were chosen; see `SuiteCases.select`.

    A suite that was a part before says itself no more of how it was chosen.
    """
    part = suite.select(capabilities, kind, limit)
    if suite.partial:
        return part, None
    names = tuple(dict.fromkeys(case.capability for case in part.cases)) if capabilities else None
    chosen = {"capabilities": names, "kind": kind, "limit": limit}
    return part, SelectionRecord.model_validate(chosen)


def outcomes_of(
    model: ModelRecord, suite: SuiteCases, labels: Labels, probabilities: rules.Array | None = None
) -> Outcomes:
    """Outcomes on a suite whose contrasts may stand among its cases: they go behind them."""
    rows = suite.with_contrasts
    is_case = np.array([row.kind in KINDS for row in rows], dtype=bool)
    order = [*np.flatnonzero(is_case), *np.flatnonzero(~is_case)]
    ordered, cases = tuple(rows[number] for number in order), int(is_case.sum())
    suite = replace(suite, cases=ordered[:cases], contrasts=ordered[cases:])
    probabilities = None if probabilities is None else probabilities[order]
    return Outcomes(model, suite, labels[order], probabilities)


def rule_in_words(rule: rules.LabelRule, asks: LabelPrompt | None) -> str:
    """How answers became labels, as recorded with a result."""
    return f"{rule}; {asks}" if asks else str(rule)


# What models predict: equal texts are asked once, and every prediction is kept


def probabilities_of(
    model: Classifier, texts: Sequence[str], cache: Path | None = None
) -> rules.Array:
    """Probabilities of each text, shape (texts, classes), kept in the file ``cache``.

    Raises:
        ScoringError: the outputs cannot be used.
    """
    found = _predictions(model, list(model.classes), texts, cache)
    rows = [np.frombuffer(found[text], dtype="<f8") for text in texts]
    return np.array(rows).reshape(-1, len(model.classes))


def _predictions(
    model: Any, classes: list[str], texts: Sequence[str], cache: Path | None
) -> dict[str, bytes]:
    """What a model predicts of each text, as it is kept."""
    if cache is None or not model.fingerprint:
        return dict(_predicted(model, list(dict.fromkeys(texts))))
    # What other code made of a model's outputs does not count; words of a server are kept as sent.
    code = (
        "" if isinstance(model, EndpointModel) else source_fingerprint("s2lct.leaderboard.models")
    )
    key_parts: list[Any] = [code, model.fingerprint, classes]
    if not isinstance(model, EndpointModel):
        facts = facts_of(model)
        key_parts += [predicting_versions(), facts.device, facts.dtype]
    key = fingerprint_of(key_parts)
    ask = partial(_predicted, model)
    with Cache(cache) as kept:
        if not isinstance(model, EndpointModel):
            return predictions(kept, key, texts, ask)

        def holds(answer: bytes) -> bool:
            return model.is_current(_ANSWER.validate_json(answer))

        # An answer in words takes long, and may cost money: each is kept as it comes.
        return predictions(kept, key, texts, ask, kept_at_once=1, holds=holds)


def _predicted(model: Any, texts: Sequence[str]) -> Generator[tuple[str, bytes]]:
    """Ask a model texts: each with its prediction, as they come."""
    advance = bar(model.name, len(texts))
    if isinstance(model, EndpointModel):
        for number, answer in model.answers(texts):
            yield texts[number], _ANSWER.dump_json(answer)
            advance(1)
        return
    for numbers, batch in model.probabilities(texts) if texts else ():
        if batch.shape != (len(numbers), len(model.classes)):
            raise ScoringError(
                f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
                f"{len(model.classes)} classes",
                hint="give one row a text and one column a class",
            )
        if not np.isfinite(batch).all():
            raise ScoringError(
                f"model {model.name}: its output is not a number (NaN or infinite)",
                hint="check the model's weights; in half precision try --dtype float32",
            )
        for number, row in zip(numbers, batch, strict=True):
            yield texts[number], row.astype("<f8").tobytes()
        advance(len(numbers))
