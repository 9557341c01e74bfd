"""Whole cases for annotators: the expansions that a suite would gain most by, and contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from s2lct.builder.annotations import Annotations
from s2lct.builder.curation.sheets import Candidate
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.records import Expansion, Extended, Extension, Seed
from s2lct.builder.stages import choose
from s2lct.labels import Label
from s2lct.suite.annotation import Item

READ_FOR_A_SEED = 7
"""Expansions of a seed that are read: of three about one is kept."""
CONTRAST_OF = (
    "The opposite of a text of the following kind, with no more words changed than had to be, so "
    "that the author's sentiment is another one: {}"
)
"""What a contrast is to show, with what its case shows."""
LIKELIEST_OF_A_SENTENCE = 8
"""Extensions of a sentence that are tried, beside those that passed."""


def families(
    form: FluentForm, seeds: Mapping[str, Sequence[Seed]], annotations: Annotations
) -> list[Candidate]:
    """The expansions of seeds, and contrasts of the seeds and of the expansions that passed."""
    config = form.inputs.config.model_copy(update={"expansions": READ_FOR_A_SEED})
    inputs = replace(form.inputs, config=config)
    form = replace(form, inputs=inputs, annotations=annotations, whole=False)
    extended = _extended(form, seeds, annotations)
    expansions = [
        each
        for capability in form.capabilities
        for each in form.expand(capability, seeds[capability.id], extended)
    ]
    about = {each.id: each.raters or each.title for each in form.capabilities}
    found: dict[str, Candidate] = {}

    def add(case: Seed | Expansion, shows: str, labels: Sequence[Label]) -> None:
        sentence = case.extension.id if isinstance(case, Expansion) else ""
        item = Item(case.id, case.text, description=shows, sentence=sentence)
        kind = f"{type(case).__name__}: {shows}"
        found.setdefault(case.id, Candidate(item, labels, kind))

    for group in form.choose(seeds, expansions).values():
        for family in group:
            shows = about[family.seed.capability]
            for case in family.expansions:
                add(case, shows, family.seed.labels)
            labels = family.labels_of_contrasts
            for id, contrast in family.contrasts.items():
                if id == family.seed.id or annotations.passes(id, family.seed.labels):
                    add(contrast, CONTRAST_OF.format(shows), labels)
    return [
        each for each in found.values() if annotations.state(each.item.id, each.labels) != "refused"
    ]


def _extended(
    form: FluentForm, seeds: Mapping[str, Sequence[Seed]], annotations: Annotations
) -> dict[str, list[Extended]]:
    """Extensions of the seeds' sentences: the likeliest, and those that passed."""
    used = {
        source.text: source for group in seeds.values() for seed in group for source in seed.sources
    }

    def is_good(extension: Extension, label: Label) -> bool:
        return not annotations.is_hopeful and annotations.passes(extension.id, {label})

    def tried(extension: Extension, label: Label) -> bool:
        if is_good(extension, label):
            return True
        is_open = annotations.state(extension.id, {label}) == "open"
        return is_open and extension.origin != "phrase" and extension.second is None

    left: dict[str, list[Extended]] = {}
    for confirmed in form.confirmed(list(used.values()), tried):
        labels = {text: used[text].sentence.label for text in confirmed}
        good, others = (
            choose.that_leave_label(
                {
                    text: [each for each in some if is_good(each.extension, labels[text]) == read]
                    for text, some in confirmed.items()
                },
                annotated=read,
                scored=form.models.scores,
            )
            for read in (True, False)
        )
        for text, some in others.items():
            likeliest = sorted(some, key=lambda each: -each.extension.score)
            likeliest = [*likeliest[:LIKELIEST_OF_A_SENTENCE], *good[text]]
            left[text] = list({each.extension.text: each for each in likeliest}.values())
    return left
