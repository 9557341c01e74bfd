"""The paper's form, shard by shard: search, transform, parse, mask, fill, validate, select.

What needs a model is asked of workers, a stage at a time; what they made lies on disk in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from s2lct.builder.build_stages import (
    Found,
    MaskedSeed,
    Selected,
    Stage,
    Stages,
    Transformed,
    Validated,
)
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.stages.search import Match
from s2lct.engines import Engine
from s2lct.progress import Progress
from s2lct.suite.records import FilledSentence, Seed, Sentence

SENTENCES_PER_SHARD = 1_000
SEEDS_PER_SHARD = 100
Item = TypeVar("Item")
Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class PaperForm:
    """Takes sentences and seeds through the stages of a build."""

    stages: Stages
    engine: Engine[Stages]
    checkpoints: Checkpoints
    progress: Progress

    def found(
        self, sentences: Sequence[Sentence], capabilities: Sequence[Capability]
    ) -> dict[str, Found]:
        """The sentences that each capability may use."""
        search, matches = self.stages.search, dict[str, list[Match]]()
        matches.update({one.id: [] for one in capabilities})
        self.progress.start("search", len(sentences))
        self._ask(search, _shards(sentences, SENTENCES_PER_SHARD), lambda part: (part,))
        for name, part in _shards(sentences, SENTENCES_PER_SHARD):
            for match in self._run(search, name, part):
                matches[match.capability].append(match)
        return {
            name: self._run(self.stages.found, name, name, own) for name, own in matches.items()
        }

    def transformed(self, found: Mapping[str, Found]) -> Iterator[Transformed]:
        """The seeds of each capability."""
        self.progress.start("transform", len(found))
        for name, one in found.items():
            yield self._run(self.stages.transform, name, name, one)
            self.progress.advance("transform")

    def expanded(
        self, seeds: Sequence[Seed]
    ) -> Iterator[tuple[list[MaskedSeed], list[FilledSentence], Validated, Selected]]:
        """What is made of seeds, shard by shard."""
        stages = self.stages
        for stage in ("parse", "mask", "fill", "validate", "select"):
            self.progress.start(stage, len(seeds))

        def masked(name: str, part: Sequence[Seed]) -> list[MaskedSeed]:
            parsed = self._run(stages.parse, name, part)
            return self._run(stages.mask, name, parsed)

        shards = list(_shards(seeds, SEEDS_PER_SHARD))
        self._ask(stages.parse, shards, lambda part: (part,))
        in_masks = ((name, masked(name, part)) for name, part in shards)
        self._ask(stages.fill, self._told("mask", in_masks), lambda part: (part,))
        filled = (
            (name, (some := masked(name, part), self._run(stages.fill, name, some)))
            for name, part in shards
        )
        self._ask(stages.validate, filled, lambda both: both, size=lambda both: len(both[0]))
        for name, part in shards:
            some = masked(name, part)
            fillings = self._run(stages.fill, name, some)
            validated = self._run(stages.validate, name, some, fillings)
            selected = self._run(stages.select, name, some, validated.expansions)
            self.progress.advance("select", len(some))
            yield some, fillings, validated, selected

    def _ask(
        self,
        stage: Stage[Any, Any],
        shards: Iterable[tuple[str, Item]],
        given: Callable[[Item], tuple[Any, ...]],
        size: Callable[[Any], int] = len,
    ) -> None:
        """Have workers run a stage on shards; what they make is kept."""
        sizes: dict[str, int] = {}

        def asked() -> Iterator[tuple[str, tuple[str, tuple[Any, ...]]]]:
            for name, shard in shards:
                sizes[f"{stage.name}/{name}"] = size(shard)
                yield f"{stage.name}/{name}", (stage.name, given(shard))

        for name, _ in self.checkpoints.results(stage.adapter, self.engine, _run_stage, asked()):
            self.progress.advance(stage.name, sizes.pop(name))

    def _run(
        self, stage: Stage[Given, Made], part: str, *given: Given.args, **options: Given.kwargs
    ) -> Made:
        """What a stage makes of a shard, as it is kept, or made here."""
        make = partial(stage.run, *given, **options)
        return self.checkpoints.get(f"{stage.name}/{part}", stage.adapter, make)

    def _told(
        self, stage: str, shards: Iterable[tuple[str, list[MaskedSeed]]]
    ) -> Iterator[tuple[str, list[MaskedSeed]]]:
        for name, part in shards:
            self.progress.advance(stage, len(part))
            yield name, part


def _run_stage(stages: Stages, given: tuple[str, tuple[Any, ...]]) -> Any:
    name, arguments = given
    return getattr(stages, name).run(*arguments)


def _shards(items: Sequence[Item], size: int) -> Iterator[tuple[str, Sequence[Item]]]:
    """Items in shards, each with the name of its checkpoints."""
    for number, start in enumerate(range(0, len(items), size)):
        yield f"{number:05}", items[start : start + size]
