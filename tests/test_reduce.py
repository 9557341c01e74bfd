"""Author's sentences are shortened by phrases that open them, and extended by these again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from stage_settings import accepting_rules, models

from s2lct.builder.language.grammar import ReferenceGrammar, shipped_attachments
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tags import WORD_TAGS
from s2lct.builder.models import load_parser, load_tagger, parsed_sentences
from s2lct.builder.records import Extension, ParsedSentence, Sentence, Source
from s2lct.builder.stages.confirm import confirm_parses
from s2lct.builder.stages.shorten import (
    Attachment,
    pairs_of_extensions,
    shorter_forms_with_extensions,
)
from s2lct.suite.tables import without

pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]

OPENED = list(
    product(
        ["At times, ", "As a director, ", "In fact, ", "In the middle of the film, ", "At times "],
        [
            "the film is very dull in the final scene",
            "Smith is really at her best here",
            "actors look bored in the final scene",
            "it works very well",
            "I laughed and the audience laughed in the final scene",
        ],
    )
)


@cache
def known() -> tuple[ReferenceGrammar, Lexicon, Mapping[Attachment, float]]:
    return ReferenceGrammar.load(), Lexicon.load(), shipped_attachments()


def parsed(*texts: str) -> list[ParsedSentence]:
    return [one for one in parsed_sentences(texts, load_tagger(), load_parser()) if one]


def forms_of(text: str) -> dict[str, tuple[Extension, ...]]:
    (sentence,) = parsed(text)
    return shorter_forms_with_extensions(sentence, *known())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("At times, the film works.", "The film works."),
        ("As a director, Smith is funny.", "Smith is funny."),
        ("In fact, iPods are dull.", "iPods are dull."),
        ("At times the film is dull.", "The film is dull."),
        ("As a film, it works well.", "It works well."),
        ("With great charm, the film works.", None),  # an opinion
        ("In this film, nobody gets it right.", None),  # what is "it", without the film?
        ("In the middle are three dull songs.", None),
        ("In short, go and see this film.", None),
        ("Of the two, the film is dull.", None),
        ("Old films are dull.", None),
    ],
)
def test_a_neutral_adjunct_that_opens_a_sentence_may_go(text: str, left: str | None) -> None:
    found = forms_of(text)
    assert left is None or left in found
    opened = [each for some in found.values() for each in some if each.inserted[0].start == 0]
    assert bool(opened) == (left is not None)
    for extension in opened:
        assert extension.text == text
        (phrase,) = extension.inserted
        assert text.startswith(f"{phrase.word} ")


def test_a_form_is_what_extends_it_without_what_was_inserted() -> None:
    opened, pairs = set(), 0
    sentences = parsed(*(f"{opening}{rest}." for opening, rest in OPENED))
    for sentence, (_, rest) in zip(sentences, OPENED, strict=True):
        text = sentence.text
        found = shorter_forms_with_extensions(sentence, *known())
        for form, extensions in found.items():
            assert form[0].isupper()
            for each in (*extensions, *pairs_of_extensions(form, extensions)):
                assert all(each.text[w.start : w.end] == w.word for w in each.inserted)
                assert without(each.text, [(w.start, w.end) for w in each.inserted]) == form
                pairs += len(each.inserted) > 1 and each.inserted[0].start == 0
        whole = f"{rest[0].upper()}{rest[1:]}."
        if whole in found:
            assert text in [each.text for each in found[whole]]
            opened.add(text)
    assert len(opened) > len(OPENED) / 2
    assert pairs > len(opened)


def test_an_opened_sentence_is_confirmed_with_tags_of_its_own() -> None:
    text = "At times, the film is dull in the final scene."
    found = forms_of(text)
    (base,) = parsed("The film is dull in the final scene.")
    source = Source(Sentence("made", "1", text, "negative"), base)
    rules = accepting_rules(mask_tags=WORD_TAGS, parses_extensions=True)
    (confirmed,) = confirm_parses([source], [found[base.text]], models(), rules)
    assert text in [each.text for each in confirmed]


def test_an_extension_of_a_passed_case_has_its_sentences_tree_grown() -> None:
    texts = [
        "At times, the film is very dull in the final scene.",
        "It's a very tasteful movie with a quiet and modest hero.",
        "The central performance is both credible and remarkably mature throughout.",
    ]
    sources: dict[str, tuple[Source, tuple[Extension, ...]]] = {}
    for text in texts:
        found = forms_of(text)
        bases = dict(zip(found, parsed(*found), strict=True))
        for shorter, longer in found.items():
            source = Source(Sentence("made", shorter, shorter, "negative"), bases[shorter])
            sources[shorter] = source, longer
    bases_of, longer_of = zip(*sources.values(), strict=True)
    rules = accepting_rules(mask_tags=WORD_TAGS)
    confirmed = confirm_parses(
        bases_of, longer_of, models(), replace(rules, parses_extensions=True)
    )
    grown = confirm_parses(bases_of, longer_of, models(), rules)
    alike = 0
    for source, by_parser, by_tree in zip(bases_of, confirmed, grown, strict=True):
        trees = {each.text: each.parsed for each in by_tree}
        assert {each.text for each in by_parser} <= trees.keys()
        for found in by_tree:
            assert found.parsed is not None
            words = [node for node in found.parsed.tree.nodes() if node.is_word]
            assert [node.start for node in words] == list(range(len(found.parsed.tokens)))
            labels = [node.label for node in found.parsed.tree.nodes()]
            assert not Counter(n.label for n in source.parsed.tree.nodes()) - Counter(labels)
            assert found.production.lhs in labels
        alike += sum(each.parsed == trees[each.text] for each in by_parser)
    assert alike > sum(map(len, confirmed)) / 3
