"""A model with the rule that reads labels off its classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import NEUTRAL, NEUTRAL_BAND, POSITIVE, Labels, rule_for
from s2lct.leaderboard.answers.predictions import Array, labels_of_predictions
from s2lct.leaderboard.models.classifier import Classifier, Function
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.ask import probabilities_of


def load_model(name: str, *, device: str = "auto") -> Classifier:
    """A classifier by name, in single precision; networks give gradients.

    Raises:
        ScoringError: there is no such model, or it cannot be used.
    """
    return load_classifier(name, device=device, dtype="float32")


class Judge:
    """A model, or a function from texts to labels, with the rule that reads labels off its classes.

    The label map says what the classes mean, where the model does not; for models without a neutral
    class see `LabelRule`.

    Raises:
        ScoringError: the model's classes cannot be used.
    """

    def __init__(
        self,
        model: Classifier | Function,
        *,
        label_map: Mapping[str, str] | None = None,
        neutral_band: tuple[float, float] = NEUTRAL_BAND,
    ) -> None:
        self.model, self._label_map, self._band = model, label_map, neutral_band
        self.rule = None
        if not isinstance(model, Function):
            self.rule = rule_for(
                model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
            )

    def __str__(self) -> str:
        return "labels of a function" if self.rule is None else str(self.rule)

    def labels(self, texts: Sequence[str]) -> Labels:
        """What the model says of each text; equal texts are asked once."""
        if self.rule is not None and not isinstance(self.model, Function):
            return self.rule.labels(probabilities_of(self.model, texts))
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return np.zeros(0, dtype=np.int64)
        labels, _ = labels_of_predictions(
            self.model.predict(distinct),  # type: ignore[union-attr]
            len(distinct),
            neutral_band=self._band,
            classes=self.model.classes,
            label_map=self._label_map,
        )
        said = dict(zip(distinct, labels, strict=True))
        return np.array([said[text] for text in texts], dtype=np.int64)

    def likeliest(self, texts: Sequence[str]) -> Labels:
        """The likeliest label of each text among those that the model has a class for."""
        labels = np.arange(len(LABELS)) if self.rule is None else np.unique(self.rule.meanings)
        found: Labels = labels[self.supports(texts)[:, labels].argmax(axis=1)]
        return found

    def supports(self, texts: Sequence[str]) -> Array:
        """How strongly the model holds each label of each text, in [0, 1], shape (texts, labels).

        The labels' probabilities. Where a model has no neutral class, its neutral is the nearer to
        1 the nearer p(positive) is to the middle of the band; where it tells labels alone, 1 or 0.
        """
        if self.rule is None or isinstance(self.model, Function):
            return np.eye(len(LABELS))[self.labels(texts)]
        held = self.rule.folded(probabilities_of(self.model, texts))
        if not self.rule.has_neutral:
            held[:, NEUTRAL] = 1 - np.abs(held[:, POSITIVE] - sum(self._band) / 2)
        return held

    def support(self, texts: Sequence[str], labels: Iterable[int]) -> Array:
        """How strongly the model holds a label of each text, see `supports`; shape (texts,)."""
        held: Array = self.supports(texts)[np.arange(len(texts)), list(labels)]
        return held
