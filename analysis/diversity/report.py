"""Diversity as a table, CSV, JSON, an HTML page with plots, or the plots as one PNG."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, astuple
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from s2lct.analysis.diversity.measures import (
    NGRAMS,
    QUANTILES,
    Diversity,
    DiversityComparison,
    Figure,
    Spread,
)
from s2lct.analysis.diversity.sources import ALL_CASES, EXPANSIONS, SEEDS
from s2lct.analysis.plots import COLOURS, INK, picture, style
from s2lct.analysis.tables import NARROW, figures_table
from s2lct.pages import page_templates
from s2lct.plain_text import plain, spreadsheet_cell
from s2lct.suite.variety import Variety

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

MARKERS = ("o", "s", "^")
PANEL = (5.0, 4.6)
_STAND_IN = "#010203"
_Row = tuple[float, float, list[tuple[float, float, float]]]
"""Of a plot: where a marker stands, its size, and lines behind it with their widths."""
COLUMNS = ("cases", "self-BLEU", "productions", "distinct 1/2/3", "words", "depth")


def cells(measured: Diversity) -> list[str]:
    """A row of the table, in the order of `COLUMNS`."""
    return [
        f"{measured.cases:,}",
        f"{measured.self_bleu.value:.1f}",
        f"{measured.productions.value:,.0f}",
        " ".join(f"{measured.distinct[n].value:.2f}".removeprefix("0") for n in NGRAMS),
        f"{measured.words.mean:.1f} ± {measured.words.sd:.1f}",
        f"{measured.depth.mean:.1f} ± {measured.depth.sd:.1f}",
    ]


def table(comparison: DiversityComparison) -> Table:
    """Every group, a row for each source."""
    shown = figures_table((), padding=0, **NARROW)
    shown.add_column("")
    for column in COLUMNS:
        narrow = column.replace("self-", "self-\n").replace("production", "produc-\ntion")
        shown.add_column(narrow, justify="right", no_wrap=True)
    for group, by_source in comparison.groups.items():
        for number, (name, measured) in enumerate(by_source.items()):
            shown.add_row("" if number else group, name, *cells(measured))
        shown.add_section()
    return shown


def caption(comparison: DiversityComparison) -> str:
    """How the figures were made, in a few sentences."""
    several = comparison.draws > 1 and len(comparison.sources) > 1
    drawn = f" What is not the suite: means of {comparison.draws} draws of as many cases."
    return (
        "Self-BLEU: BLEU (0 to 100) of a case against all others, mean; less is more diverse. "
        "Productions: distinct ones of the parses above the parts of speech. Distinct-n: distinct "
        "n-grams of words in all n-grams. Words, and depth of the deepest tree in edges: "
        f"mean ± standard deviation.{drawn if several else ''}"
    )


def conclusion(comparison: DiversityComparison) -> str:
    """Which source is most diverse, in a sentence."""
    found = comparison.groups[ALL_CASES]
    own = found[comparison.sources[0]]
    told = (
        f"{own.cases:,} cases of the suite have {own.productions.value:,.0f} distinct productions "
        f"and a self-BLEU of {own.self_bleu.value:.1f} (0 to 100, less is more diverse)"
    )
    others = [
        f"{name} {of.productions.value:,.0f} and {of.self_bleu.value:.1f}"
        for name, of in found.items()
        if name != comparison.sources[0]
    ]
    return f"{told}{'; of as many cases, ' if others else ''}{', '.join(others)}."


def sentences(comparison: DiversityComparison) -> list[str]:
    """Seeds and expansions apart, what the suite falls short of, and what is inserted most."""
    told: list[str] = []
    source = comparison.sources[0]
    for group in (SEEDS, EXPANSIONS):
        if group in comparison.groups:
            of = comparison.groups[group][source]
            told.append(
                f"{of.cases:,} {group}: {of.productions.value:,.0f} distinct productions, "
                f"self-BLEU {of.self_bleu.value:.1f}, {of.words.mean:.1f} words in the mean."
            )
    if (variety := comparison.variety) is not None:
        short = [one.name for one in variety.figures if not one.reached]
        reached = len(variety.figures) - len(short)
        told.append(
            f"The suite reaches {reached} of {len(variety.figures)} bars of its own variety"
            f"{'; it falls short in ' if short else ''}{'; '.join(short)}."
        )
        told.append(variety_caption(variety))
    return told


def variety_table(variety: Variety) -> Table:
    """The suite's own figures, each with its bar."""
    shown = figures_table((), title="Variety of the suite", **NARROW)
    shown.add_column("")
    for column in ("figure", "bar"):
        shown.add_column(column, justify="right", no_wrap=True)
    for one in variety.figures:
        shown.add_row(
            "" if one.reached else "short", one.name, one.shown, f"{one.sign} {one.bar:g}"
        )
    return shown


def variety_caption(variety: Variety) -> str:
    """What the figures are of: cases, and the commonest insertions."""
    commonest = ", ".join(f"{plain(words)} ({count})" for words, count in variety.commonest)
    numbers = (
        f"{name} {seeds}+{variety.expansions[name]}" for name, seeds in variety.seeds.items()
    )
    return (
        f"{sum(variety.seeds.values()):,} seeds, {sum(variety.expansions.values()):,} expansions: "
        f"{', '.join(numbers)}. Commonest insertions: {commonest or 'none'}."
    )


