"""Choose seeds: evenly over sentences, slots, labels and wordings."""

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
"""The largest number of seeds of a capability with the same corpus sentence."""
MIN_WORDINGS_FOR_LIMIT = 16
"""`MAX_SHARE_OF_WORDING` holds for forms with at least so many wordings."""
MAX_SHARE_OF_WORDING = 0.1
"""The largest share of a capability's seeds with the same wording."""


def choose_seeds(
    capabilities: Sequence[Capability],
    streams: Mapping[str, Sequence[Stream]],
    rules: BuildRules,
    incomplete: Collection[str] = (),
) -> tuple[dict[str, list[Seed]], set[str]]:
    """Choose the seeds of all capabilities, with as many different sentences as possible.

    Args:
        capabilities: the capabilities, in the order in which they choose.
        streams: the seeds to choose from, for each capability; see `compose_seeds`.
        rules: the rules of the build.
        incomplete: ids of the capabilities for which more sentences can be drawn.

    Returns:
        The seeds of each capability, and the ids of the capabilities that need more sentences
        before their seeds can be chosen.
    """
    seeds: dict[str, list[Seed]] = {capability.id: [] for capability in capabilities}
    wanted = 1 if rules.balances_capabilities else rules.seeds
    lacking: set[str] = set()
    while True:
        for capability in capabilities:
            others = [seeds[id] for id in seeds if id != capability.id]
            uses = Counter(text for seed in chain(*others) for text in seed.sentences)
            n_wordings = sum(
                template.variant_count for template in capability.form("fluent").templates
            )
            max_share = MAX_SHARE_OF_WORDING if n_wordings >= MIN_WORDINGS_FOR_LIMIT else 1
            chosen = _choose(
                streams[capability.id],
                wanted,
                rules,
                uses,
                max_of_wording=math.ceil(max_share * wanted),
                is_incomplete=capability.id in incomplete,
            )
            if chosen is None:
                lacking.add(capability.id)
            else:
                seeds[capability.id] = chosen
        if lacking or wanted == rules.seeds or all(len(group) < wanted for group in seeds.values()):
            return seeds, lacking
        wanted = min(2 * wanted, rules.seeds)


def _choose(
    streams: Sequence[Stream],
    max_seeds: int,
    rules: BuildRules,
    uses_elsewhere: Mapping[str, int],
    *,
    max_of_wording: int,
    is_incomplete: bool,
) -> list[Seed] | None:
    """Choose up to ``max_seeds`` seeds with distinct texts, one from each stream in turn.

    Every sentence is used once before any is used twice. Sentences in few seeds of other
    capabilities (``uses_elsewhere``) come first. None if more sentences are needed to decide.
    """
    chosen: list[Seed] = []
    texts: set[str] = set()
    seeds_of_sentence: Counter[str] = Counter()
    seeds_of_wording: Counter[str] = Counter()

    def first_free_wording(wordings: Sequence[Seed], max_uses: int) -> Seed | None:
        """The first wording that may still be chosen; None if its sentences were used too often."""
        sentences = wordings[0].sentences
        for text in sentences:
            uses_here = seeds_of_sentence[text]
            if (
                uses_here >= MAX_SEEDS_OF_SENTENCE
                or uses_here + uses_elsewhere.get(text, 0) >= max_uses
            ):
                return None
        for seed in wordings:
            if seed.text not in texts and seeds_of_wording[seed.template] < max_of_wording:
                texts.add(seed.text)
                seeds_of_wording[seed.template] += 1
                seeds_of_sentence.update(sentences)
                return seed
        return None

    def draw(stream: Stream) -> Iterator[Seed | None]:
        """Draw seeds from a stream; None where more sentences would have to come first."""
        for group in _in_order_of_preference(stream, rules):
            for max_uses in range(
                1, (rules.max_seeds_of_sentence if uses_elsewhere else MAX_SEEDS_OF_SENTENCE) + 1
            ):
                for wordings in group:
                    if seed := first_free_wording(wordings, max_uses):
                        yield seed
                if is_incomplete:
                    yield None

    waiting = [draw(stream) for stream in streams]
    while waiting and len(chosen) < max_seeds:
        drawn = waiting.pop(0)
        for seed in drawn:
            if seed is None:
                return None
            chosen.append(seed)
            waiting.append(drawn)
            break
    return chosen


def _in_order_of_preference(stream: Stream, rules: BuildRules) -> list[Stream]:
    """The seeds that are known to have expansions, then all seeds of a stream."""
    if not rules.ids_in_expansions:
        return [stream]
    with_expansions = [
        wordings
        for wordings in stream
        if any(
            expansion_source_id(wordings[0].capability, source.text) in rules.ids_in_expansions
            for source in wordings[0].sources
        )
    ]
    return [with_expansions, stream]
