"""Plots of diversity: one panel for each figure, as SVG in both themes, or together as a PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from s2lct.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^")
PANEL = (5.0, 4.4)
_STAND_IN = "#010203"

Panel = Callable[["Axes", DiversityComparison], None]


def _growth(axes: Axes, comparison: DiversityComparison) -> None:
    for number, name in enumerate(comparison.sources):
        cases, found = zip(*comparison.growth[name], strict=True)
        axes.plot(cases, found, color=COLOURS[number], label=name, linewidth=2)
        axes.plot(cases[-1:], found[-1:], MARKERS[number], color=COLOURS[number])
    axes.set_xlabel("cases, in random order")
    axes.set_ylabel("distinct productions")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)


def _dots(
    figure_of: Callable[[Diversity], Figure], axes: Axes, comparison: DiversityComparison
) -> None:
    for number, name, row, measured in _rows(comparison):
        figure, colour = figure_of(measured), COLOURS[number]
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [row, row], color=colour, linewidth=1.5)
        axes.plot([figure.value], [row], MARKERS[number], color=colour, markersize=5, label=name)
    _name_rows(axes, comparison)
    axes.set_xlim(left=0)


def _bars(
    spread_of: Callable[[Diversity], Spread], axes: Axes, comparison: DiversityComparison
) -> None:
    for number, name, row, measured in _rows(comparison):
        low, quarter, middle, three_quarters, high = spread_of(measured).quantiles
        colour = COLOURS[number]
        axes.plot([low, high], [row, row], color=colour, linewidth=1)
        axes.plot([quarter, three_quarters], [row, row], color=colour, linewidth=3.5)
        axes.plot([middle], [row], MARKERS[number], color=colour, markersize=4.5, label=name)
    _name_rows(axes, comparison)
    axes.set_xlim(left=0)


def _rows(comparison: DiversityComparison) -> Iterator[tuple[int, str, float, Diversity]]:
    """Number and name of a source, its height in the plot, and its figures, group by group."""
    apart = 0.7 / len(comparison.sources)
    for group, by_source in enumerate(comparison.groups.values()):
        for number, name in enumerate(comparison.sources):
            yield number, name, group + (number + 0.5) * apart - 0.35, by_source[name]


def _name_rows(axes: Axes, comparison: DiversityComparison) -> None:
    axes.set_yticks(range(len(comparison.groups)), list(comparison.groups))
    axes.set_ylim(len(comparison.groups) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    together = sum(group in (ALL_CASES, SEEDS) for group in comparison.groups)
    if len(comparison.groups) > together:
        axes.axhline(together - 0.5, color=axes.spines["left"].get_edgecolor(), linewidth=0.6)


_Q = [f"{100 * one:.0f}" for one in QUANTILES]
PANELS: dict[str, Panel] = {
    "Distinct productions as cases grow": _growth,
    "Self-BLEU (less is more diverse)": partial(_dots, lambda one: one.self_bleu),
    "Distinct productions": partial(_dots, lambda one: one.productions),
    "Distinct word pairs in all pairs": partial(_dots, lambda one: one.distinct[2]),
    f"Words in a case ({_Q[0]} to {_Q[-1]} %, {_Q[1]} to {_Q[-2]} %, median)": partial(
        _bars, lambda one: one.words
    ),
    f"Depth of the tree ({_Q[0]} to {_Q[-1]} %, {_Q[1]} to {_Q[-2]} %, median)": partial(
        _bars, lambda one: one.depth
    ),
}


def _style(ink: str) -> AbstractContextManager[None]:
    return style(
        **{
            "axes.edgecolor": ink,
            "axes.grid": True,
            "axes.labelcolor": ink,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": ink,
            "axes.titlelocation": "left",
            "axes.titlesize": 11,
            "grid.alpha": 0.18,
            "grid.color": ink,
            "legend.frameon": False,
            "text.color": ink,
            "xtick.color": ink,
            "ytick.color": ink,
        }
    )


def _draw(axes: Axes, title: str, comparison: DiversityComparison) -> None:
    PANELS[title](axes, comparison)
    axes.set_title(title)
    if PANELS[title] is _growth:
        axes.legend(fontsize=9)


def svg_panels(comparison: DiversityComparison) -> list[str]:
    """Each panel as an SVG element whose text takes the page's colour."""
    from matplotlib.figure import Figure as Canvas

    drawings: list[str] = []
    with _style(_STAND_IN):
        for title in PANELS:
            canvas = Canvas(figsize=PANEL, layout="constrained")
            _draw(canvas.subplots(), title, comparison)
            svg = picture(canvas, "svg", transparent=True).decode()
            drawings.append(svg[svg.index("<svg") :].replace(_STAND_IN, "currentColor"))
    return drawings


def write_png(comparison: DiversityComparison, path: Path) -> None:
    """Every panel in one picture on white, whole or not at all."""
    from matplotlib.figure import Figure as Canvas

    columns = 3
    rows = -(-len(PANELS) // columns)
    with _style(INK):
        canvas = Canvas(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
        for axes, title in zip(canvas.subplots(rows, columns).flat, PANELS, strict=False):
            _draw(axes, title, comparison)
        write_bytes(path, picture(canvas, "png", dpi=80))
