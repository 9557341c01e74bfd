"""The sentiment of words and texts by published word lists, and which words are safe to insert.

SentiWordNet (Baccianella, Esuli & Sebastiani 2010) scores every *sense* of a word. The rules of
Colhon et al. (2017) make one sentiment of them for each word and part of speech, as in the S2LCT
paper. VADER (Hutto and Gilbert 2014) and TextBlob, with the lexicon of Pattern (De Smedt and
Daelemans 2012), score whole texts; they check labels, and are baselines too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, get_args

import yaml

from s2lct.builder.language import DATA, word_list
from s2lct.builder.language.tags import FUNCTION_TAGS, PROPER_NOUNS
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

Scorer = Callable[[str], float]
Pos = Literal["adj", "adv", "noun", "verb"]
Sentiment = Literal["positive", "negative", "neutral"]
POSES: Final[tuple[Pos, ...]] = get_args(Pos)

MIN_OPINION_SCORE: Final = 0.25
"""A word with at least this absolute score is an opinion whatever its part of speech."""
MIN_STRONG_SCORE: Final = 0.5
"""A word with at least this absolute score is an opinion, even if no other list has it."""
LEXICON_FILE: Final = DATA / "sentiwordnet.parquet"
laden_words = functools.partial(word_list, "laden_words.txt")
"""Words that VADER or Pattern list as opinions; ``scripts/compute_laden_words.py`` finds them."""
_POS_OF_TAG: Final[dict[str, Pos]] = {
    **dict.fromkeys(("JJ", "JJR", "JJS"), "adj"),
    **dict.fromkeys(("NN", "NNS"), "noun"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "verb"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "adv"),
}


_LISTS: Final[dict[str, Any]] = yaml.safe_load(
    (DATA / "lexicon_words.yaml").read_text(encoding="utf-8")
)
CLOSED_CLASS: Final = words(_LISTS["closed_class"])
"""Function words that are never nouns, adjectives or verbs; they have no sentiment."""
_NUMERALS: Final = words(_LISTS["numerals"])
FUNCTION_WORDS: Final = CLOSED_CLASS | _NUMERALS | words(_LISTS["function_words"])
"""Words that may be inserted with a closed-class tag."""
_SHIFTERS: Final[Mapping[str, frozenset[str]]] = {
    kind: words(text) for kind, text in _LISTS["polarity_shifters"].items()
}
POLARITY_SHIFTERS: Final = frozenset().union(*_SHIFTERS.values())
"""Words that can turn, weaken, suspend or contrast the sentiment of the words around them.
They are never inserted, whatever their tag."""
NEGATORS: Final = _SHIFTERS["negators"]
"""Words that negate a clause: *not*, *nobody*."""
NEAR_NEGATORS: Final = _SHIFTERS["near_negators"]
"""Words that all but negate a clause: *hardly*."""
_ALL_NEGATORS: Final = NEGATORS | _SHIFTERS["other_negators"]
SEARCH_LISTS: Final[Mapping[str, list[str]]] = {
    name: sorted(words(text) | (NEGATORS | NEAR_NEGATORS if name == "negators" else frozenset()))
    for name, text in _LISTS["search_lists"].items()
}
"""Word lists that search rules of capability files name with $: ``$negators``."""
ASSERTIVE_WORDS: Final = words(_LISTS["assertive"])
"""Words that cannot stand in a negated sentence, such as *some* and *already*."""
WORDS_DENIED_ALONE: Final = words(_LISTS["denied_alone"])
"""Words that a denial may deny instead of the opinion: *not all of it is bad*."""
POSTDETERMINERS: Final = words(_LISTS["postdeterminers"])
"""Quantifiers and ordinals, which say which things a phrase means: *other*, *second*."""
FOCUSING_ADVERBS: Final = words(_LISTS["focusing"])
"""Adverbs that refer to an earlier statement: *also*, *still*."""
_ENDINGS_OF_TAG: Final[Mapping[str, tuple[str, ...]]] = {
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
_TAGS_WITHOUT_SENTIMENT: Final = PROPER_NOUNS | words("POS HYPH ,")
_NUMBER: Final = re.compile(r"\d+([.,]\d+)*")


class Entry(NamedTuple):
    """The sentiment of a word as one part of speech.

    Attributes:
        score: rank-weighted mean of positive minus negative, in [-1, 1], to four decimals.
        is_pure_neutral: whether no sense has any positive or negative score.
        sense_count: the number of senses.
    """

    score: float
    is_pure_neutral: bool
    sense_count: int


class Lexicon:
    """Sentiment of words by part of speech.

    Over a word's senses with ranks r = 1, 2, …, the score is Σ((pos - neg)/r) / Σ(1/r): positive
    above 0, negative below 0, neutral otherwise (Colhon et al. 2017). Words are looked up in lower
    case, by lemma first and then by form; single letters and `CLOSED_CLASS` only as adverbs.
    """

    def __init__(self, entries: Mapping[tuple[str, Pos], Entry]) -> None:
        """Make a lexicon of entries by lower-cased word and part of speech."""
        self.entries = dict(entries)

    @staticmethod
    @functools.cache
    def load() -> Lexicon:
        """The shipped table, which ``scripts/compute_lexicon.py`` computes."""
        columns = read_parquet(LEXICON_FILE.read_bytes(), shipped=True).to_pydict()
        words = zip(columns["word"], columns["pos"], strict=True)
        scores = (round(score, 4) for score in columns["score"])
        entries = map(Entry, scores, columns["pure_neutral"], columns["senses"])
        return Lexicon(dict(zip(words, entries, strict=True)))

    @staticmethod
    def pos_of_tag(tag: str) -> Pos | None:
        """Part of speech of a Penn Treebank tag; None for names, modals and closed classes."""
        return _POS_OF_TAG.get(tag)

    def score(self, word: str, pos: Pos, lemma: str | None = None) -> float | None:
        """The score of a word in [-1, 1]; None if neither its lemma nor its form is listed."""
        entry = self._find(word, pos, lemma)
        return None if entry is None else entry.score

    def sentiment(self, word: str, pos: Pos, lemma: str | None = None) -> Sentiment | None:
        """The sentiment of a word; None if neither its lemma nor its form is listed."""
        score = self.score(word, pos, lemma)
        if score is None:
            return None
        return "positive" if score > 0 else "negative" if score < 0 else "neutral"

    def is_neutral(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word is neutral as the paper defines it: its score is 0, by form, then lemma.

        A content word that SentiWordNet does not list is not neutral; words of closed classes are.
        """
        pos = self.pos_of_tag(tag)
        if pos is None:
            return tag in FUNCTION_TAGS
        return self.sentiment(lemma, pos, word) == "neutral"

    def is_neutral_insertion(self, word: str, tag: str, lemma: str) -> bool:
        """Whether inserting a word leaves the sentiment of a sentence as it is.

        A noun, adjective, verb or adverb must be pure neutral in SentiWordNet, its form or else its
        lemma, be no opinion as another part of speech, since a reader does not know which is meant,
        and not be in `laden_words`: SentiWordNet knows no feeling in *predictable*. With a
        closed-class tag, a word must be a known function word or a number. Polarity shifters,
        names, interjections, symbols and punctuation are never inserted.
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
        entry = self._find(lemma, pos, form)
        if entry is None or not entry.is_pure_neutral:
            return False
        return not any(
            (other_entry := self._find(spelling, other_pos, None))
            and not other_entry.is_pure_neutral
            and abs(other_entry.score) >= MIN_OPINION_SCORE
            for spelling in spellings
            for other_pos in POSES
        )

    def is_laden(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a noun, adjective, verb or adverb is an opinion by any of the word lists."""
        pos = self.pos_of_tag(tag)
        if pos is None:
            return False
        strong = abs(self.score(word, pos, lemma) or 0) >= MIN_STRONG_SCORE
        return strong or not laden_words().isdisjoint({_normalise(word), _normalise(lemma)})

    def keeps_sentiment(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a sentence keeps its sentiment if a word is inserted or left out.

        So it is for names, *'s*, hyphens, commas and neutral words.
        """
        return not is_polarity_shifter(word) and (
            tag in _TAGS_WITHOUT_SENTIMENT or self.is_neutral_insertion(word, tag, lemma)
        )

    def keeps_label(self, word: str, tag: str, lemma: str) -> bool:
        """Whether a word neither is nor turns an opinion; it may strengthen one, as *very* does."""
        from vaderSentiment.vaderSentiment import BOOSTER_DICT

        amplifies = BOOSTER_DICT.get(_normalise(word), 0) > 0
        return not is_polarity_shifter(word) and (amplifies or not self.is_laden(word, tag, lemma))

    def may_be_insertion(self, word: str, tag: str) -> bool:
        """Whether a word may pass `is_neutral_insertion` with a tag, before its lemma is known.

        If False, the word cannot pass. An inflected word that is not listed may pass if it has an
        ending of its tag, such as *-ed*, or is listed as no part of speech.
        """
        form, pos = _normalise(word), self.pos_of_tag(tag)
        if pos is None:
            return _is_function_word(form, tag) and self.is_neutral_insertion(word, tag, word)
        if (form, pos) in self.entries:
            return self.is_neutral_insertion(word, tag, word)
        if tag not in _ENDINGS_OF_TAG or (
            pos != "adv" and (len(form) == 1 or form in CLOSED_CLASS)
        ):
            return False
        fits = form.endswith(_ENDINGS_OF_TAG[tag]) or form not in self._forms
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


def insertable_words(words: tuple[str, ...], tag: str, lexicon: Lexicon) -> frozenset[str]:
    """The words that may be neutral insertions with a tag; see `Lexicon.may_be_insertion`."""
    return frozenset(word for word in words if lexicon.may_be_insertion(word, tag))


@functools.lru_cache(maxsize=1 << 16)
def is_polarity_shifter(word: str) -> bool:
    """Whether a word, or a part of a hyphenated word, shifts polarity, as *but* and *isn't* do."""
    word = _normalise(word)
    return (
        word in POLARITY_SHIFTERS
        or word.endswith("n't")
        or not POLARITY_SHIFTERS.isdisjoint(word.split("-"))
    )


def is_negator(word: str) -> bool:
    """Whether a word negates the words around it: *not*, *isn't*, *zero*."""
    word = _normalise(word)
    return word in _ALL_NEGATORS or word.endswith("n't")


def _is_function_word(form: str, tag: str) -> bool:
    if tag == "CD":
        return bool(_NUMBER.fullmatch(form)) or _NUMERALS.issuperset(form.split("-"))
    return form in FUNCTION_WORDS


def _normalise(word: str) -> str:
    return word.lower().replace("\u2019", "'")


@functools.cache
def vader() -> Scorer:
    """VADER's compound score of a text, between -1 and 1."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return lambda text: float(analyzer.polarity_scores(text)["compound"])


def textblob() -> Scorer:
    """TextBlob's polarity of a text, between -1 and 1."""
    # A TextBlob would make a class for every answer.
    from textblob.en import polarity

    return lambda text: float(polarity(text))


SCORERS = (vader, textblob)
ScoreTexts = Callable[[Iterable[str]], list[tuple[float, ...]]]


def scores(texts: Iterable[str]) -> list[tuple[float, ...]]:
    """The sentiment scores of each text, one by each of `SCORERS`."""
    return [tuple(score()(text) for score in SCORERS) for text in texts]


def score_distance(first_scores: Sequence[float], second_scores: Sequence[float]) -> float:
    """The mean absolute difference of the `scores` of two texts, from 0 to 2."""
    return fmean(abs(right - left) for left, right in zip(first_scores, second_scores, strict=True))


def subjectivity(text: str) -> float:
    """How subjective a text's words are, from 0 to 1, by the lexicon of Pattern."""
    from textblob.en import subjectivity as subjectivity_by_pattern

    return float(subjectivity_by_pattern(text))
