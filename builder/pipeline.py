"""From corpus to suite: select, shorten, compose, extend, confirm, expand, keep, choose, write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from s2lct.builder import paper_form, write
from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.schema import Capability, SearchRule
from s2lct.builder.config import BuildConfig
from s2lct.builder.inputs import Inputs, check_not_empty, read_inputs
from s2lct.builder.kept_models import Extended, KeptModels, LoadedModels
from s2lct.builder.models import EMBEDDED
from s2lct.builder.records import Family, Seed, Sentence, Source, seed_source_id, sentence_id
from s2lct.builder.rules import BuildRules, annotated_rules, unread_rules
from s2lct.builder.stages.choose import choose
from s2lct.builder.stages.choose_seeds import choose_seeds
from s2lct.builder.stages.compose import Stream, compose_seeds, partner_slots, usable_seeds
from s2lct.builder.stages.confirm import confirm
from s2lct.builder.stages.contrast import contrast
from s2lct.builder.stages.expand import expand
from s2lct.builder.stages.extend import extend, sources_of
from s2lct.builder.stages.keep import families_of, keep_expansions, keep_seeds
from s2lct.builder.stages.search import candidates
from s2lct.builder.stages.select import select
from s2lct.builder.stages.shorten import shorten
from s2lct.cache import Cache
from s2lct.engines import Engine, InProcessEngine, RayEngine, map_in_two_threads, ray_cluster
from s2lct.errors import BuildError, SuiteError
from s2lct.files import (
    atomic_folder,
    check_output_folder,
    clean_up_interrupted,
    output_lock,
    refuse_foreign_files,
    sha256_of,
)
from s2lct.identity import fingerprint_of
from s2lct.progress import bar
from s2lct.suite.read import read_suite
from s2lct.suite.tables import SUITE_FILE
from s2lct.suite.write import files_of_suite

SENTENCES_EXTENDED_AT_ONCE = 100
"""Few enough that their fillings fit into memory."""


def build_suite(config: BuildConfig) -> dict[str, dict[str, int]]:
    """Build a suite and write it to ``config.out``; the counts of the closing table.

    Interrupted at any moment, the same call is fast as far as it was, and writes the same bytes
    on this machine; other processors change last digits of the column ``score`` alone.

    Raises:
        S2lctError: something that the caller can mend; nothing is half written.
    """
    check_output_folder(config.out, "--out", replaced=True)
    out = Path(os.path.realpath(config.out))
    clean_up_interrupted(out)
    if config.overwrite or not (out / SUITE_FILE).is_file():
        refuse_foreign_files(out, files_of_suite(out), option="--out")
    inputs = read_inputs(config)
    annotations = {"annotations": [sha256_of(path) for path in config.annotation_files]}
    inputs = replace(inputs, recorded=inputs.recorded | annotations)
    with output_lock(out):
        if (described := _built_before(inputs.config, out, inputs.recorded)) is not None:
            # JSON keeps names in alphabetical order, the table in that of the capabilities.
            counts = {each.id: described["counts"][each.id] for each in inputs.capabilities}
            return {id: {name: row[name] for name in write.COLUMNS} for id, row in counts.items()}
        with kept_models(inputs) as models:
            build = paper_form.rows if config.templates == "paper" else fluent_rows
            rows, work = build(inputs, models)
        check_not_empty(config, is_empty=not any(rows.values()))
        counts = write.all_counts(rows, work)
        with atomic_folder(out, own_files=files_of_suite(out)) as folder:
            write.write_suite(inputs, rows, counts, folder)
    return counts


@contextmanager
def kept_models(inputs: Inputs) -> Iterator[KeptModels]:
    """The models of a build within the block, with what they predicted before.

    This process asks those that it has loaded, or workers theirs.
    """
    config = inputs.config
    with ExitStack() as opened:
        engine: Engine[LoadedModels] = InProcessEngine(inputs.models)
        if config.engine == "ray":
            make = partial(LoadedModels, config.tagger, config.parser, config.mlm)
            opened.enter_context(ray_cluster())
            engine = RayEngine(make)
        yield KeptModels(inputs.models, engine, opened.enter_context(Cache()))


def _built_before(
    config: BuildConfig, out: Path, recorded: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The description of the suite in ``out`` if it is this very build; None if there is none.

    Raises:
        BuildError: something else is there, and is not to be replaced.
    """
    if config.overwrite or not (out / SUITE_FILE).is_file():
        return None
    try:
        described = read_suite(out).described
    except SuiteError:
        described = {}
    if described.get("build_fingerprint") != fingerprint_of(recorded):
        raise BuildError(
            f"--out {config.out}: is there already, and is not this build",
            hint="choose another folder, or add --overwrite to replace it",
        )
    return described


