"""What may stand where: constituency trees, the reference grammar, and the bank of phrases.

S2LCT compares the productions of a seed's constituency tree with those of a treebank. Where the
reference has the same left-hand side and the same right-hand side with more words in it, the
seed is extended at these words' places (Algorithm 1 of the S2LCT paper). The bank of phrases holds
what reviewers add to a noun, a verb or a sentence, and how often.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from s2lct.builder.language import DATA, listed
from s2lct.plain_text import words
from s2lct.table_files import read_parquet

Rule = tuple[str, tuple[str, ...]]
"""A production: left-hand side and right-hand side."""
Added = tuple[tuple[int, str], ...]
"""Positions in a right-hand side, each with a tag that is inserted before it."""

SHIPPED: Final = DATA / "reference_grammar.parquet"
PHRASES: Final = DATA / "phrases.parquet"
ATTACHMENTS: Final = DATA / "attachments.parquet"
connectives = functools.partial(listed, "connectives.txt")
"""Adverbs and conjunctions that lean on a sentence before."""
WORD_TAGS: Final = words(
    "CC CD DT EX FW IN JJ JJR JJS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB VBD "
    "VBG VBN VBP VBZ WDT WP WP$ WRB"
)
"""Tags that the Penn Treebank gives to words; list markers and symbols are not words."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a constituency tree.

    Attributes:
        label: phrase label or part-of-speech tag.
        children: empty for a word.
        start, end: token numbers it covers, end exclusive.
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
        before = self.children[: labels.index("VP")] if "VP" in labels else ()
        return tuple(child for child in before if child.label == "NP")

    def nodes(self) -> Iterator[Node]:
        """The node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.nodes()


@functools.lru_cache(maxsize=4096)
def read_tree(text: str) -> Node:
    """Read ``(NP (DT 0) (NN 1))``."""
    parts = iter(text.replace("(", " ( ").replace(")", " ) ").split())
    next(parts)
    return _node(parts)


def _node(parts: Iterator[str]) -> Node:
    """The node whose bracket was opened, up to where that is closed."""
    label, part = next(parts), next(parts)
    if part != "(":
        next(parts)
        return Node(label, (), int(part), int(part) + 1)
    children: list[Node] = []
    while part == "(":
        children.append(_node(parts))
        part = next(parts)
    return Node(label, tuple(children), children[0].start, children[-1].end)


@dataclass(frozen=True, slots=True)
class LongerProduction:
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
        self.counts = dict(counts)
        # What a production is extended by are words: the phrases in it stay the same.
        self._rules_of: defaultdict[Rule, list[tuple[str, ...]]] = defaultdict(list)
        self._total_of: Counter[str] = Counter()
        for (lhs, rhs), count in self.counts.items():
            self._rules_of[lhs, _phrases(rhs)].append(rhs)
            self._total_of[lhs] += count

    @staticmethod
    @functools.cache
    def load() -> ReferenceGrammar:
        """The shipped grammar, which ``scripts/compute_reference_grammar.py`` counts."""
        rows = read_parquet(SHIPPED.read_bytes(), shipped=True).to_pylist()
        return ReferenceGrammar({(row["lhs"], tuple(row["rhs"])): row["count"] for row in rows})

    def probability(self, lhs: str, rhs: tuple[str, ...]) -> float:
        """Share of a production among those of its left-hand side; 0 if it does not occur."""
        count = self.counts.get((lhs, rhs), 0)
        return count / self._total_of[lhs] if count else 0.0

    def extensions(
        self, lhs: str, rhs: tuple[str, ...], max_masks: int | None = None
    ) -> list[LongerProduction]:
        """Reference productions that a seed's production could be extended to.

        These have the same left-hand side, and the seed's symbols in the seed's order among 1 to
        ``max_masks`` more (None: any number), all of them tags of words. Where a symbol repeats,
        there is an extension for each place that the additional one can have. The most probable
        come first, then they are in the order of right-hand sides and places.
        """
        found = {
            LongerProduction(longer, self.probability(lhs, longer), added)
            for longer in self._rules_of.get((lhs, _phrases(rhs)), ())
            if len(longer) > len(rhs)
            for added in _ways_to_add(rhs, longer)
            if max_masks is None or len(added) <= max_masks
        }
        return sorted(found, key=lambda each: (-each.probability, each.reference_rhs, each.added))


def _phrases(rhs: tuple[str, ...]) -> tuple[str, ...]:
    """What of a right-hand side is no tag of a word."""
    return tuple(symbol for symbol in rhs if symbol not in WORD_TAGS)


def _ways_to_add(rhs: tuple[str, ...], longer: tuple[str, ...], start: int = 0) -> Iterator[Added]:
    """The ways in which a right-hand side is a longer one without some of its words.

    Both are what is left of them behind the first ``start`` symbols of the shorter one.
    """
    if not longer:
        if not rhs:
            yield ()
        return
    if rhs and rhs[0] == longer[0]:
        yield from _ways_to_add(rhs[1:], longer[1:], start + 1)
    if len(longer) > len(rhs) and longer[0] in WORD_TAGS:
        for rest in _ways_to_add(rhs, longer[1:], start):
            yield ((start, longer[0]), *rest)


def neighbour(label: str) -> str:
    """A neighbour's label without what inflection adds: VBZ and VBN are both VB."""
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
"""Phrases by the label of the node that holds them, that of their neighbour to the left, and the
lemma of the head that they hang on."""


@functools.cache
def shipped_bank() -> PhraseBank:
    """The bank that comes with the package, which ``scripts/harvest_phrases.py`` counts."""
    bank: defaultdict[tuple[str, str, str], list[Phrase]] = defaultdict(list)
    for row in read_parquet(PHRASES.read_bytes(), shipped=True).to_pylist():
        phrase = Phrase(row["text"], row["label"])
        for left, head in product(row["lefts"], row["heads"]):
            bank[row["parent"], left, head].append(phrase)
    return dict(bank)


@functools.cache
def shipped_attachments() -> Mapping[tuple[str, str], float]:
    """In what share of a head's occurrences a phrase that begins with a word hangs on it."""
    rows = read_parquet(ATTACHMENTS.read_bytes(), shipped=True).to_pylist()
    return {(row["head"], row["first"]): row["share"] for row in rows}
