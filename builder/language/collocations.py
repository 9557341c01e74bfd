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
from s2lct.builder.language.fluency import phrase_head
from s2lct.builder.language.lexicon import FOCUSING_ADVERBS, POSTDETERMINERS
from s2lct.builder.language.tags import ADJECTIVES, ADVERBS, DEFINITE_WORDS, MODIFIERS
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

if TYPE_CHECKING:
    from s2lct.builder.records import Token

COLLOCATIONS_FILE: Final = DATA / "collocations.parquet"
MIN_LOG_GAIN: Final = 2.0
"""Two words belong together if they are neighbours e² (seven) times as often as by chance."""
MAX_LOG_GAIN: Final = 6.0
"""An adjective is part of a name if it precedes its noun e⁶ (400) times as often as by chance."""
MODIFYING_TAGS: Final = words("JJ NN RB")
"""Tags of inserted words that collocations decide on; participles hardly ever read well."""
Pair = tuple[str, str]
_RUN_OF_WORDS = re.compile(r"[a-z'’ -]+")
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
_WITHIN_NOUN_PHRASE = MODIFIERS | ADVERBS | words("CD ,")


def pairs_of(text: str) -> Iterator[Pair]:
    """The pairs of neighbours among the words of a text, in lower case.

    Punctuation and numbers separate words.
    """
    for run in _RUN_OF_WORDS.findall(text.lower()):
        yield from pairwise(_WORD.findall(run))


@functools.cache
def shipped_pairs() -> Mapping[Pair, float]:
    """The number of times that each pair of words occurs in a million words of English.

    ``scripts/count_collocations.py`` counts the pairs.
    """
    columns = read_parquet(COLLOCATIONS_FILE.read_bytes(), shipped=True).to_pydict()
    counts = (2.0 ** (eighths / 8) for eighths in columns["eighths"])
    return dict(zip(zip(columns["first"], columns["second"], strict=True), counts, strict=True))


@dataclass(frozen=True)
class Collocations:
    """Pairs of neighbouring words.

    Attributes:
        english_counts: occurrences of each pair in a million words of English.
        corpus_counts: the number of the corpus's texts that have each pair.
    """

    english_counts: Mapping[Pair, float]
    corpus_counts: Mapping[Pair, int]

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Collocations:
        """The collocations of English, and of a corpus with these texts."""
        return cls(shipped_pairs(), Counter(pair for text in texts for pair in set(pairs_of(text))))

    @cached_property
    def _english_left_words(self) -> Mapping[str, set[str]]:
        return _left_words(
            pair for pair in self.english_counts if self.log_gain(*pair) >= MIN_LOG_GAIN
        )

    @cached_property
    def _corpus_left_words(self) -> Mapping[str, set[str]]:
        return _left_words(self.corpus_counts)

    @cached_property
    def _right_words(self) -> Mapping[str, set[str]]:
        pairs = chain(self.english_counts, self.corpus_counts)
        return _left_words((second, first) for first, second in pairs)

    def words_before(self, token: Token, *, in_corpus: bool = False) -> set[str]:
        """The words that stand before a word or its lemma.

        They do so more often than by chance in English or, if ``in_corpus``, at all in the corpus.
        """
        left_words = self._corpus_left_words if in_corpus else self._english_left_words
        forms = (token.text.lower(), token.lemma)
        return {word for form in forms for word in left_words.get(form, ())}

    def fitting_words(self, tokens: Sequence[Token], index: int, tag: str) -> set[str]:
        """The words that may be inserted with a tag before token number ``index``.

        An adverb must stand before that adjective in English. A modifier must stand before its noun
        in the corpus: other modifiers may make another thing of it, as nouns do (*air bag*), or say
        which thing a definite phrase means (*the old film*). In an indefinite phrase an adjective
        only adds to the noun, so that English is enough. Words that refer to an earlier statement,
        such as *same* and *also*, never fit.
        """
        if not 0 < index < len(tokens):
            return set()
        left, right, head = tokens[index - 1], tokens[index], phrase_head(tokens, index)
        if tag == "RB":
            candidates = self.words_before(right) if right.tag in ADJECTIVES else set()
        elif head is None or (head is not right and "NN" in (tag, right.tag)):
            return set()
        else:
            candidates = self.words_before(head, in_corpus=True)
            if tag == "JJ" and not _is_definite(tokens, index):
                noun = head.text.lower()
                candidates |= {
                    word
                    for word in self.words_before(head)
                    if self.log_gain(word, noun) < MAX_LOG_GAIN
                }
            if head is not right:
                candidates &= self.words_before(right) | self.words_before(right, in_corpus=True)
        if left.text[0].isalpha() and (tag == "RB" or left.tag in MODIFIERS):
            candidates &= self._right_words.get(left.text.lower(), set())
        return candidates - POSTDETERMINERS - FOCUSING_ADVERBS

    def log_gain(self, first: str, second: str) -> float:
        """The logarithm of how many times more often two words are neighbours than by chance.

        It is 0 for words that are never neighbours in English.
        """
        count = self.english_counts.get((first, second), 0.0)
        first_counts, second_counts, total_count = self._word_counts
        return (
            math.log(count * total_count / (first_counts[first] * second_counts[second]))
            if count
            else 0.0
        )

    @cached_property
    def _word_counts(self) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """The counts of each word as first and as second word of a pair, and of all pairs."""
        first_counts: defaultdict[str, float] = defaultdict(float)
        second_counts: defaultdict[str, float] = defaultdict(float)
        for (first, second), count in self.english_counts.items():
            first_counts[first] += count
            second_counts[second] += count
        return first_counts, second_counts, sum(first_counts.values())


def _left_words(pairs: Iterable[Pair]) -> Mapping[str, set[str]]:
    """For each second word of pairs, the first words."""
    left_words: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        left_words[second].add(first)
    return left_words


def _is_definite(tokens: Sequence[Token], index: int) -> bool:
    """Whether the noun phrase with a token is definite: *the plot*, *its plot*, *Ann's plot*."""
    outside = (token for token in reversed(tokens[:index]) if token.tag not in _WITHIN_NOUN_PHRASE)
    opening_token = next(outside, None)
    return opening_token is not None and (
        opening_token.text.lower() in DEFINITE_WORDS or opening_token.tag in ("PRP$", "POS")
    )
