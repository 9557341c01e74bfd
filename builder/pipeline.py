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
from s2lct.builder.kept_models import CachedModels, ConfirmedExtensions, LazyModels
from s2lct.builder.models import EMBEDDED
from s2lct.builder.records import Family, Seed, Sentence, Source, seed_source_id, sentence_id
from s2lct.builder.rules import BuildRules, rules_with_annotators, rules_without_annotators
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

SENTENCES_PER_EXTENSION_BATCH = 100
"""The number of sentences that are extended together: their fillings must fit into memory."""


def build_suite(config: BuildConfig) -> dict[str, dict[str, int]]:
    """Build a suite and write it to ``config.out``; return the counts of the closing table.

    If a build is interrupted at any moment, the same call continues it and writes the same bytes on
    this machine. On other processors only the last digits of the column ``score`` change.

    Raises:
        S2lctError: an error that the caller can mend; nothing is written in part.
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
        if (description := _existing_suite(inputs.config, out, inputs.recorded)) is not None:
            # JSON keeps names in alphabetical order, the table in that of the capabilities.
            counts = {
                capability.id: description["counts"][capability.id]
                for capability in inputs.capabilities
            }
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
def kept_models(inputs: Inputs) -> Iterator[CachedModels]:
    """The models of a build, within the block, in front of a cache of their predictions.

    The models run in this process, or in the workers of the engine.
    """
    config = inputs.config
    with ExitStack() as contexts:
        engine: Engine[LazyModels] = InProcessEngine(inputs.models)
        if config.engine == "ray":
            make_models = partial(LazyModels, config.tagger, config.parser, config.mlm)
            contexts.enter_context(ray_cluster())
            engine = RayEngine(make_models)
        yield CachedModels(inputs.models, engine, contexts.enter_context(Cache()))


def _existing_suite(
    config: BuildConfig, out: Path, recorded: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The description of the suite in ``out`` if this very build wrote it; None if there is none.

    Raises:
        BuildError: ``out`` has another suite, which is not to be replaced.
    """
    if config.overwrite or not (out / SUITE_FILE).is_file():
        return None
    try:
        description = read_suite(out).described
    except SuiteError:
        description = {}
    if description.get("build_fingerprint") != fingerprint_of(recorded):
        raise BuildError(
            f"--out {config.out}: is there already, and is not this build",
            hint="choose another folder, or add --overwrite to replace it",
        )
    return description


def fluent_rows(inputs: Inputs, models: CachedModels) -> tuple[write.Rows, write.Work]:
    """The rows of each capability in the fluent form, and the counts of its work."""
    rows: write.Rows = {capability.id: [] for capability in inputs.capabilities}
    work: dict[str, Mapping[str, int]] = {}
    for capabilities, rules in _capabilities_and_rules(inputs):
        families, counts = fluent_families(inputs, capabilities, models, rules)
        rows |= {id: write.rows_of(group, rules.annotations) for id, group in families.items()}
        work |= counts
    return rows, work


def _capabilities_and_rules(inputs: Inputs) -> Iterator[tuple[list[Capability], BuildRules]]:
    """The annotated capabilities and the others, each group with its rules.

    The others are built separately, so that they change nothing in the annotated ones.
    """
    config, build_inputs = inputs.config, (inputs.config, inputs.domain, inputs.sentences)
    annotated = [each for each in inputs.capabilities if config.is_annotated(each.id)]
    unread = [each for each in inputs.capabilities if not config.is_annotated(each.id)]
    if annotated:
        annotations = Annotations.read(config.annotation_files, config.marks_allowed)
        if {config.tagger, config.parser, config.mlm} != {EMBEDDED}:
            annotations.index = None  # other models make other things of the corpus
        yield annotated, rules_with_annotators(*build_inputs, annotations)
    if unread:
        yield unread, rules_without_annotators(*build_inputs)


