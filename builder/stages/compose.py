"""Compose: one template turns sentences into seeds, and their extensions into expansions.

The operations of a template work on the parsed sentence (`s2lct.builder.language.operations`). An
expansion has the same template as its seed: without its insertions, it is the seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice

from s2lct.builder.capabilities.schema import Form, Template, is_reply, operations_of
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.operations import NotApplicableError, apply_operations
from s2lct.builder.language.reach import denial_reaches_opinions, pronoun_has_referent
from s2lct.builder.records import (
    Expansion,
    Extension,
    InsertedWord,
    ParsedSentence,
    Seed,
    Source,
    seed_source_id,
)
from s2lct.builder.rules import MAX_SOURCES, BuildRules
from s2lct.builder.stages.search import still_meets
from s2lct.errors import CapabilityError
from s2lct.identity import rng_for, shuffle_key
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.tables import CONTRAST, case_id, without

MAX_WORDINGS_TRIED = 4
"""The number of wordings that are tried for sentences in one seed."""
MAX_PARTNERS = 3
"""The number of sentences of another slot that are combined with one of the first slot."""
Stream = list[list[Seed]]
"""The seeds of each combination of sentences, in drawing order: one list of wordings for each."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A template with sentences in its slots.

    Attributes:
        text: the whole text.
        starts: for each slot, the offset in ``text`` of each token of its sentence, by token
            number.
        shown: the template with its choices made.
    """

    text: str
    starts: Mapping[str, Mapping[int, int]]
    shown: str


def compose(
    template: Template, wording: Mapping[str, str], sentences: Mapping[str, ParsedSentence]
) -> Composed:
    """Fill a template.

    Args:
        template: the template.
        wording: the wording of each choice, and the replacement of each rewritten slot.
        sentences: the sentence of each slot; its tokens and tree are needed for operations.

    Raises:
        NotApplicableError: an operation cannot be carried out on a sentence.
        CapabilityError: a sentence does not begin as a rewrite demands.
    """
    text = shown = ""
    starts: dict[str, Mapping[int, int]] = {}
    end_of_field = 0
    for field in template.fields():
        literal = template.text[end_of_field : field.start()]
        text, shown, end_of_field = text + literal, shown + literal, field.end()
        name = field["name"]
        if name not in sentences:
            text, shown = text + wording[name], shown + wording[name]
            continue
        sentence = sentences[name]
        if name in template.rewrite:
            slot_text, shown_slot = _rewrite_start(template, name, sentence.text, wording[name])
            text, shown = text + slot_text, shown + shown_slot
            continue
        slot_text, offsets = apply_operations(sentence, operations_of(field))
        if not is_reply(field):
            starts[name] = {n: len(text) + offset for n, offset in offsets.items()}
        text, shown = text + slot_text, shown + field[0]
    text, shown = (text + template.text[end_of_field:], shown + template.text[end_of_field:])
    return Composed(text, starts, "" if shown == f"{{{template.slots[0]}}}" else shown)


def _rewrite_start(template: Template, slot: str, text: str, replacement: str) -> tuple[str, str]:
    """A sentence with its start replaced, and the slot as the shown template has it."""
    pattern = template.rewrite[slot].find
    match = re.match(pattern, text)
    if match is None:
        raise CapabilityError(
            f"template {plain(template.text, 200)!r}, rewrite of {slot}: {plain(pattern, 200)!r} "
            f"does not match the sentence {plain(text, 200)!r}",
            hint="let the search find only sentences that it matches: starts_with",
        )
    new_start = match.expand(replacement)
    shown_slot = f"{{{slot}: {match[0].strip()} → {new_start.strip()}}}"
    return new_start + text[match.end() :], shown_slot


def composed_seed(
    kind: str,
    capability: str,
    template: Template,
    wording: Mapping[str, str],
    filled: Mapping[str, Source],
) -> Seed:
    """The seed, or the contrast of a seed, that a template makes of sentences; see `compose`."""
    composed = compose(template, wording, {slot: source.parsed for slot, source in filled.items()})
    return Seed(
        case_id(kind, capability, composed.text),
        capability,
        composed.text,
        template.passing_labels({slot: source.sentence.label for slot, source in filled.items()}),
        composed.shown,
        template.slots,
        tuple(filled[slot] for slot in template.slots),
        dict(wording),
        template,
    )


def compose_seeds(
    capability: str,
    form: Form,
    sources: Mapping[str, Sequence[Source]],
    rules: BuildRules,
    skipped_counts: Mapping[str, int] = {},
) -> list[Stream]:
    """The seeds that can be made of sentences, in streams.

    A stream has the seeds of templates over the same slots, and of sentences with one label in the
    first slot. Which sentences are combined, in which wordings, depends on these sentences alone.
    So a case that annotators accepted in one build also occurs in another.

    Args:
        capability: the id of the capability.
        form: the form of the capability.
        sources: the sentences of each slot, in drawing order.
        rules: the rules of the build.
        skipped_counts: for each slot, how many of its sentences were the first in seeds of earlier
            calls; these are skipped.
    """
    templates_of_slots: dict[tuple[str, ...], list[Template]] = {}
    for template in form.templates:
        templates_of_slots.setdefault(tuple(sorted(set(template.slots))), []).append(template)
    streams: list[Stream] = []
    for slots, templates in templates_of_slots.items():
        stream_of_label: dict[Label, Stream] = {rule.label: [] for rule in form.search[slots[0]]}
        first = sources[slots[0]][skipped_counts.get(slots[0], 0) :]
        for combination in _combinations([first, *(sources[slot] for slot in slots[1:])]):
            ids = (seed_source_id(capability, source.text) for source in combination)
            if combination[0].sentence.label in stream_of_label and all(
                id in rules.worth_processing for id in ids
            ):
                seeds = _seeds_of_sentences(
                    capability, templates, dict(zip(slots, combination, strict=True))
                )
                wordings = list(islice(seeds, MAX_WORDINGS_TRIED))
                stream_of_label[combination[0].sentence.label].append(wordings)
        streams += stream_of_label.values()
    return streams


def usable_seeds(streams: Sequence[Stream], form: Form, rules: BuildRules) -> list[Stream]:
    """The seeds that make sense, and whose contrasts with the same sentences make sense."""
    return [
        [
            usable
            for wordings in stream
            if (usable := [seed for seed in wordings if _is_usable(seed, form, rules)])
        ]
        for stream in streams
    ]


def partner_slots(form: Form) -> frozenset[str]:
    """The slots whose sentences are combined with a sentence of the first slot."""
    return frozenset(
        slot for template in form.templates for slot in sorted(set(template.slots))[1:]
    )


def _combinations(columns: Sequence[Sequence[Source]]) -> Iterator[tuple[Source, ...]]:
    """Each sentence of the first column with a few random partners from the other columns.

    The choice depends on the two sentences alone.
    """
    for first in columns[0]:
        partners = [
            nsmallest(
                MAX_PARTNERS,
                islice(column, MAX_SOURCES),
                key=lambda other: shuffle_key(0, "pair", first.text, other.text),
            )
            for column in columns[1:]
        ]
        partners_of_slots = zip(*partners, strict=False) if partners else [()]
        yield from ((first, *others) for others in partners_of_slots)


def _seeds_of_sentences(
    capability: str, templates: Sequence[Template], filled: Mapping[str, Source]
) -> Iterator[Seed]:
    """The seeds of a combination of sentences, in the wordings that apply to them."""
    for template, wording in _wordings(capability, templates, filled):
        with suppress(NotApplicableError):
            seed = composed_seed("seed", capability, template, wording, filled)
            if any(pronoun_has_referent(seed.template, source.parsed) for source in seed.sources):
                yield seed


def _wordings(
    capability: str, templates: Sequence[Template], filled: Mapping[str, Source]
) -> Iterator[tuple[Template, dict[str, str]]]:
    """Wordings in a random order that these sentences fix, weighted by the templates."""
    rng = rng_for(0, capability, *(source.text for source in filled.values()))
    order = sorted(
        (math.log(1.0 - rng.random()) / template.weight, template_number, turn)
        for template_number, template in enumerate(templates)
        for turn in range(MAX_WORDINGS_TRIED)
    )
    for _, template_number, _ in reversed(order):
        template = templates[template_number]
        yield template, template.variant(rng.randrange(template.variant_count))


def _is_usable(seed: Seed, form: Form, rules: BuildRules) -> bool:
    """Whether a seed makes sense and meets the search rule, and its contrast makes sense."""
    lexicon = Lexicon.load()
    if not is_sensible(seed, rules) or not all(
        still_meets(form, source.sentence.label, source.parsed, lexicon) for source in seed.sources
    ):
        return False
    template = seed.composed_by
    if template.contrast is None or template.contrast.reword or template.slots_of_contrast:
        return True
    contrast = contrast_of(seed)
    return contrast is not None and is_sensible(contrast, rules)


def is_sensible(case: Seed, rules: BuildRules) -> bool:
    """Whether a case makes sense.

    If it denies a sentence, the denial must reach all opinions in it; and if it says *it*, the
    pronoun must have a referent.
    """
    return all(
        not case.takes_back(source)
        or denial_reaches_opinions(
            source.parsed, Lexicon.load(), count_degree_denials=rules.may_deny_degree
        )
        for source in case.sources
    ) and any(pronoun_has_referent(case.template, source.parsed) for source in case.sources)


def expansion_of(
    seed: Seed, slot: str, extension: Extension, kind: str = "expansion"
) -> Expansion | None:
    """The expansion of a seed by an extension; None where it is not the seed with insertions.

    Args:
        seed: the seed, or its contrast.
        slot: the slot whose sentence is extended.
        extension: the extension, parsed.
        kind: the kind of the case in the suite.
    """
    extended = extension.parsed
    assert extended is not None
    sentences = {
        name: extended if name == slot else source.parsed
        for name, source in zip(seed.slots, seed.sources, strict=True)
    }
    try:
        composed = compose(seed.composed_by, seed.wording, sentences)
    except NotApplicableError:
        return None
    inserted: list[InsertedWord] = []
    for word in extension.inserted:
        starts = [
            composed.starts[slot].get(n)
            for n, token in enumerate(extended.tokens)
            if word.start <= token.start and token.end <= word.end
        ]
        if not starts or (start := starts[0]) is None:
            return None
        if composed.text[start : start + len(word.word)] != word.word:
            return None
        inserted.append(InsertedWord(word.word, word.tag, start, start + len(word.word)))
    if without(composed.text, [(word.start, word.end) for word in inserted]) != seed.text:
        return None
    id = case_id(kind, seed.capability, composed.text)
    return Expansion(id, seed.id, composed.text, tuple(inserted), extension, slot)


def contrast_of(
    seed: Seed, other_sources: Mapping[str, Source] | None = None, label: Label | None = None
) -> Seed | None:
    """The contrast of a case, as its template defines it; no label passes both.

    None where the template has no contrast, or it cannot be composed.

    Args:
        seed: the case.
        other_sources: sentences of slots that only the contrast has, or reworded sentences.
        label: the passing label, if the template leaves it open.
    """
    template = seed.composed_by.as_contrast
    if template is None:
        return None
    filled = {**dict(zip(seed.slots, seed.sources, strict=True)), **(other_sources or {})}
    filled = {slot: filled[slot] for slot in template.slots}
    wording = seed.composed_by.contrast_wording(seed.wording)
    try:
        contrast = composed_seed(CONTRAST, seed.capability, template, wording, filled)
    except NotApplicableError:
        return None
    if label is not None:
        contrast = replace(contrast, labels=(label,))
    return contrast if set(contrast.labels).isdisjoint(seed.labels) else None
