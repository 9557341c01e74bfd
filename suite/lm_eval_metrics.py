"""Metrics of the tasks of lm-evaluation-harness: accuracy on cases, consistency on pairs.

An export puts this file beside the tasks, and the harness loads it from there: it needs nothing
but Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CONTRAST = "contrast"


def likeliest(row: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Whether the label with the greatest log likelihood passes a row."""
    likelihoods = [likelihood for likelihood, _ in results]
    return _judged(row, "acc", likelihoods.index(max(likelihoods)) in row["labels"])


def written(row: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Whether the label that a model wrote passes a row."""
    return _judged(row, "exact_match", results[0] in row["passes"])


def consistency(pairs: Sequence[tuple[str, bool]]) -> float:
    """The share of cases with a contrast for which both predictions are right; 0 for no case.

    Args:
        pairs: for each row the id of its case, and whether the prediction was right.
    """
    is_right_by_case: dict[str, list[bool]] = {}
    for case, is_right in pairs:
        is_right_by_case.setdefault(case, []).append(is_right)
    consistent = [all(outcomes) for outcomes in is_right_by_case.values() if len(outcomes) > 1]
    return sum(consistent) / len(consistent) if consistent else 0.0


def _judged(row: Mapping[str, Any], accuracy: str, is_right: bool) -> dict[str, Any]:
    """The metrics of a row: accuracy unless it is a contrast, consistency if it is in a pair."""
    judged: dict[str, Any] = {} if row["kind"] == CONTRAST else {accuracy: float(is_right)}
    return judged | ({"consistency": (row["pair"], is_right)} if row["pair"] else {})
