"""Pack answers and tests of models into few characters; `site_basics.js.jinja` unpacks them."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.text_answers import ANSWER_ID_COUNT
from s2lct.leaderboard.results.comparison import shown_p_value
from s2lct.leaderboard.results.standings import PairTests

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_ANSWERS_PER_GROUP, _GROUP_WIDTH = 10, 4
_TEST_WIDTH = 3
_WINNER_CODES = {None: 0, 0: 1, 1: 2}


def pack_answers(labels: Labels) -> str:
    """A model's answers in base 64: ten answers, each one of five, in four characters."""
    group_count = -(-len(labels) // _ANSWERS_PER_GROUP)
    padded = np.zeros((group_count, _ANSWERS_PER_GROUP), dtype=np.int64)
    padded.ravel()[: len(labels)] = labels
    return _base64_digits(padded @ ANSWER_ID_COUNT ** np.arange(_ANSWERS_PER_GROUP), _GROUP_WIDTH)


def pack_tests(tests: PairTests) -> dict[str, Any]:
    """Tests in base 64, three characters each, ordered by pair and then by capability.

    The code of a test is three times the index of its p-value in ``p``, plus 1 if the first model
    is better, or 2 if the second is.
    """
    shown = [[shown_p_value(p_value) for p_value in pair] for pair in tests.p_values.tolist()]
    p_values = sorted({p_value for pair in shown for p_value in pair})
    number_of = {p_value: number for number, p_value in enumerate(p_values)}
    codes = [
        len(_WINNER_CODES) * number_of[p_value] + _WINNER_CODES[winner]
        for pair, winners in zip(shown, tests.winners, strict=True)
        for p_value, winner in zip(pair, winners, strict=True)
    ]
    packed = _base64_digits(np.array(codes, dtype=np.int64), _TEST_WIDTH)
    return {"capabilities": tests.capabilities, "p": p_values, "packed": packed}


def _base64_digits(values: Labels, width: int) -> str:
    """Numbers in base 64, ``width`` digits each, the most significant digit first."""
    digits = values[:, None] // len(BASE64) ** np.arange(width - 1, -1, -1) % len(BASE64)
    return "".join(np.array(list(BASE64))[digits].ravel().tolist())
