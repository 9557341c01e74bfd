"""What a sentence of a corpus that nobody has read must show before it is used."""

from __future__ import annotations

import pytest

from s2lct.builder.language.grammar import ReferenceGrammar, shipped_attachments
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import load_parser, load_tagger, parsed_sentences
from s2lct.builder.models.opinions import opinions
from s2lct.builder.stages.shorten import shorter_forms_with_extensions
from s2lct.builder.stages.soundness import is_sound
from s2lct.labels import LABELS

pytestmark = pytest.mark.shipped_models


def test_sentences_that_read_well_are_sound_and_broken_ones_are_not() -> None:
    sound = {
        "The battery lasts long and the screen is bright.": True,
        "A very good camera.": True,
        "A lot of the songs are boring.": True,
        "All three of the disks were scratched.": True,
        "The sound are great.": False,
        "The colors of the screen is beautiful.": False,
        "He also draw great pictures.": False,
        "The display is plain manual is quite complex.": False,
        "And of course, a spoiler ending.": False,
        "Works well in a car.": False,
        "The phone is great, the camera is great.": False,
        "The screen is the only flaw.": False,
        "It is the screen that makes this phone shine.": False,
        "Service was slow on the first day.": True,
        "Key card stopped working on the first day.": False,
        "Chili was cold in the middle.": False,
        "Book, weekends are gone until spring.": False,
        "However, the screen is bright.": False,
    }
    parsed = parsed_sentences(list(sound), load_tagger(), load_parser())
    grammar = ReferenceGrammar.load()
    assert {each.text: is_sound(each, "positive", grammar) for each in parsed if each} == sound
    assert not is_sound(parsed[0], "neutral", grammar)


def test_a_shortened_sentence_keeps_what_its_words_need() -> None:
    shorter = {
        "There are different ways to get through the screens.": set[str](),
        "DVDs play very well on this television.": {"DVDs play well on this television."},
        "This is a really cool story.": {"This is a cool story."},
        "The game play is incredible for two reasons.": {"The game play is incredible."},
        "It was so dull that I fell asleep.": set(),
        "The plan drew a refreshingly frank verdict from the office.": {
            "The plan drew a refreshingly frank verdict."
        },
    }
    for sentence, expected in zip(
        parsed_sentences(list(shorter), load_tagger(), load_parser()), shorter.values(), strict=True
    ):
        assert sentence is not None
        found = shorter_forms_with_extensions(
            sentence,
            ReferenceGrammar.load(),
            Lexicon.load(),
            shipped_attachments(),
            keeps_complements=True,
        )
        assert found.keys() == expected
        assert all(each[0].text == sentence.text for each in found.values() if len(each) == 1)


def test_a_label_is_borne_out_by_the_sentence_itself() -> None:
    borne_out = {
        "The sound is terrific.": ["positive"],
        "Everything in between is a bunch of garbage.": ["negative"],
        "The second chapter takes place in Paris.": ["neutral"],
        "The second set of batteries only lasted a week.": [],
        "Mains came at 7.50.": [],
    }
    found = opinions(list(borne_out))
    assert {
        text: [label for label in LABELS if found[text].confirms(label)] for text in found
    } == borne_out
    alone = "Everything in between is a bunch of garbage."
    assert opinions([alone]) == {alone: found[alone]}
