"""Choose seeds: of those that may be published, evenly over sentences, slots, labels, wordings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.records import Seed, expansion_source_id
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.compose import Stream

MAX_SEEDS_OF_SENTENCE = 2
"""Seeds of a capability that one corpus sentence may be in."""
MANY_WORDINGS, MAX_SHARE_OF_WORDING = 16, 0.1
"""Where a form has so many wordings, none is in a larger share of its seeds."""


def choose_seeds(
    capabilities: Sequence[Capability],
    streams: Mapping[str, Sequence[Stream]],
    rules: BuildRules,
    incomplete: Collection[str] = (),
) -> tuple[dict[str, list[Seed]], set[str]]:
    """Choose the seeds of all capabilities, of as many sentences as can be.

    Args:
        capabilities: are chosen for in this order.
        streams: of each, what its seeds are chosen from; see `compose_seeds`.
        rules: of the build.
        incomplete: ids of the capabilities for which there are more sentences.

    Returns:
        The seeds of each capability, and the ids of those whose seeds would be others with more
        sentences.
    """
    seeds: dict[str, list[Seed]] = {capability.id: [] for capability in capabilities}
    wanted = 1 if rules.shares_sentences else rules.seeds
    lacking: set[str] = set()
    while True:
        for capability in capabilities:
            others = [seeds[id] for id in seeds if id != capability.id]
            used = Counter(text for seed in chain(*others) for text in seed.sentences)
            wordings = sum(
                template.variant_count for template in capability.form("fluent").templates
            )
            share = MAX_SHARE_OF_WORDING if wordings >= MANY_WORDINGS else 1
            chosen = _choose(
                streams[capability.id],
                wanted,
                rules,
                used,
                max_of_wording=math.ceil(share * wanted),
                is_incomplete=capability.id in incomplete,
            )
            if chosen is None:
                lacking.add(capability.id)
            else:
                seeds[capability.id] = chosen
        if lacking or wanted == rules.seeds or all(len(few) < wanted for few in seeds.values()):
            return seeds, lacking
        wanted = min(2 * wanted, rules.seeds)


def _choose(
    streams: Sequence[Stream],
    wanted: int,
    rules: BuildRules,
    used: Mapping[str, int],
    *,
    max_of_wording: int,
    is_incomplete: bool,
) -> list[Seed] | None:
    """Up to so many seeds of distinct text, one of each stream in turn.

    Every sentence serves once before one serves twice, those in fewer seeds of other capabilities
    first (``used``). None if more sentences are needed to decide.
    """
    chosen: list[Seed] = []
    texts: set[str] = set()
    of_sentence: Counter[str] = Counter()
    of_wording: Counter[str] = Counter()

    def first_free(wordings: Sequence[Seed], most: int) -> Seed | None:
        sentences = wordings[0].sentences
        for text in sentences:
            here = of_sentence[text]
            if here >= MAX_SEEDS_OF_SENTENCE or here + used.get(text, 0) >= most:
                return None
        for seed in wordings:
            if seed.text not in texts and of_wording[seed.template] < max_of_wording:
                texts.add(seed.text)
                of_wording[seed.template] += 1
                of_sentence.update(sentences)
                return seed
        return None

    def drawn(stream: Stream) -> Iterator[Seed | None]:
        """Seeds of a stream; None where its sentences would not be the next ones."""
        for group in _preferred(stream, rules):
            for most in range(
                1, (rules.max_seeds_of_sentence if used else MAX_SEEDS_OF_SENTENCE) + 1
            ):
                for wordings in group:
                    if seed := first_free(wordings, most):
                        yield seed
                if is_incomplete:
                    yield None

    waiting = [drawn(stream) for stream in streams]
    while waiting and len(chosen) < wanted:
        turn = waiting.pop(0)
        for seed in turn:
            if seed is None:
                return None
            chosen.append(seed)
            waiting.append(turn)
            break
    return chosen


def _preferred(stream: Stream, rules: BuildRules) -> list[Stream]:
    """First the seeds that are known to have expansions, then all of a stream."""
    if not rules.in_expansions:
        return [stream]
    with_expansions = [
        wordings
        for wordings in stream
        if any(
            expansion_source_id(wordings[0].capability, source.text) in rules.in_expansions
            for source in wordings[0].sources
        )
    ]
    return [with_expansions, stream]
