"""The frozen records that the steps of a build hand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from s2lct.builder.language.grammar import Node, read_tree
from s2lct.identity import content_id
from s2lct.labels import Label

if TYPE_CHECKING:
    from s2lct.builder.capabilities.schema import Template

Origin = Literal["masked", "phrase", "attested"]
MASK = "{mask}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A labelled sentence of a corpus, by its id within the corpus.

    ``text`` is detokenised, ``raw`` as the corpus's file has it; ``split`` is empty if there is
    none, ``score`` the sentiment in [0, 1] where the corpus gives one, ``rank`` how late it serves:
    those of a lower one come first.
    """

    corpus: str
    id: str
    text: str
    label: Label
    split: str = ""
    score: float | None = None
    raw: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark with its place in a text (character offsets, end exclusive)."""

    text: str
    tag: str
    lemma: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence with its tokens and its constituency tree in brackets, a token number a leaf."""

    text: str
    tokens: tuple[Token, ...] = field(hash=False)  # text and brackets tell enough
    brackets: str

    @property
    def tree(self) -> Node:
        """The constituency tree."""
        return read_tree(self.brackets)


@dataclass(frozen=True, slots=True)
class Production:
    """A sentence's production and the reference production that extends its right-hand side.

    ``probability`` is the reference production's share of the left-hand side.
    """

    lhs: str
    seed_rhs: tuple[str, ...]
    reference_rhs: tuple[str, ...]
    probability: float


@dataclass(frozen=True, slots=True)
class InsertedWord:
    """A word that an expansion has and its seed lacks, with its place in the expansion's text."""

    word: str
    tag: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A sentence with ``{mask}`` inserted at places of its text (Algorithm 1).

    Attributes:
        text: the sentence with its masks.
        tags: the part of speech that each mask asks for, from left to right.
        places: for each mask, the number of the token before which it stands.
        productions: what licenses the insertion, the most probable production first.
    """

    text: str
    tags: tuple[str, ...]
    places: tuple[int, ...]
    productions: tuple[Production, ...]

    def filled(self, words: Sequence[str]) -> tuple[str, tuple[InsertedWord, ...]]:
        """The text with a word for each mask, and the words with their places in it."""
        first, *parts = self.text.split(MASK)
        text = first
        inserted: list[InsertedWord] = []
        for word, tag, part in zip(words, self.tags, parts, strict=True):
            inserted.append(InsertedWord(word, tag, len(text), len(text) + len(word)))
            text += word + part
        return text, tuple(inserted)


@dataclass(frozen=True, slots=True)
class Extension:
    """A sentence with something inserted.

    Attributes:
        text: the sentence with what was inserted.
        inserted: what was inserted, from left to right, with its place in ``text``.
        origin: where it comes from.
        production: what licenses it, or its first part where `second` is there.
        score: mean log probability by the masked language model; 0 for other origins.
        others: less probable productions that license it too, at other nodes.
        second: what licenses the second of two parts that were inserted at two places.
        masked_text: what the masked language model was given; the paper form records it.
        parsed: the text, tagged and parsed; None before it was confirmed, and in the paper form.
    """

    text: str
    inserted: tuple[InsertedWord, ...]
    origin: Origin
    production: Production
    score: float = 0.0
    others: tuple[Production, ...] = ()
    second: Production | None = None
    masked_text: str | None = None
    parsed: ParsedSentence | None = None

    @property
    def id(self) -> str:
        """What annotators know it by."""
        return sentence_id(self.text)


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus sentence as seeds use it, whole or shortened, with the sentences that extend it."""

    sentence: Sentence
    parsed: ParsedSentence
    extensions: tuple[Extension, ...] = ()

    @property
    def text(self) -> str:
        """The sentence as seeds use it."""
        return self.parsed.text


@dataclass(frozen=True, slots=True)
class Seed:
    """A case whose capability and passing labels are known; or its contrast.

    Attributes:
        id: content hash.
        capability: its id.
        text: the case.
        labels: the labels that pass; the first is the one to train on.
        template: the template with its choices made and its slots in braces; empty without one.
        slots: the slots' names in the order of the template.
        sources: the sentence of each slot.
        wording: the choices.
        composed_by: the template as its capability has it.
    """

    id: str
    capability: str
    text: str
    labels: tuple[Label, ...]
    template: str
    slots: tuple[str, ...]
    sources: tuple[Source, ...]
    wording: Mapping[str, str]
    composed_by: Template

    @property
    def sentences(self) -> tuple[str, ...]:
        """The corpus sentences that it is made of."""
        return tuple(source.sentence.text for source in self.sources)

    def takes_back(self, source: Source) -> bool:
        """Whether the case says that what a sentence of it says is not so."""
        return source.sentence.label not in self.labels


@dataclass(frozen=True, slots=True)
class Expansion:
    """A seed with words inserted, its capability and labels unchanged.

    Attributes:
        id: content hash.
        seed_id: its seed's.
        text: the case.
        inserted: the words, from left to right, with their places in ``text``.
        extension: of the sentence in ``slot``; in the paper form, of the whole seed.
        slot: whose sentence was extended; empty in the paper form.
    """

    id: str
    seed_id: str
    text: str
    inserted: tuple[InsertedWord, ...]
    extension: Extension
    slot: str = ""


Case = Seed | Expansion


@dataclass(frozen=True, slots=True)
class Family:
    """A seed, its expansions, and the contrasts of these cases, by a case's id.

    An expansion's is an expansion of the seed's contrast, or a contrast made of another sentence.
    """

    seed: Seed
    expansions: tuple[Expansion, ...]
    contrasts: Mapping[str, Case] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[Case, ...]:
        """The seed and the expansions."""
        return self.seed, *self.expansions

    @property
    def labels_of_contrasts(self) -> tuple[Label, ...]:
        """The labels that pass the contrasts."""
        contrast = self.contrasts.get(self.seed.id)
        return contrast.labels if isinstance(contrast, Seed) else ()


def sentence_id(text: str) -> str:
    """The content id of a sentence, whole, shortened or extended."""
    return content_id("sentence", text)


def seed_source_id(capability: str, text: str) -> str:
    """The content id of a sentence, whole or shortened, as part of a capability's seeds."""
    return content_id("served", capability, text)


def expansion_source_id(capability: str, text: str) -> str:
    """The content id of a sentence, whole or shortened, as part of a capability's expansions."""
    return content_id("grown", capability, text)
