"""Choose expansions for variety: a greedy maximum coverage, the same for the same candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from s2lct.builder.stages.compose import ComposedExpansion
from s2lct.identity import shuffle_key

LARGEST_SHARE = 0.02
"""No insertion makes up a larger share of a suite's expansions."""
LEAST_ALLOWED = 2


def choose(
    seeds: Sequence[str],
    expansions: Iterable[ComposedExpansion],
    *,
    per_seed: int,
    seed: int,
) -> dict[str, list[ComposedExpansion]]:
    """Choose each seed's expansions in a suite, those first that add what the chosen ones lack.

    In rounds every seed gets one more, as long as it has any, those with few candidates first: of
    its candidates the one whose words, number of words, production and kind were chosen least. No
    insertion makes up more than `LARGEST_SHARE` of all.

    Args:
        seeds: ids of the seeds of all capabilities.
        expansions: the candidates.
        per_seed: most expansions of a seed.
        seed: of the random choice among equals.

    Returns:
        For each seed its expansions, in the order they were chosen.
    """
    of_seed: defaultdict[str, list[ComposedExpansion]] = defaultdict(list)
    for one in expansions:
        of_seed[one.seed_id].append(one)
    ordered = sorted(
        seeds, key=lambda id: (len(of_seed[id]), shuffle_key(seed, "order of seeds", id))
    )
    allowed = int(LARGEST_SHARE * sum(min(per_seed, len(some)) for some in of_seed.values()))
    while True:
        chosen = _chosen(ordered, of_seed, per_seed, max(LEAST_ALLOWED, allowed), seed)
        share_of_all = int(LARGEST_SHARE * sum(map(len, chosen.values())))
        if allowed <= max(LEAST_ALLOWED, share_of_all):
            return {id: chosen[id] for id in seeds}
        # Fewer were chosen than there was room for: of these, too, it is no larger share.
        allowed = min(allowed - 1, (allowed + share_of_all) // 2)


def _chosen(
    seeds: Sequence[str],
    of_seed: Mapping[str, Sequence[ComposedExpansion]],
    per_seed: int,
    allowed: int,
    seed: int,
) -> dict[str, list[ComposedExpansion]]:
    left = {id: list(some) for id, some in of_seed.items()}
    chosen: dict[str, list[ComposedExpansion]] = {id: [] for id in seeds}
    used: Counter[tuple[str, str]] = Counter()
    for _ in range(per_seed):
        for id in seeds:
            candidates = [one for one in left.get(id, []) if used["words", words_of(one)] < allowed]
            if not candidates:
                continue
            best = min(candidates, key=lambda one: _rank(one, used, seed))
            left[id].remove(best)
            chosen[id].append(best)
            used.update(
                [
                    ("words", words_of(best)),
                    ("length", _length(best)),
                    ("production", _production(best)),
                    *(("kind", word.tag) for word in best.inserted),
                ]
            )
    return chosen


def words_of(expansion: ComposedExpansion) -> str:
    """What was inserted, in lower case."""
    return " ".join(word.word for word in expansion.inserted).lower()


def _length(expansion: ComposedExpansion) -> str:
    return str(min(4, len(words_of(expansion).split())))


def _production(expansion: ComposedExpansion) -> str:
    production = expansion.extension.production
    return f"{production.lhs} {' '.join(production.reference_rhs)}"


def _rank(
    expansion: ComposedExpansion, used: Counter[tuple[str, str]], seed: int
) -> tuple[int, int, int, int, bytes]:
    return (
        used["words", words_of(expansion)],
        used["length", _length(expansion)],
        used["production", _production(expansion)],
        min(used["kind", word.tag] for word in expansion.inserted),
        shuffle_key(seed, "choose", expansion.id),
    )
