"""The labels of the task."""

from __future__ import annotations

from typing import Literal

Label = Literal["negative", "neutral", "positive"]
LABELS: tuple[Label, ...] = ("negative", "neutral", "positive")


def labels_of_pairs(text: str) -> dict[str, str]:
    """``0=negative,1=positive`` as a dict.

    Raises:
        ValueError: it is no such list, or names a class twice.
    """
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        # A label holds no "=", and the name of a class may.
        name, equals, label = pair.rpartition("=")
        if not equals or not name.strip() or label.strip().lower() not in LABELS:
            raise ValueError(f"{pair!r} is not LABEL=negative|neutral|positive")
        if name.strip() in pairs:
            raise ValueError(f"{name.strip()} is named twice")
        pairs[name.strip()] = label.strip().lower()
    return pairs
