"""What CheckList's invariance and directional tests expect, in words and as a rule.

Each text of a case but the first is held against the first, the original (Ribeiro et al. 2020,
`checklist.expect`): a case passes where all its texts pass, and is skipped where none of them can
be judged. One table of a paper counts such failures; scores are of other tests alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from s2lct.labels import TASK
from s2lct.leaderboard.answers.label_rules import LabelRule

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


@dataclass(frozen=True, slots=True)
class Expectation:
    """What may not happen between the original and another text, beyond a tolerance.

    Attributes:
        rule: another label, or that much less or more of something.
        tolerance: by how much it may all the same.
        skips_neutral: whether a case is skipped whose original is predicted neutral.
    """

    rule: Literal["same", "confidence_down", "confidence_up", "sentiment_down", "sentiment_up"]
    tolerance: float = 0.1
    skips_neutral: bool = False

    def judged(self, probabilities: Floats, labels: npt.NDArray[np.int64]) -> bool | None:
        """Whether a case passes; None where it is skipped.

        Args:
            probabilities: of the labels, shape (texts, labels), of the original first.
            labels: predicted of each text, shape (texts,).
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
    """The rule that words say, as `suite.checklist_release` writes them; None of others."""
    if found := _SAME.search(words):
        return Expectation("same", float(found["tolerance"]))
    if found := _LABEL.search(words):
        neutral = "skipped when the first prediction is neutral" in words
        way: Literal["confidence_down", "confidence_up"]
        way = "confidence_down" if found["way"] == "down" else "confidence_up"
        return Expectation(way, float(found["tolerance"]), neutral)
    if found := _CHANGE.search(words):
        if (found["sign"], found["order"]) == ("+", ">="):
            return Expectation("sentiment_down", float(found["tolerance"]))
        if (found["sign"], found["order"]) == ("-", "<="):
            return Expectation("sentiment_up", float(found["tolerance"]))
    return None


def label_probabilities(rule: LabelRule, probabilities: Floats) -> Floats:
    """Probabilities of the three labels, shape (texts, 3), of those of a model's classes.

    A model without a neutral class gets one as CheckList's authors gave theirs: within the neutral
    band the probability of neutral rises from 0.5 at its ends to 1 in its middle, and the rest is
    that of the nearer end; outside it is 0.
    """
    folded = rule.folded(probabilities)
    if rule.has_neutral:
        return folded
    (low, high), task = rule.neutral_band, rule.task
    positive = folded[:, task.high]
    middle, width = (low + high) / 2, high - low
    within = (low < positive) & (positive < high)
    if not within.any():
        return folded
    neutral = 1 - np.abs(positive[within] - middle) / width
    spread = folded.copy()
    spread[within] = 0
    spread[within, task.middle] = neutral
    upper = positive[within] >= middle
    spread[within, task.high] = np.where(upper, 1 - neutral, 0)
    spread[within, task.low] = np.where(upper, 0, 1 - neutral)
    return spread
