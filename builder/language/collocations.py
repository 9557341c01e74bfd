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
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from s2lct.builder.language import DATA
from s2lct.builder.language.fluency import MODIFIERS, head_behind
from s2lct.builder.language.lexicon import FOCUSING, POSTDETERMINERS
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

if TYPE_CHECKING:
    from s2lct.builder.records import Token

SHIPPED: Final = DATA / "collocations.parquet"
LEAST_GAIN: Final = 2.0
"""Two words that belong together stand so seven times as often as by chance: e to this power."""
MOST_GAIN: Final = 6.0
"""An adjective that stands before its noun four hundred times as often is part of a name."""
Pair = tuple[str, str]
_RUN = re.compile(r"[a-z'’ -]+")
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
MODIFYING_TAGS: Final = frozenset({"JJ", "NN", "RB"})
"""Tags of words that say more of a noun or an adjective; participles hardly ever read well."""
_ADJECTIVES = frozenset({"JJ", "JJR", "JJS"})
_INSIDE = MODIFIERS | {"RB", "RBR", "RBS", "CD", ","}
_DEFINITE = words("the this that these those its")


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
        return _firsts(pair for pair in self.english if self.gain(*pair) >= LEAST_GAIN)

    @cached_property
    def _own_before(self) -> Mapping[str, set[str]]:
        return _firsts(self.own)

    @cached_property
    def _behind(self) -> Mapping[str, set[str]]:
        return _firsts((second, first) for first, second in chain(self.english, self.own))

    def before(self, token: Token, *, own: bool = False) -> set[str]:
        """What stood before a word or its lemma in the corpus; or in English, not by chance."""
        table = self._own_before if own else self._before
        return {word for form in (token.text.lower(), token.lemma) for word in table.get(form, ())}

    def fitting(self, tokens: Sequence[Token], place: int, tag: str) -> set[str]:
        """The words that may stand before token ``place``, beside others as they stood before.

        An adverb stands before an adjective that it stood before in English, and a modifier before
        a noun that it modified in the corpus itself. Others would make another thing of it, as
        nouns do (*air bag*), or say of which thing a definite phrase speaks; an adjective in any
        other phrase only adds to it. Nothing takes up what was said before.
        """
        if not 0 < place < len(tokens):
            return set()
        left, right, head = tokens[place - 1], tokens[place], head_behind(tokens, place)
        if tag == "RB":
            found = self.before(right) if right.tag in _ADJECTIVES else set()
        elif head is None or (head is not right and "NN" in (tag, right.tag)):
            return set()
        else:
            found = self.before(head, own=True)
            if tag == "JJ" and not _is_definite(tokens, place):
                noun = head.text.lower()
                found |= {w for w in self.before(head) if self.gain(w, noun) < MOST_GAIN}
            if head is not right:
                found &= self.before(right) | self.before(right, own=True)
        if left.text[0].isalpha() and (tag == "RB" or left.tag in MODIFIERS):
            found &= self._behind.get(left.text.lower(), set())
        return found - POSTDETERMINERS - FOCUSING

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


def _firsts(pairs: Iterable[Pair]) -> Mapping[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        found[second].add(first)
    return found


def _is_definite(tokens: Sequence[Token], place: int) -> bool:
    """Whether the noun phrase around a place is about a certain thing."""
    before = (token for token in reversed(tokens[:place]) if token.tag not in _INSIDE)
    first = next(before, None)
    return first is not None and (first.text.lower() in _DEFINITE or first.tag in ("PRP$", "POS"))
