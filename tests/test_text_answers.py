"""Answers in words: what means a label, what is a refusal, and what cannot be read."""

from __future__ import annotations

from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import (
    PREDICTION_WORDS,
    REFUSED,
    UNREADABLE,
    TextAnswer,
    label_of,
)

MEANINGS = range(len(LABELS))
WORDS = st.sampled_from(LABELS)


def read(text: str, finish: str = "stop", refusal: str = "") -> int:
    return label_of(TextAnswer(text, finish, refusal), LABELS, MEANINGS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Negative", "negative"),
        ("**positive**", "positive"),
        ("# POSITIVE!!!", "positive"),
        ("It is a neutral statement; neutral.", "neutral"),
        ("Negative. The author does not like the coat.", "negative"),
        ('{"label": "neutral"}', "neutral"),
        ('{"sentiment": "Positive", "why": "it is not negative"}', "positive"),
        ('```json\n{"label": "negative"}\n```', "negative"),
        (' ```json {"label": "negative"} ``` \n', "negative"),
        ("```\nnegative\n```", "negative"),
        ("Negative " + "." * 1_000_000, "negative"),
        ("<THINK>" + "positive " * 10_000 + "</Thinking> negative", "negative"),
        ('The sentence "I am positive about the coat" is neutral.', "neutral"),
        ("<think>Is it negative? No, positive.</think>\n\nPositive", "positive"),
        ("I’m sorry to say: negative.", "negative"),
        ("As an AI, I'd say positive.", "positive"),
        ("ＮＥＧＡＴＩＶＥ", "negative"),
    ],
)
def test_one_label_word_is_a_label(text: str, said: str) -> None:
    assert PREDICTION_WORDS[read(text)] == said


@pytest.mark.parametrize(
    "text",
    [
        "", " \n", "…", "7", "null", "Neg", "positively", "non-negative", "negative?",
        "positive or negative", "neutral/positive", "Mixed, leaning positive", "either positive",
        "Not negative.", "It isn't negative.", "It isn’t negative.", "Neither positive nor so.",
        "Negative. No, positive.", "Negative. It is not negative.", "It could be positive.",
        '{"positive": 0.1, "negative": 0.9}', '{"label": "negative", "label": "positive"}',
        '{"label": ["negative"], "answer": "positive"}', "<think>It is positive",
        "The text says \"it was positive for all of us\".",
    ],
)  # fmt: skip
def test_what_names_no_one_label_cannot_be_read(text: str) -> None:
    assert read(text) == UNREADABLE


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that.", "I can’t help with that.", "I cannot classify this sentence.",
        "I'm sorry, but I can't assist with that request.", "Sorry.", "I am unable to rate it.",
        "We won't answer.", "As an AI language model, this is beyond me.",
        "I cannot say whether it is positive or negative.", "I must decline.",
        "This is against our guidelines.",
    ],
)  # fmt: skip
def test_what_says_that_it_will_not_answer_is_a_refusal(text: str) -> None:
    assert read(text) == REFUSED


def test_what_the_server_tells_comes_first() -> None:
    assert read("positive", finish="length") == UNREADABLE  # of "positive or negative", perhaps
    assert read("positive", finish="content_filter") == REFUSED
    assert read("", refusal="I can't help with that.") == REFUSED


def test_other_words_stand_for_the_labels_and_the_longer_is_not_the_shorter() -> None:
    words, meanings = ("bad", "not bad", "so-so"), (0, 2, 1)
    said = [
        label_of(TextAnswer(text), words, meanings) for text in ("Bad.", "NOT BAD", "so-so", "good")
    ]
    assert said == [0, 2, 1, UNREADABLE]


@given(WORDS, st.sampled_from(["{}", " {}.\n", "**{}**", "Sentiment: {}", '{{"label": "{}"}}']))
def test_a_word_in_any_case_and_frame_is_its_label(word: str, frame: str) -> None:
    for shown in (word, word.upper(), word.title()):
        assert read(frame.format(shown)) == LABELS.index(word)


@given(WORDS, WORDS, st.text(alphabet=" ,.;:-\n*_'\"/&", min_size=1, max_size=5))
def test_two_labels_are_never_one(one: str, other: str, between: str) -> None:
    assert read(f"{one}{between}{other}") in (
        {LABELS.index(one), UNREADABLE} if one == other else {UNREADABLE}
    )


SLOW = [
    "```" + " " * 100_000 + "x",
    "```" * 30_000,
    "<think>" * 20_000,
    "“" * 100_000,
    "«a" * 50_000,
    '"' * 99_999,
    "i" + " " * 100_000 + "x",
    "i \n" * 30_000,
    "far" + "\t" * 100_000,
    "a" * 100_000 + "n'",
    "n't" * 30_000,
    "positive-" * 10_000,
    "a\u0301\u0323" * 30_000,
    "\u0301\u0323" * 50_000,
    "\ufdfa" * 100_000,
    "[" * 100_000,
    '{"label":' * 10_000,
    "1" * 100_000,
    "\0" * 100_000,
    "ß" * 100_000,
    "*_`#~" * 20_000,
    "as an " * 20_000,
]


@pytest.mark.parametrize("text", SLOW, ids=[f"{text[:12]!a}" for text in SLOW])
def test_no_answer_takes_long_to_read(text: str) -> None:
    start = monotonic()
    for answer in (text, f"{text} positive", f"positive {text}", f"I {text}"):
        assert read(answer) in {LABELS.index("positive"), REFUSED, UNREADABLE}
    assert monotonic() - start < 1


@given(st.text(max_size=200).map(lambda part: part * 100))
def test_no_answer_stops_the_reading(text: str) -> None:
    assert read(text) in range(UNREADABLE + 1)
