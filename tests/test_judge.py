"""What the judge leaves out of a suite: what moves a label, and the worst that nobody read."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage_settings import models, rules_for
from stub_models import StubTagger

from s2lct.builder.annotations import Annotations
from s2lct.builder.language.lexicon import SCORERS
from s2lct.builder.records import (
    Extension,
    InsertedWord,
    Origin,
    ParsedSentence,
    Production,
    Sentence,
    Source,
)
from s2lct.builder.stages.confirm import MAX_SHIFT, label_preserving

TAGGER = StubTagger()
PRODUCTION = Production("NP", ("DT", "NN"), ("DT", "JJ", "NN"), 0.1)
ORIGINS: tuple[Origin, ...] = ("masked", "phrase", "attested")
SENTENCES = ("The plot is dull.", "The film is a lovely story.", "A great and happy evening.")


def extended(marked: str, origin: Origin = "masked", score: float = -3.0) -> Extension:
    """A sentence with what was inserted in brackets, as in ``The [central] film is dull.``."""
    start, end = marked.index("["), marked.index("]") - 1
    text = marked.replace("[", "").replace("]", "")
    (tokens,) = TAGGER.tag([text])
    tag = next(token.tag for token in tokens if token.start == start)
    word = InsertedWord(text[start:end], tag, start, end)
    sentence = ParsedSentence(text, tokens, "")
    return Extension(text, (word,), origin, PRODUCTION, score, parsed=sentence)


def source(text: str) -> Source:
    return Source(Sentence("made", "1", text, "negative"), ParsedSentence(text, (), ""))


def kept(
    marked: str, origin: Origin = "masked", score: float = -3.0, *, annotated: bool = False
) -> bool:
    text = marked[: marked.index("[")] + marked[marked.index("]") + 2 :]
    rules = rules_for(Annotations() if annotated else None)
    longer = extended(marked, origin, score)
    return label_preserving([source(text)], [[longer]], models(), rules) == [[longer]]


@pytest.mark.parametrize(
    ("marked", "score", "expected"),
    [
        ("The [rural] plot is dull.", -3.0, True),
        ("The [rural] plot is dull.", -7.1, False),
        ("The [unusual] plot is dull.", -3.0, False),
        ("The plot [rural] is dull.", -3.0, False),
        ("The [second] awful plot is dull.", -3.0, True),
        ("The [awful] second plot is dull.", -3.0, False),
    ],
)
def test_the_worst_that_nobody_read_is_left_out(marked: str, score: float, expected: bool) -> None:
    assert kept(marked, score=score) == expected


def test_what_annotators_passed_or_an_author_wrote_only_keeps_its_sentiment() -> None:
    for origin in ORIGINS:
        assert kept("The [unusual] plot is dull.", origin, -20.0, annotated=True)
        assert not kept("The [awful] plot is dull.", origin, annotated=True)
    assert kept("The plot [second] is dull.", "attested", -20.0)
    assert not kept("The [awful] plot is dull.", "attested")


@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
def test_nothing_that_is_kept_moves_the_scorers_further_than_allowed(
    text: str, longer: str
) -> None:
    extension = Extension(longer, (), "attested", PRODUCTION)
    moves = [abs(one()(longer) - one()(text)) for one in SCORERS]
    left = label_preserving([source(text)], [[extension]], models(), rules_for())
    assert bool(left[0]) == (fmean(moves) <= MAX_SHIFT)
