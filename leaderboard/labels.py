"""Label rules: how a model's classes become negative, neutral and positive.

A rule is explicit and recorded with every result. Where a model does not say what its classes
mean, it is refused: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.builder.records import LABELS
from s2lct.leaderboard.errors import ScoringError

NEGATIVE, NEUTRAL, POSITIVE = range(3)
MOST_CLASSES = 5
NEUTRAL_BAND = (1 / 3, 2 / 3)
"""CheckList's rule (Ribeiro et al. 2020, sentiment notebook): a binary model whose p(positive)
lies strictly within says neutral."""

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_MEANINGS: dict[str, int] = {
    **dict.fromkeys(("negative", "neg", "very negative", "strong negative"), NEGATIVE),
    **dict.fromkeys(("1 star", "2 stars", "one star", "two stars", "bad"), NEGATIVE),
    **dict.fromkeys(("neutral", "neu", "mixed", "3 stars", "three stars"), NEUTRAL),
    **dict.fromkeys(("positive", "pos", "very positive", "strong positive"), POSITIVE),
    **dict.fromkeys(("4 stars", "5 stars", "four stars", "five stars", "good"), POSITIVE),
}

KNOWN_MODELS: dict[str, tuple[int, ...]] = {
    # The paper's three models.
    "textattack/bert-base-uncased-SST-2": (NEGATIVE, POSITIVE),
    "textattack/roberta-base-SST-2": (NEGATIVE, POSITIVE),
    "distilbert-base-uncased-finetuned-sst-2-english": (NEGATIVE, POSITIVE),
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": (NEGATIVE, POSITIVE),
    # Model cards say what LABEL_n means.
    "cardiffnlp/twitter-roberta-base-sentiment": (NEGATIVE, NEUTRAL, POSITIVE),
    "textattack/distilbert-base-uncased-SST-2": (NEGATIVE, POSITIVE),
    "textattack/albert-base-v2-SST-2": (NEGATIVE, POSITIVE),
}


@dataclass(frozen=True, slots=True)
class LabelRule:
    """What each class of a model means.

    Attributes:
        classes: the model's names of its classes, in its order.
        meanings: for each class 0 negative, 1 neutral or 2 positive.
        neutral_band: for models without a neutral class: p(positive) strictly within is neutral.
        origin: where the meanings were taken from.
    """

    classes: tuple[str, ...]
    meanings: tuple[int, ...]
    neutral_band: tuple[float, float] = NEUTRAL_BAND
    origin: str = "the model's id2label"

    @property
    def has_neutral(self) -> bool:
        """Whether a class means neutral."""
        return NEUTRAL in self.meanings

    def __str__(self) -> str:
        meanings = ", ".join(
            f"{name} → {LABELS[meaning]}"
            for name, meaning in zip(self.classes, self.meanings, strict=True)
        )
        if self.has_neutral:
            return f"{meanings} (from {self.origin}); probabilities summed, the largest wins"
        low, high = self.neutral_band
        return (
            f"{meanings} (from {self.origin}); neutral where {low:.3g} < p(positive) < {high:.3g}"
        )

    def folded(self, probabilities: Array) -> Array:
        """Probabilities of negative, neutral and positive.

        Args:
            probabilities: shape (texts, classes).

        Returns:
            Shape (texts, 3), classes of one meaning summed.
        """
        folded = np.zeros((len(probabilities), len(LABELS)))
        for column, meaning in enumerate(self.meanings):
            folded[:, meaning] += probabilities[:, column]
        return folded

    def labels(self, probabilities: Array) -> Labels:
        """The label of each text; of equal probabilities the first label wins.

        Args:
            probabilities: shape (texts, classes).

        Raises:
            ScoringError: another number of classes, or values that are no number.
        """
        if probabilities.ndim != 2 or probabilities.shape[1] != len(self.classes):
            raise ScoringError(
                f"probabilities of shape {probabilities.shape} for {len(self.classes)} classes",
                mend="give one row a text and one column a class",
            )
        if not np.isfinite(probabilities).all():
            row = int(np.flatnonzero(~np.isfinite(probabilities).all(axis=1))[0])
            raise ScoringError(
                f"text number {row}: the model's output is not a number (NaN or infinite)",
                mend="check the model's weights and precision",
            )
        folded = self.folded(probabilities)
        if self.has_neutral:
            return np.asarray(folded.argmax(axis=1), dtype=np.int64)
        return self._banded(folded[:, POSITIVE])

    def _banded(self, positive: Array) -> Labels:
        low, high = self.neutral_band
        labels = np.where(positive >= high, POSITIVE, NEUTRAL)
        return np.where(positive <= low, NEGATIVE, labels).astype(np.int64)

    def could_be(
        self, labels: Labels, probabilities: Array, margin: float
    ) -> npt.NDArray[np.bool_]:
        """Whether labels win, or lose by no more than a margin.

        Args:
            labels: shape (texts,).
            probabilities: shape (texts, classes).
            margin: by how much the probability of the label that wins may be larger; where a
                neutral band decides, how far p(positive) may lie beyond the label's end of it.

        Returns:
            Shape (texts,).
        """
        folded = self.folded(probabilities)
        if self.has_neutral:
            own = folded[np.arange(len(labels)), labels]
            return np.asarray(folded.max(axis=1) - own <= margin)
        positive = folded[:, POSITIVE]
        lowest, highest = self._banded(positive - margin), self._banded(positive + margin)
        return np.asarray((lowest <= labels) & (labels <= highest))


def rule_for(
    classes: Sequence[str],
    *,
    model: str = "",
    label_map: Mapping[str, str] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
) -> LabelRule:
    """The rule of a model.

    Args:
        classes: the model's names of its classes, in its order.
        model: its id, looked up in `KNOWN_MODELS`.
        label_map: what a user says the classes mean, by class name or number.
        neutral_band: see `LabelRule`.

    Raises:
        ScoringError: fewer than two or more than five classes, or classes without a meaning.
    """
    names = tuple(str(name) for name in classes)
    if not 2 <= len(names) <= MOST_CLASSES:
        raise ScoringError(
            f"model {model or '(unnamed)'}: has {len(names)} classes",
            mend=f"pass a model of sentence sentiment with 2 to {MOST_CLASSES} classes",
        )
    if not 0 <= neutral_band[0] <= neutral_band[1] <= 1:
        raise ScoringError(
            f"neutral band {neutral_band}", mend="give two numbers, 0 ≤ low ≤ high ≤ 1"
        )
    if label_map is not None:
        meanings, origin = _mapped(names, label_map), "--label-map"
    elif model in KNOWN_MODELS and len(KNOWN_MODELS[model]) == len(names):
        meanings, origin = list(KNOWN_MODELS[model]), "the table of well-known models"
    else:
        meanings, origin = [_meaning(name) for name in names], "the model's id2label"
    unknown = [name for name, meaning in zip(names, meanings, strict=True) if meaning is None]
    if unknown:
        example = ",".join(f"{name}=negative|neutral|positive" for name in unknown)
        raise ScoringError(
            f"model {model or '(unnamed)'}: nothing says what {', '.join(unknown)} means",
            mend=f"say it: --label-map {example}",
        )
    known = tuple(meaning for meaning in meanings if meaning is not None)
    if not {NEGATIVE, POSITIVE} <= set(known):
        raise ScoringError(
            f"model {model or '(unnamed)'}: classes {', '.join(names)} lack negative or positive",
            mend="pass a sentiment model, or say what its classes mean with --label-map",
        )
    return LabelRule(names, known, neutral_band, origin)


def _meaning(name: str) -> int | None:
    return _MEANINGS.get(re.sub(r"[\s_-]+", " ", name.strip().lower()))


def _mapped(names: Sequence[str], label_map: Mapping[str, str]) -> list[int | None]:
    wrong = [value for value in label_map.values() if value not in LABELS]
    if wrong:
        raise ScoringError(
            f"--label-map: {', '.join(map(repr, wrong))} is no label",
            mend=f"use {', '.join(LABELS)}",
        )
    meanings: list[int | None] = []
    for number, name in enumerate(names):
        label = label_map.get(name, label_map.get(str(number)))
        meanings.append(None if label is None else LABELS.index(label))
    return meanings


def labels_of_predictions(
    predictions: Any, count: int, *, neutral_band: tuple[float, float] = NEUTRAL_BAND
) -> tuple[Labels, str]:
    """Labels from predictions made elsewhere.

    Args:
        predictions: label ids (0 negative, 1 neutral, 2 positive), label names, probabilities of
            shape (cases, 2, 3 or 5) from negative to positive, or what a `text-classification`
            pipeline returns: a dict a text, or a list of dicts.
        count: how many there must be.
        neutral_band: for two classes, see `LabelRule`.

    Returns:
        Label ids, shape (count,), and the rule in words.

    Raises:
        ScoringError: another number of predictions, or one that means nothing.
    """
    predictions = list(predictions)
    if len(predictions) != count:
        raise ScoringError(
            f"{len(predictions)} predictions for {count} references",
            mend="give one prediction a reference, in the same order",
        )
    if not predictions:
        return np.zeros(0, dtype=np.int64), "no predictions"
    first = predictions[0]
    if isinstance(first, (Mapping, list, tuple)) and _is_of_pipeline(first):
        return _labels_of_pipeline(predictions, neutral_band)
    if isinstance(first, str):
        return _labels_of_names(predictions), "label names"
    values = np.asarray(predictions, dtype=np.float64)
    if values.ndim == 1:
        if not np.isin(values, range(len(LABELS))).all():
            bad = values[~np.isin(values, range(len(LABELS)))][0]
            raise ScoringError(
                f"prediction {bad:g} is no label id",
                mend="use 0 negative, 1 neutral, 2 positive, or pass probabilities",
            )
        return values.astype(np.int64), "label ids"
    meanings = {
        2: (NEGATIVE, POSITIVE),
        3: (NEGATIVE, NEUTRAL, POSITIVE),
        5: (NEGATIVE, NEGATIVE, NEUTRAL, POSITIVE, POSITIVE),
    }.get(values.shape[1])
    if values.ndim != 2 or meanings is None:
        raise ScoringError(
            f"predictions of shape {values.shape}",
            mend="pass probabilities of 2, 3 or 5 classes, from negative to positive",
        )
    names = tuple(f"column {number}" for number in range(len(meanings)))
    rule = LabelRule(names, meanings, neutral_band, "the order of the columns")
    return rule.labels(values), str(rule)


def _is_of_pipeline(prediction: Any) -> bool:
    one = prediction if isinstance(prediction, Mapping) else next(iter(prediction), None)
    return isinstance(one, Mapping) and "label" in one


def _labels_of_names(names: Sequence[str]) -> Labels:
    labels = [_meaning(name) for name in names]
    if None in labels:
        bad = names[labels.index(None)]
        raise ScoringError(f"prediction {bad!r} is no label", mend=f"use {', '.join(LABELS)}")
    return np.array(labels, dtype=np.int64)


def _labels_of_pipeline(
    predictions: Sequence[Any], neutral_band: tuple[float, float]
) -> tuple[Labels, str]:
    rows = [[one] if isinstance(one, Mapping) else list(one) for one in predictions]
    names = sorted({str(entry["label"]) for row in rows for entry in row})
    meaning_of = {name: _meaning(name) for name in names}
    if unknown := [name for name, meaning in meaning_of.items() if meaning is None]:
        raise ScoringError(
            f"predictions: nothing says what {', '.join(unknown)} means",
            mend="rename the pipeline's labels to negative, neutral and positive (id2label)",
        )
    folded = np.zeros((len(rows), len(LABELS)))
    for number, row in enumerate(rows):
        for entry in row:
            meaning = meaning_of[str(entry["label"])]
            assert meaning is not None
            folded[number, meaning] += float(entry["score"])
            if len(row) == 1 and NEUTRAL not in meaning_of.values() and meaning != NEUTRAL:
                folded[number, NEGATIVE + POSITIVE - meaning] += 1 - float(entry["score"])
    if NEUTRAL in meaning_of.values():
        rule = LabelRule(LABELS, (NEGATIVE, NEUTRAL, POSITIVE), neutral_band, "the pipeline")
        return rule.labels(folded), str(rule)
    rule = LabelRule(("negative", "positive"), (NEGATIVE, POSITIVE), neutral_band, "the pipeline")
    return rule.labels(folded[:, [NEGATIVE, POSITIVE]]), str(rule)
