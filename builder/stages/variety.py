"""Choose expansions for variety: a greedy maximum coverage, the same for the same candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from s2lct.builder.stages.compose import ComposedExpansion
from s2lct.identity import shuffle_key

LARGEST_SHARE = 0.015
"""No insertion is chosen for a larger share of the places that expansions could take.

Not every place is taken, so that of a suite's expansions it makes up 2 % at most.
"""
LEAST_ALLOWED = 2


def choose(
    seeds: Sequence[str],
    expansions: Iterable[ComposedExpansion],
    *,
    per_seed: int,
    seed: int,
) -> dict[str, list[ComposedExpansion]]:
    """Choose each seed's expansions in a suite, those first that add what the chosen ones lack.

    In rounds every seed gets one more, as long as it has any: of its candidates the one whose
    words, kind, production and number of words were chosen least. An insertion is not chosen more
    often than `LARGEST_SHARE` of all candidates' seeds allow.

    Args:
        seeds: ids of the seeds of all capabilities.
        expansions: the candidates.
        per_seed: most expansions of a seed.
        seed: of the random choice among equals.

    Returns:
        For each seed its expansions, in the order they were chosen.
    """
    left: defaultdict[str, list[ComposedExpansion]] = defaultdict(list)
    for one in expansions:
        left[one.seed_id].append(one)
    total = sum(min(per_seed, len(some)) for some in left.values())
    allowed = max(LEAST_ALLOWED, int(total * LARGEST_SHARE))
    chosen: dict[str, list[ComposedExpansion]] = {id: [] for id in seeds}
    used: Counter[tuple[str, str]] = Counter()
    ordered = sorted(seeds, key=lambda id: shuffle_key(seed, "order of seeds", id))
    for _ in range(per_seed):
        for id in ordered:
            candidates = [one for one in left[id] if used["words", words_of(one)] < allowed]
            if not candidates:
                continue
            best = min(candidates, key=lambda one: _rank(one, used, seed))
            left[id].remove(best)
            chosen[id].append(best)
            used.update(_features(best))
    return chosen


def words_of(expansion: ComposedExpansion) -> str:
    """What was inserted, in lower case."""
    return " ".join(word.word for word in expansion.inserted).lower()


def _features(expansion: ComposedExpansion) -> list[tuple[str, str]]:
    production = expansion.extension.production
    words = words_of(expansion)
    return [
        ("words", words),
        ("kind", " ".join(word.tag for word in expansion.inserted)),
        ("production", f"{production.lhs} {' '.join(production.reference_rhs)}"),
        ("length", str(min(4, len(words.split())))),
    ]


def _rank(
    expansion: ComposedExpansion, used: Counter[tuple[str, str]], seed: int
) -> tuple[int, int, int, int, bytes]:
    words, kind, production, length = (used[feature] for feature in _features(expansion))
    return words, kind, length, production, shuffle_key(seed, "choose", expansion.id)
