"""Compose: sentences become seeds, and their extensions become expansions, through one template.

A template's operations work on the parsed sentence (`s2lct.builder.language.operations`). An
expansion goes through the very template of its seed: without what was inserted it is its seed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, cycle, islice

from s2lct.builder.capabilities.schema import Form, Template, is_reply, operations_of
from s2lct.builder.language.operations import NotApplicableError, operated
from s2lct.builder.language.reach import has_referent
from s2lct.builder.records import (
    Expansion,
    Extension,
    InsertedWord,
    ParsedSentence,
    Seed,
    Sentence,
    Source,
)
from s2lct.errors import CapabilityError
from s2lct.identity import rng_for, shuffle_key
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.tables import CONTRAST, case_id, without

MOST_OF_A_SOURCE = 2
"""Seeds of a capability that one corpus sentence may be in."""
MOST_OF_A_SUITE = 3
"""Seeds of all capabilities that one corpus sentence may be in."""
MOST_OF_A_READ_CORPUS = 6
"""The same of a corpus of one's own that was read: few of its sentences pass."""
WORDINGS_TRIED = 4
"""Of sentences that stand together, before others take their place."""
ENOUGH_WORDINGS = 16
"""Where a form has so many, none is in more than `LARGEST_SHARE_OF_A_WORDING` of its seeds."""
LARGEST_SHARE_OF_A_WORDING = 0.1
PARTNERS = 3
PAIRINGS = 1_000
"""Sentences of a slot that may stand beside one of the first slot: each is put in order with it."""
MOST_COMBINATIONS = 100_000
"""In the paper form: of sentences for a template's slots, and of tries for one more seed."""
MOST_VARIANTS = 1_000
"""In the paper form: wordings of a template that are used, however many its choices give."""
Key = tuple[tuple[str, str, str], ...]
"""Of what stands together: the slots, the corpus sentence in each, and its form there."""


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
    for found in template.fields():
        literal = template.text[last : found.start()]
        text, shown, last = text + literal, shown + literal, found.end()
        name = found["name"]
        if name not in sentences:
            text, shown = text + wording[name], shown + wording[name]
            continue
        sentence = sentences[name]
        if name in template.rewrite:
            rendered, of_slot = _rewritten(template, name, sentence.text, wording[name])
            text, shown = text + rendered, shown + of_slot
            continue
        rendered, places = operated(sentence, operations_of(found))
        if not is_reply(found):
            starts[name] = {number: len(text) + at for number, at in places.items()}
        text, shown = text + rendered, shown + found[0]
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


def _made(
    kind: str,
    capability: str,
    template: Template,
    number: int,
    wording: Mapping[str, str],
    filled: Mapping[str, Source],
) -> Seed:
    """The seed, or a contrast of one, that a template makes of sentences; see `compose`."""
    composed = compose(template, wording, {slot: source.parsed for slot, source in filled.items()})
    labels = template.passing({slot: source.sentence.label for slot, source in filled.items()})
    return Seed(
        case_id(kind, capability, composed.text),
        capability,
        composed.text,
        labels,
        composed.shown,
        template.slots,
        tuple(filled[slot] for slot in template.slots),
        dict(wording),
        number,
    )


