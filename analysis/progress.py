"""Whom long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], object]
"""Is told how many more texts, cases or steps are done."""


def silently(done: int) -> None:
    """Tell nobody."""
