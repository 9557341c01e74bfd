"""A classifier with the rule that reads labels off its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from s2lct.labels import NEUTRAL, NEUTRAL_BAND, POSITIVE
from s2lct.leaderboard.answers.label_rules import Array, LabelRule, Labels, rule_for
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.model import Classifier, probabilities_of


@dataclass(frozen=True)
class LabelledClassifier:
    """A classifier and what its classes mean; texts in, labels out."""

    classifier: Classifier
    rule: LabelRule

    @classmethod
    def of(
        cls, classifier: Classifier, label_map: Mapping[str, str] | None = None
    ) -> LabelledClassifier:
        """A classifier whose classes mean what the map or, without one, their names say.

        A `ScoringError` is raised where they do not say it.
        """
        rule = rule_for(classifier.classes, model=classifier.name, label_map=label_map)
        return cls(classifier, rule)

    @classmethod
    def load(
        cls, name: str, *, device: str = "auto", label_map: Mapping[str, str] | None = None
    ) -> LabelledClassifier:
        """Load a classifier by name, in single precision; a `ScoringError` if there is none."""
        return cls.of(load_model(name, device=device, dtype="float32"), label_map)

    def labels(self, texts: Sequence[str]) -> Labels:
        """The label that the classifier predicts for each text; equal texts are asked once."""
        return self.rule.labels(probabilities_of(self.classifier, texts))

    def likeliest_labels(self, texts: Sequence[str]) -> Labels:
        """The likeliest label of each text among those that a class stands for."""
        labels = np.unique(self.rule.meanings)
        likeliest: Labels = labels[self.label_scores(texts)[:, labels].argmax(axis=1)]
        return likeliest

    def label_scores(self, texts: Sequence[str]) -> Array:
        """The probability of each label, shape (texts, labels).

        Without a neutral class, neutral scores higher the nearer p(positive) is to the middle of
        the neutral band.
        """
        scores = self.rule.folded(probabilities_of(self.classifier, texts))
        if not self.rule.has_neutral:
            scores[:, NEUTRAL] = 1 - np.abs(scores[:, POSITIVE] - sum(NEUTRAL_BAND) / 2)
        return scores
