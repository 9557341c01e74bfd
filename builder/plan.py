"""Plan: what a build will cost, told beforehand by a sample of it on this machine.

Nothing is built. Sentences are counted, what the stages take is measured (`s2lct.builder.sampled`),
and how far they go is estimated (`s2lct.builder.expected`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from s2lct.builder.config import BuildConfig
from s2lct.builder.counting_models import CountingModels
from s2lct.builder.curation.verdicts import Verdicts
from s2lct.builder.expected import Expectations
from s2lct.builder.pipeline import built_there, read_inputs, with_verdicts
from s2lct.builder.place import place_of
from s2lct.builder.sampled import Measured, SampledBuild
from s2lct.builder.sources import Source
from s2lct.errors import BuildError
from s2lct.identity import shuffle_key
from s2lct.progress import Progress

Basis = Literal["counted", "measured", "computed", "estimated"]
"""Counted in the whole corpus; measured here; computed from options or counts; or estimated."""
TIMED_KEYS = 1_000
"""Partners that are put in order to see how long one takes."""
BYTES_OF_A_PAIR = 32
"""A candidate and its key in drawing order, while they are put in order."""
BYTES_FOR_JSON = 2.0
"""Bytes of a seed's sentences in memory for one of their JSON: 1.2 for the parses (tracemalloc on
Python 3.11), the rest for the rows that are made of them."""
_SOURCE = TypeAdapter(Source)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and how it came about."""

    value: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class StageCost:
    """What a stage will cost.

    Attributes:
        stage: its name.
        unit: what its items are. Forms are sentences, whole or shortened, that seeds may use.
        items: how many it is given.
        sampled: for how many of them it was measured.
        per_second: items a second, measured; None where nothing was there to measure.
        seconds: of one process.
        on_workers: whether workers share it.
    """

    stage: str
    unit: Literal["sentences", "forms", "seeds"]
    items: Figure
    sampled: int
    per_second: float | None
    seconds: Figure
    on_workers: bool


@dataclass(frozen=True, slots=True)
class CapabilityCost:
    """What a build is expected to find for a capability.

    Attributes:
        capability: its id.
        candidates: sentences that its slots may hold, before they are tagged.
        found: of these, those that tagger and parser let in.
        seeds: the seeds that are expected.
        most_seeds: what they are at most.
    """

    capability: str
    candidates: Figure
    found: Figure
    seeds: Figure
    most_seeds: Figure


@dataclass(frozen=True)
class Plan:
    """What a build will cost on machines like this one.

    Attributes:
        config: its options.
        sentences: of the corpus.
        capabilities: what is expected of each.
        stages: what each stage costs, in their order.
        tagged: texts that are tagged: sentences, shorter forms and extensions.
        trees: that are made of them.
        masked: sentences with a mask that the masked language model is asked.
        reading: seconds until the corpus and what else there is has been read.
        loading: seconds until models are loaded.
        first_use: seconds that their first use takes longer, in whichever process.
        workers: that there will be beside the driver; None where it works alone.
        driver_bytes: memory of the process that is started; None where this system tells none.
        worker_bytes: memory of each worker, at most.
        checkpoint_bytes: what is kept on disk until the suite is whole.
        scratch_bytes: what lies in the temporary folder meanwhile.
        is_built: whether this very build is in ``out`` already.
    """

    config: BuildConfig
    sentences: Figure
    capabilities: tuple[CapabilityCost, ...]
    stages: tuple[StageCost, ...]
    tagged: Figure
    trees: Figure
    masked: Figure
    reading: Figure
    loading: Figure
    first_use: Figure
    workers: int | None
    driver_bytes: Figure | None
    worker_bytes: Figure | None
    checkpoint_bytes: Figure
    scratch_bytes: Figure
    is_built: bool

    def minutes(self, workers: int | None = None) -> Figure:
        """The minutes of the build, in one process or with so many workers, each on its own CPU.

        Workers load what the driver has loaded by then, and share what the stages do.
        """
        parts = [self.reading, self.loading, self.first_use]
        seconds = sum(one.value for one in parts)
        seconds += 0 if workers is None else self.loading.value
        seconds += sum(
            one.seconds.value / (workers if workers and one.on_workers else 1)
            for one in self.stages
        )
        return Figure(seconds / 60, "estimated")


