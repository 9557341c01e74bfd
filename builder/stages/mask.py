"""Mask: where a reference production has extra symbols, insert masks (S²LCT, Algorithm 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from s2lct.builder.language.grammar import Extension, ReferenceGrammar
from s2lct.builder.language.tree import Node, read_tree
from s2lct.builder.models.masked_lm import MASK
from s2lct.identity import rng_for
from s2lct.suite.records import (
    Mask,
    MaskedSentence,
    ParsedRegion,
    ParsedSeed,
    Production,
    Reading,
    Token,
)

_CLOSING = frozenset(".,;:!?…)]}%\"'”’")


def mask(
    seeds: Sequence[ParsedSeed],
    grammar: ReferenceGrammar,
    *,
    masked_per_seed: int,
    masks_per_sentence: int,
    order: str,
    tags: Collection[str],
    seed: int,
) -> list[MaskedSentence]:
    """Draw masked sentences for each seed.

    Args:
        seeds: parsed seeds.
        grammar: the reference grammar.
        masked_per_seed: the paper's k, how many masked sentences to draw for a seed.
        masks_per_sentence: most masks in one sentence.
        order: ``random``, every candidate alike (paper), or ``probability``, in proportion to
            the reference production's probability.
        tags: parts of speech that may become masks.
        seed: of the random draw; each seed's draw depends on its id alone.

    Returns:
        The masked sentences, those of one seed together; no two of a seed have the same text
        and tags.
    """
    drawn: list[MaskedSentence] = []
    for parsed in seeds:
        candidates = list(_candidates(parsed, grammar, masks_per_sentence, frozenset(tags)))
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
    parsed: ParsedSeed, grammar: ReferenceGrammar, masks_per_sentence: int, tags: frozenset[str]
) -> Iterator[MaskedSentence]:
    """Every masked sentence of a seed, with all its readings."""
    found: dict[tuple[str, tuple[Mask, ...]], MaskedSentence] = {}
    for number, region in enumerate(parsed.regions):
        for node in _phrases(read_tree(region.tree)):
            rhs = node.child_labels
            for extension in grammar.extensions(node.label, rhs, masks_per_sentence):
                if not all(tag in tags for _, tag in extension.added):
                    continue
                candidate = _insert(parsed, number, region, node, extension)
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
    parsed: ParsedSeed, number: int, region: ParsedRegion, node: Node, extension: Extension
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
        spot = mask_offset(region, place)
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
    masked_text = "".join(pieces)
    added = len(masked_text) - len(text)
    production = Production(
        node.label, node.child_labels, extension.reference_rhs, round(extension.probability, 8)
    )
    return MaskedSentence(
        seed_id=parsed.seed.id,
        region=number,
        text=masked_text,
        sentence=masked_text[region.region.start : region.region.end + added],
        masks=tuple(masks),
        readings=(Reading(production, (node.start, node.end)),),
        places=places,
    )


def mask_offset(region: ParsedRegion, place: int) -> tuple[int, bool] | None:
    """Where a word goes that is to stand before token number ``place`` of a region.

    Returns:
        The character offset and whether the space follows the word (else it precedes it).
        None where no word can go: before the first word, whose capital would be wrong, inside
        what makes the capability, behind final punctuation, or between glued tokens.
    """
    tokens = region.tokens
    if place == 0:
        return None
    previous = tokens[place - 1]
    if previous.end < region.region.frozen_end:
        return None
    if place == len(tokens):
        return None if _closes(previous) else (previous.end, False)
    following = tokens[place]
    if previous.end < following.start:
        return (following.start, True)
    return (previous.end, False) if _closes(following) and not _closes(previous) else None


def _closes(token: Token) -> bool:
    return all(character in _CLOSING for character in token.text)
