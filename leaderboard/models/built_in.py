"""Models that add up the scores of words: VADER, TextBlob and AFINN."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from s2lct.builder.language.lexicon import textblob, vader
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.models.model import Batch, Classifier, ModelFacts, package_licence


class _WordListSource(NamedTuple):
    package: str
    load: Callable[[], Callable[[str], float]]
    threshold: float = 0.0


def _afinn() -> Callable[[str], float]:
    from afinn import Afinn

    afinn = Afinn()
    return lambda text: float(afinn.score(text))


WORD_LISTS = {
    # The threshold is VADER's own (Hutto & Gilbert 2014).
    "vader": _WordListSource("vaderSentiment", vader, 0.05),
    "textblob": _WordListSource("textblob", textblob),
    "afinn": _WordListSource("afinn", _afinn),
}


class WordList(Classifier):
    """A model of `WORD_LISTS`, which scores a text by its words.

    A text is positive if its score is at least the threshold, negative if it is at most minus the
    threshold, else neutral. With a threshold of 0 only the score 0 is neutral.
    """

    classes = LABELS

    def __init__(self, name: str) -> None:
        self.name = name
        self._source = WORD_LISTS[name]
        package, load, threshold = self._source
        self.revision = version(package)
        # Package and version stand for weights.
        self.weights_sha256 = hashlib.sha256(f"{package} {self.revision}".encode()).hexdigest()
        scorer = f"{load.__module__}.{load.__qualname__}"
        self.fingerprint = fingerprint_of(
            [name, package, self.revision, scorer, threshold, self.classes]
        )

    @property
    def facts(self) -> ModelFacts:
        """The licence of the package; nothing else is known."""
        return ModelFacts(licence=package_licence(self._source.package))

    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Probability 1 of the text's label, and 0 of the others."""
        score_of = self._source.load()
        scores = np.array([score_of(text) for text in texts])
        scores[np.abs(scores) < self._source.threshold] = 0
        yield list(range(len(texts))), np.eye(len(self.classes))[np.sign(scores).astype(int) + 1]