def plan_of(config: BuildConfig, progress: Progress | None = None) -> Plan:
    """Say what a build will cost. Half a minute of it is tried, and nothing is written.

    Args:
        config: what would be built.
        progress: told how far it is.

    Raises:
        S2lctError: the build would raise it before it begins; the paper form has no plan.
    """
    if config.templates == "paper":
        raise BuildError(
            "--plan: the paper form's stages cannot be planned",
            hint="plan the fluent form, or leave --plan out",
        )
    progress = progress or Progress()
    out = place_of(config.out, overwrite=config.overwrite)
    models = CountingModels(config)
    start = time.perf_counter()
    made_of = read_inputs(config, progress, models)
    reading = time.perf_counter() - start - models.seconds
    is_built = built_there(made_of.config, out, with_verdicts(made_of)) is not None
    files = config.verdict_files
    verdicts = Verdicts.read(files, config.grades) if files else None
    sample = SampledBuild(made_of.make_fluent_stages(verdicts)(), made_of.sentences, models)
    sample.run(progress)
    costs = _Costs(sample, Expectations(sample), len(made_of.sentences))
    memory = _memory()
    return Plan(
        config=made_of.config,
        sentences=Figure(len(made_of.sentences), "counted"),
        capabilities=tuple(costs.capabilities()),
        stages=costs.stages,
        tagged=costs.asked(lambda one: one.tagged),
        trees=costs.asked(lambda one: one.parsed),
        masked=costs.asked(lambda one: one.masked),
        reading=Figure(reading, "measured"),
        loading=Figure(models.seconds, "measured"),
        first_use=Figure(sample.measured["first use"].seconds, "measured"),
        workers=_workers(config),
        driver_bytes=None if memory is None else Figure(memory + costs.growth, "estimated"),
        worker_bytes=None if memory is None else Figure(memory, "measured"),
        checkpoint_bytes=costs.asked(lambda one: one.kept),
        scratch_bytes=costs.asked(lambda one: one.kept, screened=False),
        is_built=is_built,
    )


class _Costs:
    """What the stages cost, by what a sample of them took."""

    def __init__(self, sample: SampledBuild, expected: Expectations, sentences: int) -> None:
        self._sample = sample
        self._expected = expected
        self._sentences = sentences
        is_whole = sample.each == 1
        self._counted: Basis = "counted" if is_whole else "estimated"
        all_looked: Basis = self._counted if sample.stages.config.takes_all else "estimated"
        seeds = sum(expected.seeds(one.id) for one in sample.stages.capabilities)
        self.stages = (
            self._cost("screen", Figure(sentences, "counted")),
            self._cost("look", Figure(round(expected.looked), all_looked)),
            self._cost("shorten", _about(expected.shortened)),
            self._cost("draw", _about(expected.composed), "forms"),
            self._cost("extend", _about(expected.extended)),
            self._cost("choose", _about(seeds), "seeds"),
        )

    def _cost(
        self,
        stage: str,
        items: Figure,
        unit: Literal["sentences", "forms", "seeds"] = "sentences",
    ) -> StageCost:
        measured = self._sample.measured[stage]
        seconds = _each(measured, measured.seconds) * items.value
        if stage == "draw":
            seconds += self._expected.paired * _seconds_of_a_key()
        return StageCost(
            stage=stage,
            unit=unit,
            items=items,
            sampled=measured.items,
            per_second=measured.items / measured.seconds if measured.items else None,
            seconds=Figure(seconds, "estimated"),
            on_workers=unit == "sentences",
        )

    def asked(self, of: Callable[[Measured], int], *, screened: bool = True) -> Figure:
        """What all stages ask or keep, by what they did in the sample."""
        number = sum(
            _each(self._sample.measured[one.stage], of(self._sample.measured[one.stage]))
            * one.items.value
            for one in self.stages
            if screened or one.stage != "screen"
        )
        return _about(number)

    def capabilities(self) -> Iterable[CapabilityCost]:
        """What is expected of each capability."""
        expected = self._expected
        for one in self._sample.stages.capabilities:
            slots = [
                expected.slots[name]
                for name, slot in self._sample.search.slots.items()
                if slot.capability == one.id
            ]
            yield CapabilityCost(
                capability=one.id,
                candidates=Figure(round(sum(slot.candidates for slot in slots)), self._counted),
                found=_about(sum(slot.drawn for slot in slots)),
                seeds=_about(expected.seeds(one.id)),
                most_seeds=Figure(
                    round(expected.most_seeds(one.id)),
                    "computed" if self._counted == "counted" else "estimated",
                ),
            )

    @property
    def growth(self) -> float:
        """Bytes that the whole build has in memory besides what the sample has.

        That is what a driver knows of each sentence, and the seeds with their sentences' parses.
        """
        sample, slots = self._sample, self._expected.slots
        unsampled = 1 - 1 / max(1.0, sample.each)
        of_rows = unsampled * self._sentences * (3 * len(slots) + 1)
        of_pairs = unsampled * BYTES_OF_A_PAIR * sum(one.candidates for one in slots.values())
        sources = [s for some in sample.seeds.values() for seed in some for s in seed.sources]
        of_json = sum(len(_SOURCE.dump_json(one)) for one in sources) / max(1, len(sources))
        used = sum(one.seeds for one in slots.values())
        return of_rows + of_pairs + used * of_json * BYTES_FOR_JSON


def _about(number: float) -> Figure:
    return Figure(round(number), "estimated")


def _each(measured: Measured, number: float) -> float:
    return number / measured.items if measured.items else 0.0


def _seconds_of_a_key() -> float:
    """What it takes to put one of many partners in order."""
    start = time.perf_counter()
    sorted(range(TIMED_KEYS), key=lambda one: shuffle_key(0, "pair", "a sentence", str(one)))
    return (time.perf_counter() - start) / TIMED_KEYS


def _workers(config: BuildConfig) -> int | None:
    """The workers of a build: where a cluster is started here, one a CPU unless it is told."""
    if config.engine == "process" or config.workers is not None:
        return config.workers
    return None if config.address else os.cpu_count()


def _memory() -> int | None:
    """The bytes of memory that this process had at most so far; None where nothing tells them."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):
        import resource
        import sys

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return None
