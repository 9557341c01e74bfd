"""Whole words of a text, and what part of its making each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from s2lct.builder.language.operations import REPLIES

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{(\w+)((?:\|[\w ]+)*)(?::[^{}→]*→\s*([^{}]*?))?\}")
_NEGATION = re.compile(r"(?:\b(?:do|does|did) )?\bnot\b|\bcannot\b|\b\w+n['’]t\b", re.IGNORECASE)
_ASKING = re.compile(r"(?:do|does|did)\b", re.IGNORECASE)

Kind = Literal["template", "source", "inserted"]


class Word(NamedTuple):
    """A whole word or a punctuation mark, with its place (character offsets, end exclusive)."""

    text: str
    start: int
    end: int


class Part(NamedTuple):
    """What a word belongs to: the template, the corpus sentence of a slot, or inserted words.

    The name is the template's wording, such as ``But now I hate it``, the operation that brought
    the word, such as ``negate``, or the slot's name.
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
    if slots[0].span() == (0, len(template)) and (rewritten := slots[0].group(3)):
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
    parts: list[tuple[int, int, Part]] = []
    for number, (literal, slot) in enumerate(zip(literals, [*slots, None], strict=True)):
        named = literal.strip(' \t\n.,;:"“”?!') or "quotes"
        parts.append((*found.span(2 * number + 1), Part("template", named)))
        if slot is not None:
            start, end = found.span(2 * number + 2)
            parts += _of_operations(text, start, end, slot.group(2).split("|")[1:])
            parts.append((start, end, Part("source", slot.group(1))))
    return parts


def _of_operations(
    text: str, start: int, end: int, operations: Sequence[str]
) -> Iterator[tuple[int, int, Part]]:
    """Where words of a slot stand that its operations brought: replies, "not", "does", "?"."""
    for name in operations:
        if name in REPLIES:
            yield start, end, Part("template", name)
        elif name.startswith("negate"):
            for match in _NEGATION.finditer(text, start, end):
                yield *match.span(), Part("template", name)
        elif name == "question":
            if asking := _ASKING.match(text, start, end):
                yield *asking.span(), Part("template", name)
            if text[start:end].endswith("?"):
                yield end - 1, end, Part("template", name)
