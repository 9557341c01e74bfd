"""What CheckList's invariance and directional tests expect, in words and as a rule.

Each text of a case but the first is held against the first, the original (Ribeiro et al. 2020,
`checklist.expect`): a case passes where all its texts pass, and is skipped where none of them can
be judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from s2lct.labels import TASK

Rule = Literal["same", "confidence_down", "confidence_up", "sentiment_down", "sentiment_up"]
"""What may not happen: another label, or that much less or more of something."""
TOLERANCE = 0.1
INVARIANCE = (
    "each text against the first text of the case: passes when the predicted label is the same, "
    "or when the probability of the first text's predicted label moves by no more than 0.1; the "
    "case passes when all its texts pass"
)
_SKIPPED = (
    "; skipped when the first prediction is neutral, or when the first confidence leaves no room "
    "for a failure"
)
_CONFIDENCE = (
    "pairwise to first text: confidence in the label predicted for the first text does not go {} "
    "(tolerance 0.1)" + _SKIPPED
)
CONFIDENCE_NOT_DOWN, CONFIDENCE_NOT_UP = _CONFIDENCE.format("down"), _CONFIDENCE.format("up")
SENTIMENT_NOT_DOWN = (
    "pairwise to first text: (p_pos gain + p_neg loss) + 0.1 >= 0, i.e. sentiment does not go down"
)
SENTIMENT_NOT_UP = (
    "pairwise to first text: (p_pos gain + p_neg loss) - 0.1 <= 0, i.e. sentiment does not go up"
)
_NUMBER = r"(?P<tolerance>0?\.\d{1,6}|[01](?:\.0{1,6})?)"
_SAME = re.compile(
    r"label is the same, or when the probability of the first text's predicted label moves by no "
    rf"more than {_NUMBER}(?!\d)"
)
_LABEL = re.compile(
    r"confidence in the label predicted for the first text does not go (?P<way>down|up) "
    rf"\(tolerance {_NUMBER}\)"
)
_CHANGE = re.compile(
    rf"\(p_pos gain \+ p_neg loss\) (?P<sign>[+-]) {_NUMBER} (?P<order>>=|<=) 0(?![.\d])"
)
_ROUNDING = 1e-9
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A rule with its tolerance.

    Attributes:
        rule: what may not happen between the original and another text.
        tolerance: by how much it may all the same.
        skips_neutral: whether a case is skipped whose original is answered neutral.
    """

    rule: Rule
    tolerance: float = TOLERANCE
    skips_neutral: bool = False

    def judged(self, probabilities: Floats, labels: Integers) -> bool | None:
        """Whether a case passes; None where it is skipped.

        Args:
            probabilities: of the labels, shape (texts, labels), of the original first.
            labels: what each text is answered, shape (texts,).
        """
        label = int(labels[0])
        if self.skips_neutral and label == TASK.middle:
            return None
        first, others = probabilities[0], probabilities[1:]
        slack = self.tolerance + _ROUNDING
        change = others[:, label] - first[label]
        if self.rule == "same":
            return bool(((labels[1:] == label) | (np.abs(change) <= slack)).all())
        if self.rule == "confidence_down":
            return None if first[label] <= self.tolerance else bool((change >= -slack).all())
        if self.rule == "confidence_up":
            return None if first[label] >= 1 - self.tolerance else bool((change <= slack).all())
        gain = (others - first)[:, TASK.high] - (others - first)[:, TASK.low]
        not_down = self.rule == "sentiment_down"
        return bool((gain >= -slack if not_down else gain <= slack).all())


def expectation_of(words: str) -> Expectation | None:
    """The rule that words tell; None where they tell none that is known."""
    if found := _SAME.search(words):
        return Expectation("same", float(found["tolerance"]))
    if found := _LABEL.search(words):
        rule: Rule = "confidence_down" if found["way"] == "down" else "confidence_up"
        neutral = "skipped when the first prediction is neutral" in words
        return Expectation(rule, float(found["tolerance"]), neutral)
    if found := _CHANGE.search(words):
        if (found["sign"], found["order"]) == ("+", ">="):
            return Expectation("sentiment_down", float(found["tolerance"]))
        if (found["sign"], found["order"]) == ("-", "<="):
            return Expectation("sentiment_up", float(found["tolerance"]))
    return None
