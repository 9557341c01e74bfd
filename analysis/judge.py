"""A model with the rule that reads labels off its classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from s2lct.leaderboard.answers.label_rules import NEUTRAL, NEUTRAL_BAND, POSITIVE, Labels, rule_for
from s2lct.leaderboard.answers.predictions import Array, labels_of_predictions
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS, Classifier, Function
from s2lct.leaderboard.models.embedded import Embedded
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.network import Network
from s2lct.leaderboard.models.pretrained import usable_device


def load_model(name: str, *, device: str = "auto") -> Classifier:
    """A classifier by name, in single precision; networks, the embedded ones too, give gradients.

    Raises:
        ScoringError: there is no such model, or it cannot be used.
    """
    if name not in EMBEDDED_MODELS:
        return load_classifier(name, device=device, dtype="float32")
    import torch

    from s2lct.leaderboard.models.sentiment_network import embedded_network

    shipped = Embedded(name)
    tokenizer, model = embedded_network(name)
    torch.nn.Module.to(model, usable_device(device))
    network = Network(tokenizer, model, name)
    network.revision, network.fingerprint = shipped.revision, shipped.fingerprint
    return network


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
        self.model = model
        self._band = neutral_band
        self._label_map = label_map
        self.rule = (
            None
            if isinstance(model, Function)
            else rule_for(
                model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
            )
        )

    def __str__(self) -> str:
        return "labels of a function" if self.rule is None else str(self.rule)

    def labels(self, texts: Sequence[str]) -> Labels:
        """What the model says of each text; equal texts are asked once."""
        return self._asked(texts)[0]

    def support(self, texts: Sequence[str], labels: Iterable[int]) -> Array:
        """How strongly the model holds a label of each text, in [0, 1], shape (texts,).

        The label's probability. Where a model has no neutral class, its neutral is the nearer to
        1 the nearer p(positive) is to the middle of the band; where it tells labels alone, 1 or 0.
        """
        said, folded = self._asked(texts)
        wanted = np.fromiter(labels, dtype=np.int64, count=len(texts))
        if folded is None or self.rule is None:
            alone: Array = (said == wanted).astype(np.float64)
            return alone
        held: Array = folded[np.arange(len(texts)), wanted]
        if not self.rule.has_neutral:
            middle = sum(self._band) / 2
            held = np.where(wanted == NEUTRAL, 1 - np.abs(folded[:, POSITIVE] - middle), held)
        return held

    def _asked(self, texts: Sequence[str]) -> tuple[Labels, Array | None]:
        distinct = list(dict.fromkeys(texts))
        number_of = {text: number for number, text in enumerate(distinct)}
        places = np.fromiter((number_of[text] for text in texts), dtype=np.int64, count=len(texts))
        if not distinct:
            return np.zeros(0, dtype=np.int64), None
        if isinstance(self.model, Function) or self.rule is None:
            said = self.model.predict(distinct)  # type: ignore[union-attr]
            labels, _ = labels_of_predictions(
                said,
                len(distinct),
                neutral_band=self._band,
                classes=self.model.classes,
                label_map=self._label_map,
            )
            return labels[places], None
        probabilities = np.empty((len(distinct), len(self.model.classes)))
        for numbers, batch in self.model.probabilities(distinct):
            probabilities[numbers] = batch
        return (
            self.rule.labels(probabilities)[places],
            self.rule.folded(probabilities)[places],
        )
