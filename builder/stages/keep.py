"""Keep: the cases and contrasts that annotators accepted; without annotations, all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.annotations import Annotations
from s2lct.builder.records import Case, Expansion, Family, Seed, sentence_id
from s2lct.builder.stages.compose import Stream


def keep_seeds(streams: Iterable[Stream], annotations: Annotations) -> list[Stream]:
    """The seeds that may be published.

    A seed that is a bare sentence is accepted if its sentence is.
    """

    def is_kept(seed: Seed) -> bool:
        id = seed.id if seed.template else sentence_id(seed.text)
        return annotations.accepts(id, seed.labels)

    return [
        [
            kept_seeds
            for wordings in stream
            if (kept_seeds := [seed for seed in wordings if is_kept(seed)])
        ]
        for stream in streams
    ]


def keep_expansions(
    expansions: Iterable[Expansion], seeds: Mapping[str, Sequence[Seed]], annotations: Annotations
) -> list[Expansion]:
    """The expansions that may be published."""
    labels = {seed.id: seed.labels for group in seeds.values() for seed in group}
    return [each for each in expansions if annotations.accepts(each.id, labels[each.seed_id])]


def families_of(
    seeds: Sequence[Seed],
    expansions: Mapping[str, Sequence[Expansion]],
    contrasts: Mapping[str, Case],
    annotations: Annotations,
) -> list[Family]:
    """The families of a capability's seeds, with the contrasts that may be published.

    A contrast is left out if its text occurs already. If the contrast of a seed is left out, so are
    those of its expansions.

    Args:
        seeds: the seeds of the capability.
        expansions: the expansions of each seed, by its id.
        contrasts: the contrasts of cases, by the cases' ids.
        annotations: decide which contrasts are kept.
    """
    families = [Family(seed, tuple(expansions[seed.id])) for seed in seeds]
    texts = {case.text for family in families for case in family.cases}
    for number, family in enumerate(families):
        kept_contrasts: dict[str, Case] = {}
        contrast_of_seed = contrasts.get(family.seed.id)
        contrast_labels = contrast_of_seed.labels if isinstance(contrast_of_seed, Seed) else ()
        for case in family.cases:
            contrast = contrasts.get(case.id)
            if (
                contrast is not None
                and contrast.text not in texts
                and annotations.accepts(contrast.id, contrast_labels)
            ):
                texts.add(contrast.text)
                kept_contrasts[case.id] = contrast
            elif case is family.seed:
                break
        families[number] = replace(family, contrasts=kept_contrasts)
    return families
