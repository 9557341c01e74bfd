"""Plots as inline SVG, drawn without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from s2lct.leaderboard.scoring.statistics import Rate

WIDTH, LEFT, RIGHT, GAP = 760, 210, 24, 26
_LONGEST = 30
_STEP = 0.1


@dataclass(frozen=True)
class Row:
    """A line of the plot: one rate with its interval, or two to compare."""

    name: str
    rate: Rate
    other: Rate | None = None


def rate_plot(
    rows: Sequence[Row],
    legend: tuple[str, str] | None = None,
    chance: tuple[str, float] | None = None,
) -> str:
    """Failure rates as dots on their intervals, a line a row; names are escaped.

    Args:
        rows: from top to bottom.
        legend: whose the first and the second dots are.
        chance: an upright line through all rows, and its name.

    Returns:
        An ``svg`` element. Its classes ``axis``, ``chance``, ``first`` and ``second`` are for a
        stylesheet.
    """
    if not rows:
        return Markup("<p>none</p>")
    rates = [rate for row in rows for rate in (row.rate, row.other) if rate]
    shown = [*(bound for rate in rates for bound in rate.ci), *([chance[1]] if chance else [])]
    low = math.floor(min(shown) / _STEP) * _STEP
    high = min(1.0, math.ceil(max(shown) / _STEP) * _STEP)
    high = max(high, low + _STEP)
    top = (24 if legend else 6) + (18 if chance else 0)
    foot = top + len(rows) * GAP

    def x(rate: float) -> float:
        return round(LEFT + (rate - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    parts: list[Markup] = []
    if legend:
        for place, kind, name in ((LEFT, "first", legend[0]), (LEFT + 260, "second", legend[1])):
            parts.append(_dot(place, 10, kind))
            parts.append(_text(place + 10, 14, _shortened(name), name))
    for number in range(round((high - low) / _STEP) + 1):
        at = x(low + number * _STEP)
        parts.append(
            Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(at, at, top, foot)
        )
        label = f"{100 * (low + number * _STEP):.0f} %"
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                at, foot + 16, label
            )
        )
    if chance:
        name, at = chance[0], x(chance[1])
        right = at > WIDTH - 150
        parts.append(
            Markup(
                '<line class="chance" stroke-dasharray="4 3" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            ).format(at, at, top - 14, foot)
        )
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                at + (-5 if right else 5),
                top - 4,
                "end" if right else "start",
                f"{name} {100 * chance[1]:.1f} %",
            )
        )
    for number, row in enumerate(rows):
        y = top + number * GAP + GAP / 2
        parts.append(_text(0, y + 4, _shortened(row.name), row.name))
        shift = 5 if row.other else 0
        for rate, kind, at in ((row.rate, "first", y - shift), (row.other, "second", y + shift)):
            if rate:
                parts.append(
                    Markup(
                        '<line class="{}" stroke-width="2" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                    ).format(kind, x(rate.ci[0]), x(rate.ci[1]), at, at)
                )
                parts.append(_dot(x(rate.failure_rate), at, kind))
    return (
        Markup(
            '<svg role="img" aria-label="Failure rates with intervals" width="100%" '
            'viewBox="0 0 {} {}">'
        ).format(WIDTH, foot + 22)
        + Markup("").join(parts)
        + Markup("</svg>")
    )


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _text(x: float, y: float, shown: str, whole: str) -> Markup:
    return Markup('<text x="{}" y="{}">{}<title>{}</title></text>').format(x, y, shown, whole)


def _dot(x: float, y: float, kind: str) -> Markup:
    if kind == "second":
        return Markup('<rect class="second" x="{}" y="{}" width="8" height="8"/>').format(
            round(x - 4, 1), y - 4
        )
    return Markup('<circle class="first" cx="{}" cy="{}" r="4.5"/>').format(x, y)
