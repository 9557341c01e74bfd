"""What tasks of lm-evaluation-harness count: accuracy on cases, and consistency on pairs.

An export puts this file beside the tasks, and the harness loads it from there: it needs nothing
but Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CONTRAST = "contrast"


def likeliest(row: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Whether the label of the greatest log likelihood passes a row."""
    found = [likelihood for likelihood, _ in results]
    return _counted(row, found.index(max(found)) in row["labels"])


def written(row: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Whether the label that a model wrote passes a row."""
    counted = _counted(row, results[0] in row["passes"])
    return {"exact_match" if name == "acc" else name: each for name, each in counted.items()}


def consistency(pairs: Sequence[tuple[str, bool]]) -> float:
    """Of the cases with a contrast, the share that is right together with it; 0 if there is none.

    Args:
        pairs: for each row the id of its case, and whether it was right.
    """
    right: dict[str, list[bool]] = {}
    for case, is_right in pairs:
        right.setdefault(case, []).append(is_right)
    both = [all(found) for found in right.values() if len(found) > 1]
    return sum(both) / len(both) if both else 0.0


def _counted(row: Mapping[str, Any], is_right: bool) -> dict[str, Any]:
    """A contrast is in no accuracy, and what has none in no consistency."""
    accuracy = {} if row["kind"] == CONTRAST else {"acc": float(is_right)}
    return accuracy | ({"consistency": (row["pair"], is_right)} if row["pair"] else {})
