"""Constituency trees, the reference grammar that extends them, and phrases that reviewers add.

The productions of a seed's tree are compared with those of a treebank. Where the treebank has a
production with more words, NP → DT *JJ* NN beside the seed's NP → DT NN, the seed is extended by a
word at that place (Algorithm 1 of the S2LCT paper).
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from s2lct.builder.language import DATA, word_list
from s2lct.builder.language.tags import WORD_TAGS
from s2lct.table_files import read_parquet

Rule = tuple[str, tuple[str, ...]]
"""A production: left-hand side and right-hand side."""
AddedTags = tuple[tuple[int, str], ...]
"""Tags inserted into a right-hand side, each with the index of the symbol that it precedes."""

GRAMMAR_FILE: Final = DATA / "reference_grammar.parquet"
PHRASES_FILE: Final = DATA / "phrases.parquet"
ATTACHMENTS_FILE: Final = DATA / "attachments.parquet"
connectives = functools.partial(word_list, "connectives.txt")
"""Words and phrases that link a sentence to the one before it: *however*, *in addition*."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a constituency tree.

    Attributes:
        label: phrase label or part-of-speech tag.
        children: the nodes below it; empty for a word.
        start, end: its first token number, and that after its last.
    """

    label: str
    children: tuple[Node, ...]
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether this is a part-of-speech tag over one token."""
        return not self.children

    @property
    def child_labels(self) -> tuple[str, ...]:
        """The right-hand side of the node's production."""
        return tuple(child.label for child in self.children)

    @property
    def subjects(self) -> tuple[Node, ...]:
        """The noun phrases before the verb phrase of a clause."""
        labels = self.child_labels
        children_before = self.children[: labels.index("VP")] if "VP" in labels else ()
        return tuple(child for child in children_before if child.label == "NP")

    def nodes(self) -> Iterator[Node]:
        """The node and all nodes below it, parents before children."""
        yield self
        for child in self.children:
            yield from child.nodes()


@functools.lru_cache(maxsize=4096)
def read_tree(text: str) -> Node:
    """The tree of a bracketed text such as ``(NP (DT 0) (NN 1))``."""
    symbols = iter(text.replace("(", " ( ").replace(")", " ) ").split())
    next(symbols)
    return _parse_node(symbols)


def _parse_node(symbols: Iterator[str]) -> Node:
    """Parse a node whose opening bracket was consumed, up to its closing one."""
    label, symbol = next(symbols), next(symbols)
    if symbol != "(":
        next(symbols)
        return Node(label, (), int(symbol), int(symbol) + 1)
    children: list[Node] = []
    while symbol == "(":
        children.append(_parse_node(symbols))
        symbol = next(symbols)
    return Node(label, tuple(children), children[0].start, children[-1].end)


@dataclass(frozen=True, slots=True)
class LongerProduction:
    """A production of the reference grammar that has more words than a seed's production.

    Attributes:
        reference_rhs: its right-hand side.
        probability: its share of the productions with its left-hand side.
        added_tags: the tags that the seed's production lacks, from left to right.
    """

    reference_rhs: tuple[str, ...]
    probability: float
    added_tags: AddedTags


