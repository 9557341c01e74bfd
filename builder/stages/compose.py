"""Compose: sentences become seeds, and their extensions become expansions, through one template.

A template's operations work on the parsed sentence (`s2lct.builder.language.operations`). An
expansion goes through the very template of its seed: without what was inserted it is its seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from s2lct.builder.capabilities.schema import Form, Template, is_reply, operations_of
from s2lct.builder.language.operations import (
    OPERATIONS,
    Analysis,
    Draft,
    NotApplicableError,
    drafted,
)
from s2lct.builder.language.replies import REPLIES
from s2lct.builder.records import InsertedWord
from s2lct.builder.sources import Extension, Source
from s2lct.identity import content_id, rng_for, shuffle_key
from s2lct.labels import Label
from s2lct.suite.tables import without

MOST_OF_A_SOURCE = 2
"""Seeds of a capability that one corpus sentence may be in."""
WORDINGS_TRIED = 4
"""Of sentences that stand together, before others take their place."""
PARTNERS = 3
PAIRINGS = 1_000
"""Sentences of a slot that may stand beside one of the first slot: each is put in order with it."""


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


@dataclass(frozen=True, slots=True)
class ComposedSeed:
    """A seed with what it was made of.

    Attributes:
        id: content hash, as all seeds have it.
        capability: its id.
        text: the sentence.
        labels: the labels that pass.
        label: the label to train on.
        template: the template with its choices made; empty without template.
        slots: the slots' names in the order of the template.
        sources: the sentence of each slot.
        wording: the choices.
        number: which of the form's templates it is.
    """

    id: str
    capability: str
    text: str
    labels: tuple[Label, ...]
    label: Label
    template: str
    slots: tuple[str, ...]
    sources: tuple[Source, ...]
    wording: Mapping[str, str]
    number: int


@dataclass(frozen=True, slots=True)
class ComposedExpansion:
    """An expansion of a composed seed, by the extension of one of its sentences."""

    id: str
    seed_id: str
    text: str
    inserted: tuple[InsertedWord, ...]
    extension: Extension
    slot: str


def compose(
    template: Template, wording: Mapping[str, str], sentences: Mapping[str, Analysis]
) -> Composed:
    """Fill a template.

    Args:
        template: the template.
        wording: the wording of each choice.
        sentences: for each slot the sentence, parsed.

    Raises:
        NotApplicableError: an operation cannot be carried out on a sentence.
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
        rendered, places = _operated(sentences[name], operations_of(field)).render()
        if not is_reply(field):
            starts[name] = {number: len(text) + at for number, at in places.items()}
        text, shown = text + rendered, shown + field[0]
    text, shown = text + template.text[last:], shown + template.text[last:]
    return Composed(text, starts, "" if shown == f"{{{template.slots[0]}}}" else shown)


def _operated(sentence: Analysis, names: Sequence[str]) -> Draft:
    draft = drafted(sentence)
    for name in names:
        draft = (OPERATIONS.get(name) or REPLIES[name])(draft)
    return draft


