"""Bounds that a user sets for a model's figures, as ``LC4=20`` or ``both-sides=60``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from s2lct.suite.capability_ids import ID_PATTERN

MEAN, BOTH_SIDES = "mean", "both-sides"
"""What stands in a bound for all capabilities, and for the share right on both sides."""
_SAME = {"overall": MEAN, "both_sides": BOTH_SIDES}
_EXAMPLES = {"max": "LC4=20 or mean=30", "min": "both-sides=60 or LC4/both-sides=50"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A failure rate, or a share right on both sides: of a capability, or the mean without one."""

    capability: str = ""
    both_sides: bool = False

    def __str__(self) -> str:
        if self.both_sides:
            return f"{self.capability}/{BOTH_SIDES}" if self.capability else BOTH_SIDES
        return self.capability or MEAN


@dataclass(frozen=True, slots=True)
class Bound:
    """The highest failure rate that passes, or the lowest share right on both sides."""

    figure: Figure
    percent: float

    @property
    def side(self) -> Literal["max", "min"]:
        """The option that sets it."""
        return "min" if self.figure.both_sides else "max"

    def __str__(self) -> str:
        return f"--{self.side} {self.figure}={self.percent:g}"


def parse_bounds(given: Iterable[str], side: Literal["max", "min"]) -> tuple[Bound, ...]:
    """Bounds as the options ``--max`` and ``--min`` take them, each figure once.

    Args:
        given: ``FIGURE=PERCENT`` each. A figure is a capability's id or ``mean``, and for ``min``
            ``both-sides`` or ``CAPABILITY/both-sides``; a sign % behind the number is left away.
        side: which of the two options.

    Raises:
        ValueError: one is no bound, or two are of the same figure; it says which.
    """
    bounds = tuple(_bound(text, side) for text in given)
    seen: set[str] = set()
    for bound in bounds:
        if (name := str(bound.figure).casefold()) in seen:
            raise ValueError(f"{bound.figure} is bounded twice; give each figure one bound")
        seen.add(name)
    return bounds


def _bound(text: str, side: Literal["max", "min"]) -> Bound:
    name, equals, number = (part.strip() for part in text.partition("="))
    figure = _figure(name)
    try:
        percent = float(number.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not equals or figure is None or not 0 <= percent <= 100:
        raise ValueError(f"{text!r} is no bound from 0 to 100 %; write {_EXAMPLES[side]}")
    bound = Bound(figure, percent)
    if bound.side != side:
        why = (
            "higher is better of what is right on both sides"
            if figure.both_sides
            else "lower is better of failure rates"
        )
        raise ValueError(f"{why}; write {bound}")
    return bound


def _figure(name: str) -> Figure | None:
    *capability, last = name.split("/")
    last = _SAME.get(last.lower().replace("-", "_"), last)
    last = last.lower() if last.lower() in (MEAN, BOTH_SIDES) else last
    if not capability and last == MEAN:
        return Figure()
    if last == BOTH_SIDES and (not capability or capability == [MEAN]):
        return Figure(both_sides=True)
    named = capability[0] if last == BOTH_SIDES and len(capability) == 1 else name
    if not re.fullmatch(ID_PATTERN, named):
        return None
    return Figure(named, both_sides=last == BOTH_SIDES)