def fluent_families(
    inputs: Inputs, capabilities: Sequence[Capability], models: CachedModels, rules: BuildRules
) -> tuple[dict[str, list[Family]], write.Work]:
    """The families of each capability in the fluent form, and the counts of its work."""
    forms = {capability.id: capability.form("fluent") for capability in capabilities}
    slots = slots_with_candidates(inputs.sentences, capabilities, rules)
    seeds = draw_seeds(slots, capabilities, models, rules)
    sources = sources_of(seeds)
    extended = extended_sources(inputs, sources, models, rules)
    expansions = expand(
        seeds, {text: extensions for text, (_, extensions) in extended.items()}, forms, rules
    )
    expansions = keep_expansions(expansions, seeds, rules.annotations)
    chosen = choose([[seed.id for seed in group] for group in seeds.values()], expansions, rules)
    contrasts = contrast(seeds, chosen, forms, inputs.sentences, models, rules)
    families = {
        id: families_of(group, chosen, contrasts, rules.annotations) for id, group in seeds.items()
    }
    return families, _work_counts(slots, seeds, extended)


def _work_counts(
    slots: Sequence[Slot],
    seeds: Mapping[str, Sequence[Seed]],
    extended: Mapping[str, ConfirmedExtensions],
) -> write.Work:
    """For each capability, how many sentences were found and how many expansions were tried."""
    return {
        id: {
            "sentences_found": sum(s.found_count for s in slots if s.capability == id),
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
        capability: the id of the capability.
        name: the name of the slot.
        rules: the search rules of the slot.
        candidates: the sentences that were not drawn yet, in drawing order.
        batch_size: how many sentences are drawn at once.
        max_sentences: how many sentences are drawn in all.
        matching: the drawn sentences that meet a rule.
        shortened: for each of the first of them, its shorter forms, then itself.
    """

    capability: str
    name: str
    rules: Sequence[SearchRule]
    candidates: Sequence[Sentence]
    batch_size: int
    max_sentences: int
    matching: list[Source] = field(default_factory=list)
    shortened: list[list[Source]] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """The drawn sentences and their shorter forms, in drawing order."""
        return [form for forms in self.shortened for form in forms]

    @property
    def wanted_count(self) -> int:
        """The number of sentences that must be found before seeds are composed again."""
        return min(len(self.shortened) + self.batch_size, self.max_sentences)

    @property
    def found_count(self) -> int:
        """The number of sentences found that may fill the slot."""
        return min(len(self.matching), self.max_sentences)

    @property
    def is_complete(self) -> bool:
        """Whether no more sentences are left for the slot, or it has enough."""
        is_used_up = not self.candidates and len(self.shortened) == len(self.matching)
        return is_used_up or len(self.shortened) >= self.max_sentences


def slots_with_candidates(
    sentences: Sequence[Sentence], capabilities: Sequence[Capability], rules: BuildRules
) -> list[Slot]:
    """The slots of capabilities, with the sentences of the corpus that may fill them."""
    usable = [each for each in sentences if sentence_id(each.text) in rules.worth_processing]
    slots: list[Slot] = []
    for capability in capabilities:
        form = capability.form("fluent")
        suitable = [
            sentence
            for sentence in usable
            if seed_source_id(capability.id, sentence.text) in rules.worth_processing
        ]
        # A slot that only contrasts have is filled with the contrasts.
        names = {slot for template in form.templates for slot in template.slots}
        for name, searched in form.search.items():
            if name not in names:
                continue
            ordered = candidates(suitable, searched, rules.seed, capability.id)
            batch_size = rules.max_sources if name in partner_slots(form) else rules.batch_size
            slots.append(
                Slot(capability.id, name, searched, ordered, batch_size, rules.max_sources)
            )
    return slots


def draw_seeds(
    slots: Sequence[Slot],
    capabilities: Sequence[Capability],
    models: CachedModels,
    rules: BuildRules,
) -> dict[str, list[Seed]]:
    """Draw sentences and compose seeds of them, until there are enough seeds."""
    progress = bar("compose", len(capabilities))
    streams: dict[str, list[Stream]] = {}
    lacking, n_waiting = list(slots), len(capabilities)
    while True:
        composed = {(slot.capability, slot.name): len(slot.sources) for slot in slots}
        draw_sources(lacking, models, rules)
        for capability in capabilities:
            if any(slot.capability == capability.id for slot in lacking):
                new = streams_of(capability, slots, rules, composed)
                earlier = streams.get(capability.id, [[] for _ in new])
                streams[capability.id] = [[*a, *b] for a, b in zip(earlier, new, strict=True)]
        incomplete = {slot.capability for slot in slots if not slot.is_complete}
        seeds, lacking_ids = choose_seeds(capabilities, streams, rules, incomplete)
        progress(n_waiting - len(lacking_ids))
        n_waiting = len(lacking_ids)
        lacking = [
            slot for slot in slots if slot.capability in lacking_ids and not slot.is_complete
        ]
        if not lacking:
            return seeds


def streams_of(
    capability: Capability,
    slots: Sequence[Slot],
    rules: BuildRules,
    composed: Mapping[tuple[str, str], int] = {},
) -> list[Stream]:
    """The seeds of a capability that may be published, made of the sentences drawn for its slots.

    Args:
        capability: the capability.
        slots: the slots, with the sentences that were drawn.
        rules: the rules of the build.
        composed: for the slots of each capability, how many of their sentences were the
            first in seeds of earlier calls.
    """
    form, own_slots = capability.form("fluent"), [s for s in slots if s.capability == capability.id]
    sources = {slot.name: slot.sources for slot in own_slots}
    skipped = {slot.name: composed.get((slot.capability, slot.name), 0) for slot in own_slots}
    streams = compose_seeds(capability.id, form, sources, rules, skipped)
    return usable_seeds(keep_seeds(streams, rules.annotations), form, rules)


def draw_sources(slots: Sequence[Slot], models: CachedModels, rules: BuildRules) -> None:
    """Select and shorten the next sentences of slots."""
    while open_slots := [s for s in slots if s.candidates and len(s.matching) < s.wanted_count]:
        batches = [(slot.rules, slot.candidates[: slot.batch_size]) for slot in open_slots]
        for slot, selected in zip(open_slots, select(batches, models, rules), strict=True):
            slot.candidates = slot.candidates[slot.batch_size :]
            slot.matching += selected
    new = [slot.matching[len(slot.shortened) : slot.wanted_count] for slot in slots]
    shortened = iter(shorten([source for matches in new for source in matches], models, rules))
    for slot, matches in zip(slots, new, strict=True):
        forms = [next(shortened) for _ in matches]
        if rules.prefers_shortened:
            forms.sort(key=lambda each: not any(source.extensions for source in each))
        slot.shortened += forms


def extended_sources(
    inputs: Inputs, sources: Sequence[Source], models: CachedModels, rules: BuildRules
) -> dict[str, ConfirmedExtensions]:
    """The extensions of sentences, by text; those of earlier builds come from the cache."""
    usable = [source for source in sources if sentence_id(source.text) in rules.worth_processing]
    key = fingerprint_of([inputs.extension_settings, rules.requires_fluency])
    compute = partial(extend_batches, models=models, rules=rules)
    extended = models.cached_extensions(key, usable, compute)
    return {source.text: each for source, each in zip(usable, extended, strict=True)}


def extend_batches(
    sources: Sequence[Source], models: CachedModels, rules: BuildRules
) -> Iterator[tuple[int, ConfirmedExtensions]]:
    """The extensions of each sentence, with its number in ``sources``."""
    # Models read equally long texts fastest together.
    order = sorted(range(len(sources)), key=lambda n: (len(sources[n].text), sources[n].text))
    starts = range(0, len(order), SENTENCES_PER_EXTENSION_BATCH)
    batches = [order[start : start + SENTENCES_PER_EXTENSION_BATCH] for start in starts]
    progress = bar("extend", len(order))

    def extend_batch(batch: Sequence[int]) -> list[ConfirmedExtensions]:
        batch_sources = [sources[number] for number in batch]
        return confirm(batch_sources, extend(batch_sources, models, rules), models, rules)

    for batch, extended in zip(batches, map_in_two_threads(extend_batch, batches), strict=True):
        yield from zip(batch, extended, strict=True)
        progress(len(batch))
