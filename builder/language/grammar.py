"""The reference grammar: which words a production of a seed's parse could still take.

S2LCT compares the productions of a seed's constituency tree with those of a treebank. Where the
reference has the same left-hand side and the same right-hand side with more words in it, the
seed is extended at these words' places (Algorithm 1 of the S2LCT paper).
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from s2lct.plain_text import words

Rule = tuple[str, tuple[str, ...]]
"""A production: left-hand side and right-hand side."""
Added = tuple[tuple[int, str], ...]
"""Positions in a right-hand side, each with a tag that is inserted before it."""

SHIPPED: Final = Path(__file__).parents[1] / "data" / "reference_grammar.parquet"
WORD_TAGS: Final = words(
    "CC CD DT EX FW IN JJ JJR JJS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB VBD "
    "VBG VBN VBP VBZ WDT WP WP$ WRB"
)
"""Tags that the Penn Treebank gives to words; list markers and symbols are not words."""

_MOST_INDEXED: Final = 3


@dataclass(frozen=True, slots=True)
class Extension:
    """A reference production that has more words than a seed's production.

    Attributes:
        reference_rhs: the reference production's right-hand side.
        probability: its share of its left-hand side.
        added: for each additional symbol, from left to right, the position in the seed's
            right-hand side before which it is inserted, and its part-of-speech tag.
    """

    reference_rhs: tuple[str, ...]
    probability: float
    added: Added


class ReferenceGrammar:
    """Productions of a treebank with their counts.

    Function labels, traces, wrappers around the sentence, X → X and the productions of words are
    left out. A production's probability is its count over that of its left-hand side.
    """

    def __init__(self, counts: Mapping[Rule, int]) -> None:
        """Take how often each production occurs."""
        self._counts = dict(counts)
        self._rules_of: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._total_of: Counter[str] = Counter()
        for (lhs, rhs), count in self._counts.items():
            self._rules_of[lhs].append(rhs)
            self._total_of[lhs] += count
        self._indexes: dict[tuple[str, int], dict[tuple[str, ...], tuple[Extension, ...]]] = {}
        self._of_any_length: dict[Rule, tuple[Extension, ...]] = {}

    @classmethod
    def load(cls) -> ReferenceGrammar:
        """The shipped grammar, which ``scripts/compute_reference_grammar.py`` counts."""
        return _shipped()

    def __len__(self) -> int:
        """Return the number of different productions."""
        return len(self._counts)

    @property
    def counts(self) -> Mapping[Rule, int]:
        """How often each production occurs."""
        return self._counts

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of the productions and their counts."""
        digest = hashlib.sha256()
        for (lhs, rhs), count in sorted(self._counts.items()):
            digest.update(f"{lhs}\t{' '.join(rhs)}\t{count}\n".encode())
        return digest.hexdigest()

    def probability(self, lhs: str, rhs: tuple[str, ...]) -> float:
        """Share of a production among those of its left-hand side; 0 if it does not occur."""
        count = self._counts.get((lhs, rhs), 0)
        return count / self._total_of[lhs] if count else 0.0

    def extensions(
        self, lhs: str, rhs: tuple[str, ...], max_masks: int | None = 2
    ) -> tuple[Extension, ...]:
        """Reference productions that a seed's production could be extended to.

        These have the same left-hand side, and the seed's symbols in the seed's order among 1 to
        ``max_masks`` more (None: any number), all of them tags of words. Where a symbol repeats,
        there is an extension for each place that the additional one can have.

        Returns:
            The extensions, most probable first, then by right-hand side and places.
        """
        if lhs not in self._rules_of or (max_masks is not None and max_masks < 1):
            return ()
        if max_masks is None or max_masks > _MOST_INDEXED:
            return tuple(
                extension
                for extension in self._extensions_of_any_length(lhs, rhs)
                if max_masks is None or len(extension.added) <= max_masks
            )
        index = self._indexes.get((lhs, max_masks))
        if index is None:
            index = self._indexes[lhs, max_masks] = self._index(lhs, max_masks)
        return index.get(rhs, ())

    def _extensions_of_any_length(self, lhs: str, rhs: tuple[str, ...]) -> tuple[Extension, ...]:
        """All extensions, each reference production looked at: an index would hold 2^n of each."""
        if (lhs, rhs) not in self._of_any_length:
            found = {
                Extension(longer, self.probability(lhs, longer), added)
                for longer in self._rules_of[lhs]
                if len(longer) > len(rhs)
                for added in _ways_to_add(rhs, longer)
            }
            self._of_any_length[lhs, rhs] = tuple(sorted(found, key=_by_probability))
        return self._of_any_length[lhs, rhs]

    def _index(self, lhs: str, max_masks: int) -> dict[tuple[str, ...], tuple[Extension, ...]]:
        """Extensions of ``lhs`` by the right-hand side that is left without what they add."""
        found: defaultdict[tuple[str, ...], list[Extension]] = defaultdict(list)
        for rhs in self._rules_of[lhs]:
            probability = self.probability(lhs, rhs)
            words = [place for place, symbol in enumerate(rhs) if is_word_tag(symbol)]
            for size in range(1, min(max_masks, len(rhs) - 1) + 1):
                for places in combinations(words, size):
                    rest = tuple(symbol for i, symbol in enumerate(rhs) if i not in places)
                    added = tuple((place - i, rhs[place]) for i, place in enumerate(places))
                    found[rest].append(Extension(rhs, probability, added))
        return {rest: tuple(sorted(some, key=_by_probability)) for rest, some in found.items()}


def _by_probability(extension: Extension) -> tuple[float, tuple[str, ...], Added]:
    return -extension.probability, extension.reference_rhs, extension.added


def _ways_to_add(rhs: tuple[str, ...], longer: tuple[str, ...], start: int = 0) -> Iterator[Added]:
    """The ways in which a right-hand side is a longer one without some of its words.

    Args:
        rhs: what is left of the shorter one.
        longer: what is left of the longer one.
        start: how many symbols of the shorter one are behind us.
    """
    if not longer:
        if not rhs:
            yield ()
        return
    if rhs and rhs[0] == longer[0]:
        yield from _ways_to_add(rhs[1:], longer[1:], start + 1)
    if len(longer) > len(rhs) and is_word_tag(longer[0]):
        for rest in _ways_to_add(rhs, longer[1:], start):
            yield ((start, longer[0]), *rest)


def is_word_tag(symbol: str) -> bool:
    """Whether a symbol is a word's part-of-speech tag, not a phrase label or punctuation."""
    return symbol in WORD_TAGS


@functools.cache
def _shipped() -> ReferenceGrammar:
    import pyarrow.parquet as pq

    columns = pq.read_table(SHIPPED).to_pydict()
    rules = zip(columns["lhs"], map(tuple, columns["rhs"]), strict=True)
    return ReferenceGrammar(dict(zip(rules, columns["count"], strict=True)))
