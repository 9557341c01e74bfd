"""Choose expansions: a greedy choice for variety."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from s2lct.builder.language.fluency import proper_words
from s2lct.builder.records import Expansion
from s2lct.builder.rules import BuildRules
from s2lct.identity import shuffle_key

MAX_SHARE_OF_INSERTION = 0.02
"""The largest share of a suite's expansions that insert the same word or phrase."""
MAX_SHARE_OF_WORD_CLASS = 0.04
"""The largest share of a suite's expansions that insert a word of one class, such as numbers."""
MIN_LIMIT = 2
"""Even in a small suite an insertion may be used this often."""


def choose(
    seed_ids_by_capability: Collection[Sequence[str]],
    expansions: Iterable[Expansion],
    rules: BuildRules,
) -> dict[str, list[Expansion]]:
    """Choose the expansions of each seed, for variety.

    In rounds, each seed gets one more expansion. Seeds come in this order: those of capabilities
    with few candidates first, then those with few candidates of their own.

    The choice falls on the candidate whose words, length, production and tags have been used least.
    Phrases of several words are chosen before single words.

    No word or phrase makes up more than `MAX_SHARE_OF_INSERTION` of all expansions. No class of
    words makes up more than `MAX_SHARE_OF_WORD_CLASS`. The classes are numbers, words that English
    capitalizes, and the domain's own classes.

    Args:
        seed_ids_by_capability: one group of seed ids for each capability.
        expansions: the candidates.
        rules: the rules of the build.

    Returns:
        The chosen expansions of each seed, by its id, in the order of choice.
    """
    expansions_per_seed, random_seed = rules.expansions, rules.seed
    candidates_of_seed: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for expansion in expansions:
        tie_breaker = shuffle_key(random_seed, "choose", expansion.id)
        is_limited = rules.limits_attested_insertions or expansion.extension.origin != "attested"
        limited_features = (
            _limited_features(expansion, rules.domain_words) if is_limited else frozenset()
        )
        candidate = _Candidate(expansion, *_features(expansion), limited_features, tie_breaker)
        candidates_of_seed[expansion.seed_id].append(candidate)
    capability_candidates_of_seed = {
        id: sum(len(candidates_of_seed[seed_id]) for seed_id in group)
        for group in seed_ids_by_capability
        for id in group
    }
    seed_ids = sorted(
        capability_candidates_of_seed,
        key=lambda id: (
            capability_candidates_of_seed[id],
            len(candidates_of_seed[id]),
            shuffle_key(random_seed, "order of seeds", id),
        ),
    )
    assumed_count = sum(
        min(expansions_per_seed, len(candidates)) for candidates in candidates_of_seed.values()
    )
    while True:
        chosen = _choose_in_rounds(
            seed_ids, candidates_of_seed, expansions_per_seed, _usage_limits(assumed_count)
        )
        chosen_count = sum(map(len, chosen.values()))
        if _usage_limits(chosen_count) == _usage_limits(assumed_count):
            return {id: chosen[id] for id in capability_candidates_of_seed}
        # The limits were shares of a larger count: choose again by shares of a smaller one.
        assumed_count = (assumed_count + chosen_count) // 2


def _usage_limits(expansion_count: int) -> dict[str, int]:
    """How many of so many expansions may insert one word or phrase, and one class of words."""
    shares = {"part": MAX_SHARE_OF_INSERTION, "class": MAX_SHARE_OF_WORD_CLASS}
    return {name: max(MIN_LIMIT, int(share * expansion_count)) for name, share in shares.items()}


Feature = tuple[str, str]
"""A kind of feature and its value: ``("length", "1")``."""
SINGLE_WORD: Feature = ("length", "1")
"""The feature of expansions that insert a single word."""


class _Candidate(NamedTuple):
    """An expansion with its features, which the choice counts, and a key that breaks ties."""

    expansion: Expansion
    words_feature: Feature
    length_feature: Feature
    production_feature: Feature
    tag_features: tuple[Feature, ...]
    limited_features: frozenset[Feature]
    tie_breaker: bytes

    def usage(self, use_counts: Mapping[Feature, int]) -> tuple[int, int, int, int, bytes]:
        """A sort key: how often each feature was used so far. The lowest is chosen first."""
        return (
            use_counts[self.words_feature],
            use_counts[self.length_feature],
            use_counts[self.production_feature],
            min(use_counts[kind] for kind in self.tag_features),
            self.tie_breaker,
        )


def _features(expansion: Expansion) -> tuple[Feature, Feature, Feature, tuple[Feature, ...]]:
    """The features of an expansion that the choice counts: words, length, production and tags."""
    words = inserted_text(expansion)
    production = expansion.extension.production
    return (
        ("words", words),
        ("length", str(min(4, len(words.split())))),
        ("production", f"{production.lhs} {' '.join(production.reference_rhs)}"),
        tuple(("kind", word.tag) for word in expansion.inserted),
    )


def _limited_features(
    expansion: Expansion, domain_words: Mapping[str, Collection[str]]
) -> frozenset[Feature]:
    """The features with a limit: each inserted word or phrase, and the classes of single words.

    Phrases have no class.
    """
    features = {("part", word.word.lower()) for word in expansion.inserted}
    for inserted in expansion.inserted:
        word = inserted.word.lower()
        features.update(("class", name) for name, words in domain_words.items() if word in words)
        if inserted.tag == "CD":
            features.add(("class", "number"))
        elif inserted.tag in ("NNP", "NNPS") or (inserted.tag == "JJ" and word in proper_words()):
            features.add(("class", "capital"))
    return frozenset(features)


def _choose_in_rounds(
    seed_ids: Sequence[str],
    candidates_of_seed: Mapping[str, Sequence[_Candidate]],
    expansions_per_seed: int,
    limits: Mapping[str, int],
) -> dict[str, list[Expansion]]:
    """Choose up to so many expansions of each seed, one a round, within the limits."""
    remaining = {id: list(candidates_of_seed.get(id, ())) for id in seed_ids}
    chosen: dict[str, list[Expansion]] = {id: [] for id in seed_ids}
    use_counts: defaultdict[Feature, int] = defaultdict(int)
    used_up: set[Feature] = set()

    def take(id: str, multiword_only: bool) -> bool:
        """Choose one more expansion of a seed; False if none is left."""
        if len(chosen[id]) == expansions_per_seed:
            return False
        remaining[id] = [
            each for each in remaining[id] if used_up.isdisjoint(each.limited_features)
        ]
        candidates = remaining[id]
        if multiword_only:
            candidates = [each for each in candidates if each.length_feature != SINGLE_WORD]
        if not candidates:
            return False
        best = min(candidates, key=lambda candidate: candidate.usage(use_counts))
        remaining[id].remove(best)
        chosen[id].append(best.expansion)
        for feature in (
            best.words_feature,
            best.length_feature,
            best.production_feature,
            *best.tag_features,
            *best.limited_features,
        ):
            use_counts[feature] += 1
        used_up.update(
            each for each in best.limited_features if use_counts[each] >= limits[each[0]]
        )
        return True

    # Single words would use up the limits, and there are enough of them.
    for multiword_only in (True, False):
        waiting = seed_ids
        while waiting:
            waiting = [id for id in waiting if take(id, multiword_only)]
    return chosen


def inserted_text(expansion: Expansion) -> str:
    """The inserted words and phrases of an expansion, joined by spaces, in lower case."""
    return " ".join(word.word for word in expansion.inserted).lower()