def seeds_of(
    capability: str,
    form: Form,
    pools: Mapping[str, Iterable[Source]],
    *,
    most: int,
    accept: Callable[[Seed], bool],
    may_serve: Callable[[Source], bool] = lambda source: True,
    grows: Callable[[Source], bool] | None = None,
    used: Mapping[str, int] | None = None,
    most_of_suite: int = MOST_OF_A_SUITE,
    composed: dict[Key, list[Seed]] | None = None,
) -> list[Seed]:
    """Make up to ``most`` seeds, the slots and their labels evenly, the templates by their weights.

    Which sentences stand together and in which wording depends on the sentences alone, not on the
    others that are drawn: what readers passed in one build is there in another.

    Args:
        capability: its id.
        form: its form.
        pools: for each slot, the sentences in drawing order; gone through more than once.
        most: how many seeds to make.
        accept: whether a seed may be taken.
        may_serve: whether a seed that may be taken can be made of a sentence.
        grows: whether seeds of a sentence have expansions: these are drawn first, if it is given.
        used: in how many seeds of other capabilities a corpus sentence is, by its text: those
            that are in fewer come first.
        most_of_suite: most seeds of all capabilities that a corpus sentence gets into.
        composed: the seeds that sentences may make, as far as that is known; more are added.

    Returns:
        Seeds of distinct text; no corpus sentence is in more than `MOST_OF_A_SOURCE` of them.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, template in enumerate(form.templates):
        groups.setdefault(tuple(sorted(set(template.slots))), []).append(number)
    known = {} if composed is None else composed
    wordings = sum(template.variants for template in form.templates)
    share = LARGEST_SHARE_OF_A_WORDING if wordings >= ENOUGH_WORDINGS else 1
    drawing = _Drawing(
        capability,
        form,
        accept,
        may_serve,
        grows,
        used or {},
        most_of_suite if used else MOST_OF_A_SOURCE,
        known,
        math.ceil(share * most),
    )
    streams = [
        drawing.stream([pools[slot] for slot in slots], slots, numbers, label)
        for slots, numbers in groups.items()
        for label in dict.fromkeys(rule.label for rule in form.search[slots[0]])
    ]
    made: list[Seed] = []
    while streams and len(made) < most:
        stream = streams.pop(0)
        found = next(stream, None)
        if found is not None:
            made.append(found)
            streams.append(stream)
    return made


@dataclass
class _Drawing:
    """What was used how often while a capability's seeds are drawn."""

    capability: str
    form: Form
    accept: Callable[[Seed], bool]
    may_serve: Callable[[Source], bool]
    grows: Callable[[Source], bool] | None
    used: Mapping[str, int]
    most_of_suite: int
    composed: dict[Key, list[Seed]]
    most_of_wording: int
    of_sentence: Counter[str] = field(default_factory=Counter)
    of_wording: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)

    def stream(
        self,
        columns: Sequence[Iterable[Source]],
        slots: Sequence[str],
        numbers: Sequence[int],
        label: Label,
    ) -> Iterator[Seed]:
        """Seeds of templates over the same slots; every sentence once, then once more.

        The sentences of the first slot have that label.
        """
        rounds = range(1, self.most_of_suite + 1)
        for grows in [self.grows, None] if self.grows else [None]:
            for most in rounds:
                for sources in _tuples(columns):
                    if sources[0].sentence.label != label:
                        continue
                    if grows is not None and not any(map(grows, sources)):
                        continue
                    if not all(self._is_left(source.sentence.text, most) for source in sources):
                        continue
                    found = self._first(dict(zip(slots, sources, strict=True)), numbers)
                    if found is not None:
                        yield found

    def _is_left(self, text: str, most: int) -> bool:
        """Whether a sentence is in fewer seeds than that, and may be in one more."""
        here = self.of_sentence[text]
        return here < MOST_OF_A_SOURCE and here + self.used.get(text, 0) < most

    def _first(self, filled: Mapping[str, Source], numbers: Sequence[int]) -> Seed | None:
        """The first acceptable seed of a new text, in a wording of which there is room for more."""
        key = tuple((slot, each.sentence.text, each.text) for slot, each in filled.items())
        if key not in self.composed:
            may_be_made = all(map(self.may_serve, filled.values()))
            applied = islice(self._applied(numbers, filled), WORDINGS_TRIED * may_be_made)
            self.composed[key] = list(filter(self.accept, applied))
        for seed in self.composed[key]:
            is_common = self.of_wording[seed.template] >= self.most_of_wording
            if seed.text not in self.texts and not is_common:
                self.texts.add(seed.text)
                self.of_wording[seed.template] += 1
                self.of_sentence.update(source.sentence.text for source in filled.values())
                return seed
        return None

    def _applied(self, numbers: Sequence[int], filled: Mapping[str, Source]) -> Iterator[Seed]:
        """The seeds of sentences in the wordings that apply."""
        for number, wording in self._wordings(numbers, filled):
            with suppress(NotApplicableError):
                template = self.form.templates[number]
                seed = _made("seed", self.capability, template, number, wording, filled)
                if any(has_referent(seed.template, source.parsed) for source in seed.sources):
                    yield seed

    def _wordings(
        self, numbers: Sequence[int], filled: Mapping[str, Source]
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Wordings in an order random for these sentences, and weighted by the templates."""
        rng = rng_for(0, self.capability, *(source.text for source in filled.values()))
        templates = {number: self.form.templates[number] for number in numbers}
        order = sorted(
            (math.log(1.0 - rng.random()) / template.weight, number, turn)
            for number, template in templates.items()
            for turn in range(WORDINGS_TRIED)
        )
        for _, number, _ in reversed(order):
            yield number, templates[number].variant(rng.randrange(templates[number].variants))


def _tuples(columns: Sequence[Iterable[Source]]) -> Iterator[tuple[Source, ...]]:
    """Each sentence of the first column with a few of each other one, random for the two."""
    for first in columns[0]:
        partners = [
            nsmallest(
                PARTNERS,
                islice(column, PAIRINGS),
                key=lambda other: shuffle_key(0, "pair", first.text, other.text),
            )
            for column in columns[1:]
        ]
        beside = zip(*partners, strict=False) if partners else [()]
        yield from ((first, *others) for others in beside)


def expansion_of(
    seed: Seed,
    template: Template,
    slot: str,
    extension: Extension,
    extended: ParsedSentence,
    kind: str = "expansion",
) -> Expansion | None:
    """The expansion that an extension makes of a seed; None where it is not the seed and more.

    Args:
        seed: the seed, or its contrast.
        template: its template.
        slot: the slot whose sentence is extended.
        extension: the extension.
        extended: the extended sentence, parsed anew.
        kind: what it is in the suite.
    """
    sentences = {
        name: extended if name == slot else source.parsed
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
    id = case_id(kind, seed.capability, composed.text)
    return Expansion(id, seed.id, composed.text, tuple(inserted), extension, slot, extended)


def contrast_of(
    seed: Seed,
    template: Template,
    others: Mapping[str, Source] | None = None,
    label: Label | None = None,
) -> Seed | None:
    """The same case, changed as its template says so that no label passes both.

    None where the template has no contrast, or it cannot be composed.

    Args:
        seed: the case.
        template: its template.
        others: sentences of slots that only the contrast has, or that are reworded.
        label: what passes, if the template leaves it open.
    """
    contrast = template.as_contrast
    if contrast is None:
        return None
    filled = {**dict(zip(seed.slots, seed.sources, strict=True)), **(others or {})}
    filled = {slot: filled[slot] for slot in contrast.slots}
    wording = template.contrast_wording(seed.wording)
    try:
        made = _made(CONTRAST, seed.capability, contrast, seed.number, wording, filled)
    except NotApplicableError:
        return None
    made = replace(made, labels=made.labels if label is None else (label,))
    return made if set(made.labels).isdisjoint(seed.labels) else None


def contrasts_of_expansions(
    expansions: Iterable[Expansion], contrast: Seed, template: Template
) -> Iterator[tuple[str, Expansion]]:
    """The contrasts of a seed's expansions, each behind the id of its case.

    Each is the seed's contrast with the same words inserted.

    Args:
        expansions: the expansions.
        contrast: the seed's.
        template: the seed's.
    """
    opposite = template.as_contrast
    for each in expansions:
        if opposite is not None and each.extended is not None:
            found = expansion_of(
                contrast, opposite, each.slot, each.extension, each.extended, CONTRAST
            )
            if found is not None:
                yield each.id, found


def seeds_in_paper_form(
    capability: str,
    form: Form,
    found: Mapping[str, Sequence[Sentence]],
    *,
    most: int,
    seed: int,
) -> list[Seed]:
    """Make up to ``most`` seeds of whole sentences, the templates in equal parts.

    Args:
        capability: its id.
        form: its form.
        found: for each slot, the sentences found, in drawing order.
        most: how many seeds to make.
        seed: of the random choices.

    Returns:
        Seeds of distinct text. Within a template no sentence, and no pair of sentences, is used
        twice, unless every one has been used and other wordings are left.

    Raises:
        CapabilityError: a template has operations, which only the fluent form carries out, or a
            sentence does not begin as a rewrite demands.
    """
    if with_operations := next(
        (template for template in form.templates if template.has_operations), None
    ):
        raise CapabilityError(
            f"capability {capability}: the paper form does not carry out the operations of "
            f"{plain(with_operations.text, 200)!r}",
            hint="give the capability a form `paper` of its own, or leave out --templates paper",
        )
    ordered = {
        slot: sorted(
            some,
            key=lambda sentence: shuffle_key(seed, capability, sentence.corpus, sentence.id),
        )
        for slot, some in found.items()
    }
    makers = [
        _seeds_of_template(number, form, ordered, capability, seed)
        for number in range(len(form.templates))
    ]
    made: dict[str, Seed] = {}
    exhausted: set[int] = set()
    for number in cycle(range(len(makers))):
        if len(made) >= most or len(exhausted) == len(makers):
            break
        for candidate in islice(makers[number], MOST_COMBINATIONS):
            if candidate.text not in made:
                made[candidate.text] = candidate
                break
        else:
            exhausted.add(number)
    return list(made.values())


def _seeds_of_template(
    number: int, form: Form, found: Mapping[str, Sequence[Sentence]], capability: str, seed: int
) -> Iterator[Seed]:
    """Seeds of one template; templates over the same slots share out the combinations."""
    template = form.templates[number]
    sharing = [
        n for n, other in enumerate(form.templates) if set(other.slots) == set(template.slots)
    ]
    slots = form.templates[sharing[0]].slots
    combinations = list(islice(_combinations([found[slot] for slot in slots]), MOST_COMBINATIONS))
    start = sharing.index(number)
    # Its share first, then what the others were to have, for other wordings of it.
    shares = [
        combinations[(start + turn) % len(sharing) :: len(sharing)] for turn in range(len(sharing))
    ]
    variants = range(min(template.variants, MOST_VARIANTS))
    for turn in variants:
        for sentences in chain(*shares):
            keys = (capability, template.text, *(sentence.id for sentence in sentences))
            order = sorted(variants, key=lambda n: shuffle_key(seed, *keys, str(n)))
            filled = {
                slot: Source(sentence, ParsedSentence(sentence.text, (), ""))
                for slot, sentence in zip(slots, sentences, strict=True)
            }
            wording = template.variant(order[turn])
            yield _made("seed", capability, template, number, wording, filled)


def _combinations(columns: Sequence[Sequence[Sentence]]) -> Iterator[tuple[Sentence, ...]]:
    """Combinations in which each sentence is used as evenly as can be, none twice.

    The first round pairs the columns row by row, each later round shifts the second column by
    one more; a full cross product is never built.
    """
    if not all(columns):
        return
    longest = max(map(len, columns))
    used: set[tuple[int, ...]] = set()
    for shift in range(longest if len(columns) > 1 else 1):
        for row in range(longest):
            picked = tuple(
                (row + (shift * column)) % len(sentences)
                for column, sentences in enumerate(columns)
            )
            if picked not in used:
                used.add(picked)
                yield tuple(c[n] for c, n in zip(columns, picked, strict=True))
