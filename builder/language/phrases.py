"""The bank of phrases: what reviewers add to a noun, a verb or a sentence, and how often.

`scripts/harvest_phrases.py` counts them: neutral modifiers and adjuncts whose removal
leaves a production of the reference grammar (`s2lct.builder.stages.reduce`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parents[1] / "data" / "phrases.parquet"
ATTACHMENTS: Final = Path(__file__).parents[1] / "data" / "attachments.parquet"
CONNECTIVES: Final = Path(__file__).parents[1] / "data" / "connectives.txt"
KNOWN_WORDS: Final = Path(__file__).parents[1] / "data" / "review_words.txt"
LEAST_REVIEWS: Final = 3


def neighbour(label: str) -> str:
    """A neighbour's label without what inflection adds: VBZ and VBN are both VB."""
    return label[:2] if label[:2] in ("VB", "NN", "JJ", "RB") else label


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that reviewers write.

    Attributes:
        text: its words, with the commas that belong to it.
        label: phrase label, or tag of a single word.
        parent: label of the node that holds it.
        lefts: labels of its neighbours to the left, by `neighbour`.
        heads: lemmas of the heads it was found at, with how often.
        count: in how many sentences it was found.
    """

    text: str
    label: str
    parent: str
    lefts: tuple[str, ...]
    heads: Mapping[str, int]
    count: int

    def strength(self, head: str | None) -> float:
        """How much more a head has of it than its frequency alone would give; 0 if it has none."""
        return self.heads.get(head or "", 0) / math.sqrt(self.count)


class PhraseBank:
    """Phrases by the place that they stand in."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self.phrases = tuple(phrases)

    @cached_property
    def _by_site(self) -> Mapping[tuple[str, str], list[Phrase]]:
        by_site: defaultdict[tuple[str, str], list[Phrase]] = defaultdict(list)
        for phrase in self.phrases:
            for left in phrase.lefts:
                by_site[phrase.parent, left].append(phrase)
        return by_site

    def at(self, parent: str, left: str) -> list[Phrase]:
        """The phrases that stand under a node, behind a neighbour."""
        return self._by_site.get((parent, neighbour(left)), [])


@cache
def connectives() -> frozenset[str]:
    """Adverbs and conjunctions that lean on a sentence before: see the file's first lines."""
    lines = CONNECTIVES.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")


@cache
def shipped_bank() -> PhraseBank:
    """The bank that comes with the package."""
    import pyarrow.parquet as pq

    return PhraseBank(
        Phrase(
            row["text"],
            row["label"],
            row["parent"],
            tuple(row["lefts"]),
            dict(zip(row["heads"], row["head_counts"], strict=True)),
            row["count"],
        )
        for row in pq.read_table(SHIPPED).to_pylist()
    )


@cache
def shipped_attachments() -> Mapping[tuple[str, str], float]:
    """In what share of a head's occurrences a phrase that begins with a word hangs on it."""
    import pyarrow.parquet as pq

    rows = pq.read_table(ATTACHMENTS).to_pylist()
    return {(row["head"], row["first"]): row["share"] for row in rows}


@cache
def known_words() -> frozenset[str]:
    """Lower-case words that at least `LEAST_REVIEWS` reviews have."""
    return frozenset(KNOWN_WORDS.read_text(encoding="utf-8").split())
