"""Masks and their fillings on the shipped models."""

from __future__ import annotations

import re

import pytest

from s2lct.builder.language.grammar import WORD_TAGS, ReferenceGrammar
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.models.masked_lm import SCORE_DIGITS, TransformersMaskedLM
from s2lct.builder.records import MASK, MaskedSentence, ParsedSentence, Token
from s2lct.builder.stages.mask import any_offset, fill, mask
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
        most=most,
        masks_per_sentence=masks_per_sentence,
        tags=WORD_TAGS,
        seed=seed,
        paper=paper,
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


def test_masks_are_not_capped_unless_asked(parsed: list[ParsedSentence]) -> None:
    most = {
        cap: max(
            len(one.tags)
            for sentence in parsed
            for one in masked_in(sentence, masks_per_sentence=cap)
        )
        for cap in (1, 4, None)
    }
    assert (most[1], most[4]) == (1, 4)
    assert most[None] > 4


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
        spot = any_offset(tokens, place)
        if spot is None:
            assert expected is None
            continue
        offset, before = spot
        inserted = f"{MASK} " if before else f" {MASK}"
        assert text[:offset] + inserted + text[offset:] == expected


def test_a_draw_depends_on_the_seed(parsed: list[ParsedSentence]) -> None:
    draws = [[masked_in(one, seed=seed, most=5) for one in parsed] for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


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
        assert [f.score for f in fillings] == sorted((f.score for f in fillings), reverse=True)
        for filling in fillings:
            assert len(filling.words) == len(one.tags)
            assert all(re.fullmatch("[A-Za-z]+", word) for word in filling.words)
            assert filling.score <= 0
    apart = fill(masked, load_masked_language_model(batch_size=1), suggestions=12)
    for ours, theirs in zip(found, apart, strict=True):
        scores = [{one.words: one.score for one in some} for some in (ours, theirs)]
        for words in scores[0].keys() | scores[1].keys():
            # Words that only one of them has are as likely as the last of the other.
            first, second = (some.get(words, min(some.values())) for some in scores)
            assert first == pytest.approx(second, abs=2 * 10**-SCORE_DIGITS)


def test_the_model_knows_review_language(mlm: TransformersMaskedLM) -> None:
    long = "word " * 10_000 + MASK
    none, words = mlm.suggest([long, "This is one of the best {mask} of the year."], 5)
    assert none == ()
    assert {"films", "movies"} & {word for word, _ in words}
