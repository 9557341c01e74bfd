"""Extend: sentences with words or phrases inserted, from three origins (S²LCT, Algorithm 1).

*Masked* words come from the masked language model, *phrases* from the bank of what reviewers write,
and *attested* ones stood in the author's own sentence, which was shortened to be a seed's. Whatever
the origin, an extension must have the right tags, be neutral, and be parsed as it was meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from s2lct.builder.language.fluency import takes_an
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.phrases import Phrase, PhraseBank, connectives
from s2lct.builder.language.tree import Node
from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.records import (
    FilledSentence,
    InsertedWord,
    ParsedSeed,
    Production,
    Seed,
    Token,
)
from s2lct.builder.sources import Extension, Origin, Source, sentence_id
from s2lct.builder.stages import fill, mask
from s2lct.builder.stages.reduce import head_of
from s2lct.builder.stages.validate import fitting_words
from s2lct.plain_text import words

WORDS_OF_A_MASK = 3
OF_ONE_PLACE = 4
LONGEST_FUNCTION_WORD = 3

ABOUT_GROUPS = words(
    "african arab asian black catholic christian fat gay hispanic islamic jew jewish latino "
    "lesbian muslim naked nazi negro nude porn porno queer racial rape sex sexual sexy slave "
    "transgender white"
)
"""Not inserted: a case about a film does not become one about a group of people, or about sex."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Something to insert before token number ``place``."""

    place: int
    text: str
    tag: str


def masked_extensions(
    sources: Sequence[Source],
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    mlm: MaskedLanguageModel,
    *,
    tags: Sequence[str],
    masks: int,
    masks_per_sentence: int | None,
    suggestions: int,
    seed: int,
) -> list[list[Extension]]:
    """Extensions by the masked language model, the likeliest words of each masked sentence.

    Args:
        sources: the sentences.
        grammar: says what may be inserted where.
        lexicon: says what is neutral.
        mlm: proposes words.
        tags: parts of speech that may become masks.
        masks: masked sentences drawn for a sentence (the paper's k).
        masks_per_sentence: most masks in one of them.
        suggestions: words asked for a mask, of which `WORDS_OF_A_MASK` are taken.
        seed: of the random draw.
    """
    parsed = [_as_seed(source) for source in sources]
    drawn = mask.mask(
        parsed,
        grammar,
        masked_per_seed=masks,
        masks_per_sentence=masks_per_sentence,
        order="probability",
        tags=tags,
        seed=seed,
    )

    @cache
    def fitting(tag: str) -> frozenset[str]:
        words = fitting_words(mlm.words, tag, lexicon)
        return frozenset(word for word in words if word not in connectives())

    filled = fill.fill(drawn, mlm, suggestions=suggestions, fitting=fitting)
    of_source: dict[str, list[Extension]] = {one.seed.id: [] for one in parsed}
    by_id = {one.seed.id: source for one, source in zip(parsed, sources, strict=True)}
    for one in filled:
        source = by_id[one.masked.seed_id]
        of_source[one.masked.seed_id] += _filled(one, source)
    return [of_source[one.seed.id] for one in parsed]


def _as_seed(source: Source) -> ParsedSeed:
    label = source.sentence.label
    seed = Seed(
        id=sentence_id(source.text),
        capability="",
        text=source.text,
        labels=(label,),
        label=label,
        template="",
        sources=(source.sentence,),
    )
    return ParsedSeed(seed, source.tokens, source.tree)


def _filled(one: FilledSentence, source: Source) -> Iterator[Extension]:
    own = {form for t in source.tokens for form in (t.text.lower(), t.lemma.lower())}
    taken = 0
    for suggestion in one.suggestions:
        words = {word.lower() for word in suggestion.words}
        if not words.isdisjoint(own | ABOUT_GROUPS) or taken == WORDS_OF_A_MASK:
            continue
        pieces = [
            _Piece(place, word, found.tag)
            for place, word, found in zip(
                one.masked.places, suggestion.words, one.masked.masks, strict=True
            )
        ]
        extension = _inserted(source, pieces, "masked", one.masked.production, suggestion.score)
        if extension is not None:
            taken += 1
            others = tuple(reading.production for reading in one.masked.readings[1:])
            yield replace(extension, others=others)


