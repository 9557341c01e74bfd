"""Opinions on the sentiment of a text, by two word lists and by the embedded classifier.

Opinions check labels that no annotator confirmed. A word list sees words of praise or blame; the
classifier sees the whole sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from s2lct.builder.language.lexicon import subjectivity, textblob, vader
from s2lct.builder.models import batches_by_length
from s2lct.builder.models.shipped import ENCODER_SHA256, WEIGHTS_SHA256
from s2lct.cache import Cache, predictions
from s2lct.identity import predicting_versions, source_fingerprint
from s2lct.labels import Label

if TYPE_CHECKING:
    from s2lct.builder.models.sentiment_head import SentimentHead

MIN_MEAN: Final = 0.2
"""A text is positive from this mean of the three opinions on, and negative up to -0.2."""
MIN_CLASSIFIER: Final = 0.3
"""The least strength of the classifier's opinion to confirm a label together with a list."""
MIN_CLASSIFIER_ALONE: Final = 0.85
"""The least strength that confirms a label for which no word list has a word."""
MAX_CLASSIFIER_OF_NEUTRAL: Final = 0.5
"""The strength of the classifier's opinion from which on a text is not neutral."""
MAX_SUBJECTIVITY_OF_NEUTRAL: Final = 0.5
"""The subjectivity of its words from which on a text is not neutral."""
TEXT_BATCH_SIZE = 16
"""Texts in a forward pass; copies fill a smaller batch, as its size changes the last digits."""


class Opinion(NamedTuple):
    """Three opinions on a text, each from -1, negative, to 1, positive, and its subjectivity.

    Attributes:
        vader: VADER's compound score.
        textblob: TextBlob's polarity.
        classifier: the embedded classifier's probability of positive minus that of negative.
        subjectivity: how subjective its words are, from 0 to 1.
    """

    vader: float
    textblob: float
    classifier: float
    subjectivity: float

    @property
    def mean(self) -> float:
        """The mean of VADER, TextBlob and the classifier."""
        return (self.vader + self.textblob + self.classifier) / 3

    def confirms(self, label: Label) -> bool:
        """Whether the opinions confirm a label.

        A neutral text has no word that a list calls positive, negative or subjective. A positive or
        negative text without such a word needs a surer classifier: *Mains came at 7.50.* tells of
        bad luck, not of an opinion.
        """
        if label == "neutral":
            has_plain_words = (
                self.vader == 0 == self.textblob and self.subjectivity < MAX_SUBJECTIVITY_OF_NEUTRAL
            )
            return has_plain_words and abs(self.classifier) < MAX_CLASSIFIER_OF_NEUTRAL
        sign = _sign(label)
        has_words = max(sign * self.vader, sign * self.textblob) > 0
        min_classifier = MIN_CLASSIFIER if has_words else MIN_CLASSIFIER_ALONE
        return sign * self.mean >= MIN_MEAN and sign * self.classifier >= min_classifier

    def is_unanimous(self, label: Label) -> bool:
        """Whether each word list and the opinions as a whole confirm a label; False for neutral."""
        list_scores = _sign(label) * self.vader, _sign(label) * self.textblob
        return min(list_scores) > 0 and self.confirms(label)

    def contradicts(self, label: Label) -> bool:
        """Whether the opinions show that a label is wrong."""
        return _sign(label) * self.mean <= -MIN_MEAN or (
            label == "neutral" and abs(self.mean) >= MIN_MEAN
        )


def _sign(label: Label) -> int:
    return {"positive": 1, "negative": -1}.get(label, 0)


def opinions(texts: Sequence[str]) -> dict[str, Opinion]:
    """The opinion on each text; known ones are taken from the cache."""
    versions = predicting_versions()
    code = source_fingerprint("s2lct.builder.models", "s2lct.builder.language")
    weights = WEIGHTS_SHA256["sentiment_3class.safetensors"]
    model = f"opinions {versions} {weights} {ENCODER_SHA256} {code}"
    with Cache() as cache:
        cached = predictions(cache, model, texts, _compute_opinions)
    return {text: Opinion(*json.loads(opinion)) for text, opinion in cached.items()}


def _compute_opinions(texts: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    scorers = vader(), textblob(), subjectivity
    for index, class_difference in classifier_opinions(texts):
        compound, polarity, subjective = (scorer(texts[index]) for scorer in scorers)
        values = compound, polarity, class_difference, subjective
        yield texts[index], json.dumps([round(value, 4) for value in values]).encode()


def classifier_opinions(texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    """The index of each text with its probability of positive minus that of negative."""
    import torch

    from s2lct.builder.models.encoder import hidden_layers
    from s2lct.builder.models.sentiment_head import MAX_PIECES, pooled_features

    tokenizer, head = _classifier()
    options = {"truncation": True, "max_length": MAX_PIECES}
    encoded: list[list[int]] = tokenizer(list(texts), **options)["input_ids"]
    for batch in batches_by_length(
        range(len(texts)), list(map(len, encoded)), lambda _: TEXT_BATCH_SIZE
    ):
        rows = [encoded[index] for index in batch]
        ids = torch.tensor(rows + rows[-1:] * (TEXT_BATCH_SIZE - len(rows)))
        mask = torch.ones_like(ids)
        with torch.inference_mode():
            logits = head(pooled_features(hidden_layers(ids, mask), mask))
        negative, _, positive = logits.softmax(dim=-1)[: len(rows)].T
        yield from zip(batch, (positive - negative).tolist(), strict=True)


@cache
def _classifier() -> tuple[Any, SentimentHead]:
    from s2lct.builder.models.encoder import installed_tokenizer
    from s2lct.builder.models.sentiment_head import CLASSES, head_path, load_head
    from s2lct.builder.models.shipped import verified_weights

    name = "embedded-3class"
    return installed_tokenizer(), load_head(verified_weights(head_path(name)), CLASSES[name]).eval()
