"""Whole words of a text, and which part of a case each of them belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{(\w+)(?:\|\w+)?(?::[^{}→]*→\s*([^{}]*?))?\}")

Kind = Literal["template", "source", "inserted"]


@dataclass(frozen=True, slots=True)
class Word:
    """A whole word or a punctuation mark, with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """What a word belongs to.

    Attributes:
        kind: the template, the corpus sentence that fills a slot, or the words that make a seed
            an expansion.
        name: the template's wording, such as ``But now I hate it``; a slot's name.
    """

    kind: Kind
    name: str


def words_of(text: str) -> tuple[Word, ...]:
    """All words and punctuation marks; "isn't", "cat-and-mouse" and "1.5" are one word each."""
    return tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text))


def respelled(text: str, words: Sequence[Word], pieces: Sequence[str | None]) -> str:
    """A text with a piece in the place of each of its words; with None, the space before goes too.

    Two words that no longer have a mark between them are kept apart.
    """
    made, end = "", 0
    for word, piece in zip(words, pieces, strict=True):
        if piece is not None:
            between = text[end : word.start]
            touching = not between and made[-1:].isalnum() and piece[:1].isalnum()
            made += (" " if touching else between) + piece
        end = word.end
    return made + text[end:]


def parts_of(
    text: str, template: str, inserted: Sequence[tuple[int, int]] = ()
) -> tuple[Part, ...]:
    """The part of each of `words_of`'s words of a case.

    The template is as a suite's column ``template`` has it, empty without one; the inserted words
    are named by their places.
    """
    spans = _spans(text, template)

    def part(word: Word) -> Part:
        if any(start < word.end and word.start < end for start, end in inserted):
            return Part("inserted", "")
        return next(
            (part for start, end, part in spans if start <= word.start < end),
            Part("source", "sentence"),
        )

    return tuple(part(word) for word in words_of(text))


def _spans(text: str, template: str) -> list[tuple[int, int, Part]]:
    """Where the template's pieces stand in a text, from left to right."""
    slots = list(_SLOT.finditer(template))
    if not slots:
        return []
    if slots[0].span() == (0, len(template)) and (rewritten := slots[0].group(2)):
        # The sentence itself, with a phrase rewritten: "This is → This is not".
        start = text.find(rewritten)
        if start < 0:
            return []
        return [(start, start + len(rewritten), Part("template", rewritten))]
    edges = [0, *(edge for slot in slots for edge in slot.span()), len(template)]
    literals = [template[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    found = re.fullmatch("(.*?)".join(re.escape(literal) for literal in literals), text, re.DOTALL)
    if found is None:
        return []
    spans: list[tuple[int, int, Part]] = []
    end = 0
    for number, literal in enumerate(literals):
        start = end
        end = start + len(literal)
        spans.append((start, end, Part("template", literal.strip(' \t\n.,;:"“”?!') or "quotes")))
        if number < len(slots):
            start, end = found.span(number + 1)
            spans.append((start, end, Part("source", slots[number].group(1))))
    return spans