def fluent_rows(inputs: Inputs, models: KeptModels) -> tuple[write.Rows, write.Work]:
    """The rows of each capability in the fluent form, and how much was looked at for them."""
    rows: write.Rows = {capability.id: [] for capability in inputs.capabilities}
    work: dict[str, Mapping[str, int]] = {}
    for capabilities, rules in _situations(inputs):
        families, counts = fluent_families(inputs, capabilities, models, rules)
        rows |= {id: write.rows_of(group, rules.annotations) for id, group in families.items()}
        work |= counts
    return rows, work


def _situations(inputs: Inputs) -> Iterator[tuple[list[Capability], BuildRules]]:
    """The capabilities that were annotated and those that were not, each with their rules.

    The latter are built by themselves, so that they change nothing of the former.
    """
    config, of_build = inputs.config, (inputs.config, inputs.domain, inputs.sentences)
    annotated = [each for each in inputs.capabilities if config.is_annotated(each.id)]
    unread = [each for each in inputs.capabilities if not config.is_annotated(each.id)]
    if annotated:
        annotations = Annotations.read(config.annotation_files, config.marks_allowed)
        if {config.tagger, config.parser, config.mlm} != {EMBEDDED}:
            annotations.index = None  # other models make other things of the corpus
        yield annotated, annotated_rules(*of_build, annotations)
    if unread:
        yield unread, unread_rules(*of_build)


def fluent_families(
    inputs: Inputs, capabilities: Sequence[Capability], models: KeptModels, rules: BuildRules
) -> tuple[dict[str, list[Family]], write.Work]:
    """The families of each capability in the fluent form, and how much was looked at for them."""
    forms = {capability.id: capability.form("fluent") for capability in capabilities}
    slots = worth_processing(inputs.sentences, capabilities, rules)
    seeds = draw_seeds(slots, capabilities, models, rules)
    sources = sources_of(seeds)
    extended = extended_sources(inputs, sources, models, rules)
    expansions = expand(seeds, {text: each for text, (_, each) in extended.items()}, forms, rules)
    expansions = keep_expansions(expansions, seeds, rules.annotations)
    chosen = choose([[seed.id for seed in group] for group in seeds.values()], expansions, rules)
    contrasts = contrast(seeds, chosen, forms, inputs.sentences, models, rules)
    families = {
        id: families_of(group, chosen, contrasts, rules.annotations) for id, group in seeds.items()
    }
    return families, _work(slots, seeds, extended)


def _work(
    slots: Sequence[Slot], seeds: Mapping[str, Sequence[Seed]], extended: Mapping[str, Extended]
) -> write.Work:
    return {
        id: {
            "sentences_found": sum(s.number_found for s in slots if s.capability == id),
            "expansions_tried": sum(
                extended[source.text][0]
                for seed in group
                for source in seed.sources
                if source.text in extended
            ),
        }
        for id, group in seeds.items()
    }


@dataclass
class Slot:
    """A slot of a capability's templates, with the sentences that were drawn for it so far.

    Attributes:
        capability: the capability's id.
        name: the slot's.
        rules: what is searched for it.
        candidates: sentences that were not drawn yet, in drawing order.
        batch, maximum: how many sentences are drawn at once, and at all.
        matching: drawn sentences that meet a rule.
        shortened: the first of them, each in its shorter forms before it is whole.
    """

    capability: str
    name: str
    rules: Sequence[SearchRule]
    candidates: Sequence[Sentence]
    batch: int
    maximum: int
    matching: list[Source] = field(default_factory=list)
    shortened: list[list[Source]] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """What was shortened, in drawing order."""
        return [form for forms in self.shortened for form in forms]

    @property
    def wanted(self) -> int:
        """How many sentences are to be found before seeds are composed again."""
        return min(len(self.shortened) + self.batch, self.maximum)

    @property
    def number_found(self) -> int:
        """How many sentences were found that may fill the slot."""
        return min(len(self.matching), self.maximum)

    @property
    def is_complete(self) -> bool:
        """Whether there are no more sentences for it."""
        is_used_up = not self.candidates and len(self.shortened) == len(self.matching)
        return is_used_up or len(self.shortened) >= self.maximum


def worth_processing(
    sentences: Sequence[Sentence], capabilities: Sequence[Capability], rules: BuildRules
) -> list[Slot]:
    """The slots of capabilities with the sentences of the corpus that may fill them."""
    worth = [each for each in sentences if sentence_id(each.text) in rules.worth_processing]
    slots: list[Slot] = []
    for capability in capabilities:
        form = capability.form("fluent")
        serving = [
            sentence
            for sentence in worth
            if seed_source_id(capability.id, sentence.text) in rules.worth_processing
        ]
        # A slot that only contrasts have is filled when they are made.
        names = {slot for template in form.templates for slot in template.slots}
        for name, searched in form.search.items():
            if name not in names:
                continue
            drawn = candidates(serving, searched, rules.seed, capability.id)
            batch = rules.max_sources if name in partner_slots(form) else rules.batch
            slots.append(Slot(capability.id, name, searched, drawn, batch, rules.max_sources))
    return slots


