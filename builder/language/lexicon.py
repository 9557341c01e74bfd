"""The sentiment of words and texts by published word lists, and which words are safe to insert.

SentiWordNet (Baccianella, Esuli & Sebastiani 2010) gives every *sense* of a word a positive and
a negative score. One sentiment for each (word, part of speech) follows from the rules of Colhon
et al. (2017), as the S2LCT paper uses them to validate the words a language model suggests.

VADER (Hutto and Gilbert 2014) and TextBlob, which has the lexicon of Pattern (De Smedt and
Daelemans 2012), add up the scores of words of a text. They guard a suite's labels, independent of
how it is made, and are baselines too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, get_args

import yaml

from s2lct.builder.language import DATA, listed
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

Score = Callable[[str], float]
Pos = Literal["adj", "adv", "noun", "verb"]
Sentiment = Literal["positive", "negative", "neutral"]
POSES: Final[tuple[Pos, ...]] = get_args(Pos)

OPINIONATED: Final = 0.25
"""From this absolute score on, a word counts as opinionated whatever its part of speech."""
STRONG: Final = 0.5
"""From this absolute score on, SentiWordNet alone makes a word an opinion."""
SHIPPED: Final = DATA / "sentiwordnet.parquet"
laden_words = functools.partial(listed, "laden_words.txt")
"""What VADER or Pattern have for opinions: see ``scripts/compute_laden_words.py``."""
_POS_OF_TAG: Final[dict[str, Pos]] = {
    **dict.fromkeys(("JJ", "JJR", "JJS"), "adj"),
    **dict.fromkeys(("NN", "NNS"), "noun"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "verb"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "adv"),
}


FUNCTION_TAGS: Final = words("DT PDT WDT IN TO PRP PRP$ WP WP$ CC MD EX RP WRB CD POS")
"""Closed-class tags of the Penn Treebank."""

_LISTS: Final[dict[str, Any]] = yaml.safe_load(
    (DATA / "lexicon_words.yaml").read_text(encoding="utf-8")
)
CLOSED_CLASS: Final = words(_LISTS["closed_class"])
"""Words of closed classes that are nothing else; they are never looked up as anything else."""
_NUMERALS: Final = words(_LISTS["numerals"])
FUNCTION_WORDS: Final = CLOSED_CLASS | _NUMERALS | words(_LISTS["function_words"])
"""Words that a closed-class tag is believed for; some are nouns, verbs or adjectives elsewhere."""
POLARITY_SHIFTERS: Final = words(" ".join(_LISTS["polarity_shifters"].values()))
"""Words that can turn, weaken, suspend or contrast the sentiment of what they stand with.
None is ever inserted, whatever its tag."""
_NEGATORS: Final = words(_LISTS["polarity_shifters"]["negators"])
ASSERTIVE: Final = words(_LISTS["assertive"])
"""Words that stand under no negation."""
DENIED_ALONE: Final = words(_LISTS["denied_alone"])
"""Words that a denial may deny alone."""
POSTDETERMINERS: Final = words(_LISTS["postdeterminers"])
FOCUSING: Final = words(_LISTS["focusing"])
_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "NNS": ("s", "men", "people"),
    "VBZ": ("s",),
    "VBG": ("ing",),
    "VBD": ("ed",),
    "VBN": ("ed", "en"),
    "JJR": ("er",),
    "JJS": ("est",),
    "RBR": ("er",),
    "RBS": ("est",),
}
_NUMBER: Final = re.compile(r"\d+([.,]\d+)*")


class Entry(NamedTuple):
    """What the lexicon knows of one (word, part of speech).

    Attributes:
        score: rank-weighted mean of positive minus negative, in [-1, 1], to four decimals.
        pure_neutral: whether every sense is neither positive nor negative at all.
        senses: how many senses the word has.
    """

    score: float
    pure_neutral: bool
    senses: int


class Lexicon:
    """Sentiment of words by part of speech.

    Over a word's senses with ranks r = 1, 2, …, the score is Σ((pos - neg)/r) / Σ(1/r): positive
    above 0, negative below 0, neutral otherwise (Colhon et al. 2017). *Pure* neutral is a word
    all of whose senses have positive = negative = 0.

    Words are looked up lower-cased, by lemma first and then by form. Single letters and the
    words of `CLOSED_CLASS` are never looked up as noun, adjective or verb.
    """

    def __init__(self, entries: Mapping[tuple[str, Pos], Entry]) -> None:
        """Take the entries of (lower-cased word, part of speech)."""
        self.entries = dict(entries)

    @staticmethod
    @functools.cache
    def load() -> Lexicon:
        """The shipped table, which ``scripts/compute_lexicon.py`` computes."""
        columns = read_parquet(SHIPPED.read_bytes(), shipped=True).to_pydict()
        words = zip(columns["word"], columns["pos"], strict=True)
        scores = (round(score, 4) for score in columns["score"])
        entries = map(Entry, scores, columns["pure_neutral"], columns["senses"])
        return Lexicon(dict(zip(words, entries, strict=True)))

    @staticmethod
    def pos_of_tag(tag: str) -> Pos | None:
        """Part of speech of a Penn Treebank tag; None for names, modals and closed classes."""
        return _POS_OF_TAG.get(tag)

    def score(self, word: str, pos: Pos, lemma: str | None = None) -> float | None:
        """Score in [-1, 1], None if neither lemma nor form is listed."""
        entry = self._find(word, pos, lemma)
        return None if entry is None else entry.score

    def sentiment(self, word: str, pos: Pos, lemma: str | None = None) -> Sentiment | None:
        """Sentiment, None if neither lemma nor form is listed."""
        score = self.score(word, pos, lemma)
        if score is None:
            return None
        return "positive" if score > 0 else "negative" if score < 0 else "neutral"

    def is_neutral(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word with a tag is neutral, as the paper has it.

        A noun, adjective, verb or adverb is neutral if its score is 0, by its form or, where that
        is not listed, by its lemma; one that SentiWordNet does not list is not known to be. Words
        of closed classes have no sentiment there.
        """
        pos = self.pos_of_tag(tag)
        if pos is None:
            return tag in FUNCTION_TAGS
        return self.sentiment(lemma, pos, word) == "neutral"

    def is_neutral_insertion(self, word: str, tag: str, lemma: str) -> bool:
        """Whether inserting a word leaves the sentiment of a sentence alone.

        A noun, adjective, verb or adverb is inserted if SentiWordNet lists it for that part of
        speech as pure neutral (no sense has any positive or negative score), by its form or else
        by its lemma, and neither reaches an absolute score of 0.25 as another part of speech:
        a reader does not know which one is meant. Nor may another list have it for an opinion:
        SentiWordNet knows no feeling in "predictable" or "massive". A single letter is not a word,
        and a pronoun, determiner, conjunction or preposition is no noun, adjective or verb that is
        spelt alike. A word with a closed-class tag is inserted if it is a known function word or
        a number. Negators, diminishers, hedges, contrast and other polarity shifters are never
        inserted, nor are names, interjections, symbols and punctuation.
        """
        form, lemma = _normalise(word), _normalise(lemma)
        if is_polarity_shifter(form) or is_polarity_shifter(lemma):
            return False
        pos = self.pos_of_tag(tag)
        if pos is None:
            return tag in FUNCTION_TAGS and _is_function_word(form, tag)
        if len(form) <= 1 or (pos != "adv" and form in CLOSED_CLASS):
            return False
        spellings = {form, lemma}
        if not laden_words().isdisjoint(spellings):
            return False
        listed = self._find(lemma, pos, form)
        if listed is None or not listed.pure_neutral:
            return False
        return not any(
            (entry := self._find(spelling, other, None))
            and not entry.pure_neutral
            and abs(entry.score) >= OPINIONATED
            for spelling in spellings
            for other in POSES
        )

    def is_laden(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word that is no name or function word carries an opinion, by any list."""
        pos = self.pos_of_tag(tag)
        if pos is None:
            return False
        strong = abs(self.score(word, pos, lemma) or 0) >= STRONG
        return strong or not laden_words().isdisjoint({_normalise(word), _normalise(lemma)})

    def leaves_sentiment(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word may be inserted or left out: a name, a sign within words, or neutral."""
        return not is_polarity_shifter(word) and (
            tag in ("NNP", "NNPS", "POS", "HYPH", ",")
            or self.is_neutral_insertion(word, tag, lemma)
        )

    def leaves_label(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word turns no opinion and has none; that it makes one stronger is no matter."""
        from vaderSentiment.vaderSentiment import BOOSTER_DICT

        amplifies = BOOSTER_DICT.get(_normalise(word), 0) > 0
        return not is_polarity_shifter(word) and (amplifies or not self.is_laden(word, tag, lemma))

    def may_fit(self, word: str, tag: str) -> bool:
        """Whether a word may be inserted with a tag, by its spelling alone; False is certain.

        One with an inflected tag that is not listed must end as such words do, or be listed as no
        part of speech: it waits for its lemma, which is not known here.
        """
        form, pos = _normalise(word), self.pos_of_tag(tag)
        if pos is None:
            return _is_function_word(form, tag) and self.is_neutral_insertion(word, tag, word)
        if (form, pos) in self.entries:
            return self.is_neutral_insertion(word, tag, word)
        if tag not in _ENDINGS or (pos != "adv" and (len(form) == 1 or form in CLOSED_CLASS)):
            return False
        fits = form.endswith(_ENDINGS[tag]) or form not in self._forms
        return fits and not is_polarity_shifter(form)

    @functools.cached_property
    def _forms(self) -> frozenset[str]:
        return frozenset(form for form, _ in self.entries)

    def _find(self, word: str, pos: Pos, lemma: str | None) -> Entry | None:
        for spelling in (lemma, word):
            if spelling is None:
                continue
            spelling = _normalise(spelling)
            if pos != "adv" and (len(spelling) == 1 or spelling in CLOSED_CLASS):
                continue
            if entry := self.entries.get((spelling, pos)):
                return entry
        return None


def fitting_words(words: tuple[str, ...], tag: str, lexicon: Lexicon) -> frozenset[str]:
    """Words that the tables let pass for a tag: what else is suggested would be rejected."""
    return frozenset(word for word in words if lexicon.may_fit(word, tag))


@functools.lru_cache(maxsize=1 << 16)
def is_polarity_shifter(word: str) -> bool:
    """Whether a word, or a part of a hyphenated one, is in `POLARITY_SHIFTERS` or ends in n't."""
    word = _normalise(word)
    return (
        word in POLARITY_SHIFTERS
        or word.endswith("n't")
        or not POLARITY_SHIFTERS.isdisjoint(word.split("-"))
    )


def is_negator(word: str) -> bool:
    """Whether a word negates what it stands with."""
    return _normalise(word) in _NEGATORS or _normalise(word).endswith("n't")


def _is_function_word(form: str, tag: str) -> bool:
    if tag == "CD":
        return bool(_NUMBER.fullmatch(form)) or _NUMERALS.issuperset(form.split("-"))
    return form in FUNCTION_WORDS


def _normalise(word: str) -> str:
    return word.lower().replace("\u2019", "'")


@functools.cache
def vader() -> Score:
    """VADER's compound score of a text, between -1 and 1."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return lambda text: float(analyzer.polarity_scores(text)["compound"])


def textblob() -> Score:
    """TextBlob's polarity of a text, between -1 and 1."""
    # A TextBlob would make a class for every answer.
    from textblob.en import polarity

    return lambda text: float(polarity(text))


SCORERS = (vader, textblob)
Scores = Callable[[Iterable[str]], list[tuple[float, ...]]]


def scores(texts: Iterable[str]) -> list[tuple[float, ...]]:
    """What each of `SCORERS` finds of texts."""
    return [tuple(score()(text) for score in SCORERS) for text in texts]


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """How far the `scores` of two texts are from each other, from 0 to 2: the scorers' mean.

    One that averages over the words it knows moves with any of them; both move with an opinion.
    """
    return fmean(abs(second - first) for first, second in zip(one, other, strict=True))


def subjectivity(text: str) -> float:
    """How subjective words are, from 0 to 1, by the lexicon of Pattern; 0 for unknown ones."""
    from textblob.en import subjectivity as of_pattern

    return float(of_pattern(text))
