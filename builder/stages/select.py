"""Select: of the expansions that pass, the ones to publish.

Before an expansion is taken its sentence is parsed again: the inserted words must stand under
the node they were inserted into (the last part of the third criterion).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.stages.validate import Rejection
from s2lct.identity import shuffle_key
from s2lct.suite.records import (
    Expansion,
    Family,
    MaskedSentence,
    ParsedSeed,
    Reading,
    Token,
)


def select(
    expansions: Sequence[Expansion],
    seeds: Sequence[ParsedSeed],
    tagger: Tagger,
    parser: ConstituencyParser,
    *,
    how: str,
    per_seed: int,
    seed: int,
) -> tuple[list[Family], Counter[tuple[str, Rejection]]]:
    """Choose each seed's expansions.

    Args:
        expansions: expansions that passed validation.
        seeds: the seeds, those without expansions too.
        tagger: splits what is about to be taken into tokens.
        parser: parses it.
        how: ``score``, the likeliest words first; ``random``; or ``all``.
        per_seed: most expansions of a seed; ``all`` takes no notice of it.
        seed: of the random choice.

    Returns:
        A family for each seed, and how many expansions failed the second parse.
    """
    ranked: dict[str, list[Expansion]] = defaultdict(list)
    for expansion in _distinct(expansions):
        ranked[expansion.seed_id].append(expansion)
    for seed_id, group in ranked.items():
        if how == "random":
            group.sort(key=lambda one: shuffle_key(seed, "select", seed_id, one.text))
        else:
            group.sort(key=lambda one: (-one.score, one.text))
    parents = {parsed.seed.id: parsed for parsed in seeds}
    wanted = {
        seed_id: len(group) if how == "all" else per_seed for seed_id, group in ranked.items()
    }
    taken: dict[str, list[Expansion]] = {seed_id: [] for seed_id in parents}
    rejected: Counter[tuple[str, Rejection]] = Counter()
    while True:
        wave: list[Expansion] = []
        for seed_id, group in ranked.items():
            missing = wanted[seed_id] - len(taken[seed_id])
            wave += group[:missing]
            ranked[seed_id] = group[missing:] if missing else []
        if not wave:
            break
        for expansion, readings in zip(
            wave, confirmed_readings(wave, parents, tagger, parser), strict=True
        ):
            if readings:
                masked = replace(expansion.masked, readings=readings)
                taken[expansion.seed_id].append(replace(expansion, masked=masked))
            else:
                capability = parents[expansion.seed_id].seed.capability
                rejected[capability, Rejection.SPECIFICATION] += 1
    return [Family(parsed, tuple(taken[parsed.seed.id])) for parsed in seeds], rejected


def without_duplicates(families: Iterable[Family]) -> tuple[list[Family], Counter[str]]:
    """Drop expansions whose text a seed or an earlier expansion of the capability has.

    Returns:
        The families, and how many expansions of each capability were dropped.
    """
    families = list(families)
    seen = {(family.seed.seed.capability, family.seed.seed.text) for family in families}
    dropped: Counter[str] = Counter()
    kept: list[Family] = []
    for family in families:
        capability = family.seed.seed.capability
        own: list[Expansion] = []
        for expansion in family.expansions:
            if (capability, expansion.text) in seen:
                dropped[capability] += 1
            else:
                seen.add((capability, expansion.text))
                own.append(expansion)
        kept.append(replace(family, expansions=tuple(own)))
    return kept, dropped


def _distinct(expansions: Iterable[Expansion]) -> list[Expansion]:
    """One expansion for each text of a seed: the most probable production, then the best score."""
    best: dict[tuple[str, str], Expansion] = {}
    for expansion in expansions:
        key = (expansion.seed_id, expansion.text)
        known = best.get(key)
        if known is None or _rank(expansion) > _rank(known):
            best[key] = expansion
    return list(best.values())


def _rank(expansion: Expansion) -> tuple[float, float]:
    return expansion.masked.production.probability, expansion.score


def confirmed_readings(
    expansions: Sequence[Expansion],
    parents: Mapping[str, ParsedSeed],
    tagger: Tagger,
    parser: ConstituencyParser,
) -> list[tuple[Reading, ...]]:
    """For each expansion, the readings whose node a new parse puts its words under."""
    texts = [_region_text(expansion, parents[expansion.seed_id]) for expansion in expansions]
    distinct = list(dict.fromkeys(texts))
    tokens = tagger.tag(distinct)
    trees = dict(zip(distinct, zip(tokens, parser.parse(tokens), strict=True), strict=True))
    return [
        _confirmed(expansion.masked, parents[expansion.seed_id], *trees[text])
        for expansion, text in zip(expansions, texts, strict=True)
    ]


def _region_text(expansion: Expansion, parsed: ParsedSeed) -> str:
    region = parsed.regions[expansion.masked.region].region
    added = sum(len(word.word) + 1 for word in expansion.inserted)
    return expansion.text[region.start : region.end + added]


def _confirmed(
    masked: MaskedSentence, parsed: ParsedSeed, tokens: Sequence[Token], tree: str | None
) -> tuple[Reading, ...]:
    """The readings whose node the tree has where it was expanded, with the words in it."""
    region = parsed.regions[masked.region]
    if tree is None or len(tokens) != len(region.tokens) + len(masked.places):
        return ()
    leaves = {place + number for number, place in enumerate(masked.places)}
    nodes = {
        (node.label, node.start, node.end)
        for node in read_tree(tree).nodes()
        if leaves <= node.words_under()
    }
    return tuple(
        reading
        for reading in masked.readings
        if (reading.production.lhs, reading.span[0], reading.span[1] + len(leaves)) in nodes
    )
