"""A model with the rule that reads labels off its classes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from s2lct.labels import NEUTRAL, NEUTRAL_BAND, POSITIVE
from s2lct.leaderboard.answers.label_rules import Array, Labels, rule_for
from s2lct.leaderboard.models.classifier import Classifier
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.score import probabilities_of


def load_model(name: str, *, device: str = "auto") -> Classifier:
    """A classifier by name, in single precision; networks give gradients.

    Raises:
        ScoringError: there is no such model, or it cannot be used.
    """
    return load_classifier(name, device=device, dtype="float32")


class Judge:
    """A model with the rule that reads labels off its classes.

    The label map says what the classes mean, where the model does not; for models without a neutral
    class see `LabelRule`.

    Raises:
        ScoringError: the model's classes cannot be used.
    """

    def __init__(
        self,
        model: Classifier,
        *,
        label_map: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.rule = rule_for(model.classes, model=model.name, label_map=label_map)

    def __str__(self) -> str:
        return str(self.rule)

    def with_model(self, model: Classifier) -> Judge:
        """The same rule for another model of these classes."""
        other = copy.copy(self)
        other.model = model
        return other

    def labels(self, texts: Sequence[str]) -> Labels:
        """What the model predicts of each text; equal texts are asked once."""
        return self.rule.labels(probabilities_of(self.model, texts))

    def likeliest(self, texts: Sequence[str]) -> Labels:
        """The likeliest label of each text among those that the model has a class for."""
        labels = np.unique(self.rule.meanings)
        found: Labels = labels[self.supports(texts)[:, labels].argmax(axis=1)]
        return found

    def supports(self, texts: Sequence[str]) -> Array:
        """How strongly the model holds each label of each text, in [0, 1], shape (texts, labels).

        The labels' probabilities. Where a model has no neutral class, its neutral is the nearer to
        1 the nearer p(positive) is to the middle of the band.
        """
        held = self.rule.folded(probabilities_of(self.model, texts))
        if not self.rule.has_neutral:
            held[:, NEUTRAL] = 1 - np.abs(held[:, POSITIVE] - sum(NEUTRAL_BAND) / 2)
        return held

    def support(self, texts: Sequence[str], labels: Iterable[int]) -> Array:
        """How strongly the model holds a label of each text, see `supports`; shape (texts,)."""
        held: Array = self.supports(texts)[np.arange(len(texts)), list(labels)]
        return held
