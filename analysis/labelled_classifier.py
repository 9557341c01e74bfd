"""A classifier with the rule that turns its class probabilities into labels."""

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
    """A classifier and the rule for its classes' meanings; it predicts a label for each text."""

    classifier: Classifier
    rule: LabelRule

    @classmethod
    def from_classifier(
        cls, classifier: Classifier, label_map: Mapping[str, str] | None = None
    ) -> LabelledClassifier:
        """Take the classes' meanings from the label map or, without one, from their names.

        Raises:
            ScoringError: neither gives the meaning of a class.
        """
        rule = rule_for(classifier.classes, model=classifier.name, label_map=label_map)
        return cls(classifier, rule)

    @classmethod
    def load(
        cls, name: str, *, device: str = "auto", label_map: Mapping[str, str] | None = None
    ) -> LabelledClassifier:
        """Load a classifier by name, in single precision; raise `ScoringError` if there is none."""
        return cls.from_classifier(load_model(name, device=device, dtype="float32"), label_map)

    def labels(self, texts: Sequence[str]) -> Labels:
        """The predicted label of each text, shape (texts,); equal texts are classified once."""
        return self.rule.labels(probabilities_of(self.classifier, texts))

    def likeliest_labels(self, texts: Sequence[str]) -> Labels:
        """The likeliest label of each text among the labels that a class means, shape (texts,)."""
        known_labels = np.unique(self.rule.meanings)
        scores = self.label_scores(texts)[:, known_labels]
        likeliest: Labels = known_labels[scores.argmax(axis=1)]
        return likeliest

    def label_scores(self, texts: Sequence[str]) -> Array:
        """The probability of each label, shape (texts, labels).

        Without a neutral class, neutral scores higher the nearer p(positive) is to the middle of
        the neutral band.
        """
        scores = self.rule.label_probabilities(probabilities_of(self.classifier, texts))
        if not self.rule.has_neutral:
            scores[:, NEUTRAL] = 1 - np.abs(scores[:, POSITIVE] - sum(NEUTRAL_BAND) / 2)
        return scores
