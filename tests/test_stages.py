"""Masks and their fillings on the shipped models."""

from __future__ import annotations

import re

import pytest

from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.tags import WORD_TAGS
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.models.masked_lm import TransformersMaskedLM
from s2lct.builder.records import MASK, MaskedSentence, ParsedSentence, Token
from s2lct.builder.stages.mask import fill, mask, mask_offset
from s2lct.suite.tables import without

pytestmark = pytest.mark.shipped_models

TEXTS = [
    "This is not a dull film.",
    'Some people think, "The cast is wonderful," but I think, "The plot is a stupid mess."',
    'The director (a painter) tells two stories in "Rain".',
    "Beautiful, funny and wise!",
    "It doesn't work.",
    "A well-made film, emoji 🎬 and all.",
]


@pytest.fixture(scope="module")
def parsed() -> list[ParsedSentence]:
    return [one for one in parsed_sentences(TEXTS, load_tagger(), load_parser()) if one]


def masked_in(
    one: ParsedSentence,
    *,
    seed: int = 0,
    most: int = 10_000,
    masks_per_sentence: int | None = 2,
    paper: bool = False,
) -> list[MaskedSentence]:
    return mask(
        one.text,
        one,
        ReferenceGrammar.load(),
        max_sentences=most,
        masks_per_sentence=masks_per_sentence,
        tags=WORD_TAGS,
        random_seed=seed,
        is_paper_form=paper,
    )


@pytest.mark.parametrize("paper", [False, True])
def test_masks_are_inserted_and_nothing_else_moves(
    parsed: list[ParsedSentence], paper: bool
) -> None:
    first: set[str] = set()
    assert any(masked_in(sentence, paper=paper) for sentence in parsed)
    for sentence in parsed:
        masked = masked_in(sentence, paper=paper)
        assert len({(one.text, one.tags) for one in masked}) == len(masked)
        for one in masked:
            places = [match.span() for match in re.finditer(re.escape(MASK), one.text)]
            assert without(one.text, places) == sentence.text
            added = len(one.productions[0].reference_rhs) - len(one.productions[0].seed_rhs)
            assert added == len(one.tags) == len(places) in (1, 2)
            assert set(one.tags) <= set(one.productions[0].reference_rhs)
            if one.text.startswith(MASK):
                first.add(sentence.text)
            if not paper:  # a mask never splits or glues words
                assert all(one.text[start - 1] == " " for start, _ in places)
                assert all(one.text[end : end + 1] in ("", *' .,!")') for _, end in places)
    assert (len(first) > 1) == paper


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("a|film", ["{mask} a film", "a {mask} film", "a film {mask}"]),
        ('"~Rain~"~.', ['{mask} "Rain".', '"{mask} Rain".', '"Rain {mask}".', '"Rain" {mask}.']),
        ("does~n't", ["{mask} doesn't", None, "doesn't {mask}"]),
        ("good~.|Now", ["{mask} good. Now", "good {mask}. Now", "good. {mask} Now"]),
    ],
)
def test_a_mask_stands_wherever_there_is_room(written: str, filled: list[str | None]) -> None:
    # "|" parts tokens with a space between them, "~" those without.
    text, tokens = "", []
    for glue, word in re.findall(r"(^|[|~])([^|~]+)", written):
        text += " " if glue == "|" else ""
        tokens.append(Token(word, "NN", word, len(text), len(text) + len(word)))
        text += word
    for place, expected in enumerate(filled):
        spot = mask_offset(tokens, place, anywhere=True)
        if spot is None:
            assert expected is None
            continue
        offset, before = spot
        inserted = f"{MASK} " if before else f" {MASK}"
        assert text[:offset] + inserted + text[offset:] == expected


@pytest.fixture(scope="module")
def mlm() -> TransformersMaskedLM:
    model = load_masked_language_model()
    assert isinstance(model, TransformersMaskedLM)
    return model


def test_suggestions_are_words_best_first_whatever_the_batch(
    parsed: list[ParsedSentence], mlm: TransformersMaskedLM
) -> None:
    masked = [one for sentence in parsed[:4] for one in masked_in(sentence, most=3)]
    found = fill(masked, mlm, suggestions=12)
    for one, fillings in zip(masked, found, strict=True):
        assert 0 < len(fillings) <= 12
        scores = [score for _, score in fillings]
        assert scores == sorted(scores, reverse=True) and max(scores) <= 0
        for words, _ in fillings:
            assert len(words) == len(one.tags)
            assert all(re.fullmatch("[A-Za-z]+", word) for word in words)
    assert [fill([one], mlm, suggestions=12)[0] for one in masked] == found
