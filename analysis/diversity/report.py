"""Diversity as a table, CSV, JSON, an HTML page with plots, or the plots as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from markupsafe import Markup

from s2lct.analysis.diversity.measures import NGRAMS, Diversity, DiversityComparison
from s2lct.analysis.diversity.sources import ALL_CASES
from s2lct.analysis.diversity.variety import Variety
from s2lct.analysis.plots import COLOURS, INK, picture, style
from s2lct.plain_text import plain
from s2lct.tables import Cell, Table, page_templates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^")
PANEL = (5.0, 4.6)
PANELS = {
    "growth": "Distinct productions as cases grow",
    "self_bleu": "Self-BLEU (less is more diverse)",
    "productions": "Distinct productions",
    "distinct_2": "Distinct word pairs in all pairs",
}
COLUMNS = ("cases", "self-BLEU", "productions", "distinct 1/2/3", "words", "depth")
_STAND_IN = "#010203"
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


def table(comparison: DiversityComparison) -> Table:
    """Every group, a row for each source."""
    rows = [
        ["" if number else group, name, *cells(measured)]
        for group, by_source in comparison.groups.items()
        for number, (name, measured) in enumerate(by_source.items())
    ]
    return Table(("", "", *COLUMNS), rows, names=2)


def cells(measured: Diversity) -> list[str]:
    """A row of the table, in the order of `COLUMNS`."""
    shares = [f"{measured[f'distinct_{n}']:.2f}".removeprefix("0") for n in NGRAMS]
    return [
        f"{measured.cases:,}",
        f"{measured['self_bleu']:.1f}",
        f"{measured['productions']:,.0f}",
        " ".join(shares),
        f"{measured['words']:.1f} ± {measured['words_sd']:.1f}",
        f"{measured['depth']:.1f} ± {measured['depth_sd']:.1f}",
    ]


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
    own, *others = comparison.groups[ALL_CASES].items()
    told = (
        f"{own[1].cases:,} cases of the suite have {own[1]['productions']:,.0f} distinct "
        f"productions and a self-BLEU of {own[1]['self_bleu']:.1f} (0 to 100, less is more diverse)"
    )
    figures = [f"{name} {of['productions']:,.0f} and {of['self_bleu']:.1f}" for name, of in others]
    return f"{told}{'; of as many cases, ' if figures else ''}{', '.join(figures)}."


def variety_table(variety: Variety) -> Table:
    """The suite's own figures, each with its bar."""
    rows: list[list[str | Cell]] = [
        [
            Cell("" if one.reached else "short"),
            one.name,
            one.shown,
            f"{one.sign} {one.bar:g}",
        ]
        for one in variety.figures
    ]
    return Table(("", "", "figure", "bar"), rows, "Variety of the suite", names=2)


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
    rows: list[list[str | Cell]] = [
        [group, source, *_values(measured.cases, metric, figure.value, figure.low, figure.high)]
        for group, by_source in comparison.groups.items()
        for source, measured in by_source.items()
        for metric, figure in measured.figures.items()
    ]
    if (variety := comparison.variety) is not None:
        cases = sum(variety.seeds.values()) + sum(variety.expansions.values())
        rows += [
            [ALL_CASES, comparison.sources[0], *_values(cases, one.name, one.value, None, None)]
            for one in variety.figures
        ]
    return Table(("group", "source", "cases", "metric", "value", "low", "high"), rows).csv()


def _values(*values: object) -> list[Cell]:
    return [Cell("", value="" if value is None else value) for value in values]


def as_json(comparison: DiversityComparison) -> str:
    """The whole comparison."""
    return json.dumps(asdict(comparison), indent=1) + "\n"


def as_html(comparison: DiversityComparison, suite: str) -> str:
    """One page with plots and table that needs no network; ``suite`` is where it was read from."""
    template = page_templates("s2lct.analysis.diversity").get_template("diversity.html.jinja")
    return template.render(
        suite=suite,
        comparison=comparison,
        conclusion=conclusion(comparison),
        sources=list(zip(comparison.sources, COLOURS, strict=False)),
        panels=list(svg_panels(comparison)),
        caption=caption(comparison),
        table=table(comparison),
        variety=comparison.variety and variety_table(comparison.variety),
        variety_caption=comparison.variety and variety_caption(comparison.variety),
    )


def svg_panels(comparison: DiversityComparison) -> Iterator[Markup]:
    """Each panel as an SVG element whose text takes the page's colour."""
    from matplotlib.figure import Figure as Canvas

    with style(**_STYLE, **dict.fromkeys(_INKED, _STAND_IN)):
        for metric in PANELS:
            canvas = Canvas(figsize=PANEL, layout="constrained")
            _draw(canvas.subplots(), metric, comparison)
            svg = picture(canvas, "svg", transparent=True).decode()
            yield Markup(svg[svg.index("<svg") :].replace(_STAND_IN, "currentColor"))


def as_png(comparison: DiversityComparison) -> bytes:
    """Every panel in one picture on white."""
    from matplotlib.figure import Figure as Canvas

    with style(**_STYLE, **dict.fromkeys(_INKED, INK)):
        canvas = Canvas(figsize=(2 * PANEL[0], 2 * PANEL[1]), layout="constrained")
        for axes, metric in zip(canvas.subplots(2, 2).flat, PANELS, strict=True):
            _draw(axes, metric, comparison)
        return picture(canvas, "png", dpi=80)


def _draw(axes: Axes, metric: str, comparison: DiversityComparison) -> None:
    """A panel: a line a source as cases grow, or a dot a group and source."""
    axes.set_title(PANELS[metric])
    groups, sources = comparison.groups, comparison.sources
    for number, (name, marker) in enumerate(zip(sources, MARKERS, strict=False)):
        colour = COLOURS[number]
        if metric == "growth":
            cases, found = zip(*comparison.growth[name], strict=True)
            axes.plot(cases, found, color=colour, label=name, linewidth=2)
            continue
        for row, by_source in enumerate(groups.values()):
            place, figure = row + 0.7 * (number + 0.5) / len(sources) - 0.35, by_source[name]
            one = figure.figures[metric]
            axes.plot([one.value], [place], marker, color=colour, markersize=5)
            if one.low is not None and one.high is not None:
                axes.plot([one.low, one.high], [place, place], color=colour, linewidth=1.5)
    axes.set_xlim(left=0)
    if metric == "growth":
        axes.set_ylim(bottom=0)
        axes.set_xlabel("cases, in random order")
        axes.legend()
    else:
        axes.set_yticks(range(len(groups)), list(groups))
        axes.set_ylim(len(groups) - 0.5, -0.5)
