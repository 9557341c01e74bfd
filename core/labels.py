"""The labels of the task."""

from __future__ import annotations

from typing import Literal

Label = Literal["negative", "neutral", "positive"]
LABELS: tuple[Label, ...] = ("negative", "neutral", "positive")
