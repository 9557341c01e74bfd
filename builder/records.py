"""The frozen records that stages hand to each other. All are plain data: JSON in, JSON out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from s2lct.labels import Label


@dataclass(frozen=True, slots=True)
class Sentence:
    """A labelled sentence of a corpus, by its id within the corpus.

    ``text`` is detokenised, ``raw`` as the corpus's file has it; ``split`` is empty if there is
    none, ``score`` the sentiment in [0, 1] where the corpus gives one.
    """

    corpus: str
    id: str
    text: str
    label: Label
    split: str = ""
    score: float | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark with its place in a text (character offsets, end exclusive)."""

    text: str
    tag: str
    lemma: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Seed:
    """A sentence whose capability, passing labels and label to train on are known.

    ``id`` is a content hash, ``template`` the template with its choices made and slots in braces
    (empty without one), ``sources`` the corpus sentences in the order of their slots.
    """

    id: str
    capability: str
    text: str
    labels: tuple[Label, ...]
    label: Label
    template: str
    sources: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class ParsedSeed:
    """A seed with its words and its constituency tree (bracketed, one leaf a token).

    ``tree`` is None for a seed that the parser refused.
    """

    seed: Seed
    tokens: tuple[Token, ...]
    tree: str | None


@dataclass(frozen=True, slots=True)
class Production:
    """A seed's production and the reference production that extends its right-hand side.

    ``probability`` is the reference production's share of the left-hand side.
    """

    lhs: str
    seed_rhs: tuple[str, ...]
    reference_rhs: tuple[str, ...]
    probability: float


@dataclass(frozen=True, slots=True)
class Mask:
    """A place to fill: its offset in the masked text, and the part of speech it asks for."""

    start: int
    tag: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to read an insertion: a production at the node of the seed's tree with that span.

    The span is of leaves (start, end exclusive).
    """

    production: Production
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A seed with ``{mask}`` inserted at places of its text, from left to right (Algorithm 1).

    ``readings`` licensed the insertion, the most probable production first; ``places`` are, for
    each mask, the leaf index in the seed's tree before which it stands.
    """

    seed_id: str
    text: str
    masks: tuple[Mask, ...]
    readings: tuple[Reading, ...]
    places: tuple[int, ...]

    @property
    def production(self) -> Production:
        """Of the first reading."""
        return self.readings[0].production


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Words for the masks, with their pseudo-log-likelihood (mean natural log, rounded).

    ``origin`` is ``synonym`` where one of them came from WordNet, else ``masked``.
    """

    words: tuple[str, ...]
    score: float
    origin: Literal["masked", "synonym"] = "masked"


@dataclass(frozen=True, slots=True)
class FilledSentence:
    """A masked sentence with the masked language model's suggestions, best first."""

    masked: MaskedSentence
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True, slots=True)
class InsertedWord:
    """A word that an expansion has and its seed lacks, with its place in the expansion's text."""

    word: str
    tag: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """A seed with words inserted (from left to right), its capability and labels unchanged.

    ``id`` is a content hash, ``score`` the pseudo-log-likelihood of the inserted words, and
    ``origin`` where these come from, as in `Suggestion`.
    """

    id: str
    seed_id: str
    text: str
    masked: MaskedSentence
    inserted: tuple[InsertedWord, ...]
    score: float
    origin: Literal["masked", "synonym"] = "masked"


@dataclass(frozen=True, slots=True)
class Family:
    """A seed with the expansions made from it so far."""

    seed: ParsedSeed
    expansions: tuple[Expansion, ...]
