"""What the tagger and the parser see in texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nltk import Tree

from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.records import Token
from s2lct.progress import bar

SENTENCES_AT_ONCE = 64
_CLOSING = frozenset({"''", '"', "”", "’", "'", ")", "-RRB-"})


class Reading(NamedTuple):
    """What the tagger and the parser see in a text.

    Attributes:
        words: its words in lower case, without punctuation.
        productions: its distinct productions above the parts of speech, as ``NP -> DT NN``.
        depth: edges from the root to the part of speech of the deepest word of its deepest
            sentence; None where a sentence could not be parsed.
    """

    words: tuple[str, ...]
    productions: frozenset[str]
    depth: int | None


def sentences(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Split a text's tokens behind each mark that ends a sentence, quotes that close included.

    A mark ends none where a small letter follows: ``"Is it?" she asks.`` is one sentence.
    """
    parts: list[tuple[Token, ...]] = []
    start = 0
    for number, token in enumerate(tokens):
        if token.tag != "." or number < start:
            continue
        end = number + 1
        while end < len(tokens) and (tokens[end].text in _CLOSING or tokens[end].tag == "."):
            end += 1
        if end < len(tokens) and not tokens[end].text[:1].islower():
            parts.append(tuple(tokens[start:end]))
            start = end
    if start < len(tokens):
        parts.append(tuple(tokens[start:]))
    return parts


def seen_in(tree: str) -> tuple[frozenset[str], int]:
    """The productions above a tree's parts of speech, and the deepest of these in edges."""
    root = Tree.fromstring(tree)
    productions = (str(one) for one in root.productions() if one.is_nonlexical())
    return frozenset(productions), root.height() - 2


class Reader:
    """Reads texts with a tagger and a parser, each sentence parsed once."""

    def __init__(self, tagger: Tagger, parser: ConstituencyParser) -> None:
        self._tagger = tagger
        self._parser = parser
        self._readings: dict[str, Reading] = {}
        self._trees: dict[tuple[str, ...], tuple[frozenset[str], int] | None] = {}

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Readings of the texts, in order."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._readings]
        advance = bar("read and parse", len(missing)) if missing else None
        for start in range(0, len(missing), SENTENCES_AT_ONCE):
            chunk = missing[start : start + SENTENCES_AT_ONCE]
            tagged = self._tagger.tag(chunk)
            parts = [sentences(tokens) for tokens in tagged]
            found = {_shape(one): one for group in parts for one in group}
            new = {shape: one for shape, one in found.items() if shape not in self._trees}
            for shape, tree in zip(new, self._parser.parse(list(new.values())), strict=True):
                self._trees[shape] = None if tree is None else seen_in(tree)
            for text, tokens, group in zip(chunk, tagged, parts, strict=True):
                self._readings[text] = self._reading(tokens, group)
            if advance:
                advance(len(chunk))
        return [self._readings[text] for text in texts]

    def _reading(self, tokens: Sequence[Token], parts: Sequence[tuple[Token, ...]]) -> Reading:
        trees = [self._trees[_shape(sentence)] for sentence in parts]
        parsed = [tree for tree in trees if tree is not None]
        return Reading(
            tuple(t.text.lower() for t in tokens if any(letter.isalnum() for letter in t.text)),
            frozenset().union(*(found for found, _ in parsed)),
            max(edges for _, edges in parsed) if parsed and len(parsed) == len(trees) else None,
        )


def _shape(sentence: Sequence[Token]) -> tuple[str, ...]:
    """What the parser sees of a sentence: its words and the spaces between them."""
    first = sentence[0].start
    return tuple(f"{token.start - first} {token.text}" for token in sentence)
