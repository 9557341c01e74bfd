"""Regular expressions of capability files, and how many wordings a template may have."""

from __future__ import annotations

import copy
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_capabilities import OWN_CAPABILITY

from s2lct.builder.capabilities.schema import Capability, SearchRule
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.patterns import check_pattern, check_replacement, matched, searched
from s2lct.builder.stages.search import TaggedSentence, find
from s2lct.builder.stages.transform import transform
from s2lct.errors import CapabilityError
from s2lct.suite.records import Sentence

NEVER_ENDS = r"(a|aa|a?)+$"
LONG_TEXT = "a" * 60 + "b"


def test_a_pattern_that_never_ends_is_an_error_that_names_it() -> None:
    with pytest.raises(CapabilityError) as error:
        searched(NEVER_ENDS, LONG_TEXT)
    assert NEVER_ENDS in error.value.problem
    assert LONG_TEXT in error.value.problem
    assert "repetition" in error.value.hint


def test_the_search_names_the_rule() -> None:
    sentence = TaggedSentence(Sentence("made", "1", LONG_TEXT, "positive"), ())
    rules = [
        SearchRule(label="negative"),
        SearchRule(label="positive", words_at_least=0, matches=NEVER_ENDS),
    ]
    with pytest.raises(CapabilityError, match=r"^rule 2, "):
        find([sentence], rules, Lexicon.load())


@pytest.mark.parametrize(
    "pattern",
    ["(", "a**", "(?R)", "\\", "x" * 3_000, "((((a{100}){100}){100}){100})", "(" * 900 + ")" * 900],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        check_pattern(pattern)


@pytest.mark.parametrize("replacement", [r"\9", "\\", r"\g<x>"])
def test_a_replacement_without_its_group_is_refused(replacement: str) -> None:
    check_replacement("(This) (is)", r"\1 \2 not")
    with pytest.raises(ValueError, match="does not go with"):
        check_replacement("(This) (is)", replacement)


@given(st.text("ab(|)[]^-+*?.{}12,\\w\\s", max_size=12), st.text("ab 1", max_size=12))
def test_patterns_mean_what_they_mean_to_python(pattern: str, text: str) -> None:
    try:
        check_pattern(pattern)
    except ValueError:
        return
    assert searched(pattern, text) == (re.search(pattern, text) is not None)
    ours, pythons = matched(pattern, text), re.match(pattern, text)
    assert (ours and ours[0]) == (pythons and pythons[0])


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