class ReferenceGrammar:
    """Productions of a treebank with their counts.

    Function labels, traces, wrappers around the sentence, X → X and the productions of words are
    left out. A production's probability is its count over that of its left-hand side.
    """

    def __init__(self, counts: Mapping[Rule, int]) -> None:
        """Make a grammar of the counts of productions."""
        self.counts = dict(counts)
        # A production is extended by words alone: its phrases stay the same.
        self._right_hand_sides: defaultdict[Rule, list[tuple[str, ...]]] = defaultdict(list)
        self._lhs_counts: Counter[str] = Counter()
        for (lhs, rhs), count in self.counts.items():
            self._right_hand_sides[lhs, _phrases(rhs)].append(rhs)
            self._lhs_counts[lhs] += count

    @staticmethod
    @functools.cache
    def load() -> ReferenceGrammar:
        """The shipped grammar, which ``scripts/compute_reference_grammar.py`` counts."""
        rows = read_parquet(GRAMMAR_FILE.read_bytes(), shipped=True).to_pylist()
        return ReferenceGrammar({(row["lhs"], tuple(row["rhs"])): row["count"] for row in rows})

    def probability(self, lhs: str, rhs: tuple[str, ...]) -> float:
        """Share of a production among those of its left-hand side; 0 if it does not occur."""
        count = self.counts.get((lhs, rhs), 0)
        return count / self._lhs_counts[lhs] if count else 0.0

    def extensions(
        self, lhs: str, rhs: tuple[str, ...], max_masks: int | None = None
    ) -> list[LongerProduction]:
        """Reference productions that extend a seed's production by words, the most probable first.

        NP → DT NN is extended by NP → DT JJ NN. Where a symbol repeats, as in NP → DT JJ JJ NN of
        NP → DT JJ NN, there is one for each position that the additional symbol can have.

        Args:
            lhs: the left-hand side.
            rhs: the right-hand side of the seed's production.
            max_masks: the most words to add; None for any number.
        """
        extensions = {
            LongerProduction(longer, self.probability(lhs, longer), added_tags)
            for longer in self._right_hand_sides.get((lhs, _phrases(rhs)), ())
            if len(longer) > len(rhs)
            for added_tags in _ways_to_add_tags(rhs, longer)
            if max_masks is None or len(added_tags) <= max_masks
        }
        return sorted(
            extensions, key=lambda rule: (-rule.probability, rule.reference_rhs, rule.added_tags)
        )


def _phrases(rhs: tuple[str, ...]) -> tuple[str, ...]:
    """The symbols of a right-hand side that are phrases, not tags of words."""
    return tuple(symbol for symbol in rhs if symbol not in WORD_TAGS)


def _ways_to_add_tags(
    rhs: tuple[str, ...], longer: tuple[str, ...], start: int = 0
) -> Iterator[AddedTags]:
    """All ways to make a right-hand side into a longer one by adding words.

    Both are suffixes: ``start`` is the index in the whole right-hand side at which ``rhs`` begins.
    """
    if not longer:
        if not rhs:
            yield ()
        return
    if rhs and rhs[0] == longer[0]:
        yield from _ways_to_add_tags(rhs[1:], longer[1:], start + 1)
    if len(longer) > len(rhs) and longer[0] in WORD_TAGS:
        for rest in _ways_to_add_tags(rhs, longer[1:], start):
            yield ((start, longer[0]), *rest)


def neighbour_label(label: str) -> str:
    """The label that stands for a neighbour in the bank: VB for any verb, NN for any noun."""
    return label[:2] if label[:2] in ("VB", "NN", "JJ", "RB") else label


@dataclass(frozen=True, slots=True)
class Phrase:
    """A neutral modifier or adjunct that reviewers write.

    Attributes:
        text: its words, with the commas that belong to it.
        label: phrase label, or tag of a single word.
    """

    text: str
    label: str


PhraseBank = Mapping[tuple[str, str, str], Sequence[Phrase]]
"""Phrases by three keys: the label of the parent node, the label of the left neighbour, and the
lemma of the head that they modify."""


@functools.cache
def shipped_phrase_bank() -> PhraseBank:
    """The shipped bank, which ``scripts/harvest_phrases.py`` computes."""
    bank: defaultdict[tuple[str, str, str], list[Phrase]] = defaultdict(list)
    for row in read_parquet(PHRASES_FILE.read_bytes(), shipped=True).to_pylist():
        phrase = Phrase(row["text"], row["label"])
        for left, head in product(row["lefts"], row["heads"]):
            bank[row["parent"], left, head].append(phrase)
    return dict(bank)


@functools.cache
def shipped_attachments() -> Mapping[tuple[str, str], float]:
    """The share of a head's occurrences with a phrase that begins with a word, by head and word."""
    rows = read_parquet(ATTACHMENTS_FILE.read_bytes(), shipped=True).to_pylist()
    return {(row["head"], row["first"]): row["share"] for row in rows}
