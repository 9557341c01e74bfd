"""What is known of the tests of CheckList's released sentiment suite, by their names.

Its pickle has expectations as functions, which are never loaded.
"""

from __future__ import annotations

from s2lct.labels import Label
from s2lct.suite import expectations
from s2lct.suite.capability_ids import capability_id_of

_I_THOUGHT = "simple negations: I thought x was {}, but it was not (should be {})"
_HARD = "Hard: Negation of {} with neutral stuff in the middle (should be {})"
SHORT_NAMES = {
    "Sentiment-laden words in context": "words-in-context",
    "neutral words in context": "neutral-in-context",
    "simple negations: negative": "negated-positive",
    "simple negations: not negative": "negated-negative",
    "simple negations: not neutral is still neutral": "negated-neutral",
    _I_THOUGHT.format("positive", "negative"): "thought-positive",
    _I_THOUGHT.format("negative", "neutral or positive"): "thought-negative",
    "simple negations: but it was not (neutral) should still be neutral": "thought-neutral",
    _HARD.format("positive", "negative"): "hard-negated-positive",
    _HARD.format("negative", "positive or neutral"): "hard-negated-negative",
    "negation of neutral with neutral in the middle, should still neutral": "hard-negated-neutral",
    "my opinion is what matters": "my-opinion-matters",
}
"""What tests are called in tables whose names are too long for that."""
NOT_NEGATIVE: tuple[Label, ...] = ("positive", "neutral")
PASSES_NOT_NEGATIVE = frozenset(
    (
        "simple negations: not negative",
        _I_THOUGHT.format("negative", "neutral or positive"),
        _HARD.format("negative", "positive or neutral"),
    )
)
"""Minimum-functionality tests that every answer but negative passes, by a function."""
DIRECTIONS = {
    "intensifiers": expectations.CONFIDENCE_NOT_DOWN,
    "reducers": expectations.CONFIDENCE_NOT_UP,
    '"used to" should reduce': expectations.CONFIDENCE_NOT_UP,
    "add positive phrases": expectations.SENTIMENT_NOT_DOWN,
    "add negative phrases": expectations.SENTIMENT_NOT_UP,
}
"""What directional tests expect, in words."""


def id_of_test(name: str) -> str:
    """What a test of CheckList's is called beside capabilities."""
    return capability_id_of(SHORT_NAMES.get(name, name))