def seeds_of(
    capability: str,
    form: Form,
    pools: Mapping[str, Iterable[Source]],
    *,
    most: int,
    partners: int,
    accept: Callable[[ComposedSeed], bool],
) -> list[ComposedSeed]:
    """Make up to ``most`` seeds, the slots evenly, the templates by their weights.

    Which sentences stand together and in which wording depends on the sentences alone, not on the
    others that are drawn: what readers passed in one build is there in another.

    Args:
        capability: its id.
        form: its form.
        pools: for each slot, the sentences in drawing order; gone through more than once.
        most: how many seeds to make.
        partners: sentences of a slot, in drawing order, that may stand beside one of the first
            slot.
        accept: whether a seed may be taken.

    Returns:
        Seeds of distinct text; no corpus sentence is in more than `MOST_OF_A_SOURCE` of them.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, template in enumerate(form.templates):
        groups.setdefault(tuple(sorted(set(template.slots))), []).append(number)
    drawing = _Drawing(capability, form, partners, accept)
    streams = [
        drawing.stream([pools[slot] for slot in slots], slots, numbers)
        for slots, numbers in groups.items()
    ]
    made: list[ComposedSeed] = []
    while streams and len(made) < most:
        for stream in list(streams):
            found = next(stream, None)
            if found is None:
                streams.remove(stream)
            elif len(made) < most:
                made.append(found)
    return made


class _Drawing:
    """What was used how often while a capability's seeds are drawn."""

    def __init__(
        self, capability: str, form: Form, partners: int, accept: Callable[[ComposedSeed], bool]
    ) -> None:
        self._capability = capability
        self._form = form
        self._partners = partners
        self._accept = accept
        self._of_sentence: Counter[str] = Counter()
        self._texts: set[str] = set()

    def stream(
        self, columns: Sequence[Iterable[Source]], slots: Sequence[str], numbers: Sequence[int]
    ) -> Iterator[ComposedSeed]:
        """Seeds of templates over the same slots; every sentence once, then once more."""
        for most in range(1, MOST_OF_A_SOURCE + 1):
            for sources in _tuples(columns, self._partners):
                if any(self._of_sentence[s.sentence.text] >= most for s in sources):
                    continue
                found = self._first(dict(zip(slots, sources, strict=True)), numbers)
                if found is not None:
                    yield found

    def _first(self, filled: Mapping[str, Source], numbers: Sequence[int]) -> ComposedSeed | None:
        """The first acceptable seed among the wordings that apply."""
        sentences = {slot: source.analysis for slot, source in filled.items()}
        applied = 0
        for number, wording in self._wordings(numbers, filled):
            template = self._form.templates[number]
            try:
                composed = compose(template, wording, sentences)
            except NotApplicableError:
                continue
            applied += 1
            if applied > WORDINGS_TRIED:
                return None
            labels = template.passing({slot: one.sentence.label for slot, one in filled.items()})
            seed = ComposedSeed(
                content_id("seed", self._capability, composed.text),
                self._capability,
                composed.text,
                labels,
                template.train_on or labels[0],
                composed.shown,
                template.slots,
                tuple(filled[slot] for slot in template.slots),
                dict(wording),
                number,
            )
            if composed.text in self._texts or not self._accept(seed):
                continue
            self._texts.add(composed.text)
            self._of_sentence.update(source.sentence.text for source in filled.values())
            return seed
        return None

    def _wordings(
        self, numbers: Sequence[int], filled: Mapping[str, Source]
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Wordings in an order random for these sentences, and weighted by the templates."""
        rng = rng_for(0, self._capability, *(source.text for source in filled.values()))
        templates = {number: self._form.templates[number] for number in numbers}
        order = sorted(
            (math.log(1.0 - rng.random()) / template.weight, number, turn)
            for number, template in templates.items()
            for turn in range(WORDINGS_TRIED)
        )
        for _, number, _ in reversed(order):
            yield number, templates[number].variant(rng.randrange(templates[number].variants))


def _tuples(columns: Sequence[Iterable[Source]], most: int) -> Iterator[tuple[Source, ...]]:
    """Each sentence of the first column with a few of each other one, random for the two."""
    if len(columns) == 1:
        yield from ((source,) for source in columns[0])
        return
    for first in columns[0]:
        partners = [
            sorted(
                islice(column, most),
                key=lambda other: shuffle_key(0, "pair", first.text, other.text),
            )
            for column in columns[1:]
        ]
        yield from ((first, *others) for others in islice(zip(*partners, strict=False), PARTNERS))


def expansion_of(
    seed: ComposedSeed,
    template: Template,
    slot: str,
    extension: Extension,
    extended: Analysis,
) -> ComposedExpansion | None:
    """The expansion that an extension makes of a seed; None where it is not the seed and more.

    Args:
        seed: the seed.
        template: its template.
        slot: the slot whose sentence is extended.
        extension: the extension.
        extended: the extended sentence, parsed anew.
    """
    sentences = {
        name: extended if name == slot else source.analysis
        for name, source in zip(seed.slots, seed.sources, strict=True)
    }
    try:
        composed = compose(template, seed.wording, sentences)
    except NotApplicableError:
        return None
    inserted: list[InsertedWord] = []
    for word in extension.inserted:
        places = [
            composed.starts[slot].get(number)
            for number, token in enumerate(extended.tokens)
            if word.start <= token.start and token.end <= word.end
        ]
        if not places or places[0] is None:
            return None
        start = places[0]
        if composed.text[start : start + len(word.word)] != word.word:
            return None
        inserted.append(InsertedWord(word.word, word.tag, start, start + len(word.word)))
    if without(composed.text, [(word.start, word.end) for word in inserted]) != seed.text:
        return None
    return ComposedExpansion(
        id=content_id("expansion", seed.capability, composed.text),
        seed_id=seed.id,
        text=composed.text,
        inserted=tuple(inserted),
        extension=extension,
        slot=slot,
    )


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The same sentence with the opposite answer."""

    id: str
    seed_id: str
    text: str
    labels: tuple[Label, ...]
    template: str


def counterpart_of(seed: ComposedSeed, form: Form) -> Counterpart | None:
    """The counterpart of a seed; None where its template has none, or it cannot be composed."""
    template = form.templates[seed.number]
    opposite = template.counterpart
    if opposite is None:
        return None
    wording = opposite.wording_beside(template, seed.wording)
    sentences = {
        slot: source.analysis for slot, source in zip(seed.slots, seed.sources, strict=True)
    }
    try:
        composed = compose(opposite, wording, sentences)
    except NotApplicableError:
        return None
    labels = opposite.passing(
        {slot: one.sentence.label for slot, one in zip(seed.slots, seed.sources, strict=True)}
    )
    return Counterpart(
        content_id("counterpart", seed.capability, composed.text),
        seed.id,
        composed.text,
        labels,
        composed.shown,
    )
