"""Compose: sentences become seeds, and their extensions become expansions, through one template.

A template's operations work on the parsed sentence (`s2lct.builder.language.operations`). An
expansion goes through the very template of its seed: without what was inserted it is its seed.
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
"""Of sentences that stand together."""
MAX_PARTNERS = 3
"""Sentences of another slot that stand beside one of the first slot."""
Stream = list[list[Seed]]
"""For sentences that stand together, in drawing order, the seeds of their wordings."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A template with sentences in its slots.

    Attributes:
        text: the whole.
        starts: for each slot, at which character of ``text`` each token of its sentence starts.
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
        sentences: for each slot the sentence; its tokens and tree are needed for operations.

    Raises:
        NotApplicableError: an operation cannot be carried out on a sentence.
        CapabilityError: a sentence does not begin as a rewrite demands.
    """
    text = shown = ""
    starts: dict[str, Mapping[int, int]] = {}
    last = 0
    for field in template.fields():
        literal = template.text[last : field.start()]
        text, shown, last = text + literal, shown + literal, field.end()
        name = field["name"]
        if name not in sentences:
            text, shown = text + wording[name], shown + wording[name]
            continue
        sentence = sentences[name]
        if name in template.rewrite:
            rendered, of_slot = _rewritten(template, name, sentence.text, wording[name])
            text, shown = text + rendered, shown + of_slot
            continue
        rendered, places = apply_operations(sentence, operations_of(field))
        if not is_reply(field):
            starts[name] = {number: len(text) + at for number, at in places.items()}
        text, shown = text + rendered, shown + field[0]
    text, shown = text + template.text[last:], shown + template.text[last:]
    return Composed(text, starts, "" if shown == f"{{{template.slots[0]}}}" else shown)


def _rewritten(template: Template, slot: str, text: str, replacement: str) -> tuple[str, str]:
    """A sentence whose start is replaced, and its slot as it is shown."""
    pattern = template.rewrite[slot].find
    match = re.match(pattern, text)
    if match is None:
        raise CapabilityError(
            f"template {plain(template.text, 200)!r}, rewrite of {slot}: {plain(pattern, 200)!r} "
            f"does not match the sentence {plain(text, 200)!r}",
            hint="let the search find only sentences that it matches: starts_with",
        )
    start = match.expand(replacement)
    shown = f"{{{slot}: {match[0].strip()} → {start.strip()}}}"
    return start + text[match.end() :], shown


def composed_seed(
    kind: str,
    capability: str,
    template: Template,
    wording: Mapping[str, str],
    filled: Mapping[str, Source],
) -> Seed:
    """The seed, or the contrast of one, that a template makes of sentences; see `compose`."""
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
    composed: Mapping[str, int] = {},
) -> list[Stream]:
    """The seeds that may be made of sentences: streams of the wordings of what stands together.

    A stream is of templates over the same slots, and of sentences of one label in the first slot.
    Which sentences stand together, and in which wordings, depends on these sentences alone, not on
    the others: what annotators accepted in one build is there in another.

    Args:
        capability: its id.
        form: its form.
        sources: for each slot, the sentences in drawing order.
        rules: of the build.
        composed: for each slot, how many of its sentences have been first in seeds already.
    """
    by_slots: dict[tuple[str, ...], list[Template]] = {}
    for template in form.templates:
        by_slots.setdefault(tuple(sorted(set(template.slots))), []).append(template)
    streams: list[Stream] = []
    for slots, templates in by_slots.items():
        by_label: dict[Label, Stream] = {rule.label: [] for rule in form.search[slots[0]]}
        first = sources[slots[0]][composed.get(slots[0], 0) :]
        for together in _together([first, *(sources[slot] for slot in slots[1:])]):
            ids = (seed_source_id(capability, source.text) for source in together)
            if together[0].sentence.label in by_label and all(
                id in rules.worth_processing for id in ids
            ):
                seeds = _composed(capability, templates, dict(zip(slots, together, strict=True)))
                wordings = list(islice(seeds, MAX_WORDINGS_TRIED))
                by_label[together[0].sentence.label].append(wordings)
        streams += by_label.values()
    return streams


def usable_seeds(streams: Sequence[Stream], form: Form, rules: BuildRules) -> list[Stream]:
    """The seeds that make sense, as do their contrasts where these have the same sentences."""
    return [
        [
            usable
            for wordings in stream
            if (usable := [seed for seed in wordings if _is_usable(seed, form, rules)])
        ]
        for stream in streams
    ]


def partner_slots(form: Form) -> frozenset[str]:
    """The slots whose sentences stand beside one of another slot."""
    return frozenset(
        slot for template in form.templates for slot in sorted(set(template.slots))[1:]
    )


def _together(columns: Sequence[Sequence[Source]]) -> Iterator[tuple[Source, ...]]:
    """Each sentence of the first column with a few of each other one, random for the two."""
    for first in columns[0]:
        partners = [
            nsmallest(
                MAX_PARTNERS,
                islice(column, MAX_SOURCES),
                key=lambda other: shuffle_key(0, "pair", first.text, other.text),
            )
            for column in columns[1:]
        ]
        beside = zip(*partners, strict=False) if partners else [()]
        yield from ((first, *others) for others in beside)


def _composed(
    capability: str, templates: Sequence[Template], filled: Mapping[str, Source]
) -> Iterator[Seed]:
    """The seeds of sentences in the wordings that apply to them."""
    for template, wording in _wordings(capability, templates, filled):
        with suppress(NotApplicableError):
            seed = composed_seed("seed", capability, template, wording, filled)
            if any(pronoun_has_referent(seed.template, source.parsed) for source in seed.sources):
                yield seed


def _wordings(
    capability: str, templates: Sequence[Template], filled: Mapping[str, Source]
) -> Iterator[tuple[Template, dict[str, str]]]:
    """Wordings in an order random for these sentences, and weighted by the templates."""
    rng = rng_for(0, capability, *(source.text for source in filled.values()))
    order = sorted(
        (math.log(1.0 - rng.random()) / template.weight, number, turn)
        for number, template in enumerate(templates)
        for turn in range(MAX_WORDINGS_TRIED)
    )
    for _, number, _ in reversed(order):
        template = templates[number]
        yield template, template.variant(rng.randrange(template.variant_count))


def _is_usable(seed: Seed, form: Form, rules: BuildRules) -> bool:
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
    """Whether a case takes back all that it takes back any of, and its *it* is something."""
    return all(
        not case.takes_back(source)
        or denial_reaches_opinions(
            source.parsed, Lexicon.load(), count_degree_denials=rules.denies_degrees
        )
        for source in case.sources
    ) and any(pronoun_has_referent(case.template, source.parsed) for source in case.sources)


def expansion_of(
    seed: Seed, slot: str, extension: Extension, kind: str = "expansion"
) -> Expansion | None:
    """The expansion that an extension makes of a seed; None where it is not the seed and more.

    Args:
        seed: the seed, or its contrast.
        slot: the slot whose sentence is extended.
        extension: the extension, parsed.
        kind: what it is in the suite.
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
            composed.starts[slot].get(number)
            for number, token in enumerate(extended.tokens)
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
    seed: Seed, others: Mapping[str, Source] | None = None, label: Label | None = None
) -> Seed | None:
    """The same case, changed as its template says so that no label passes both.

    None where the template has no contrast, or it cannot be composed.

    Args:
        seed: the case.
        others: sentences of slots that only the contrast has, or that are reworded.
        label: what passes, if the template leaves it open.
    """
    contrast = seed.composed_by.as_contrast
    if contrast is None:
        return None
    filled = {**dict(zip(seed.slots, seed.sources, strict=True)), **(others or {})}
    filled = {slot: filled[slot] for slot in contrast.slots}
    wording = seed.composed_by.contrast_wording(seed.wording)
    try:
        opposite = composed_seed(CONTRAST, seed.capability, contrast, wording, filled)
    except NotApplicableError:
        return None
    if label is not None:
        opposite = replace(opposite, labels=(label,))
    return opposite if set(opposite.labels).isdisjoint(seed.labels) else None
