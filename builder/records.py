"""The frozen records that the steps of a build pass to each other."""

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
    """A word or punctuation mark with its character offsets in a text, ``end`` exclusive."""

    text: str
    tag: str
    lemma: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence with its tokens and its bracketed tree, whose leaves are token numbers."""

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
    """A word that an expansion adds to its seed, with its character offsets in the expansion."""

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
        productions: the productions that license the insertion, the most probable first.
    """

    text: str
    tags: tuple[str, ...]
    places: tuple[int, ...]
    productions: tuple[Production, ...]

    def filled(self, words: Sequence[str]) -> tuple[str, tuple[InsertedWord, ...]]:
        """The text with a word for each mask, and the inserted words with their offsets."""
        first, *parts = self.text.split(MASK)
        text = first
        inserted: list[InsertedWord] = []
        for word, tag, part in zip(words, self.tags, parts, strict=True):
            inserted.append(InsertedWord(word, tag, len(text), len(text) + len(word)))
            text += word + part
        return text, tuple(inserted)


@dataclass(frozen=True, slots=True)
class Extension:
    """A sentence with an insertion.

    Attributes:
        text: the sentence with the insertion.
        inserted: the inserted words, from left to right, with their offsets in ``text``.
        origin: the origin of the insertion: a mask, a phrase or an attested sentence.
        production: the production that licenses the insertion, or its first part.
        score: the mean log probability by the masked language model; 0 for other origins.
        others: less probable productions that also license it, at other nodes.
        second: the production that licenses the second part of an insertion at two places.
        masked_text: the input of the masked language model; recorded in the paper form.
        parsed: the tagged and parsed text; None before confirmation, and in the paper form.
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
        """The id of the extension for annotators."""
        return sentence_id(self.text)


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus sentence for seeds, whole or shortened, with its extensions."""

    sentence: Sentence
    parsed: ParsedSentence
    extensions: tuple[Extension, ...] = ()

    @property
    def text(self) -> str:
        """The text of the sentence in seeds."""
        return self.parsed.text


@dataclass(frozen=True, slots=True)
class Seed:
    """A case whose capability and passing labels are known; or its contrast.

    Attributes:
        id: content hash.
        capability: its id.
        text: the case.
        labels: the labels that pass; the first is the one to train on.
        template: the template with its wording chosen and its slots in braces; empty for none.
        slots: the slots' names in the order of the template.
        sources: the sentence of each slot.
        wording: the chosen wording of each alternative.
        composed_by: the template of the capability.
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
        """The texts of the corpus sentences that the seed was made from."""
        return tuple(source.sentence.text for source in self.sources)

    def takes_back(self, source: Source) -> bool:
        """Whether the case negates one of its sentences, so that the sentence's label is wrong."""
        return source.sentence.label not in self.labels


@dataclass(frozen=True, slots=True)
class Expansion:
    """A seed with words inserted, its capability and labels unchanged.

    Attributes:
        id: content hash.
        seed_id: the id of its seed.
        text: the case.
        inserted: the words, from left to right, with their places in ``text``.
        extension: the extension of the sentence in ``slot``; in the paper form, of the seed.
        slot: the slot of the extended sentence; empty in the paper form.
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
    """A seed, its expansions, and the contrasts of these cases by the id of the case.

    The contrast of an expansion is an expansion of the seed's contrast, or one of another sentence.
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
