"""Collocations: which words stand side by side, in English at large and in a corpus.

What stood beside a word before can stand beside it again. The shipped counts are of web pages and
reviews; a corpus of one's own adds what only its writers put together: *battery door*.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from s2lct.suite.tables import read_table

if TYPE_CHECKING:
    from s2lct.builder.records import Token

SHIPPED: Final = Path(__file__).parents[1] / "data" / "collocations.parquet"
LEAST_GAIN: Final = 2.0
"""Two words that belong together stand so seven times as often as by chance: e to this power."""
Pair = tuple[str, str]
_RUN = re.compile(r"[a-z'’ -]+")
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
_MODIFIERS = frozenset({"JJ", "JJR", "JJS", "NN", "NNS", "VBN", "VBG"})
_NOUNS = frozenset({"NN", "NNS"})


def pairs_of(text: str) -> Iterator[Pair]:
    """The neighbouring words of a text, in lower case; none across punctuation or a number."""
    for run in _RUN.findall(text.lower()):
        yield from pairwise(_WORD.findall(run))


@functools.cache
def shipped_pairs() -> Mapping[Pair, float]:
    """How often words stand side by side in a million words of English.

    ``scripts/count_collocations.py`` counts them.
    """
    columns = read_table(SHIPPED.read_bytes()).to_pydict()
    counts = (2.0 ** (eighths / 8) for eighths in columns["eighths"])
    return dict(zip(zip(columns["first"], columns["second"], strict=True), counts, strict=True))


@dataclass(frozen=True)
class Collocations:
    """Pairs of neighbouring words.

    Attributes:
        english: how often in a million words of English.
        own: in how many texts of the corpus.
    """

    english: Mapping[Pair, float]
    own: Mapping[Pair, int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Collocations:
        """Those of English and of a corpus."""
        return cls(shipped_pairs(), Counter(pair for text in texts for pair in set(pairs_of(text))))

    @cached_property
    def _before(self) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for first, second in self.english:
            if self.gain(first, second) >= LEAST_GAIN:
                found[second].add(first)
        return found

    @cached_property
    def _own_before(self) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for first, second in self.own:
            found[second].add(first)
        return found

    @cached_property
    def _behind(self) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for pairs in (self.english, self.own):
            for first, second in pairs:
                found[first].add(second)
        return found

    def before(self, token: Token, tag: str) -> set[str]:
        """What belongs before a word, in this form or the one that dictionaries list.

        In English that is what stands there by more than chance. What modified a noun in the corpus
        itself may do so again.
        """
        tables = [self._before, *([self._own_before] if tag in _MODIFIERS else [])]
        forms = (token.text.lower(), token.lemma)
        return {word for table in tables for form in forms for word in table.get(form, ())}

    def behind(self, token: Token) -> set[str]:
        """What stood behind a word."""
        return self._behind.get(token.text.lower(), set())

    def fitting(self, tokens: Sequence[Token], place: int, tag: str) -> set[str]:
        """The words that stood beside those that one before token ``place`` would stand beside.

        A modifier stood before the noun that it modifies, too.
        """
        left = tokens[place - 1] if place else None
        right = tokens[place] if place < len(tokens) else None
        beside = [self.before(right, tag)] if right and right.text[0].isalpha() else []
        if tag in _MODIFIERS:
            head = head_behind(tokens, place)
            if head is None or (tag in _NOUNS and head is not right):
                return set()
            beside.append(self.before(head, tag))
            left = left if left and left.tag in _MODIFIERS else None
        beside += [self.behind(left)] if left and left.text[0].isalpha() else []
        return set.intersection(*beside) if beside else set()

    def gain(self, first: str, second: str) -> float:
        """How much more often two words of English stand together than by chance, as a logarithm.

        It is 0 for two that do not.
        """
        count = self.english.get((first, second), 0.0)
        firsts, seconds, total = self._totals
        return math.log(count * total / (firsts[first] * seconds[second])) if count else 0.0

    @cached_property
    def _totals(self) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        firsts: defaultdict[str, float] = defaultdict(float)
        seconds: defaultdict[str, float] = defaultdict(float)
        for (first, second), count in self.english.items():
            firsts[first] += count
            seconds[second] += count
        return firsts, seconds, sum(firsts.values())


def head_behind(tokens: Sequence[Token], place: int) -> Token | None:
    """The noun that a modifier before token number ``place`` would modify."""
    head = None
    for token in tokens[place:]:
        if token.tag in _NOUNS:
            head = token
        elif head is not None or token.tag not in _MODIFIERS:
            break
    return head
