"""Rewording: one word of a sentence, and its sentiment is another one."""

from __future__ import annotations

import pytest
from stage_settings import models

from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import load_tagger
from s2lct.builder.records import (
    Expansion,
    Extension,
    InsertedWord,
    ParsedSentence,
    Production,
    Sentence,
    Source,
)
from s2lct.builder.stages.reword import (
    Place,
    evaluative_adjectives,
    find_place,
    reword_expansion,
    reworded,
)
from s2lct.labels import Label

pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]


def parsed(text: str) -> ParsedSentence:
    (tokens,) = load_tagger().tag([text])
    return ParsedSentence(text, tokens, "")


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("The story spans two decades.", "neutral", "The _ story spans two decades."),
        (
            "A romantic comedy about a man and a dog.",
            "neutral",
            "A _ comedy about a man and a dog.",
        ),
        ("Finally, he gets an offer to make a big film.", "neutral", None),  # not its subject
        ("The camera looks through the windshield.", "neutral", None),
        ("A dreary movie.", "negative", "A _ movie."),
        ("Banal and predictable.", "negative", None),  # two opinions
        ("A whip-smart movie.", "positive", None),
    ],
)
def test_one_place_changes_the_sentiment(text: str, label: Label, expected: str | None) -> None:
    source = Source(Sentence("made", "1", text, label, score=0.5), parsed(text))
    place = find_place(source, models())
    found = None if place is None else reworded(source.parsed, place, "_").text
    assert found == expected
    assert place is None or place.target_label != label


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        (
            "The camera looks through the windshield.",
            "neutral",
            "The _ camera looks through the windshield.",
        ),
        ("A vivid cinematic portrait.", "positive", "A _ cinematic portrait."),
        ("Banal and predictable.", "negative", None),
    ],
)
def test_where_annotators_read_more_places_are_tried(
    text: str, label: Label, expected: str | None
) -> None:
    source = Source(Sentence("made", "1", text, label, score=0.5), parsed(text))
    place = find_place(source, models(), relaxed=True)
    found = None if place is None else reworded(source.parsed, place, "_").text
    assert found == expected


def test_words_say_how_good_a_film_is_and_not_how_sad() -> None:
    found = evaluative_adjectives(models(), Lexicon.load())
    assert {"bad", "awful", "terrible"} <= found["negative"]
    assert {"great", "wonderful"} <= found["positive"]
    assert not {"sad", "grim", "wrong", "worn"} & (found["negative"] | found["positive"])


def test_an_opinion_stands_before_what_an_expansion_inserts() -> None:
    text = "The Swedish movie ends at a bus stop."
    words = (InsertedWord("Swedish", "JJ", 4, 11),)
    licence = Production("NP", ("DT", "NN"), ("DT", "JJ", "NN"), 0.1)
    extension = Extension(text, words, "masked", licence, parsed=parsed(text))
    expansion = Expansion("x", "s", text, words, extension, "S")
    longer = reword_expansion(expansion, Place(1, False, "negative"), "bad")
    assert longer is not None
    assert longer.extension.text == "The bad Swedish movie ends at a bus stop."
    (word,) = longer.extension.inserted
    assert longer.extension.text[word.start : word.end] == "Swedish"
