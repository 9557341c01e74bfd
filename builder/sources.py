"""Sentences as the fluent form uses them: whole or shortened, with what extends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from s2lct.builder.language.operations import Analysis
from s2lct.builder.language.tree import read_tree
from s2lct.builder.records import InsertedWord, Production, Sentence, Token
from s2lct.identity import content_id

Origin = Literal["masked", "phrase", "attested"]


@dataclass(frozen=True, slots=True)
class Extension:
    """A sentence with something inserted.

    Attributes:
        id: content hash of the text.
        text: the sentence with what was inserted.
        inserted: what was inserted, from left to right, with its place in ``text``.
        origin: where it comes from.
        production: what licenses it, or its first part where `second` is there.
        score: mean log probability by the masked language model; 0 for other origins.
        others: less probable productions that license it too, at other nodes.
        second: what licenses the second of two parts that were inserted at two places.
    """

    id: str
    text: str
    inserted: tuple[InsertedWord, ...]
    origin: Origin
    production: Production
    score: float = 0.0
    others: tuple[Production, ...] = ()
    second: Production | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence for seeds, with its extensions.

    Attributes:
        sentence: of the corpus.
        text: as seeds use it: the sentence itself, or shortened.
        tokens, tree: its words and its constituency tree.
        extensions: the sentences that extend it.
    """

    sentence: Sentence
    text: str
    tokens: tuple[Token, ...]
    tree: str
    extensions: tuple[Extension, ...] = ()

    @property
    def analysis(self) -> Analysis:
        """What operations work on."""
        return Analysis(self.text, self.tokens, read_tree(self.tree))


def sentence_id(text: str) -> str:
    """The content id of a sentence, whole, shortened or extended."""
    return content_id("sentence", text)
