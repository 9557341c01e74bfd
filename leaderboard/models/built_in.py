"""Sums of the scores of words, as models: VADER, TextBlob and AFINN."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from s2lct.builder.language.lexicon import textblob, vader
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import ModelFacts, package_licence


@dataclass(frozen=True)
class WordList:
    """A baseline that adds up the scores of words and needs no weights.

    A text is positive from ``threshold`` on, negative from ``-threshold`` on, else neutral. With
    a threshold of 0 every score but 0 counts.
    """

    name: str
    package: str
    load: Callable[[], Callable[[str], float]]
    threshold: float = 0.0
    classes: tuple[str, ...] = LABELS

    @property
    def revision(self) -> str:
        """Version of the package."""
        return version(self.package)

    @property
    def weights_sha256(self) -> str:
        """Its package and version, hashed: what it has for weights."""
        return hashlib.sha256(f"{self.package} {self.revision}".encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Package, version and threshold decide what it says."""
        loaded_by = f"{self.load.__module__}.{self.load.__qualname__}"
        return fingerprint_of(
            [self.name, self.package, self.revision, loaded_by, self.threshold, self.classes]
        )

    @property
    def facts(self) -> ModelFacts:
        """Its package's licence."""
        return ModelFacts(licence=package_licence(self.package))

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """1 for the label, 0 for the others."""
        score_of = self.load()
        scores = np.array([score_of(text) for text in texts])
        scores[np.abs(scores) < self.threshold] = 0
        yield list(range(len(texts))), np.eye(len(self.classes))[np.sign(scores).astype(int) + 1]


def _afinn() -> Callable[[str], float]:
    from afinn import Afinn

    afinn = Afinn()
    return lambda text: float(afinn.score(text))


WORD_LISTS = {
    # The threshold is VADER's own (Hutto & Gilbert 2014).
    "vader": WordList("vader", "vaderSentiment", vader, 0.05),
    "textblob": WordList("textblob", "textblob", textblob),
    "afinn": WordList("afinn", "afinn", _afinn),
}
