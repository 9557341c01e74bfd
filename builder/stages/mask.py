"""Mask: where a reference production has extra symbols, insert masks (S²LCT, Algorithm 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from s2lct.builder.language.grammar import Extension, ReferenceGrammar
from s2lct.builder.language.tree import Node, read_tree
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.models.masked_lm import MASK
from s2lct.builder.records import (
    Mask,
    MaskedSentence,
    ParsedSeed,
    Production,
    Reading,
    Seed,
    Token,
)
from s2lct.identity import rng_for

_CLOSING = frozenset(".,;:!?…)]}%\"'”’")
_OPENING = frozenset("([{$#\"'“‘")
OffsetOf = Callable[[Sequence[Token], int], tuple[int, bool] | None]


def mask(
    seeds: Sequence[ParsedSeed],
    grammar: ReferenceGrammar,
    *,
    masked_per_seed: int,
    masks_per_sentence: int | None,
    order: str,
    tags: Collection[str],
    seed: int,
    anywhere: bool = False,
) -> list[MaskedSentence]:
    """Draw masked sentences for each seed.

    Args:
        seeds: parsed seeds.
        grammar: the reference grammar.
        masked_per_seed: the paper's k, how many masked sentences to draw for a seed.
        masks_per_sentence: most masks in one sentence; None for any number.
        order: ``random``, every candidate alike (paper), or ``probability``, in proportion to
            the reference production's probability.
        tags: parts of speech that may become masks.
        seed: of the random draw; each seed's draw depends on its id alone.
        anywhere: masks may stand wherever there is room, as `any_offset` says, and not only where
            a word reads naturally, as `mask_offset` does.

    Returns:
        The masked sentences, those of one seed together; no two of a seed have the same text
        and tags.
    """
    drawn: list[MaskedSentence] = []
    offset_of = any_offset if anywhere else mask_offset
    for parsed in seeds:
        candidates = list(
            _candidates(parsed, grammar, masks_per_sentence, frozenset(tags), offset_of)
        )
        weight = _WEIGHTS[order]
        rng = rng_for(seed, "mask", parsed.seed.id)
        keys = [_draw_key(rng, weight(candidate)) for candidate in candidates]
        best = sorted(range(len(candidates)), key=lambda n: (-keys[n], n))[:masked_per_seed]
        drawn += [candidates[n] for n in best]
    return drawn


def _draw_key(rng: random.Random, weight: float) -> float:
    """Weighted sampling without replacement (Efraimidis & Spirakis 2006): largest keys win."""
    return math.log(1.0 - rng.random()) / weight


_WEIGHTS: dict[str, Callable[[MaskedSentence], float]] = {
    "random": lambda candidate: 1.0,
    "probability": lambda candidate: candidate.production.probability,
}


def _candidates(
    parsed: ParsedSeed,
    grammar: ReferenceGrammar,
    masks_per_sentence: int | None,
    tags: frozenset[str],
    offset_of: OffsetOf,
) -> Iterator[MaskedSentence]:
    """Every masked sentence of a seed, with all its readings."""
    found: dict[tuple[str, tuple[Mask, ...]], MaskedSentence] = {}
    if parsed.tree is None:
        return
    for node in _phrases(read_tree(parsed.tree)):
        for extension in grammar.extensions(node.label, node.child_labels, masks_per_sentence):
            if not all(tag in tags for _, tag in extension.added):
                continue
            candidate = _insert(parsed, node, extension, offset_of)
            if candidate is None:
                continue
            key = (candidate.text, candidate.masks)
            known = found.get(key)
            found[key] = _with_readings(known, candidate) if known else candidate
    yield from found.values()


def _with_readings(known: MaskedSentence, other: MaskedSentence) -> MaskedSentence:
    readings = sorted(
        known.readings + other.readings, key=lambda reading: -reading.production.probability
    )
    return replace(known, readings=tuple(readings))


def _phrases(node: Node) -> Iterator[Node]:
    if node.is_word:
        return
    yield node
    for child in node.children:
        yield from _phrases(child)


def _insert(
    parsed: ParsedSeed, node: Node, extension: Extension, offset_of: OffsetOf
) -> MaskedSentence | None:
    """Insert an extension's masks; None if one would stand where no word can."""
    places = tuple(
        node.children[at].start if at < len(node.children) else node.end
        for at, _ in extension.added
    )
    text = parsed.seed.text
    pieces: list[str] = []
    masks: list[Mask] = []
    last = 0
    length = 0
    for place, (_, tag) in zip(places, extension.added, strict=True):
        spot = offset_of(parsed.tokens, place)
        if spot is None:
            return None
        offset, before = spot
        unchanged = text[last:offset]
        inserted = f"{MASK} " if before else f" {MASK}"
        masks.append(Mask(length + len(unchanged) + (0 if before else 1), tag))
        pieces += [unchanged, inserted]
        length += len(unchanged) + len(inserted)
        last = offset
    pieces.append(text[last:])
    production = Production(
        node.label, node.child_labels, extension.reference_rhs, round(extension.probability, 8)
    )
    return MaskedSentence(
        seed_id=parsed.seed.id,
        text="".join(pieces),
        masks=tuple(masks),
        readings=(Reading(production, (node.start, node.end)),),
        places=places,
    )


def mask_offset(tokens: Sequence[Token], place: int) -> tuple[int, bool] | None:
    """Where a word goes that is to stand before token number ``place``.

    Returns:
        The character offset and whether the space follows the word (else it precedes it).
        None where no word can go: before the first word, whose capital would be wrong, behind
        final punctuation, or between glued tokens.
    """
    if place == 0:
        return None
    previous = tokens[place - 1]
    if place == len(tokens):
        return None if _closes(previous) else (previous.end, False)
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    return (previous.end, False) if _closes(following) and not _closes(previous) else None


def any_offset(tokens: Sequence[Token], place: int) -> tuple[int, bool] | None:
    """`mask_offset` wherever there is room, before the first word and behind a full stop too.

    None remains where a word would tear apart what is written as one: *does|n't*, *well|-|made*.
    """
    if place == 0:
        return (tokens[0].start, True)
    previous = tokens[place - 1]
    if place == len(tokens):
        return (previous.end, False)
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    if _closes(following) and following.tag != "POS":
        return (previous.end, False)
    return (following.start, True) if _is_of(previous, _OPENING) else None


def _closes(token: Token) -> bool:
    return _is_of(token, _CLOSING)


def _is_of(token: Token, characters: frozenset[str]) -> bool:
    return all(character in characters for character in token.text)


def parse(seeds: Sequence[Seed], tagger: Tagger, parser: ConstituencyParser) -> list[ParsedSeed]:
    """Tokenise and parse every seed."""
    tokens = tagger.tag([seed.text for seed in seeds])
    return [
        ParsedSeed(seed, words, tree)
        for seed, words, tree in zip(seeds, tokens, parser.parse(tokens), strict=True)
    ]
