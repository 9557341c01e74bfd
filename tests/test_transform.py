"""Seeds of the paper form: templates without operations, filled with found sentences."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.stages.transform import text_of, transform
from s2lct.errors import CapabilityError
from s2lct.labels import Label
from s2lct.suite.records import Seed, Sentence

WORDS = st.lists(
    st.text(st.characters(categories=("L", "N"), include_characters="'-"), min_size=1, max_size=9),
    min_size=2,
    max_size=8,
)


def sentences(texts: list[list[str]], label: Label, start: str = "") -> list[Sentence]:
    return [
        Sentence("made", f"{label}{number}", f"{start}{' '.join(words)}.", label)
        for number, words in enumerate(texts)
    ]


def found_for(capability: Capability, texts: list[list[str]]) -> dict[str, list[Sentence]]:
    starts = "This is " if capability.id in ("LC4", "LC5") else ""
    return {
        slot: sentences(texts, rules[0].label, starts)
        for slot, rules in capability.form("paper").search.items()
    }


def made(capability: Capability, texts: list[list[str]], seeds: int = 12) -> list[Seed]:
    found = found_for(capability, texts)
    return transform(found, capability, capability.form("paper"), seeds=seeds, seed=3)


@pytest.mark.parametrize("capability", load_capabilities(), ids=lambda c: c.id)
@given(texts=st.lists(WORDS, min_size=1, max_size=5, unique_by=tuple))
def test_every_seed_is_its_template_filled_with_its_sources(
    capability: Capability, texts: list[list[str]]
) -> None:
    seeds = made(capability, texts)
    assert seeds
    for seed in seeds:
        text, regions = text_of(seed.template, [source.text for source in seed.sources])
        assert text == seed.text
        assert regions == seed.regions
        for region, source in zip(regions, seed.sources, strict=True):
            own = seed.text[region.frozen_end : region.end]
            assert own in source.text
            assert len(own) >= len(source.text) - len("This is .") - 1


@pytest.mark.parametrize("capability", load_capabilities(), ids=lambda c: c.id)
def test_no_sentence_is_used_twice_while_others_are_left(capability: Capability) -> None:
    texts = [["word", str(number)] for number in range(30)]
    seeds = made(capability, texts, seeds=20)
    assert len({seed.text for seed in seeds}) == len(seeds) == 20
    if len(seeds[0].sources) == 1:
        used = Counter(source.id for seed in seeds for source in seed.sources)
        assert max(used.values()) == 1
    pairs = Counter(tuple(s.id for s in seed.sources) for seed in seeds)
    assert max(pairs.values()) == 1


def test_the_same_seed_draws_the_same_and_another_draws_otherwise() -> None:
    (capability,) = load_capabilities(["LC3"])
    found = found_for(capability, [["word", str(number)] for number in range(9)])
    form = capability.form("paper")
    drawn = [transform(found, capability, form, seeds=9, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert [seed.text for seed in drawn[0]] != [seed.text for seed in drawn[2]]


def test_labels_follow_the_specification() -> None:
    texts = [["a", "film"], ["a", "play"]]
    expected = {
        "LC1": {("neutral",)},
        "LC3": {("negative",), ("positive",)},
        "LC4": {("positive", "neutral")},
        "LC5": {("neutral",)},
        "LC6": {("positive", "neutral")},
        "LC7": {("negative",)},
        "LC8": {("negative",), ("positive",)},
        "LC10": {("negative",)},
        "LC11": {("positive", "neutral")},
    }
    for capability in load_capabilities(list(expected)):
        assert {seed.labels for seed in made(capability, texts)} == expected[capability.id]


def test_negation_comes_in_both_forms_and_freezes_its_words() -> None:
    (capability,) = load_capabilities(["LC4"])
    seeds = made(capability, [["a", "dull", "film"]])
    assert {seed.text for seed in seeds} == {
        "This is not a dull film.",
        "This isn't a dull film.",
    }
    for seed in seeds:
        (region,) = seed.regions
        assert seed.text[: region.frozen_end] in ("This is not", "This isn't")


def test_what_only_the_fluent_form_carries_out_is_refused() -> None:
    (capability,) = load_capabilities(["LC4"])
    found = found_for(capability, [["a", "dull", "film"]])
    with pytest.raises(CapabilityError, match="does not carry out the operations"):
        transform(found, capability, capability.form("fluent"), seeds=1, seed=1)
