"""How far a denial reaches, what pronouns stand for, and what stands under no negation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from s2lct.builder.language.lexicon import ASSERTIVE_WORDS, WORDS_DENIED_ALONE, Lexicon
from s2lct.builder.language.reach import denial_reaches_opinions, is_negation, pronoun_has_referent
from s2lct.builder.models import load_parser, load_tagger, parsed_sentences
from s2lct.builder.records import Extension, InsertedWord, ParsedSentence, Production
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.expand import shuns_negation

pytestmark = [pytest.mark.shipped_models]


def parsed(text: str) -> ParsedSentence:
    (found,) = parsed_sentences([text], load_tagger(), load_parser())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("The script was a predictable disaster.", True),
        ("The predictable script was a disaster.", False),
        ("The writing is clever and the cast is appealing.", True),
        ("The actors are moved by this incredible performance.", False),
        ("Demme's lazy approach kills the suspense.", False),
        ("It's as sorry a mess as its director's movie debut.", False),
    ],
)
def test_no_opinion_outlives_a_denial(text: str, reached: bool) -> None:
    assert denial_reaches_opinions(parsed(text), Lexicon.load()) is reached


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("The wireless sync works perfectly.", True),
        ("The pictures are amazingly clear.", True),
        ("The book is not entirely bad.", True),
        ("The phone works well.", False),
        ("The charger is in the box.", False),
    ],
)
def test_who_denies_an_adverb_of_degree_may_still_praise(text: str, leaves: bool) -> None:
    assert denial_reaches_opinions(parsed(text), Lexicon.load())
    assert (
        denial_reaches_opinions(parsed(text), Lexicon.load(), count_degree_denials=False)
        is not leaves
    )


@pytest.mark.parametrize(
    ("wording", "text", "has"),
    [
        ("I thought that {N|clause}. Now I love it.", "The script is dull.", True),
        ("I thought that {N|clause}. Now I love it.", "It is dull.", True),
        ("I thought that {N|clause}. Now I love it.", "Leigh makes these lives count.", False),
        ("It isn't true that {N|clause}.", "Leigh makes these lives count.", True),
        ("Is it true that {N|clause}? No, it isn't.", "Leigh makes these lives count.", True),
        ("I don't think that {N|clause}.", "Leigh makes these lives count.", True),
    ],
)
def test_a_pronoun_needs_its_thing(wording: str, text: str, has: bool) -> None:
    assert pronoun_has_referent(wording, parsed(text)) is has


def test_a_wording_is_negative_by_an_operation_or_a_negator() -> None:
    assert all(map(is_negation, ["{N|negate}", "I wouldn't say that {N|clause}.", "{P}? No."]))
    assert not is_negation("{S|question} Yes.")


@pytest.mark.parametrize(
    ("word", "shuns", "shuns_unread"),
    [("also", True, True), ("here", False, False), ("throughout the film", False, True)],
)
def test_some_and_also_stand_under_no_negation(word: str, shuns: bool, shuns_unread: bool) -> None:
    inserted = (InsertedWord(word, "RB", 0, len(word)),)
    extension = Extension(word, inserted, "masked", Production("", (), (), 0.0))
    for shunned, expected in (
        (ASSERTIVE_WORDS, shuns),
        (ASSERTIVE_WORDS | WORDS_DENIED_ALONE, shuns_unread),
    ):
        rules = SimpleNamespace(shunned_by_negation=shunned)
        assert shuns_negation(extension, cast(BuildRules, rules)) is expected
