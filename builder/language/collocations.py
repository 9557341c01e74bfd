"""Collocations: which words stand side by side, in English at large and in a corpus.

A word is inserted beside words that writers put it beside. The shipped counts are of web pages and
reviews; a user's corpus adds what only its writers put together: *battery door*.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from s2lct.builder.language import DATA
from s2lct.builder.language.fluency import head_behind
from s2lct.builder.language.lexicon import FOCUSING, POSTDETERMINERS
from s2lct.builder.language.tags import ADJECTIVES, ADVERBS, DEFINITE_WORDS, MODIFIERS
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

if TYPE_CHECKING:
    from s2lct.builder.records import Token

SHIPPED: Final = DATA / "collocations.parquet"
MIN_LOG_GAIN: Final = 2.0
"""Words belong together that stand so seven times (e²) as often as by chance."""
MAX_LOG_GAIN: Final = 6.0
"""An adjective that stands before its noun 400 times (e⁶) as often is part of a name."""
MODIFYING_TAGS: Final = words("JJ NN RB")
"""Tags of words that collocations license; participles hardly ever read well."""
Pair = tuple[str, str]
_RUN = re.compile(r"[a-z'’ -]+")
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
_WITHIN_NOUN_PHRASE = MODIFIERS | ADVERBS | words("CD ,")


def pairs_of(text: str) -> Iterator[Pair]:
    """The neighbouring words of a text, in lower case; none across punctuation or a number."""
    for run in _RUN.findall(text.lower()):
        yield from pairwise(_WORD.findall(run))


@functools.cache
def shipped_pairs() -> Mapping[Pair, float]:
    """How often words stand side by side in a million words of English.

    ``scripts/count_collocations.py`` counts them.
    """
    columns = read_parquet(SHIPPED.read_bytes(), shipped=True).to_pydict()
    counts = (2.0 ** (eighths / 8) for eighths in columns["eighths"])
    return dict(zip(zip(columns["first"], columns["second"], strict=True), counts, strict=True))


@dataclass(frozen=True)
class Collocations:
    """Pairs of neighbouring words.

    Attributes:
        english: how often a pair stands in a million words of English.
        in_corpus: in how many texts of the corpus it stands.
    """

    english: Mapping[Pair, float]
    in_corpus: Mapping[Pair, int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Collocations:
        """The collocations of English, and of a corpus with these texts."""
        return cls(shipped_pairs(), Counter(pair for text in texts for pair in set(pairs_of(text))))

    @cached_property
    def _english_before(self) -> Mapping[str, set[str]]:
        return _left_words(pair for pair in self.english if self.log_gain(*pair) >= MIN_LOG_GAIN)

    @cached_property
    def _corpus_before(self) -> Mapping[str, set[str]]:
        return _left_words(self.in_corpus)

    @cached_property
    def _behind(self) -> Mapping[str, set[str]]:
        pairs = chain(self.english, self.in_corpus)
        return _left_words((second, first) for first, second in pairs)

    def before(self, token: Token, *, in_corpus: bool = False) -> set[str]:
        """Words that the corpus has before a word or its lemma, or English more than by chance."""
        left_words = self._corpus_before if in_corpus else self._english_before
        forms = (token.text.lower(), token.lemma)
        return {word for form in forms for word in left_words.get(form, ())}

    def fitting(self, tokens: Sequence[Token], place: int, tag: str) -> set[str]:
        """The words with a tag that may be inserted before token number ``place``.

        An adverb must stand before that adjective in English. A modifier must stand before its noun
        in the corpus: others may make another thing of it, as nouns do (*air bag*), or say which
        thing a definite phrase means (*the old film*). In an indefinite phrase an adjective only
        adds to the noun, so that English is enough. Words that take up what was said before, such
        as *same* and *also*, never fit.
        """
        if not 0 < place < len(tokens):
            return set()
        left, right, head = tokens[place - 1], tokens[place], head_behind(tokens, place)
        if tag == "RB":
            fitting = self.before(right) if right.tag in ADJECTIVES else set()
        elif head is None or (head is not right and "NN" in (tag, right.tag)):
            return set()
        else:
            fitting = self.before(head, in_corpus=True)
            if tag == "JJ" and not _is_definite(tokens, place):
                noun = head.text.lower()
                fitting |= {
                    word for word in self.before(head) if self.log_gain(word, noun) < MAX_LOG_GAIN
                }
            if head is not right:
                fitting &= self.before(right) | self.before(right, in_corpus=True)
        if left.text[0].isalpha() and (tag == "RB" or left.tag in MODIFIERS):
            fitting &= self._behind.get(left.text.lower(), set())
        return fitting - POSTDETERMINERS - FOCUSING

    def log_gain(self, first: str, second: str) -> float:
        """By what factor two words stand together more often than by chance, as a logarithm.

        It is 0 for words that English does not have together.
        """
        count = self.english.get((first, second), 0.0)
        firsts, seconds, total = self._totals
        return math.log(count * total / (firsts[first] * seconds[second])) if count else 0.0

    @cached_property
    def _totals(self) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """How often each word is the first of a pair and the second, and how often any is."""
        firsts: defaultdict[str, float] = defaultdict(float)
        seconds: defaultdict[str, float] = defaultdict(float)
        for (first, second), count in self.english.items():
            firsts[first] += count
            seconds[second] += count
        return firsts, seconds, sum(firsts.values())


def _left_words(pairs: Iterable[Pair]) -> Mapping[str, set[str]]:
    """For each second word of pairs, the first words."""
    left_words: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        left_words[second].add(first)
    return left_words


def _is_definite(tokens: Sequence[Token], place: int) -> bool:
    """Whether the noun phrase around a place is definite: *the plot*, *its plot*, *Ann's plot*."""
    outside = (token for token in reversed(tokens[:place]) if token.tag not in _WITHIN_NOUN_PHRASE)
    opening = next(outside, None)
    return opening is not None and (
        opening.text.lower() in DEFINITE_WORDS or opening.tag in ("PRP$", "POS")
    )