def phrase_extensions(
    source: Source, bank: PhraseBank, grammar: ReferenceGrammar, *, most: int
) -> list[Extension]:
    """Extensions by phrases that reviewers add to the same head at such a place.

    Those that go with that head most come first (`Phrase.strength`); of one place and label no
    more than `OF_ONE_PLACE` are taken.
    """
    own = {form for t in source.tokens for form in (t.text.lower(), t.lemma.lower())}
    ranked: list[tuple[tuple[float, str], Extension, tuple[int, str]]] = []
    for node in source.analysis.tree.nodes():
        for number in range(1, len(node.children) + 1):
            place = node.children[number].start if number < len(node.children) else node.end
            left = node.children[number - 1].label
            for phrase, production in _phrases_at(node, number, left, bank, grammar):
                words = phrase.text.lower().replace(",", " ").split()
                head = _head_at(source.tokens, node, number, phrase)
                strength = phrase.strength(head)
                if not strength or " ".join(words) in connectives():
                    continue
                if not ABOUT_GROUPS.isdisjoint(words):
                    continue
                if any(word in own and len(word) > LONGEST_FUNCTION_WORD for word in words):
                    continue
                piece = _Piece(place, phrase.text, phrase.label)
                extension = _inserted(source, [piece], "phrase", production, 0.0)
                if extension is not None:
                    rank = (-strength, phrase.text)
                    ranked.append((rank, extension, (place, phrase.label)))
    taken: list[Extension] = []
    at_place: Counter[tuple[int, str]] = Counter()
    for _, extension, where in sorted(ranked, key=lambda one: one[0]):
        if at_place[where] < OF_ONE_PLACE and len(taken) < most:
            at_place[where] += 1
            taken.append(extension)
    return taken


def _phrases_at(
    node: Node, number: int, left: str, bank: PhraseBank, grammar: ReferenceGrammar
) -> Iterator[tuple[Phrase, Production]]:
    labels = node.child_labels
    licensed: dict[tuple[str, bool], Production | None] = {}
    for phrase in bank.at(node.label, left):
        if left == node.label and phrase.label not in ("PP", "SBAR", "VP", "ADVP"):
            continue
        key = (phrase.label, phrase.text.startswith(","))
        if key not in licensed:
            rhs = (*labels[:number], phrase.label, *labels[number:])
            known = grammar.counts.get((node.label, rhs))
            licensed[key] = (
                Production(node.label, labels, rhs, round(grammar.probability(node.label, rhs), 8))
                if known
                else None
            )
        production = licensed[key]
        if production is not None:
            yield phrase, production


def _head_at(tokens: Sequence[Token], node: Node, number: int, phrase: Phrase) -> str | None:
    if node.label == "NP" and " " not in phrase.text and phrase.label != "ADVP":
        nouns = [c for c in node.children[number:] if c.is_word and c.label.startswith("NN")]
        return tokens[nouns[-1].start].lemma.lower() if nouns else None
    return head_of(tokens, Node(node.label, (*node.children[:number], node), 0, 1), number)


def _inserted(
    source: Source,
    pieces: Sequence[_Piece],
    origin: Origin,
    production: Production,
    score: float,
) -> Extension | None:
    """The sentence with pieces inserted; None where one cannot stand."""
    tokens = source.tokens
    text = ""
    last = 0
    inserted: list[InsertedWord] = []
    for piece in pieces:
        spot = mask.mask_offset(tokens, piece.place)
        if spot is None or _clashes(tokens, piece):
            return None
        offset, before = spot
        if piece.text.startswith(","):
            offset, before = tokens[piece.place - 1].end, False
        text += source.text[last:offset]
        glued = piece.text.startswith(",")
        text += "" if before or glued else " "
        inserted.append(InsertedWord(piece.text, piece.tag, len(text), len(text) + len(piece.text)))
        text += piece.text + (" " if before else "")
        last = offset
    text += source.text[last:]
    return Extension(sentence_id(text), text, tuple(inserted), origin, production, score)


def _clashes(tokens: Sequence[Token], piece: _Piece) -> bool:
    """Whether it repeats a neighbour or breaks an article's agreement with a sound."""
    left = tokens[piece.place - 1].text.lower()
    right = tokens[piece.place].text.lower() if piece.place < len(tokens) else ""
    words = piece.text.strip(", ").lower().split()
    if words[0] == left or words[-1] == right:
        return True
    if left in ("a", "an") and (left == "an") != takes_an(words[0]):
        return True
    return words[-1] in ("a", "an") and (words[-1] == "an") != takes_an(right)
