"""Select: of the expansions that pass, the ones to publish."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from s2lct.identity import shuffle_key
from s2lct.suite.records import Expansion, Family, ParsedSeed


def select(
    expansions: Sequence[Expansion],
    seeds: Sequence[ParsedSeed],
    *,
    per_seed: int,
    seed: int,
) -> list[Family]:
    """Choose each seed's expansions.

    Args:
        expansions: expansions that passed validation.
        seeds: the seeds, those without expansions too.
        per_seed: most expansions of a seed, drawn at random.
        seed: of the random choice.

    Returns:
        A family for each seed.
    """
    passed: dict[str, list[Expansion]] = defaultdict(list)
    for expansion in _distinct(expansions):
        passed[expansion.seed_id].append(expansion)
    for seed_id, group in passed.items():
        group.sort(key=lambda one: shuffle_key(seed, "select", seed_id, one.text))
    return [Family(parsed, tuple(passed[parsed.seed.id][:per_seed])) for parsed in seeds]


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
