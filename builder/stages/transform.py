"""Transform: found sentences become seeds through a capability's templates."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from s2lct.builder.capabilities.schema import Capability, Form, Template, operations_of
from s2lct.builder.records import Seed, Sentence
from s2lct.errors import CapabilityError
from s2lct.identity import content_id, shuffle_key
from s2lct.plain_text import plain

MOST_COMBINATIONS = 100_000
"""Of sentences for a template's slots, and of tries for a seed that is not there yet."""
MOST_VARIANTS = 1_000
"""Wordings of a template that are used, however many its choices give."""
_FULL_STOP = re.compile(r"(?<![.])\.$")


def transform(
    found: Mapping[str, Sequence[Sentence]],
    capability: Capability,
    form: Form,
    *,
    seeds: int,
    seed: int,
) -> list[Seed]:
    """Make up to ``seeds`` seeds, the templates in equal parts.

    Args:
        found: for each slot, the sentences found, in drawing order.
        capability: the capability.
        form: which of its forms.
        seeds: how many seeds to make.
        seed: of the random choices.

    Returns:
        Seeds of distinct text. Within a template no sentence, and no pair of sentences, is used
        twice, unless every one has been used and other wordings are left.

    Raises:
        CapabilityError: a template has operations, which only the fluent form carries out.
    """
    if operated := next((one for one in form.templates if one.has_operations), None):
        raise CapabilityError(
            f"capability {capability.id}: the paper form does not carry out the operations of "
            f"{plain(operated.text, 200)!r}",
            hint="give the capability a form `paper` of its own, or leave out --templates paper",
        )
    ordered = {
        slot: sorted(
            sentences, key=lambda one: shuffle_key(seed, capability.id, one.corpus, one.id)
        )
        for slot, sentences in found.items()
    }
    makers = [
        _seeds_of(template, number, form, ordered, capability, seed)
        for number, template in enumerate(form.templates)
    ]
    made: dict[str, Seed] = {}
    exhausted: set[int] = set()
    for number in itertools.cycle(range(len(makers))):
        if len(made) >= seeds or len(exhausted) == len(makers):
            break
        before = len(made)
        for candidate in itertools.islice(makers[number], MOST_COMBINATIONS):
            made.setdefault(candidate.text, candidate)
            if len(made) > before:
                break
        else:
            exhausted.add(number)
    return list(made.values())


def _seeds_of(
    template: Template,
    number: int,
    form: Form,
    found: Mapping[str, Sequence[Sentence]],
    capability: Capability,
    seed: int,
) -> Iterator[Seed]:
    """Seeds of one template; templates over the same slots share out the combinations."""
    sharing = [
        n for n, other in enumerate(form.templates) if set(other.slots) == set(template.slots)
    ]
    slots = form.templates[sharing[0]].slots
    combinations = list(
        itertools.islice(_combinations([found[slot] for slot in slots]), MOST_COMBINATIONS)
    )
    start = sharing.index(number)
    # Its own share first, then what the others were to have, for other wordings of it.
    shares = [
        combinations[(start + turn) % len(sharing) :: len(sharing)] for turn in range(len(sharing))
    ]
    variants = range(min(template.variants, MOST_VARIANTS))
    for turn in variants:
        for sentences in itertools.chain(*shares):
            keys = (capability.id, template.text, *(sentence.id for sentence in sentences))
            order = sorted(variants, key=lambda n: shuffle_key(seed, *keys, str(n)))
            wording = template.variant(order[turn])
            filled = dict(zip(slots, sentences, strict=True))
            yield fill_template(template, wording, filled, capability.id)


def _combinations(columns: Sequence[Sequence[Sentence]]) -> Iterator[tuple[Sentence, ...]]:
    """Combinations in which each sentence is used as evenly as can be, none twice.

    The first round pairs the columns row by row, each later round shifts the second column by
    one more; a full cross product is never built.
    """
    if len(columns) == 1:
        yield from ((sentence,) for sentence in columns[0])
        return
    if not all(columns):
        return
    longest = max(map(len, columns))
    # From this shift on, every column stands as it stood before.
    period = math.lcm(*(len(c) // math.gcd(len(c), n) for n, c in enumerate(columns)))
    used: set[tuple[int, ...]] = set()
    for shift in range(min(longest, period)):
        for row in range(longest):
            picked = tuple(
                (row + (shift * column)) % len(sentences)
                for column, sentences in enumerate(columns)
            )
            if picked not in used:
                used.add(picked)
                yield tuple(c[n] for c, n in zip(columns, picked, strict=True))


def fill_template(
    template: Template, wording: Mapping[str, str], filled: Mapping[str, Sentence], capability: str
) -> Seed:
    """Fill a template's slots and choices.

    Args:
        template: the template.
        wording: the wording of each choice, and the replacement of each rewritten slot.
        filled: a sentence for each slot.
        capability: its id.
    """
    text = ""
    shown = ""
    last = 0
    for field in template.fields():
        literal = template.text[last : field.start()]
        last = field.end()
        name = field["name"]
        text += literal
        shown += literal
        if name not in filled:
            text += wording[name]
            shown += wording[name]
            continue
        sentence = filled[name].text
        if "unstopped" in operations_of(field):
            sentence = _FULL_STOP.sub("", sentence)
        slot_shown = field[0]
        if (rewrite := template.rewrite.get(name)) is not None:
            match = re.match(rewrite.find, sentence)
            if match is None:
                raise CapabilityError(
                    f"capability {capability}, rewrite of {name}: {plain(rewrite.find, 200)!r} "
                    f"does not match the sentence {plain(sentence, 200)!r}",
                    hint="let the search find only sentences that it matches: starts_with",
                )
            start = match.expand(wording[name])
            slot_shown = f"{{{name}: {match[0].strip()} → {start.strip()}}}"
            sentence = start + sentence[match.end() :]
        text += sentence
        shown += slot_shown
    text += template.text[last:]
    shown += template.text[last:]
    labels = template.passing({slot: one.label for slot, one in filled.items()})
    return Seed(
        id=content_id("seed", capability, text),
        capability=capability,
        text=text,
        labels=labels,
        label=template.train_on or labels[0],
        template="" if shown == f"{{{template.slots[0]}}}" else shown,
        sources=tuple(filled[slot] for slot in template.slots),
    )


_SHOWN_FIELD = re.compile(
    r"\{(?P<name>\w+)(?:(?P<bare>\|unstopped)|: (?P<find>.*?) → (?P<replace>.*?))?\}"
)


def text_of(template: str, sentences: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Rebuild a seed's text from its ``template`` column and the texts of its sources.

    Args:
        template: as a seed has it; empty for a sentence without template.
        sentences: the sources' texts in the order of their slots.

    Returns:
        The text, and the slots that the sentences fill.

    Raises:
        ValueError: the template has another number of slots, or a rewrite does not fit.
    """
    template = template or "{S}"
    fields = list(_SHOWN_FIELD.finditer(template))
    if len(fields) != len(sentences):
        raise ValueError(f"template has {len(fields)} slots for {len(sentences)} sources")
    text = ""
    last = 0
    for field, sentence in zip(fields, sentences, strict=True):
        text += template[last : field.start()]
        last = field.end()
        if field["bare"]:
            sentence = _FULL_STOP.sub("", sentence)
        if field["find"]:
            if not sentence.startswith(field["find"]):
                raise ValueError(f"source does not start with {field['find']!r}")
            sentence = field["replace"] + sentence[len(field["find"]) :]
        text += sentence
    return text + template[last:], tuple(field["name"] for field in fields)
