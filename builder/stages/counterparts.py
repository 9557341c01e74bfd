"""Counterparts: the sentence of a seed that accepts two labels, with the opposite answer."""

from __future__ import annotations

from dataclasses import dataclass

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.language.operations import NotApplicableError
from s2lct.builder.stages import compose
from s2lct.builder.stages.compose import ComposedSeed
from s2lct.identity import content_id
from s2lct.labels import Label


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
        composed = compose.compose(opposite, wording, sentences)
    except NotApplicableError:
        return None
    labels = compose.labels_of(
        opposite,
        {
            slot: source.sentence.label
            for slot, source in zip(seed.slots, seed.sources, strict=True)
        },
    )
    return Counterpart(
        content_id("counterpart", seed.capability, composed.text),
        seed.id,
        composed.text,
        labels,
        composed.shown,
    )
