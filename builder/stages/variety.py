"""Choose expansions for variety: a greedy maximum coverage, the same for the same candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    of_seed: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for one in expansions:
        of_seed[one.seed_id].append(_candidate(one, seed))
    ordered = sorted(
        seeds, key=lambda id: (len(of_seed[id]), shuffle_key(seed, "order of seeds", id))
    )
    allowed = int(LARGEST_SHARE * sum(min(per_seed, len(some)) for some in of_seed.values()))
    while True:
        chosen = _chosen(ordered, of_seed, per_seed, max(LEAST_ALLOWED, allowed))
        share_of_all = int(LARGEST_SHARE * sum(map(len, chosen.values())))
        if allowed <= max(LEAST_ALLOWED, share_of_all):
            return {id: chosen[id] for id in seeds}
        # Fewer were chosen than there was room for: of these, too, it is no larger share.
        allowed = min(allowed - 1, (allowed + share_of_all) // 2)


Feature = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """An expansion with what it is compared by, worked out once.

    Attributes:
        expansion: the expansion.
        words, length, production, kinds: what of it may have been chosen before.
        key: decides among equals.
    """

    expansion: ComposedExpansion
    words: Feature
    length: Feature
    production: Feature
    kinds: tuple[Feature, ...]
    key: bytes

    def rank(self, used: Mapping[Feature, int]) -> tuple[int, int, int, int, bytes]:
        """How often the chosen ones have what it has, the least first to choose."""
        return (
            used[self.words],
            used[self.length],
            used[self.production],
            min(used[kind] for kind in self.kinds),
            self.key,
        )


def _candidate(expansion: ComposedExpansion, seed: int) -> _Candidate:
    words = words_of(expansion)
    production = expansion.extension.production
    return _Candidate(
        expansion,
        ("words", words),
        ("length", str(min(4, len(words.split())))),
        ("production", f"{production.lhs} {' '.join(production.reference_rhs)}"),
        tuple(("kind", word.tag) for word in expansion.inserted),
        shuffle_key(seed, "choose", expansion.id),
    )


def _chosen(
    seeds: Sequence[str],
    of_seed: Mapping[str, Sequence[_Candidate]],
    per_seed: int,
    allowed: int,
) -> dict[str, list[ComposedExpansion]]:
    left = {id: list(some) for id, some in of_seed.items()}
    chosen: dict[str, list[ComposedExpansion]] = {id: [] for id in seeds}
    used: Counter[Feature] = Counter()
    for _ in range(per_seed):
        for id in seeds:
            candidates = [one for one in left.get(id, ()) if used[one.words] < allowed]
            if not candidates:
                continue
            best = min(candidates, key=lambda one: one.rank(used))
            left[id].remove(best)
            chosen[id].append(best.expansion)
            used.update([best.words, best.length, best.production, *best.kinds])
    return chosen


def words_of(expansion: ComposedExpansion) -> str:
    """What was inserted, in lower case."""
    return " ".join(word.word for word in expansion.inserted).lower()
