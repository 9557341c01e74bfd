"""Published word lists that give a text a sentiment, independent of how suites are made.

VADER (Hutto and Gilbert 2014) and TextBlob, which has the lexicon of Pattern (De Smedt and
Daelemans 2012), add up the scores of words. They guard a suite's labels, and are baselines too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from statistics import fmean

Score = Callable[[str], float]


@dataclass(frozen=True)
class Scorer:
    """Gives a text a sentiment between -1 and 1.

    Attributes:
        name: as models are named.
        package: that holds its word list.
        load: loads it.
    """

    name: str
    package: str
    load: Callable[[], Score]

    @property
    def described(self) -> dict[str, str]:
        """Its name and the version of its package, for ``suite.json``."""
        return {"name": self.name, "package": self.package, "version": version(self.package)}


def _vader() -> Score:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return lambda text: float(analyzer.polarity_scores(text)["compound"])


def _textblob() -> Score:
    from textblob import TextBlob

    return lambda text: float(TextBlob(text).sentiment.polarity)


VADER = Scorer("vader", "vaderSentiment", _vader)
TEXTBLOB = Scorer("textblob", "textblob", _textblob)
SCORERS: Mapping[str, Scorer] = {one.name: one for one in (VADER, TEXTBLOB)}


@cache
def _loaded() -> tuple[Score, ...]:
    return tuple(one.load() for one in SCORERS.values())


def shift(text: str, longer: str) -> float:
    """How far a longer form of a text is from it in sentiment, from 0 to 2: the scorers' mean.

    One that averages over the words it knows moves with any of them; both move with an opinion.
    """
    return fmean(abs(score(longer) - score(text)) for score in _loaded())


def subjectivity(text: str) -> float:
    """How subjective words are, from 0 to 1, by the lexicon of Pattern; 0 for unknown ones."""
    from textblob import TextBlob

    return float(TextBlob(text).sentiment.subjectivity)
