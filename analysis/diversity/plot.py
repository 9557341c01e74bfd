"""Plots of diversity: one panel for each figure, as SVG in both themes, or together as a PNG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from s2lct.analysis.diversity.measures import (
    ALL_CASES,
    QUANTILES,
    SEEDS,
    Diversity,
    DiversityComparison,
    Figure,
    Spread,
)
from s2lct.analysis.plots import COLOURS, INK, picture, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^")
PANEL = (5.0, 4.4)
_STAND_IN = "#010203"


class _Drawn(NamedTuple):
    """What stands in a row: a marker of a size, and lines of a width behind it."""

    middle: float
    size: float
    lines: Sequence[tuple[float, float, float]]


def _interval(figure: Figure) -> _Drawn:
    if figure.low is None or figure.high is None:
        return _Drawn(figure.value, 5, [])
    return _Drawn(figure.value, 5, [(figure.low, figure.high, 1.5)])


def _quantiles(spread: Spread) -> _Drawn:
    low, quarter, middle, three_quarters, high = spread.quantiles
    return _Drawn(middle, 4.5, [(low, high, 1), (quarter, three_quarters, 3.5)])


def _growth(axes: Axes, comparison: DiversityComparison) -> None:
    for number, name in enumerate(comparison.sources):
        cases, found = zip(*comparison.growth[name], strict=True)
        axes.plot(cases, found, color=COLOURS[number], label=name, linewidth=2)
        axes.plot(cases[-1:], found[-1:], MARKERS[number], color=COLOURS[number])
    axes.set_xlabel("cases, in random order")
    axes.set_ylabel("distinct productions")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=9)


def _rows(
    drawn: Callable[[Diversity], _Drawn], axes: Axes, comparison: DiversityComparison
) -> None:
    """A row a group and source, group by group."""
    groups = comparison.groups
    apart = 0.7 / len(comparison.sources)
    for group, by_source in enumerate(groups.values()):
        for number, name in enumerate(comparison.sources):
            row, colour = group + (number + 0.5) * apart - 0.35, COLOURS[number]
            middle, size, lines = drawn(by_source[name])
            for low, high, width in lines:
                axes.plot([low, high], [row, row], color=colour, linewidth=width)
            axes.plot([middle], [row], MARKERS[number], color=colour, markersize=size, label=name)
    axes.set_yticks(range(len(groups)), list(groups))
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    together = sum(group in (ALL_CASES, SEEDS) for group in groups)
    if len(groups) > together:
        axes.axhline(together - 0.5, color=axes.spines["left"].get_edgecolor(), linewidth=0.6)
    axes.set_xlim(left=0)


_Q = [f"{100 * one:.0f}" for one in QUANTILES]
_SHOWN = f"({_Q[0]} to {_Q[-1]} %, {_Q[1]} to {_Q[-2]} %, median)"
PANELS: dict[str, Callable[[Axes, DiversityComparison], None]] = {
    "Distinct productions as cases grow": _growth,
    "Self-BLEU (less is more diverse)": partial(_rows, lambda one: _interval(one.self_bleu)),
    "Distinct productions": partial(_rows, lambda one: _interval(one.productions)),
    "Distinct word pairs in all pairs": partial(_rows, lambda one: _interval(one.distinct[2])),
    f"Words in a case {_SHOWN}": partial(_rows, lambda one: _quantiles(one.words)),
    f"Depth of the tree {_SHOWN}": partial(_rows, lambda one: _quantiles(one.depth)),
}
_STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "grid.alpha": 0.18,
    "legend.frameon": False,
}
_INKED = (
    *("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color", "text.color"),
    *("xtick.color", "ytick.color"),
)


def _style(ink: str) -> AbstractContextManager[None]:
    return style(**_STYLE, **dict.fromkeys(_INKED, ink))


def svg_panels(comparison: DiversityComparison) -> list[str]:
    """Each panel as an SVG element whose text takes the page's colour."""
    from matplotlib.figure import Figure as Canvas

    drawings: list[str] = []
    with _style(_STAND_IN):
        for title, panel in PANELS.items():
            canvas = Canvas(figsize=PANEL, layout="constrained")
            axes = canvas.subplots()
            panel(axes, comparison)
            axes.set_title(title)
            svg = picture(canvas, "svg", transparent=True).decode()
            drawings.append(svg[svg.index("<svg") :].replace(_STAND_IN, "currentColor"))
    return drawings


def as_png(comparison: DiversityComparison) -> bytes:
    """Every panel in one picture on white."""
    from matplotlib.figure import Figure as Canvas

    columns, rows = 3, 2
    with _style(INK):
        canvas = Canvas(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
        for axes, (title, panel) in zip(
            canvas.subplots(rows, columns).flat, PANELS.items(), strict=True
        ):
            panel(axes, comparison)
            axes.set_title(title)
        return picture(canvas, "png", dpi=80)
