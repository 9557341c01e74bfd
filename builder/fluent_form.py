"""The fluent form: from found sentences to seeds, expansions and counterparts.

Found sentences are shortened where a neutral part may go, and composed into seeds; only the
sentences of seeds that are kept are extended. What readers refused never gets that far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pydantic import TypeAdapter

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.drawing import Pool, Search
from s2lct.builder.fluent_stages import FluentStages
from s2lct.builder.language.operations import Analysis
from s2lct.builder.language.tree import read_tree
from s2lct.builder.scratch import Scratch
from s2lct.builder.sources import Source, sentence_id
from s2lct.builder.stages import compose
from s2lct.builder.stages.compose import PAIRINGS, ComposedExpansion, ComposedSeed
from s2lct.builder.stages.counterparts import Counterpart, counterpart_of
from s2lct.builder.stages.judge import Extended
from s2lct.builder.stages.variety import choose
from s2lct.engines import Engine
from s2lct.identity import content_id
from s2lct.progress import Progress
from s2lct.suite.records import Sentence

SHORTENED_AT_ONCE = 25
"""Sentences that a worker shortens together."""
EXTENDED_AT_ONCE = 50
"""Sentences that a worker extends together."""
TRIED_FOR_A_SEED = 3
"""Sentences of a slot, for each seed wanted, that are shortened where no readers chose them."""
Item = TypeVar("Item")
_FORMS = TypeAdapter(dict[str, list[Source]])
_EXTENDED = TypeAdapter(dict[str, list[Extended]])


@dataclass(frozen=True)
class ComposedFamily:
    """A seed, its expansions, and its counterpart if the capability has one."""

    seed: ComposedSeed
    expansions: tuple[ComposedExpansion, ...]
    counterpart: Counterpart | None


@dataclass(frozen=True)
class FluentForm:
    """Makes the families of capabilities in their fluent form."""

    stages: FluentStages
    engine: Engine[FluentStages]
    checkpoints: Checkpoints
    progress: Progress

    def families(
        self, sentences: Sequence[Sentence], counted: Mapping[str, Counter[str]]
    ) -> dict[str, list[ComposedFamily]]:
        """The families of each capability.

        Args:
            sentences: of the corpus.
            counted: takes the counts of the closing table.
        """
        capabilities = self.stages.capabilities
        pools = self._pools(sentences)
        seeds: dict[str, list[ComposedSeed]] = {}
        self.progress.start("draw", len(capabilities))
        for one in capabilities:
            seeds[one.id] = self.stages.seeds(one, pools[one.id], counted[one.id])
            counted[one.id]["found"] = sum(pool.found for pool in pools[one.id].values())
            self.progress.advance("draw")
        used: dict[str, Source] = {
            source.text: source for some in seeds.values() for s in some for source in s.sources
        }
        extended = self._extended(list(used.values()))
        expansions = [
            expansion
            for one in capabilities
            for expansion in self.expansions(
                seeds[one.id], one.form("fluent"), extended, counted[one.id]
            )
        ]
        chosen = choose(
            [seed.id for some in seeds.values() for seed in some],
            expansions,
            per_seed=self.stages.config.expansions,
            seed=self.stages.config.seed,
        )
        families: dict[str, list[ComposedFamily]] = {}
        for capability in capabilities:
            form = capability.form("fluent")
            counts = counted[capability.id]
            taken = {seed.text for seed in seeds[capability.id]}
            taken.update(one.text for s in seeds[capability.id] for one in chosen[s.id])
            families[capability.id] = []
            for seed in seeds[capability.id]:
                counterpart = counterpart_of(seed, form)
                if counterpart is not None and counterpart.text in taken:
                    counterpart = None
                if counterpart is not None:
                    taken.add(counterpart.text)
                family = ComposedFamily(seed, tuple(chosen[seed.id]), counterpart)
                families[capability.id].append(family)
            counts.update(
                seeds=len(families[capability.id]),
                counterparts=sum(f.counterpart is not None for f in families[capability.id]),
                expansions=sum(len(family.expansions) for family in families[capability.id]),
            )
        return families

    def search(self, sentences: Sequence[Sentence]) -> Search:
        """Searches sentences for what may fill the slots."""
        return Search(sentences, self.stages, self.engine, self.checkpoints, self.progress)

    def _pools(self, sentences: Sequence[Sentence]) -> dict[str, dict[str, Pool]]:
        """For each capability and slot what it is filled with, drawn when it is asked for."""
        config = self.stages.config
        enough: int | None = None
        if config.most_seeds <= PAIRINGS:
            enough = PAIRINGS
            if self.stages.verdicts is None:
                enough = min(enough, config.seeds * TRIED_FOR_A_SEED)
        search = self.search(sentences)
        pools: dict[str, dict[str, Pool]] = {one.id: {} for one in self.stages.capabilities}
        for slot in search.slots.values():
            pools[slot.capability][slot.slot] = Pool(
                search, slot, self._forms, most=enough, seeds=config.most_seeds
            )
        if config.takes_all:
            search.look_at_all()
            rows = search.found.tolist()
            self.progress.start("shorten", len(rows))
            shards = (map(search.source, some) for some in _parts(rows, SHORTENED_AT_ONCE))
            for number in self._shorten(list(some) for some in shards):
                self.progress.advance("shorten", number)
        else:
            # Nearly every slot needs its first block: looked at together, they share their work.
            search.look(
                {p.drawn.slot.name: p.drawn.first for own in pools.values() for p in own.values()}
            )
        return pools

    @cached_property
    def _shorter(self) -> Scratch[str, list[Source]]:
        """The shorter forms of sentences by text, which may be of another sentence of it."""
        return Scratch(TypeAdapter(list[Source]))

    def _forms(self, sources: Sequence[Source]) -> dict[str, list[Source]]:
        """What seeds may use of sentences, by text."""
        missing = {one.text: one for one in sources if one.text not in self._shorter}
        for _ in self._shorten(map(list, _parts(list(missing.values()), SHORTENED_AT_ONCE))):
            pass
        return {
            one.text: self.stages.forms(one, self._shorter.get(one.text) or ()) for one in sources
        }

    def _shorten(self, shards: Iterable[list[Source]]) -> Iterator[int]:
        """Find the shorter forms of sentences; of how many, shard by shard."""
        named = ((f"shorten/{content_id(*(one.text for one in some))}", some) for some in shards)
        for _, found in self.checkpoints.results(_FORMS, self.engine, FluentStages.shorten, named):
            self._shorter.put(found.items())
            yield len(found)

    def _extended(self, sources: Sequence[Source]) -> Scratch[str, list[Extended]]:
        """The extensions of sentences that stand, by the sentence's text."""
        ordered = sorted(sources, key=lambda source: sentence_id(source.text))
        self.progress.start("extend", len(ordered))
        kept: Scratch[str, list[Extended]] = Scratch(TypeAdapter(list[Extended]))
        shards = (
            (f"extend/{content_id(*(one.text for one in some))}", some)
            for some in _parts(ordered, EXTENDED_AT_ONCE)
        )
        for _, found in self.checkpoints.results(
            _EXTENDED, self.engine, FluentStages.extended, shards
        ):
            kept.put(found.items())
            self.progress.advance("extend", len(found))
        return kept

    def expansions(
        self,
        seeds: Sequence[ComposedSeed],
        form: Form,
        extended: Scratch[str, list[Extended]],
        counts: Counter[str],
    ) -> list[ComposedExpansion]:
        """The expansions of a capability's seeds that may be chosen, by what was extended."""
        config, stages = self.stages.config, self.stages
        excluded = config.excluded.ids
        taken = {seed.text for seed in seeds}
        made: list[ComposedExpansion] = []
        for seed in seeds:
            template = form.templates[seed.number]
            for slot, source in zip(seed.slots, seed.sources, strict=True):
                tried = extended.get(source.text) or []
                counts["suggestions"] += len(tried)
                counts.update(
                    f"rejected_{one.rejected.name.lower()}" for one in tried if one.rejected
                )
                for one in stages.judge.usable(tried, config.expansions):
                    analysis = Analysis(one.extension.text, one.tokens, read_tree(one.tree))
                    if form.keep_search_rule and not stages.keeps_rule(
                        form, source, one.extension.text, one.tokens
                    ):
                        counts["rejected_specification"] += 1
                        continue
                    expansion = compose.expansion_of(seed, template, slot, one.extension, analysis)
                    if expansion is None:
                        counts["rejected_specification"] += 1
                    elif expansion.id in excluded:
                        counts["excluded"] += 1
                    elif expansion.text in taken:
                        counts["duplicates"] += 1
                    else:
                        taken.add(expansion.text)
                        made.append(expansion)
        return made


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
