"""Stars and their like, as labels."""

from __future__ import annotations

import re
from collections.abc import Iterable

from s2lct.labels import Label

MEANING = "1 and 2 stars are negative, 3 neutral, 4 and 5 positive"
_NUMBERS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_NAMED = re.compile(
    r"([1-5](?:\.\d+)?|one|two|three|four|five)"
    r"(\s*(?:/|(?:out )?of)\s*(?:5(?:\.0)?|five))?([\s-]*stars?)?",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"([★⭐]{1,5})[☆]*")


def label_of_stars(given: str) -> Label | None:
    """What ``4``, ``4.0``, ``4/5``, ``four stars`` or ``★★★★☆`` means; None if it is none."""
    count = _stars(given)
    if count is None:
        return None
    return "negative" if count <= 2 else "positive" if count >= 4 else "neutral"


def are_stars(labels: Iterable[str]) -> bool:
    """Whether labels are stars: bare numbers are if one is 4 or 5, since 1 may be the best of 2."""
    labels = list(labels)
    counts = [count for label in labels if (count := _stars(label)) is not None]
    if not counts or len(counts) < len(labels):
        return False
    return max(counts) >= 4 or not any(re.fullmatch(r"[\d.]+", label) for label in labels)


def _stars(given: str) -> float | None:
    given = given.strip()
    if signs := _SIGNS.fullmatch(given):
        return float(len(signs[1]))
    found = _NAMED.fullmatch(given)
    if found is None:
        return None
    count = _NUMBERS.get(found[1].lower()) or float(found[1])
    return count if count <= 5 else None
