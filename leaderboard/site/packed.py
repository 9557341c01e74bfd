"""What a page holds of many models, in as few signs as will do; `site_basics.js.jinja` reads it."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.text_answers import ANSWER_IDS
from s2lct.leaderboard.results.comparison import shown_p
from s2lct.leaderboard.results.standings import PairTests

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_ANSWERS = 10
_SIGNS_OF_ANSWERS, _SIGNS_OF_TEST = 4, 3
_WINNERS = {None: 0, 0: 1, 1: 2}


def packed_answers(labels: Labels) -> str:
    """What a model said of each text: ten answers, each one of five, in four signs."""
    padded = np.zeros(-(-len(labels) // _ANSWERS) * _ANSWERS, dtype=np.int64)
    padded[: len(labels)] = labels
    return _in_signs(
        padded.reshape(-1, _ANSWERS) @ ANSWER_IDS ** np.arange(_ANSWERS), _SIGNS_OF_ANSWERS
    )


def packed_tests(tests: PairTests) -> dict[str, Any]:
    """Tests of pairs, capability by capability: ``signs`` has three a test, one after the other.

    They are the number of its p-value among the ``p`` times three, plus 1 where the first model is
    better, 2 where the second is.
    """
    shown = [[shown_p(value) for value in pair] for pair in tests.p_values.tolist()]
    p_values = sorted({value for pair in shown for value in pair})
    number_of = {value: number for number, value in enumerate(p_values)}
    codes = [
        len(_WINNERS) * number_of[value] + _WINNERS[winner]
        for pair, winners in zip(shown, tests.better, strict=True)
        for value, winner in zip(pair, winners, strict=True)
    ]
    signs = _in_signs(np.array(codes, dtype=np.int64), _SIGNS_OF_TEST)
    return {"capabilities": tests.capabilities, "p": p_values, "signs": signs}


def _in_signs(values: Labels, width: int) -> str:
    """Numbers below 64 to the power of ``width`` as so many signs each, the highest place first."""
    places = values[:, None] // len(SIGNS) ** np.arange(width - 1, -1, -1) % len(SIGNS)
    return "".join(np.array(list(SIGNS))[places].ravel().tolist())
