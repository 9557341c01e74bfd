"""Score a model on a suite: the one engine behind the command line, the metric and the callback."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from s2lct.cache import FILE, Cache, predictions
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS, Label, check_label_map
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.classifier import Classifier, Function, facts_of
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.record import ModelRecord, OptionsRecord
from s2lct.leaderboard.scoring.figures import Figures, failed_cases, figures, pairs_of
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.progress import bar
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.tables import COUNTERPART, KINDS

PREDICTIONS = 1
"""Raise it when a change of this package changes what a model predicts: older ones do not count."""
_ANSWER = TypeAdapter(TextAnswer)


class Pairs(NamedTuple):
    """Seeds, their contrasts, and of which pairs a model gets both right, shape (pairs,)."""

    seeds: list[Case]
    contrasts: list[Case]
    right: Failed


@dataclass(frozen=True)
class Outcomes:
    """What a model predicts of a suite.

    Attributes:
        model: which, and with what options.
        suite: its cases, and the contrasts that the model was asked.
        labels: ids of labels of all that the suite asks, shape (asked,). Ids beyond those of labels
            are of cases that it refused or answered in a way that cannot be read, see
            `text_answers`: they fail.
        probabilities: of the labels, shape (asked, labels); None of a model that says labels alone.
    """

    model: ModelRecord
    suite: SuiteCases
    labels: Labels
    probabilities: rules.Array | None = field(default=None, repr=False)

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
        return figures(self.cases, self.suite.counterparts, self.labels[None])[0]

    @property
    def label_counts(self) -> dict[Label, int]:
        """How often the model gave each label to a case."""
        labels = self.labels[: len(self.cases)]
        return {label: int((labels == number).sum()) for number, label in enumerate(LABELS)}

    def pairs(self) -> Pairs:
        """The seeds with a contrast that it was asked."""
        contrasts = self.suite.counterparts
        seeds, others = pairs_of(self.cases, contrasts, COUNTERPART)
        wrong = failed_cases(contrasts, self.labels[len(self.cases) :])
        return Pairs(
            [self.cases[number] for number in seeds],
            [contrasts[number] for number in others],
            ~(self.failed[seeds] | wrong[others]),
        )


def score(
    model: Classifier | Function | EndpointModel,
    suite: SuiteCases,
    *,
    label_map: Mapping[Any, Any] | None = None,
    cache: Path | None = None,
) -> Outcomes:
    """Score a model.

    ``label_map`` (see `labels.check_label_map`) says what its classes mean; predictions are kept in
    the file ``cache``. Contrasts are asked too, and taken out of the cases where they stand among
    these. Raises a ScoringError where the model's classes or outputs cannot be used, or a model
    that answers in words does not answer.
    """
    endpoint, probabilities = None, None
    asks: LabelPrompt | None = getattr(model, "asks", None)
    label_map = check_label_map(label_map)
    if not suite.cases:
        raise ScoringError(f"suite {suite.name}: has no case", hint="pass a suite with cases")
    texts = [case.text for case in suite.asked]
    if isinstance(model, Function):
        labels, label_rule = labels_of_predictions(
            model.predict(texts),
            len(texts),
            classes=model.classes,
            label_map=label_map,
        )
    elif isinstance(model, EndpointModel):
        if label_map is not None:
            raise ScoringError(
                f"model {model.name}: answers in words, which no label map is for",
                hint="leave it out: its label words say what its answers mean",
            )
        answers = answers_of(model, texts, cache)
        labels, label_rule = read_labels(model, texts, answers), model.label_rule
        endpoint = model.use(answers.values())
    else:
        rule = rules.rule_for(model.classes, model=model.name, label_map=label_map)
        found = probabilities_of(model, texts, cache)
        labels, label_rule = rule.labels(found), rule_in_words(rule, asks)
        probabilities = rule.folded(found)
    record = ModelRecord(
        name=model.name,
        revision=model.revision,
        weights_sha256=getattr(model, "weights_sha256", model.fingerprint),
        label_rule=label_rule,
        options=OptionsRecord.of(label_map, asks),
        endpoint=endpoint,
        **facts_of(model)._asdict(),
    )
    return outcomes_of(record, suite, labels, probabilities)


def outcomes_of(
    model: ModelRecord, suite: SuiteCases, labels: Labels, probabilities: rules.Array | None = None
) -> Outcomes:
    """Outcomes on a suite whose contrasts may stand among its cases: they go behind them."""
    rows = suite.asked
    is_case = np.array([row.kind in KINDS for row in rows], dtype=bool)
    order = [*np.flatnonzero(is_case), *np.flatnonzero(~is_case)]
    ordered, cases = tuple(rows[number] for number in order), int(is_case.sum())
    suite = replace(suite, cases=ordered[:cases], counterparts=ordered[cases:])
    probabilities = None if probabilities is None else probabilities[order]
    return Outcomes(model, suite, labels[order], probabilities)


def rule_in_words(rule: rules.LabelRule, asks: LabelPrompt | None) -> str:
    """How answers became labels, as recorded with a result."""
    return f"{rule}; {asks}" if asks else str(rule)


def default_cache() -> Path:
    """Where predictions are kept: in ``$S2LCT_CACHE`` or ``~/.cache/s2lct``."""
    return cache_folder() / FILE


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


def answers_of(
    model: EndpointModel, texts: Sequence[str], cache: Path | None = None
) -> dict[str, TextAnswer]:
    """What a model writes to each text, kept in the file ``cache`` as it came.

    Raises:
        ScoringError: the model does not answer all; what it answered is kept.
    """
    found = _predictions(model, [], texts, cache)
    return {text: _ANSWER.validate_json(found[text]) for text in texts}


def read_labels(
    model: EndpointModel, texts: Sequence[str], answers: dict[str, TextAnswer]
) -> Labels:
    """What answers to texts mean: ids of labels, or those of `text_answers`, shape (texts,)."""
    meanings = [LABELS.index(name) for name in model.asks.classes]
    read = {text: label_of(answers[text], model.asks.words, meanings) for text in set(texts)}
    return np.array([read[text] for text in texts], dtype=np.int64)


def _predictions(
    model: Any, classes: list[str], texts: Sequence[str], cache: Path | None
) -> dict[str, bytes]:
    """What a model predicts of each text, as it is kept."""
    if cache is None or not model.fingerprint:
        return dict(_predicted(model, list(dict.fromkeys(texts))))
    key = fingerprint_of([PREDICTIONS, model.fingerprint, classes])
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
