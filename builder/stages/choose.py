"""Choose expansions: for variety, a greedy maximum coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from s2lct.builder.language.fluency import proper_words
from s2lct.builder.records import Expansion
from s2lct.builder.rules import BuildRules
from s2lct.identity import shuffle_key

MAX_SHARE_OF_INSERTION = 0.02
"""No inserted word or phrase is in a larger share of a suite's expansions."""
MAX_SHARE_OF_WORD_CLASS = 0.04
"""Nor does a class of words, as numbers are."""
MIN_ALLOWED = 2


def choose(
    groups: Collection[Sequence[str]], expansions: Iterable[Expansion], rules: BuildRules
) -> dict[str, list[Expansion]]:
    """Choose each seed's expansions in a suite, those first that add what the chosen ones lack.

    In rounds every seed gets one more, as long as it has any, those of a capability with few
    candidates first, among them those with few themselves. It is the candidate whose words, number
    of words, production and kind were chosen least, one of several words before those of one. No
    word or phrase makes up more than `MAX_SHARE_OF_INSERTION` of all, no class of words more than
    `MAX_SHARE_OF_WORD_CLASS`: numbers, words that English writes with a capital, and those of the
    domain.

    Args:
        groups: ids of the seeds of each capability.
        expansions: the candidates.
        rules: of the build.

    Returns:
        For each seed its expansions, in the order they were chosen.
    """
    per_seed, seed = rules.expansions, rules.seed
    of_seed: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for expansion in expansions:
        key = shuffle_key(seed, "choose", expansion.id)
        is_limited = rules.limits_authors_words or expansion.extension.origin != "attested"
        limited = _limited(expansion, rules.domain_words) if is_limited else frozenset()
        candidate = _Candidate(expansion, *_features(expansion), limited, key)
        of_seed[expansion.seed_id].append(candidate)
    of_group = {
        id: sum(len(of_seed[seed_id]) for seed_id in group) for group in groups for id in group
    }
    ordered = sorted(
        of_group,
        key=lambda id: (of_group[id], len(of_seed[id]), shuffle_key(seed, "order of seeds", id)),
    )
    total = sum(min(per_seed, len(candidates)) for candidates in of_seed.values())
    while True:
        chosen = _chosen(ordered, of_seed, per_seed, _limits(total))
        number = sum(map(len, chosen.values()))
        if _limits(number) == _limits(total):
            return {id: chosen[id] for id in of_group}
        # Fewer were chosen than there was room for: of these, too, it is no larger share.
        total = (total + number) // 2


def _limits(total: int) -> dict[str, int]:
    """How often a word or phrase, and a class of words, may be among so many expansions."""
    shares = {"part": MAX_SHARE_OF_INSERTION, "class": MAX_SHARE_OF_WORD_CLASS}
    return {name: max(MIN_ALLOWED, int(share * total)) for name, share in shares.items()}


Feature = tuple[str, str]
SINGLE: Feature = ("length", "1")


class _Candidate(NamedTuple):
    """An expansion with what of it may have been chosen before, and what decides among equals."""

    expansion: Expansion
    words: Feature
    length: Feature
    production: Feature
    kinds: tuple[Feature, ...]
    limited: frozenset[Feature]
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


def _features(expansion: Expansion) -> tuple[Feature, Feature, Feature, tuple[Feature, ...]]:
    words = words_of(expansion)
    production = expansion.extension.production
    return (
        ("words", words),
        ("length", str(min(4, len(words.split())))),
        ("production", f"{production.lhs} {' '.join(production.reference_rhs)}"),
        tuple(("kind", word.tag) for word in expansion.inserted),
    )


def _limited(expansion: Expansion, domain: Mapping[str, Collection[str]]) -> frozenset[Feature]:
    """An expansion's words and phrases, and the classes of its words; a phrase is of none."""
    features = {("part", word.word.lower()) for word in expansion.inserted}
    for inserted in expansion.inserted:
        word = inserted.word.lower()
        features.update(("class", name) for name, words in domain.items() if word in words)
        if inserted.tag == "CD":
            features.add(("class", "number"))
        elif inserted.tag in ("NNP", "NNPS") or (inserted.tag == "JJ" and word in proper_words()):
            features.add(("class", "capital"))
    return frozenset(features)


def _chosen(
    seeds: Sequence[str],
    of_seed: Mapping[str, Sequence[_Candidate]],
    per_seed: int,
    limits: Mapping[str, int],
) -> dict[str, list[Expansion]]:
    remaining = {id: list(of_seed.get(id, ())) for id in seeds}
    chosen: dict[str, list[Expansion]] = {id: [] for id in seeds}
    used: defaultdict[Feature, int] = defaultdict(int)
    used_up: set[Feature] = set()

    def take(id: str, only_several: bool) -> bool:
        """Choose one more expansion of a seed; whether there was one."""
        if len(chosen[id]) == per_seed:
            return False
        remaining[id] = [each for each in remaining[id] if used_up.isdisjoint(each.limited)]
        candidates = remaining[id]
        if only_several:
            candidates = [each for each in candidates if each.length != SINGLE]
        if not candidates:
            return False
        best = min(candidates, key=lambda candidate: candidate.rank(used))
        remaining[id].remove(best)
        chosen[id].append(best.expansion)
        for feature in (best.words, best.length, best.production, *best.kinds, *best.limited):
            used[feature] += 1
        used_up.update(each for each in best.limited if used[each] >= limits[each[0]])
        return True

    # Single words would use up what is limited, and of them there are enough.
    for only_several in (True, False):
        waiting = seeds
        while waiting:
            waiting = [id for id in waiting if take(id, only_several)]
    return chosen


def words_of(expansion: Expansion) -> str:
    """What was inserted, in lower case."""
    return " ".join(word.word for word in expansion.inserted).lower()
