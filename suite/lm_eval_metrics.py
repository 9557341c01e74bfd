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
    """The share of cases that are right together with their contrast; 0 if none has a contrast.

    Args:
        pairs: for each row the id of its case, and whether it was right.
    """
    right: dict[str, list[bool]] = {}
    for case, is_right in pairs:
        right.setdefault(case, []).append(is_right)
    both_right = [all(answers) for answers in right.values() if len(answers) > 1]
    return sum(both_right) / len(both_right) if both_right else 0.0


def _judged(row: Mapping[str, Any], accuracy: str, is_right: bool) -> dict[str, Any]:
    """Accuracy leaves contrasts out, and consistency the cases that have none."""
    judged: dict[str, Any] = {} if row["kind"] == CONTRAST else {accuracy: float(is_right)}
    return judged | ({"consistency": (row["pair"], is_right)} if row["pair"] else {})
