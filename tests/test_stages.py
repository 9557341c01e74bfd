"""Mask, fill, validate and select on the shipped models."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.builder.language.grammar import WORD_TAGS, ReferenceGrammar
from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.models.masked_lm import MASK, SCORE_DIGITS, TransformersMaskedLM
from s2lct.builder.records import (
    Family,
    MaskedSentence,
    ParsedSeed,
    Seed,
    Sentence,
    Token,
)
from s2lct.builder.stages.fill import fill
from s2lct.builder.stages.mask import any_offset, mask, parse
from s2lct.builder.stages.validate import select, without_duplicates
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


def seed_of(text: str) -> Seed:
    sentence = Sentence("made", text, text, "neutral")
    return Seed(text, "LC1", text, ("neutral",), "neutral", "", (sentence,))


@pytest.fixture(scope="module")
def parsed() -> list[ParsedSeed]:
    return parse([seed_of(text) for text in TEXTS], load_tagger(), load_parser())


def masked_sentences(
    parsed: Sequence[ParsedSeed],
    seed: int = 0,
    order: str = "random",
    count: int = 40,
    anywhere: bool = False,
) -> list[MaskedSentence]:
    return mask(
        parsed,
        ReferenceGrammar.load(),
        masked_per_seed=count,
        masks_per_sentence=2,
        order=order,
        tags=WORD_TAGS,
        seed=seed,
        anywhere=anywhere,
    )


@pytest.mark.parametrize("anywhere", [False, True])
@pytest.mark.parametrize("order", ["random", "probability"])
def test_masks_are_inserted_and_nothing_else_moves(
    parsed: list[ParsedSeed], order: str, anywhere: bool
) -> None:
    masked = masked_sentences(parsed, order=order, anywhere=anywhere)
    texts = {one.seed.id: one for one in parsed}
    assert len({one.seed_id for one in masked}) >= len(texts) - 1
    assert len({(one.seed_id, one.text, one.masks) for one in masked}) == len(masked)
    for one in masked:
        seed = texts[one.seed_id].seed
        places = [(m.start, m.start + len(MASK)) for m in one.masks]
        assert all(one.text[start:end] == MASK for start, end in places)
        assert without(one.text, places) == seed.text
        added = len(one.production.reference_rhs) - len(one.production.seed_rhs)
        assert added == len(one.masks) in (1, 2)
        assert all(m.tag in one.production.reference_rhs for m in one.masks)


def test_a_mask_never_splits_or_glues_words(parsed: list[ParsedSeed]) -> None:
    for one in masked_sentences(parsed, count=1_000):
        for m in one.masks:
            before, behind = one.text[m.start - 1], one.text[m.start + len(MASK) :][:1]
            assert before == " "
            assert behind in ("", " ", ".", ",", "!", '"', ")")


def test_only_in_the_paper_form_a_mask_may_stand_first(parsed: list[ParsedSeed]) -> None:
    first = {
        anywhere: [
            one
            for one in masked_sentences(parsed, count=10_000, anywhere=anywhere)
            if one.text.startswith(MASK)
        ]
        for anywhere in (False, True)
    }
    assert not first[False]
    assert len({one.seed_id for one in first[True]}) > 1


def test_masks_are_not_capped_unless_asked(parsed: list[ParsedSeed]) -> None:
    def most(cap: int | None) -> int:
        masked = mask(
            parsed,
            ReferenceGrammar.load(),
            masked_per_seed=10_000,
            masks_per_sentence=cap,
            order="random",
            tags=WORD_TAGS,
            seed=0,
        )
        return max(len(one.masks) for one in masked)

    assert most(1) == 1
    assert most(4) == 4
    assert most(None) > 4


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


def test_a_draw_depends_on_the_seed_and_not_on_the_batch(parsed: list[ParsedSeed]) -> None:
    whole = masked_sentences(parsed, count=5)
    apart = [one for single in parsed for one in masked_sentences([single], count=5)]
    assert whole == apart
    assert whole != masked_sentences(parsed, seed=1, count=5)


@pytest.fixture(scope="module")
def mlm() -> TransformersMaskedLM:
    model = load_masked_language_model()
    assert isinstance(model, TransformersMaskedLM)
    return model


def test_suggestions_are_words_best_first(
    parsed: list[ParsedSeed], mlm: TransformersMaskedLM
) -> None:
    masked = masked_sentences(parsed, count=4)
    filled = fill(masked, mlm, suggestions=12)
    assert [one.masked for one in filled] == masked
    for one in filled:
        scores = [suggestion.score for suggestion in one.suggestions]
        assert len(scores) == 12
        assert scores == sorted(scores, reverse=True)
        assert all(score <= 0 for score in scores)
        for suggestion in one.suggestions:
            assert len(suggestion.words) == len(one.masked.masks)
            assert all(word.isalpha() for word in suggestion.words)


def test_another_batch_size_changes_last_digits_at_most(parsed: list[ParsedSeed]) -> None:
    masked = masked_sentences(parsed, count=5)
    one_by_one, *others = (
        fill(masked, load_masked_language_model(batch_size=size), suggestions=30)
        for size in (1, 3, 64)
    )
    noise = 2 * 10**-SCORE_DIGITS
    for other in others:
        for ours, theirs in zip(one_by_one, other, strict=True):
            assert ours.masked == theirs.masked
            scores = [{s.words: s.score for s in one.suggestions} for one in (ours, theirs)]
            for words in scores[0].keys() | scores[1].keys():
                # Words that only one of them has are as likely as the last of the other.
                first, second = (some.get(words, min(some.values())) for some in scores)
                assert first == pytest.approx(second, abs=noise)


def test_the_model_knows_review_language(mlm: TransformersMaskedLM) -> None:
    (words,) = mlm.suggest(["This is one of the best {mask} of the year."], 5)
    assert {"films", "movies"} & {word for word, _ in words}


def test_an_overlong_text_gets_no_suggestion(mlm: TransformersMaskedLM) -> None:
    long = "word " * 10_000 + MASK
    assert mlm.suggest([long, f"A {MASK} film."], 3)[0] == ()


def test_selection_takes_the_likeliest_and_no_text_twice(
    suite_families: list[Family],
) -> None:
    families = suite_families
    assert any(len(family.expansions) > 1 for family in families)
    everything = [e for family in families for e in family.expansions]
    one_each = select(everything, [family.seed for family in families], per_seed=1, seed=0)
    for family, chosen in zip(families, one_each, strict=True):
        assert chosen.expansions == family.expansions[:1]
    doubled, dropped = without_duplicates([*families, *families])
    assert sum(len(f.expansions) for f in doubled) == len(everything)
    assert sum(dropped.values()) == len(everything)


@pytest.fixture(scope="module")
def suite_families(parsed: list[ParsedSeed], mlm: TransformersMaskedLM) -> list[Family]:
    from s2lct.builder.capabilities.files import load_capabilities
    from s2lct.builder.language.lexicon import Lexicon
    from s2lct.builder.stages.validate import validate

    (capability,) = load_capabilities(["LC3"])
    filled = fill(masked_sentences(parsed, order="probability"), mlm, suggestions=30)
    passed, _ = validate(
        filled,
        {one.seed.id: one for one in parsed},
        {"LC1": capability.form("fluent")},
        load_tagger(),
        Lexicon.load(),
    )
    families = select(passed, parsed, per_seed=1_000, seed=0)
    for family in families:
        for expansion in family.expansions:
            inserted = [(w.start, w.end) for w in expansion.inserted]
            assert without(expansion.text, inserted) == family.seed.seed.text
    return families


@given(
    words=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=6),
    chosen=st.data(),
)
def test_removing_inserted_words_undoes_inserting(words: list[str], chosen: st.DataObject) -> None:
    seed = " ".join(words) + "."
    at = chosen.draw(st.integers(1, len(words)))
    longer = [*words[:at], "inserted", *words[at:]]
    text = " ".join(longer) + "."
    start = len(" ".join(longer[:at])) + 1
    assert without(text, [(start, start + len("inserted"))]) == seed
