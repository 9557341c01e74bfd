"""What the fluent form leaves out, and which seeds it keeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from s2lct.builder.language.fluency import jars, no_word_fits
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.models import load_parser, load_tagger
from s2lct.builder.models.spacy_tagger import SpacyTagger
from s2lct.builder.stages import select
from s2lct.builder.stages.mask import mask
from s2lct.builder.stages.parse import parse
from s2lct.suite.records import Expansion, InsertedWord, Region, Seed, Sentence

pytestmark = pytest.mark.shipped_models


@pytest.fixture(scope="module")
def reads_badly() -> Callable[[str], bool]:
    """Whether the word in brackets jars in its sentence."""
    tagger = load_tagger()

    def ask(marked: str) -> bool:
        before, _, rest = marked.partition("[")
        word, _, behind = rest.partition("]")
        (tokens,) = tagger.tag([before + word + behind])
        (number,) = (n for n, token in enumerate(tokens) if token.start == len(before))
        return jars(tokens, [number])

    return ask


@pytest.mark.parametrize(
    "marked",
    [
        "It is [also] a charming film.",
        "The film is [ultimately] a waste of a good cast.",
        "The film is [indeed] a bore.",
        "The second half has [also] been shot with care.",
        "The film [also] features a dull cast.",
        "The performances [here] are wonderful.",
        "It is an [unusually] dull film.",
        "It is a great [family] film.",
    ],
)
def test_words_that_a_fluent_writer_writes_stay(
    reads_badly: Callable[[str], bool], marked: str
) -> None:
    assert not reads_badly(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "It is a film with an ending that is [also] dull.",  # a clause within
        "It is a film with [also] lovely music.",  # before an attribute
        "It is as dull as it is [also] long.",  # a comparison
        "This is [also] the worst film of the year.",  # a superlative
        "The film is [therefore] a bore.",  # follows from nothing
        "The film here [also] carefully avoids a point.",  # two adverbs
        "It is an [alternately] dull film.",
        "The film drags [home] in the second half.",
        "The [national] goodwill is wasted.",  # nobody writes that pair
        "It is a [comedy] series of dull effects.",  # "series of"
    ],
)
def test_words_that_readers_stopped_at_go(reads_badly: Callable[[str], bool], marked: str) -> None:
    assert reads_badly(marked)


def test_a_place_is_left_out_where_none_of_the_words_reads_well() -> None:
    tagger = load_tagger()
    (tokens,) = tagger.tag(["It is a great film."])
    assert not no_word_fits(tokens, 4, "NN", frozenset({"family", "gravel"}))
    assert no_word_fits(tokens, 4, "NN", frozenset({"gravel"}))


def a_seed(text: str, source: str = "0") -> Seed:
    sentence = Sentence("test", source, text, "negative", "train", 0.1)
    return Seed(
        source,
        "LC9",
        text,
        ("negative",),
        "negative",
        "{S}",
        (sentence,),
        (Region("S", 0, len(text), 0),),
    )


def test_an_expansion_stands_if_any_reading_does() -> None:
    # "also" before an adjective could belong to the adjective phrase or to the verb phrase; both
    # are licensed, and the new parse decides.
    tagger, parser = load_tagger(), load_parser()
    assert isinstance(tagger, SpacyTagger)
    (parsed,) = parse([a_seed("The film is dull.")], tagger, parser)
    (masked,) = (
        one
        for one in mask(
            [parsed],
            ReferenceGrammar.load(),
            masked_per_seed=1_000,
            masks_per_sentence=1,
            order="probability",
            tags=("RB",),
            seed=0,
        )
        if one.text.startswith("The film is {mask} dull")
    )
    assert {reading.production.lhs for reading in masked.readings} >= {"ADJP", "VP"}
    assert masked.production == masked.readings[0].production
    inserted = (InsertedWord("also", "RB", 12, 16),)
    text = "The film is also dull."
    expansion = Expansion("x", parsed.seed.id, text, masked, inserted, -1.0)
    (confirmed,) = select.confirmed_readings([expansion], {parsed.seed.id: parsed}, tagger, parser)
    assert 0 < len(confirmed) < len(masked.readings)


def test_the_seeds_with_most_are_kept_and_no_sentence_twice() -> None:
    seeds = [("a", "1", 2), ("b", "1", 9), ("c", "2", 5), ("d", "3", 0), ("e", "4", 1)]

    def kept(most: int) -> list[str]:
        chosen = select.richest(
            seeds,
            most,
            size=lambda seed: seed[2],
            sources=lambda seed: a_seed("", seed[1]).sources,
        )
        return [name for name, _, _ in chosen]

    assert kept(2) == ["b", "c"]
    assert kept(4) == ["b", "c", "d", "e"]  # "a" has the sentence of "b"
    assert kept(9) == ["a", "b", "c", "d", "e"]
