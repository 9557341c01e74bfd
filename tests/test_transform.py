"""Seeds of the paper form: templates without operations, filled with found sentences."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_capabilities import OWN_CAPABILITY

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.records import Seed, Sentence
from s2lct.builder.stages.transform import text_of, transform
from s2lct.errors import CapabilityError
from s2lct.labels import Label

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
        text, slots = text_of(seed.template, [source.text for source in seed.sources])
        assert text == seed.text
        assert set(slots) <= set(capability.form("paper").search)
        for source in seed.sources:
            assert source.text.removeprefix("This is ") in seed.text


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


# Table 1 of the newest draft, its pieces joined by spaces; P, N and U stand for sentences.
PRINTED = {
    "LC1": {"U."},
    "LC3": {
        f"{before} {sentence} {turn} {now}"
        for befores, nows in (
            (
                (
                    "Previously, I used to like it saying that",
                    "Last time, I agreed with saying that",
                    "I liked it much as to say that",
                ),
                ("now I don't like it.", "now I hate it."),
            ),
            (
                (
                    "I used to disagree with saying that",
                    "Last time, I didn't like it saying that",
                    "I hated it much as to say that",
                ),
                ("now I like it.",),
            ),
        )
        for before in befores
        for sentence in ("P.", "N.")
        for turn in ("but", "although", "on the other hand")
        for now in nows
    },
    "LC4": {"This is not N.", "This isn't N.", "Those are not N.", "Those aren't N."},
    "LC5": {"This is not U.", "This isn't U.", "Those are not U.", "Those aren't U."},
    "LC6": {
        f"{before} N. {negation}"
        for before in ("I agreed that", "I thought that")
        for negation in ("but it wasn't", "but I didn't")
    },
    "LC7": {
        f"{negation} U., P."
        for negation in ("I wouldn't say,", "I do not think,", "I don't agree with,")
    },
    "LC8": {
        f"{others} {theirs} but I think that {own}"
        for others in (
            "Some people think that",
            "Many people agree with that",
            "They think that",
            "You agree with that",
        )
        for theirs, own in (("P.", "N."), ("N.", "P."))
    },
    "LC9": {f"Do I {v} that {s}? yes" for v in ("think", "agree") for s in ("P.", "N.")},
    "LC10": {f"Do I {verb} that P.? no" for verb in ("think", "agree")},
    "LC11": {f"Do I {verb} that N.? no" for verb in ("think", "agree")},
}


@pytest.mark.parametrize("name", PRINTED)
def test_every_wording_is_the_printed_one_and_every_printed_one_comes(name: str) -> None:
    (capability,) = load_capabilities([name])
    letters: dict[Label, str] = {"positive": "P.", "negative": "N.", "neutral": "U."}
    starts = ("This is ", "Those are ") if name in ("LC4", "LC5") else ("",)
    form = capability.form("paper")
    found = {
        slot: [
            Sentence("made", f"{start}{rule.label}", f"{start}{letters[rule.label]}", rule.label)
            for start in starts
            for rule in rules
        ]
        for slot, rules in form.search.items()
    }
    seeds = transform(found, capability, form, seeds=1_000, seed=3)
    assert {seed.text for seed in seeds} == PRINTED[name]


def test_negation_comes_in_both_forms() -> None:
    (capability,) = load_capabilities(["LC4"])
    seeds = made(capability, [["a", "dull", "film"]])
    assert {seed.text for seed in seeds} == {
        "This is not a dull film.",
        "This isn't a dull film.",
    }


def test_what_only_the_fluent_form_carries_out_is_refused() -> None:
    (capability,) = load_capabilities(["LC4"])
    found = found_for(capability, [["a", "dull", "film"]])
    with pytest.raises(CapabilityError, match="does not carry out the operations"):
        transform(found, capability, capability.form("fluent"), seeds=1, seed=1)


def with_choices(number: int, wordings: list[str]) -> Capability:
    data = yaml.safe_load(OWN_CAPABILITY)
    names = ["c" * n for n in range(1, number + 1)]
    data["forms"]["fluent"]["templates"] = [
        {
            "text": " ".join(f"{{{name}}}" for name in names) + ' "{P}"',
            "choices": dict.fromkeys(names, wordings),
            "passes": ["neutral"],
        }
    ]
    return Capability.model_validate(data)


def found(number: int) -> dict[str, list[Sentence]]:
    return {
        "P": [Sentence("made", str(n), f"It is lovely {n}.", "positive") for n in range(number)]
    }


@pytest.mark.parametrize(("choices", "sentences"), [(2, 3), (6, 2), (12, 2)])
def test_of_many_wordings_as_many_as_asked_are_picked(choices: int, sentences: int) -> None:
    capability = with_choices(choices, [f"word{n}" for n in range(10)])
    form = capability.form("fluent")
    wanted = 50
    seeds = transform(found(sentences), capability, form, seeds=wanted, seed=1)
    assert len({seed.text for seed in seeds}) == len(seeds) == wanted
    again = transform(found(sentences), capability, form, seeds=wanted, seed=1)
    assert [seed.text for seed in again] == [seed.text for seed in seeds]
    other = transform(found(sentences), capability, form, seeds=wanted, seed=2)
    assert [seed.text for seed in other] != [seed.text for seed in seeds]


def test_wordings_that_are_all_the_same_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2lct.builder.stages.transform.MOST_COMBINATIONS", 5_000)
    capability = with_choices(12, ["word"] * 10)
    seeds = transform(found(2), capability, capability.form("fluent"), seeds=50, seed=1)
    assert len(seeds) == 2


def test_every_one_of_few_wordings_is_used() -> None:
    capability = with_choices(3, ["one", "two", "three"])
    seeds = transform(found(1), capability, capability.form("fluent"), seeds=1_000, seed=1)
    assert len(seeds) == 27


def test_a_rewrite_that_its_search_does_not_ask_for_is_an_error() -> None:
    data = yaml.safe_load(OWN_CAPABILITY)
    data["forms"]["paper"] = copy.deepcopy(data["forms"]["fluent"])
    template = data["forms"]["paper"]["templates"][0]
    template["rewrite"] = {"P": {"find": "Zebras", "replace": ["Zebras never"]}}
    capability = Capability.model_validate(data)
    with pytest.raises(CapabilityError, match="LC12, rewrite of P: 'Zebras' does not match"):
        transform(found(1), capability, capability.form("paper"), seeds=1, seed=1)
