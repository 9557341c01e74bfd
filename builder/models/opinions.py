"""What cheap judges of sentiment think of a text: two word lists, and the embedded classifier.

They guard labels that nobody read. Each sees what the others do not: word lists a word of praise
or blame, the classifier the sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from s2lct.builder.language.lexicon import subjectivity, textblob, vader
from s2lct.builder.models import same_lengths
from s2lct.builder.models.shipped import ENCODER_SHA256, SHA256
from s2lct.cache import Cache, predictions
from s2lct.identity import predicting_versions, source_fingerprint
from s2lct.labels import Label

if TYPE_CHECKING:
    from s2lct.builder.models.sentiment_head import SentimentHead

LEANS: Final = 0.2
"""From this mean of the three on a text is clearly positive, and below its negative negative."""
CLEAR: Final = 0.3
"""So far the classifier's own opinion must lean with it."""
SURE: Final = 0.85
"""So far it must lean where neither word list does."""
UNDECIDED: Final = 0.5
"""A text is neutral where the classifier prefers neither side by so much, …"""
SUBJECTIVE: Final = 0.5
"""… and its words are less subjective than this."""
ROWS = 16
"""Texts of a forward pass, filled up with copies: an opinion depends on its text alone."""


class Opinion(NamedTuple):
    """Opinions of a text, each from -1, negative, to 1, positive.

    Attributes:
        vader: VADER's compound score.
        textblob: TextBlob's polarity.
        classifier: the embedded classifier's probability of positive less that of negative.
        subjective: how subjective its words are, from 0 to 1.
    """

    vader: float
    textblob: float
    classifier: float
    subjective: float

    @property
    def mean(self) -> float:
        """Of the three."""
        return (self.vader + self.textblob + self.classifier) / 3

    def bears_out(self, label: Label) -> bool:
        """Whether a text shows by itself that a label is right.

        A neutral one has no word that either list calls praise, blame or subjective. What has no
        word for its label either may tell of bad luck, and not of a view: *Mains came at 7.50.*
        """
        if label == "neutral":
            plain = self.vader == 0 == self.textblob and self.subjective < SUBJECTIVE
            return plain and abs(self.classifier) < UNDECIDED
        sign = _sign(label)
        has_words = max(sign * self.vader, sign * self.textblob) > 0
        least = CLEAR if has_words else SURE
        return sign * self.mean >= LEANS and sign * self.classifier >= least

    def is_unanimous(self, label: Label) -> bool:
        """Whether it bears out a label with words in both lists; none speak for a neutral one."""
        lists = _sign(label) * self.vader, _sign(label) * self.textblob
        return min(lists) > 0 and self.bears_out(label)

    def contradicts(self, label: Label) -> bool:
        """Whether a text shows by itself that a label is wrong."""
        return _sign(label) * self.mean <= -LEANS or (
            label == "neutral" and abs(self.mean) >= LEANS
        )


def _sign(label: Label) -> int:
    return {"positive": 1, "negative": -1}.get(label, 0)


def opinions(texts: Sequence[str]) -> dict[str, Opinion]:
    """The opinion of each text; what was asked before is looked up."""
    versions = predicting_versions()
    code = source_fingerprint("s2lct.builder.models", "s2lct.builder.language")
    model = f"opinions {versions} {SHA256['sentiment_3class.safetensors']} {ENCODER_SHA256} {code}"
    with Cache() as kept:
        found = predictions(kept, model, texts, _asked)
    return {text: Opinion(*json.loads(opinion)) for text, opinion in found.items()}


def _asked(texts: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    lists = vader(), textblob(), subjectivity
    for number, classified in by_classifier(texts):
        score, polarity, subjective = (opinion(texts[number]) for opinion in lists)
        found = score, polarity, classified, subjective
        yield texts[number], json.dumps([round(each, 4) for each in found]).encode()


def by_classifier(texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    """The number of each text, and how much likelier it is to be positive than negative."""
    import torch

    from s2lct.builder.models.encoder import hidden_layers
    from s2lct.builder.models.sentiment_head import MAX_PIECES, pooled

    tokenizer, head = _classifier()
    options = {"truncation": True, "max_length": MAX_PIECES}
    encoded: list[list[int]] = tokenizer(list(texts), **options)["input_ids"]
    for batch in same_lengths(range(len(texts)), list(map(len, encoded)), lambda _: ROWS):
        rows = [encoded[number] for number in batch]
        ids = torch.tensor(rows + rows[-1:] * (ROWS - len(rows)))
        seen = torch.ones_like(ids)
        with torch.inference_mode():
            logits = head(pooled(hidden_layers(ids, seen), seen))
        negative, _, positive = logits.softmax(dim=-1)[: len(rows)].T
        yield from zip(batch, (positive - negative).tolist(), strict=True)


@cache
def _classifier() -> tuple[Any, SentimentHead]:
    from s2lct.builder.models.encoder import installed_tokenizer
    from s2lct.builder.models.sentiment_head import CLASSES, head_path, load_head
    from s2lct.builder.models.shipped import shipped

    name = "embedded-3class"
    return installed_tokenizer(), load_head(shipped(head_path(name)), CLASSES[name]).eval()
