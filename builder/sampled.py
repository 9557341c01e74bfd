"""A sample of a build: its very stages on a few sentences, which says how long the whole takes.

What is sampled, and in which order, the options decide; how much of it, a clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.config import ALL
from s2lct.builder.counting_models import CountingModels
from s2lct.builder.drawing import OF_A_SENTENCE, Rows, Search
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.fluent_stages import FluentStages
from s2lct.builder.looking import Slot
from s2lct.builder.scratch import Scratch
from s2lct.builder.sources import Source, sentence_id
from s2lct.builder.stages.compose import ComposedExpansion, ComposedSeed
from s2lct.builder.stages.judge import Extended
from s2lct.builder.stages.variety import choose
from s2lct.engines import InProcess
from s2lct.progress import Progress
from s2lct.suite.records import Sentence

MOST_SCREENED = 20_000
"""Sentences of a corpus that are screened; of a larger one, so many at even distances."""
SECONDS_TO_LOOK = 9.0
SECONDS_TO_SHORTEN = 3.0
SECONDS_TO_EXTEND = 8.0
_LOOKED_AT_ONCE = 50
_SHORTENED_AT_ONCE = 10
_EXTENDED_AT_ONCE = 4
_FIRST_USED = 3
"""Sentences on which models are tried before anything is measured."""
_FORMS = TypeAdapter(dict[str, list[Source]])
_EXTENDED = TypeAdapter(dict[str, list[Extended]])


@dataclass(frozen=True, slots=True)
class Measured:
    """What a stage took for some items.

    Attributes:
        items: sentences that it was given.
        seconds: that it took for them.
        tagged: texts that were tagged.
        parsed: trees that were made.
        masked: sentences with a mask that the masked language model was asked.
        kept: bytes of its checkpoints.
    """

    items: int = 0
    seconds: float = 0.0
    tagged: int = 0
    parsed: int = 0
    masked: int = 0
    kept: int = 0


class _Weighed:
    """Checkpoints that are not kept: only their bytes are counted."""

    def __init__(self, asked: Counter[str]) -> None:
        self._asked = asked

    def read(self, name: str) -> bytes | None:
        return None

    def write(self, name: str, content: bytes) -> None:
        self._asked["kept"] += len(content)

    def remove(self) -> None:
        pass


class SampledBuild:
    """The stages of a fluent build on a sample of its sentences, each once, in their order.

    Attributes:
        sentences: of the corpus that were screened.
        each: how many sentences of the corpus each of them stands for.
        measured: what each stage took, by its name, ``first use`` of the models before them.
    """

    def __init__(
        self, stages: FluentStages, sentences: Sequence[Sentence], models: CountingModels
    ) -> None:
        """Sample a build.

        Args:
            stages: of the build, with these models.
            sentences: of the corpus.
            models: of the stages.
        """
        self.stages = stages
        self.sentences = _evenly(sentences, MOST_SCREENED)
        self.each = len(sentences) / max(1, len(self.sentences))
        self.measured: dict[str, Measured] = {}
        self._asked = models.asked
        self._checkpoints = Checkpoints(Path(), _Weighed(models.asked))
        engine = InProcess(stages)
        self.search = Search(self.sentences, stages, engine, self._checkpoints, Progress())
        self._looked: dict[str, Rows] = {}
        self._shorter: dict[str, list[Source]] = {}
        self._extended: Scratch[str, list[Extended]] = Scratch(TypeAdapter(list[Extended]))

    def run(self, progress: Progress) -> None:
        """Take the sample through the stages."""
        steps = (
            *(self._screen, self._use_first, self._look, self._shorten),
            *(self._compose, self._extend, self._choose),
        )
        progress.start("measure", len(steps))
        for step in steps:
            step()
            progress.advance("measure", note=step.__name__.strip("_").replace("_", " "))

    def _measure(self, stage: str, parts: Iterable[int], seconds: float | None = None) -> None:
        """Note what a stage takes; each part is worked at and gives its number of items."""
        before, start, items = Counter(self._asked), time.perf_counter(), 0
        for part in parts:
            items += part
            if seconds is not None and time.perf_counter() - start >= seconds:
                break
        spent = time.perf_counter() - start
        asked = self._asked - before
        self.measured[stage] = Measured(
            items, spent, asked["tagged"], asked["parsed"], asked["masked"], asked["kept"]
        )

    # Screen -----------------------------------------------------------------------------------

    def _screen(self) -> None:
        def screened() -> Iterator[int]:
            yield len(self.sentences) if self.search.candidates else 0

        self._measure("screen", screened())

    @cached_property
    def may_fill(self) -> npt.NDArray[np.bool_]:
        """Which of the sampled sentences may fill which slot, shape (slots, sentences)."""
        may = np.zeros((len(self.search.slots), len(self.sentences)), dtype=bool)
        for number, rows in enumerate(self.search.candidates.values()):
            may[number, rows] = True
        return may

    def _use_first(self) -> None:
        """Have the stages load what they load when they are first used."""
        models, rows = self.stages.models, np.flatnonzero(self.may_fill.any(axis=0))[:_FIRST_USED]
        sentences = [self.sentences[row] for row in rows.tolist()]

        def used() -> Iterator[int]:
            tokens = models.tagger.tag([one.text for one in sentences])
            trees = models.parser.parse(tokens)
            sources = [
                Source(one, one.text, words, tree)
                for one, words, tree in zip(sentences, tokens, trees, strict=True)
                if tree is not None
            ]
            self.stages.shorten(sources)
            self.stages.extended(sources)
            yield len(sources)

        self._measure("first use", used())

    # Look -------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at sentences as the build does: evenly at all, or at the first of each slot."""
        everywhere = self.stages.config.takes_all
        wanted = self._at_random() if everywhere else self._in_turn()

        def looked() -> Iterator[int]:
            for rows in wanted:
                before = self._asked["tagged"]
                self.search.look(rows)
                for slot, own in rows.items():
                    self._looked[slot] = np.concatenate([self._looked[slot], own])
                yield self._asked["tagged"] - before

        self._looked = {slot: rows[:0] for slot, rows in self.search.candidates.items()}
        self._measure("look", looked(), SECONDS_TO_LOOK)

    def _at_random(self) -> Iterator[dict[str, Rows]]:
        rows = np.random.default_rng(0).permutation(np.flatnonzero(self.may_fill.any(axis=0)))
        for start in range(0, len(rows), _LOOKED_AT_ONCE):
            some = rows[start : start + _LOOKED_AT_ONCE]
            yield {
                slot: some[self.may_fill[number, some]]
                for number, slot in enumerate(self.search.slots)
            }

    def _in_turn(self) -> Iterator[dict[str, Rows]]:
        candidates = self.search.candidates
        at_once = max(1, _LOOKED_AT_ONCE // max(1, len(candidates)))
        longest = max(map(len, candidates.values()), default=0)
        for start in range(0, longest, at_once):
            yield {slot: rows[start : start + at_once] for slot, rows in candidates.items()}

    def looked(self, slot: str) -> int:
        """At how many of its sentences was looked for a slot, whatever others wanted."""
        return len(self._looked[slot])

    def fitting(self, slot: str) -> int:
        """How many of these fit it."""
        return len(self.search.fitting(slot, self._looked[slot]))

    # Shorten ----------------------------------------------------------------------------------

    def _shorten(self) -> None:
        rows = np.random.default_rng(0).permutation(self.search.found).tolist()
        sources = list({one.text: one for one in map(self.search.source, rows)}.values())

        def shortened() -> Iterator[int]:
            for start in range(0, len(sources), _SHORTENED_AT_ONCE):
                some = sources[start : start + _SHORTENED_AT_ONCE]
                made = self._checkpoints.keep("shorten", _FORMS, self.stages.shorten(some))
                self._shorter.update(made)
                yield len(some)

        self._measure("shorten", shortened(), SECONDS_TO_SHORTEN)

    @cached_property
    def shortened(self) -> dict[str, dict[int, list[Source]]]:
        """For each slot, what seeds may use of each sentence that fits it and was shortened.

        Sentences are given by their numbers among `sentences`, in drawing order.
        """
        found = self.search.found
        sources = {row: self.search.source(row) for row in found.tolist()}
        forms = {
            row: self.stages.forms(source, self._shorter[source.text])[:OF_A_SENTENCE]
            for row, source in sources.items()
            if source.text in self._shorter
        }
        every = np.isin(np.arange(len(self.sentences)), list(forms))
        return {
            slot: {row: forms[row] for row in self.search.fitting(slot, rows[every[rows]]).tolist()}
            for slot, rows in self.search.candidates.items()
        }

    # Compose ----------------------------------------------------------------------------------

    def _compose(self) -> None:
        """Make every seed that there is of the sample."""
        config = self.stages.config.model_copy(update={"seeds": ALL})
        stages = replace(self.stages, config=config)
        self.seeds: dict[str, list[ComposedSeed]] = {}

        def composed() -> Iterator[int]:
            for one in self.stages.capabilities:
                pools = {
                    slot: _pool(list(self.shortened[Slot(one.id, slot, rules).name].values()))
                    for slot, rules in one.form("fluent").search.items()
                }
                self.seeds[one.id] = stages.seeds(one, pools, Counter())
                yield sum(map(len, pools.values()))

        self._measure("draw", composed())

    # Extend -----------------------------------------------------------------------------------

    def _extend(self) -> None:
        used = {
            source.text: source
            for seed in chain.from_iterable(self.seeds.values())
            for source in seed.sources
        }
        if not used:  # No seed among so few: what might be of one takes as long.
            forms = chain.from_iterable(own.values() for own in self.shortened.values())
            used = {source.text: source for source in chain.from_iterable(forms)}
        sources = sorted(used.values(), key=lambda one: sentence_id(one.text))

        def extended() -> Iterator[int]:
            for start in range(0, len(sources), _EXTENDED_AT_ONCE):
                some = sources[start : start + _EXTENDED_AT_ONCE]
                made = self._checkpoints.keep("extend", _EXTENDED, self.stages.extended(some))
                self._extended.put(made.items())
                yield len(some)

        self._measure("extend", extended(), SECONDS_TO_EXTEND)

    def _choose(self) -> None:
        """Choose expansions of the seeds whose sentences were extended."""
        config = self.stages.config
        form = FluentForm(self.stages, InProcess(self.stages), self._checkpoints, Progress())

        def chosen() -> Iterator[int]:
            ids: list[str] = []
            expansions: list[ComposedExpansion] = []
            for one in self.stages.capabilities:
                seeds = [
                    seed
                    for seed in self.seeds[one.id]
                    if any(source.text in self._extended for source in seed.sources)
                ]
                ids += [seed.id for seed in seeds]
                expansions += form.expansions(seeds, one.form("fluent"), self._extended, Counter())
            choose(ids, expansions, per_seed=config.expansions, seed=config.seed)
            yield len(ids)

        self._measure("choose", chosen())


def _pool(sentences: Sequence[Sequence[Source]]) -> list[Source]:
    """A form of every sentence, then another one of each, as `drawing.Pool` gives them."""
    return [
        forms[turn] for turn in range(OF_A_SENTENCE) for forms in sentences if turn < len(forms)
    ]


def _evenly(sentences: Sequence[Sentence], most: int) -> Sequence[Sentence]:
    number = len(sentences)
    if number <= most:
        return sentences
    return [sentences[place * number // most] for place in range(most)]
