"""What the fluent form lets stand is English, and which seeds it keeps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stub_models import StubParser, StubTagger

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.language.articles import takes_an
from s2lct.builder.language.fluency import jars, no_word_fits
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.stages import select
from s2lct.builder.stages.mask import mask
from s2lct.builder.stages.parse import parse
from s2lct.builder.stages.validate import validate
from s2lct.suite.records import (
    Expansion,
    FilledSentence,
    InsertedWord,
    MaskedSentence,
    ParsedSeed,
    Region,
    Seed,
    Sentence,
    Suggestion,
    Token,
)

TAGGER, PARSER, GRAMMAR = StubTagger(), StubParser(), ReferenceGrammar.load()
WORDS = {
    "DT": "the a an this that these those some all both every another",
    "PRP$": "its his their",
    "JJ": "central old unusual honest unique new small usual short rural opening great other",
    "NN": "family school camera police radio action horror opening love film",
    "RB": "also indeed ultimately unusually distinctly very so here never again",
}
SINGULAR = {"this", "that", "a", "an", "every", "another", "each"}
PLURAL = {"these", "those", "both", "all", "several"}


def a_seed(text: str, source: str = "0") -> Seed:
    sentence = Sentence("test", source, text, "negative", "train", 0.1)
    region = Region("S", 0, len(text), 0)
    return Seed(
        source, "LC9", text, ("negative",), "negative", "{S}", (sentence,), (region,)
    )  # fmt: skip


def masked_in(parsed: ParsedSeed, tags: tuple[str, ...], fluent: bool) -> list[MaskedSentence]:
    return mask(
        [parsed],
        GRAMMAR,
        masked_per_seed=1_000,
        masks_per_sentence=1,
        order="probability",
        tags=tags,
        seed=0,
        fluency_rules=fluent,
    )


def expansions_of(text: str) -> list[Expansion]:
    """Everything that passes, of all words at every place."""
    (parsed,) = parse([a_seed(text)], TAGGER, PARSER)
    filled = [
        FilledSentence(
            one, tuple(Suggestion((word,), -1.0) for word in WORDS[one.masks[0].tag].split())
        )
        for one in masked_in(parsed, tuple(WORDS), fluent=True)
    ]
    (capability,) = load_capabilities(["LC9"])
    forms, seeds = {"LC9": capability.form("fluent")}, {parsed.seed.id: parsed}
    return validate(filled, seeds, forms, TAGGER, Lexicon.load(), fluency_rules=True)[0]


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """A subject in either number, with or without determiner and adjective, and a predicate."""

    def noun_phrase(plural: bool) -> str:
        determiners = ["", "the", "some", "these"] if plural else ["the", "this", "its", "a"]
        adjective = draw(st.sampled_from(["", "dull", "lovely", "old", "honest", "great"]))
        noun = draw(st.sampled_from(["film", "story", "actor", "umbrella", "half", "union"]))
        if plural:
            noun = {"story": "stories", "half": "halves"}.get(noun, f"{noun}s")
        determiner = draw(st.sampled_from(determiners))
        if determiner == "a" and takes_an(adjective or noun):
            determiner = "an"
        return " ".join(filter(None, (determiner, adjective, noun)))

    plural = draw(st.booleans())
    subject = draw(st.sampled_from(["they" if plural else "it", noun_phrase(plural)]))
    verb = draw(st.sampled_from(["are" if plural else "is", "were" if plural else "was"]))
    said = draw(st.sampled_from(["dull", "dull and ugly", "very dull", noun_phrase(plural)]))
    end = draw(st.sampled_from(["", f" of {noun_phrase(draw(st.booleans()))}"]))
    return f"{subject[0].upper()}{subject[1:]} {verb} {said}{end}."


def faults_in(text: str) -> list[str]:
    """What a teacher of English marks."""
    (tokens,) = TAGGER.tag([text])
    found: list[str] = []
    for number, (one, following) in enumerate(pairwise(tokens), 1):
        word, tag = one.text.lower(), one.tag
        if word == following.text.lower():
            found.append(f"{word} twice")
        if word in ("a", "an") and (word == "an") != takes_an(following.text):
            found.append(f"{word} {following.text}")
        if tag in ("DT", "PRP$"):
            if following.tag not in ("RB", "JJ", "VBG", "NN", "NNS"):
                found.append(f"{word} before {following.tag}")
            head = next((t.tag for t in tokens[number:] if t.tag in ("NN", "NNS")), "")
            if (word in SINGULAR and head == "NNS") or (word in PLURAL and head == "NN"):
                found.append(f"{word} with {head}")
    return found


@given(sentences())
def test_what_passes_keeps_articles_determiners_and_number_and_doubles_no_word(text: str) -> None:
    assert not faults_in(text)
    for expansion in expansions_of(text):
        assert not faults_in(expansion.text), expansion.text


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("It is a great film.", "It is also a great film."),
        ("The half is dull.", "The half is also dull."),
        ("It was an ugly film.", "It was indeed an ugly film."),
        ("It is an old film.", "It is an unusually old film."),
        ("The story is lovely.", "The central story is lovely."),
    ],
)
def test_something_passes(text: str, passes: str) -> None:
    assert passes in {one.text for one in expansions_of(text)}


def jarring(text: str, word: str, tag: str) -> list[int]:
    """The places before whose token a word jars."""
    (tokens,) = TAGGER.tag([text])
    token = Token(word, tag, word, 0, 0)
    return [
        place
        for place in range(1, len(tokens))
        if jars([*tokens[:place], token, *tokens[place:]], [place])
    ]


@given(sentences(), st.sampled_from(WORDS["JJ"].split()), st.sampled_from(WORDS["NN"].split()))
def test_an_adjective_and_a_noun_stand_before_a_noun(text: str, adjective: str, noun: str) -> None:
    (tokens,) = TAGGER.tag([text])
    for place in range(1, len(tokens)):
        behind = tokens[place].tag
        if behind not in ("JJ", "VBG", "VBN", "NN", "NNS"):
            assert place in jarring(text, adjective, "JJ")
        if behind not in ("NN", "NNS") or tokens[place - 1].tag in ("NN", "NNS"):
            assert place in jarring(text, noun, "NN")


@given(sentences(), st.sampled_from(WORDS["RB"].split()))
def test_no_adverb_stands_beside_another_or_before_a_noun(text: str, adverb: str) -> None:
    (tokens,) = TAGGER.tag([text])
    jar = jarring(text, adverb, "RB")
    for place in range(1, len(tokens)):
        if tokens[place].tag in ("NN", "NNS") or tokens[place - 1].tag == "RB":
            assert place in jar


def test_a_place_is_left_out_where_none_of_the_words_reads_well() -> None:
    (tokens,) = TAGGER.tag(["It is a great film."])
    assert not no_word_fits(tokens, 4, "NN", frozenset({"family", "gravel"}))
    assert no_word_fits(tokens, 4, "NN", frozenset({"gravel"}))


def test_an_expansion_stands_if_any_reading_does() -> None:
    # "also" before an adjective could belong to the adjective phrase or to the verb phrase; both
    # are licensed, and the new parse decides.
    (parsed,) = parse([a_seed("The film is dull.")], TAGGER, PARSER)
    (masked,) = (
        one
        for one in masked_in(parsed, ("RB",), fluent=False)
        if one.text.startswith("The film is {mask} dull")
    )
    assert {reading.production.lhs for reading in masked.readings} >= {"ADJP", "VP"}
    assert masked.production == masked.readings[0].production
    inserted = (InsertedWord("also", "RB", 12, 16),)
    text = "The film is also dull."
    expansion = Expansion("x", parsed.seed.id, text, masked, inserted, -1.0)
    (confirmed,) = select.confirmed_readings([expansion], {parsed.seed.id: parsed}, TAGGER, PARSER)
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