def draw_seeds(
    slots: Sequence[Slot], capabilities: Sequence[Capability], models: KeptModels, rules: BuildRules
) -> dict[str, list[Seed]]:
    """Draw sentences, look at what seeds they make, and draw more where there are too few."""
    progress = bar("compose", len(capabilities))
    streams: dict[str, list[Stream]] = {}
    lacking, waiting = list(slots), len(capabilities)
    while True:
        composed = {(slot.capability, slot.name): len(slot.sources) for slot in slots}
        draw_sources(lacking, models, rules)
        for capability in capabilities:
            if any(slot.capability == capability.id for slot in lacking):
                new = streams_of(capability, slots, rules, composed)
                before = streams.get(capability.id, [[] for _ in new])
                streams[capability.id] = [[*a, *b] for a, b in zip(before, new, strict=True)]
        incomplete = {slot.capability for slot in slots if not slot.is_complete}
        seeds, short = choose_seeds(capabilities, streams, rules, incomplete)
        progress(waiting - len(short))
        waiting = len(short)
        lacking = [slot for slot in slots if slot.capability in short and not slot.is_complete]
        if not lacking:
            return seeds


def streams_of(
    capability: Capability,
    slots: Sequence[Slot],
    rules: BuildRules,
    composed: Mapping[tuple[str, str], int] = {},
) -> list[Stream]:
    """The seeds of a capability that may be published, of what was drawn for its slots.

    Args:
        capability: the capability.
        slots: with the sentences that were drawn.
        rules: of the build.
        composed: how many sentences of each slot of a capability have been first in seeds already.
    """
    form, own_slots = capability.form("fluent"), [s for s in slots if s.capability == capability.id]
    sources = {slot.name: slot.sources for slot in own_slots}
    before = {slot.name: composed.get((slot.capability, slot.name), 0) for slot in own_slots}
    streams = compose_seeds(capability.id, form, sources, rules, before)
    return usable_seeds(keep_seeds(streams, rules.annotations), form, rules)


def draw_sources(slots: Sequence[Slot], models: KeptModels, rules: BuildRules) -> None:
    """Select and shorten the next sentences of slots."""
    while selecting := [s for s in slots if s.candidates and len(s.matching) < s.wanted]:
        batches = [(slot.rules, slot.candidates[: slot.batch]) for slot in selecting]
        for slot, selected in zip(selecting, select(batches, models, rules), strict=True):
            slot.candidates = slot.candidates[slot.batch :]
            slot.matching += selected
    new = [slot.matching[len(slot.shortened) : slot.wanted] for slot in slots]
    shortened = iter(shorten([source for group in new for source in group], models, rules))
    for slot, group in zip(slots, new, strict=True):
        forms = [next(shortened) for _ in group]
        if rules.shortened_first:
            forms.sort(key=lambda each: not any(source.extensions for source in each))
        slot.shortened += forms


def extended_sources(
    inputs: Inputs, sources: Sequence[Source], models: KeptModels, rules: BuildRules
) -> dict[str, Extended]:
    """What extends sentences, by their text; what was computed before is looked up."""
    worth = [source for source in sources if sentence_id(source.text) in rules.worth_processing]
    decided_by = fingerprint_of([inputs.decides_extensions, rules.requires_fluency])
    compute = partial(extend_batches, models=models, rules=rules)
    extended = models.extended(decided_by, worth, compute)
    return {source.text: each for source, each in zip(worth, extended, strict=True)}


def extend_batches(
    sources: Sequence[Source], models: KeptModels, rules: BuildRules
) -> Iterator[tuple[int, Extended]]:
    """The number of each sentence, with what extends it."""
    # Models read equally long texts fastest together.
    order = sorted(range(len(sources)), key=lambda n: (len(sources[n].text), sources[n].text))
    starts = range(0, len(order), SENTENCES_EXTENDED_AT_ONCE)
    batches = [order[start : start + SENTENCES_EXTENDED_AT_ONCE] for start in starts]
    progress = bar("extend", len(order))

    def extend_batch(batch: Sequence[int]) -> list[Extended]:
        of_batch = [sources[number] for number in batch]
        return confirm(of_batch, extend(of_batch, models, rules), models, rules)

    for batch, extended in zip(batches, map_in_two_threads(extend_batch, batches), strict=True):
        yield from zip(batch, extended, strict=True)
        progress(len(batch))
