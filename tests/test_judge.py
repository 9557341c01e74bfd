"""What the judge leaves out of a suite: what moves a label, and the worst that nobody read."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stub_models import StubTagger

from s2lct.builder.language.lexicon import SCORERS, shift
from s2lct.builder.records import (
    Extended,
    Extension,
    InsertedWord,
    Origin,
    ParsedSentence,
    Production,
    Rejection,
)
from s2lct.builder.stages.choose import (
    LIKELIEST_FOR_AN_EXPANSION,
    MOST_SHIFT,
    rejection,
    usable,
)

TAGGER = StubTagger()
PRODUCTION = Production("NP", ("DT", "NN"), ("DT", "JJ", "NN"), 0.1)
ORIGINS: tuple[Origin, ...] = ("masked", "phrase", "attested")
SENTENCES = ("The plot is dull.", "The film is a lovely story.", "A great and happy evening.")


def extended(marked: str, origin: Origin = "masked", score: float = -3.0) -> Extended:
    """A sentence with what was inserted in brackets, as in ``The [central] film is dull.``."""
    start, end = marked.index("["), marked.index("]") - 1
    text = marked.replace("[", "").replace("]", "")
    (tokens,) = TAGGER.tag([text])
    tag = next(token.tag for token in tokens if token.start == start)
    word = InsertedWord(text[start:end], tag, start, end)
    extension = Extension(text, (word,), origin, PRODUCTION, score)
    return Extended(extension, ParsedSentence(text, tokens, ""))


def reason(
    marked: str, origin: Origin = "masked", score: float = -3.0, *, annotated: bool = False
) -> Rejection | None:
    text = marked[: marked.index("[")] + marked[marked.index("]") + 2 :]
    return rejection(text, extended(marked, origin, score), annotated=annotated)


@pytest.mark.parametrize(
    ("marked", "score", "expected"),
    [
        ("The [rural] plot is dull.", -3.0, None),
        ("The [rural] plot is dull.", -7.1, Rejection.UNLIKELY),
        ("The [unusual] plot is dull.", -3.0, Rejection.NOT_NEUTRAL),
        ("The plot [rural] is dull.", -3.0, Rejection.SPECIFICATION),
        ("The [second] awful plot is dull.", -3.0, None),
        ("The [awful] second plot is dull.", -3.0, Rejection.NOT_NEUTRAL),
    ],
)
def test_the_worst_that_nobody_read_is_left_out(
    marked: str, score: float, expected: Rejection | None
) -> None:
    assert reason(marked, score=score) == expected


@pytest.mark.parametrize("origin", ORIGINS)
def test_what_readers_passed_stays_unless_it_moves_the_sentiment(origin: Origin) -> None:
    assert reason("The [unusual] plot is dull.", origin, -20.0, annotated=True) is None
    assert reason("The [awful] plot is dull.", origin, annotated=True) == Rejection.SENTIMENT


def test_what_an_author_wrote_is_only_asked_for_its_sentiment() -> None:
    assert reason("The plot [second] is dull.", "attested", -20.0) is None
    assert reason("The [awful] plot is dull.", "attested") == Rejection.SENTIMENT


@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
def test_nothing_that_is_kept_moves_the_scorers_further_than_allowed(
    text: str, longer: str
) -> None:
    extension = Extension(longer, (), "attested", PRODUCTION)
    one = Extended(extension, ParsedSentence(longer, (), ""))
    moves = [abs(one.load()(longer) - one.load()(text)) for one in SCORERS.values()]
    kept = rejection(text, one, annotated=True) is None
    assert kept == (fmean(moves) <= MOST_SHIFT)
    assert shift(text, longer) == fmean(moves) == shift(longer, text)


@given(st.lists(st.floats(-6, 0), max_size=30), st.integers(1, 4))
def test_without_readers_the_likeliest_are_there_to_choose_from(
    scores: list[float], expansions: int
) -> None:
    some = [extended("The [rural] plot is dull.", score=score) for score in scores]
    most = LIKELIEST_FOR_AN_EXPANSION * expansions
    found = [one.extension.score for one in usable(some, expansions, annotated=False)]
    assert found == sorted(scores, reverse=True)[:most]
    assert usable(some, expansions, annotated=True) == some
