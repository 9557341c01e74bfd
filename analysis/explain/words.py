"""Whole words of a text, and which part of a case each of them belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{(\w+)(?:\|\w+)?(?::[^{}→]*→\s*([^{}]*?))?\}")

Kind = Literal["template", "source", "inserted"]


class Word(NamedTuple):
    """A whole word or a punctuation mark, with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


class Part(NamedTuple):
    """What a word belongs to: the template, the corpus sentence of a slot, or inserted words.

    The name is the template's wording, such as ``But now I hate it``, or the slot's name.
    """

    kind: Kind
    name: str


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[Word, ...]:
    """All words and punctuation marks; "isn't", "cat-and-mouse" and "1.5" are one word each."""
    return tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text))


def respelled(text: str, changed: Mapping[int, str | None]) -> str:
    """A text with other words in some places; with None, the space before goes too.

    Two words that no longer have a mark between them are kept apart.
    """
    made, end = "", 0
    for number, word in enumerate(words_of(text)):
        piece = changed.get(number, word.text)
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
    parts = []
    for word in words_of(text):
        found = Part("source", "sentence")
        if any(start < word.end and word.start < end for start, end in inserted):
            found = Part("inserted", "")
        else:
            found = next((p for start, end, p in spans if start <= word.start < end), found)
        parts.append(found)
    return tuple(parts)


def _spans(text: str, template: str) -> list[tuple[int, int, Part]]:
    """Where the template's pieces stand in a text, from left to right."""
    slots = list(_SLOT.finditer(template))
    if not slots:
        return []
    if slots[0].span() == (0, len(template)) and (rewritten := slots[0].group(2)):
        # The sentence itself, with a phrase rewritten: "This is → This is not".
        start = text.find(rewritten)
        whole = (start, start + len(rewritten), Part("template", rewritten))
        return [whole] if start >= 0 else []
    edges = [0, *(edge for slot in slots for edge in slot.span()), len(template)]
    literals = [template[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    pattern = "(.*?)".join(f"({re.escape(literal)})" for literal in literals)
    found = re.fullmatch(pattern, text, re.DOTALL)
    if found is None:
        return []
    parts: list[Part] = []
    for literal, slot in zip(literals, [*slots, None], strict=True):
        parts.append(Part("template", literal.strip(' \t\n.,;:"“”?!') or "quotes"))
        if slot is not None:
            parts.append(Part("source", slot.group(1)))
    return [(*found.span(number), part) for number, part in enumerate(parts, 1)]