def as_csv(comparison: DiversityComparison) -> str:
    """Every figure, one a row."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("group", "source", "cases", "metric", "value", "low", "high"))
    for group, by_source in comparison.groups.items():
        for source, measured in by_source.items():
            for metric, figure in _figures_of(measured):
                row = (group, source, measured.cases, metric, *astuple(figure))
                writer.writerow(map(spreadsheet_cell, row))
    if (variety := comparison.variety) is not None:
        cases = sum(variety.seeds.values()) + sum(variety.expansions.values())
        for one in variety.figures:
            writer.writerow((ALL_CASES, comparison.sources[0], cases, one.name, one.value, "", ""))
    return written.getvalue()


def _figures_of(measured: Diversity) -> Iterator[tuple[str, Figure]]:
    yield "self_bleu", measured.self_bleu
    yield "productions", measured.productions
    for n, figure in measured.distinct.items():
        yield f"distinct_{n}", figure
    for name, spread in (("words", measured.words), ("depth", measured.depth)):
        yield f"{name}_mean", Figure(spread.mean)
        yield f"{name}_sd", Figure(spread.sd)
        for share, quantile in zip(QUANTILES, spread.quantiles, strict=True):
            yield f"{name}_q{100 * share:02.0f}", Figure(quantile)
    yield "unparsed", Figure(measured.unparsed)


def as_json(comparison: DiversityComparison) -> str:
    """The whole comparison."""
    return json.dumps(asdict(comparison) | {"quantiles": QUANTILES}, indent=1) + "\n"


def as_html(comparison: DiversityComparison, suite: str) -> str:
    """One page with plots and table that needs no network; ``suite`` is where it was read from."""
    template = page_templates("s2lct.analysis.diversity").get_template("diversity.html.jinja")
    return template.render(
        suite=suite,
        conclusion=conclusion(comparison),
        sentences=sentences(comparison),
        cases=comparison.groups[ALL_CASES][comparison.sources[0]].cases,
        sources=list(zip(comparison.sources, COLOURS, strict=False)),
        panels=list(svg_panels(comparison)),
        caption=caption(comparison),
        columns=COLUMNS,
        groups={
            group: {name: cells(measured) for name, measured in by_source.items()}
            for group, by_source in comparison.groups.items()
        },
        several=comparison.draws > 1,
        variety=comparison.variety,
    )


def _interval(figure: Figure) -> _Row:
    if figure.low is None or figure.high is None:
        return figure.value, 5, []
    return figure.value, 5, [(figure.low, figure.high, 1.5)]


def _quantiles(spread: Spread) -> _Row:
    low, quarter, middle, three_quarters, high = spread.quantiles
    return middle, 4.5, [(low, high, 1), (quarter, three_quarters, 3.5)]


def _growth(axes: Axes, comparison: DiversityComparison) -> None:
    for number, name in enumerate(comparison.sources):
        cases, found = zip(*comparison.growth[name], strict=True)
        axes.plot(cases, found, color=COLOURS[number], label=name, linewidth=2)
        axes.plot(cases[-1:], found[-1:], MARKERS[number], color=COLOURS[number])
    axes.set_xlabel("cases, in random order")
    axes.set_ylabel("distinct productions")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()


def _rows(drawn: Callable[[Diversity], _Row], axes: Axes, comparison: DiversityComparison) -> None:
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
    together = sum(group in (ALL_CASES, SEEDS, EXPANSIONS) for group in groups)
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
    f"Words in a case\n{_SHOWN}": partial(_rows, lambda one: _quantiles(one.words)),
    f"Depth of the tree\n{_SHOWN}": partial(_rows, lambda one: _quantiles(one.depth)),
}
_STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12.5,
    "font.size": 12,
    "grid.alpha": 0.18,
    "legend.frameon": False,
}
_INKED = (
    *("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color", "text.color"),
    *("xtick.color", "ytick.color"),
)


def _style(ink: str) -> AbstractContextManager[None]:
    return style(**_STYLE, **dict.fromkeys(_INKED, ink))


def _draw(axes: Axes, title: str, comparison: DiversityComparison) -> None:
    PANELS[title](axes, comparison)
    axes.set_title(title)


def svg_panels(comparison: DiversityComparison) -> Iterator[Markup]:
    """Each panel as an SVG element whose text takes the page's colour."""
    from matplotlib.figure import Figure as Canvas

    with _style(_STAND_IN):
        for title in PANELS:
            canvas = Canvas(figsize=PANEL, layout="constrained")
            _draw(canvas.subplots(), title, comparison)
            svg = picture(canvas, "svg", transparent=True).decode()
            yield Markup(svg[svg.index("<svg") :].replace(_STAND_IN, "currentColor"))


def as_png(comparison: DiversityComparison) -> bytes:
    """Every panel in one picture on white."""
    from matplotlib.figure import Figure as Canvas

    with _style(INK):
        canvas = Canvas(figsize=(3 * PANEL[0], 2 * PANEL[1]), layout="constrained")
        for axes, title in zip(canvas.subplots(2, 3).flat, PANELS, strict=True):
            _draw(axes, title, comparison)
        return picture(canvas, "png", dpi=80)
