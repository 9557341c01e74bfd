"""Tables and pages of coverage: curves as SVG on a page of its own, or as a PNG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from s2lct.analysis.coverage.curves import Measured, together
from s2lct.analysis.coverage.minimize import Overall, Reduction, overall
from s2lct.analysis.plots import COLOURS, picture
from s2lct.analysis.tables import figures_table
from s2lct.extras import require
from s2lct.files import write_bytes, write_text
from s2lct.pages import page_templates

TITLES = {
    "BoundCov": "Neuron boundary coverage",
    "SActCov": "Strong neuron activation coverage",
    "COVER": "Section coverage of words and attention (COVER)",
    "MNCOVER": "Mask neuron coverage (MNCOVER)",
    "NC": "Neuron coverage",
    "TKNC": "Top-k neuron coverage",
}
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4")
WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 12, 48
_TICKS = 5


@dataclass(frozen=True)
class CoverageReport:
    """What `s2lct coverage` found of a model, by name and SHA-256 over tokenizer and weights."""

    model: str
    fingerprint: str
    reference: str  # name of the corpus that set bounds, and how many of its sentences did
    shuffles: int  # over which curves are averaged
    measured: Sequence[Measured]  # each suite
    notes: Sequence[str]  # what the user should know

    @cached_property
    def rows(self) -> list[Measured]:
        """Of the table: each suite alone, then unions."""
        return together(self.measured)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures."""
        return tuple(self.measured[0].values)

    @property
    def counted(self) -> str:
        """Of which neurons COVER and MNCOVER are shares, behind a comma; empty without them."""
        for state in self.measured[0].states.values():
            if state.settings.get("convention") == "paper":
                places = state.settings["counted_places"]
                return f" (COVER, MNCOVER: of all neurons of {places} places, as the paper)"
            if state.settings.get("convention") == "reached":
                return " (COVER, MNCOVER: of neurons that the reference reaches)"
        return ""


def percent(value: float) -> str:
    """A share in percent: two decimals, more where they would say nothing."""
    return f"{100 * value:.2g}" if 0 < value < 0.001 else f"{100 * value:.2f}"


def conclusion(report: CoverageReport) -> str:
    """What the measures come to in a sentence: who covers most, by how many of the figures."""
    first, *others = report.measured
    count = len(report.figures)
    if not others:
        figure = report.figures[0]
        return (
            f"{first.cases:,} cases of {first.suite} cover {percent(first.values[figure])} % of "
            f"what {report.model} has by {TITLES.get(figure, figure)}."
        )
    most = [max(report.measured, key=lambda one: one.values[name]).suite for name in report.figures]
    leader = max(report.measured, key=lambda one: most.count(one.suite))
    led = most.count(leader.suite)
    alike = len({one.cases for one in report.measured}) == 1
    return (
        f"Most of {report.model} is covered by {leader.suite}, by {led} of {count} "
        f"figure{'s' if count > 1 else ''}{', with as many cases of each' if alike else ''}."
    )


def sentences(report: CoverageReport) -> list[str]:
    """A sentence a figure: each suite's coverage, and what all cover together."""
    union = report.rows[-1]
    told: list[str] = []
    for figure in report.figures:
        alone = ", ".join(f"{one.suite} {percent(one.values[figure])} %" for one in report.measured)
        joint = f"; together {percent(union.values[figure])} %" if len(report.measured) > 1 else ""
        told.append(f"{TITLES.get(figure, figure)}: {alone}{joint}.")
    return told


def coverage_table(report: CoverageReport) -> Table:
    """Suites alone and together, a column a figure, in percent."""
    title = f"Coverage of {report.model}, %{report.counted}"
    table = figures_table(("cases", *report.figures), title=Text(title))
    table.columns[0].min_width = 24
    for row in report.rows:
        table.add_row(Text(row.suite), f"{row.cases:,}", *map(percent, row.values.values()))
    return table


def reduction_table(
    reductions: Mapping[str, Reduction], thresholds: Sequence[float], title: str
) -> Table:
    """What reducing did to each capability, failure rates in percent."""
    counts = (f"> {threshold:g}" for threshold in thresholds)
    columns = ("cases", *counts, "smaller, %", "failing, %", "after: mean", "after: max")
    table = figures_table(columns, title=Text(title))
    for column, least in zip(table.columns, (24, *(min(len(c), 6) for c in columns)), strict=True):
        column.min_width = least
    rows: dict[str, Reduction | Overall] = {**reductions, "all": overall(reductions)}
    for name, row in rows.items():
        if name == "all":
            table.add_section()
        shares = (row.mean_reduction, row.before, row.mean_after, row.max_after)
        table.add_row(
            Text(name),
            *(f"{count:,}" for count in (row.cases, *row.kept)),
            *("–" if share is None else f"{100 * share:.1f}" for share in shares),
        )
    return table


def write_curves(report: CoverageReport, path: Path) -> None:
    """Write the curves: a page for ``.html``, a picture for ``.png``; whole or not at all."""
    if path.suffix == ".png":
        write_bytes(path, _png(report))
    else:
        write_text(path, coverage_page(report))


def coverage_page(report: CoverageReport) -> str:
    """A page without outside parts: a plot a figure, and the table."""
    environment = page_templates("s2lct.analysis.coverage")
    environment.filters["percent"] = percent
    return environment.get_template("coverage_page.html.jinja").render(
        report=report,
        conclusion=conclusion(report),
        sentences=sentences(report),
        titles=TITLES,
        plots=[_plot(report, figure) for figure in report.figures if report.shuffles],
        colours=COLOURS,
        dashes=DASHES,
        size=(WIDTH, HEIGHT),
        frame=(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
    )


def _plot(report: CoverageReport, figure: str) -> dict[str, Any]:
    """The curves of one figure in the plot's coordinates."""
    curves = {one.suite: one.curves[figure] for one in report.measured}
    most_cases = max(curve.sizes[-1] for curve in curves.values())
    most = max(*(max(curve.high) for curve in curves.values()), 1e-9)
    step, case_step = _step(most), _step(most_cases)
    top = math.ceil(most / step - 1e-9) * step

    def at(cases: float, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * cases / most_cases
        return round(x, 2), round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 2)

    def line(sizes: Sequence[int], values: Sequence[float]) -> str:
        places = (at(size, value) for size, value in zip(sizes, values, strict=True))
        return " ".join(f"{x},{y}" for x, y in places)

    lines = []
    for suite, curve in curves.items():
        sizes, upper = (0, *curve.sizes), line((0, *curve.sizes), (0.0, *curve.high))
        each = zip(curve.sizes, curve.mean, curve.low, curve.high, strict=True)
        points = [
            (*at(n, m), f"{suite}, {n:,} cases: {percent(m)} % ({percent(a)} to {percent(b)})")
            for n, m, a, b in each
        ]
        lines.append(
            {
                "suite": suite,
                "mean": line(sizes, (0.0, *curve.mean)),
                "band": f"{upper} {line(curve.sizes[::-1], curve.low[::-1])}",
                "points": points,
                "end": percent(curve.mean[-1]),
            }
        )
    cases = [n * case_step for n in range(int(most_cases / case_step) + 1)]
    values = [n * step for n in range(round(top / step) + 1)]
    return {
        "figure": figure,
        "title": TITLES.get(figure, figure),
        "lines": lines,
        "x_ticks": [(at(n, 0)[0], f"{n:,.0f}") for n in cases],
        "y_ticks": [(at(0, value)[1], f"{100 * value:.4g}") for value in values],
    }


def _step(most: float) -> float:
    """A round distance between ticks."""
    rough = most / _TICKS
    scale = 10.0 ** math.floor(math.log10(rough))
    return next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= rough * 0.999)


def _png(report: CoverageReport) -> bytes:
    require("matplotlib")
    from matplotlib.figure import Figure

    figures = report.figures
    columns = min(len(figures), 3)
    rows = -(-len(figures) // columns)
    drawing = Figure(figsize=(4.4 * columns, 3.4 * rows), dpi=110, layout="constrained")
    for place, figure in enumerate(figures):
        axes = drawing.add_subplot(rows, columns, place + 1)
        for number, one in enumerate(report.measured):
            curve = one.curves[figure]
            colour = COLOURS[number % len(COLOURS)]
            sizes = (0, *curve.sizes)
            axes.plot(sizes, [0, *(100 * v for v in curve.mean)], color=colour, label=one.suite)
            axes.fill_between(
                sizes,
                [0, *(100 * v for v in curve.low)],
                [0, *(100 * v for v in curve.high)],
                color=colour,
                alpha=0.2,
                linewidth=0,
            )
        axes.set_title(figure, fontsize=11)
        axes.set_xlabel("cases")
        axes.set_ylabel("coverage, %")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        if place == 0:
            axes.legend(frameon=False, fontsize=9)
    drawing.suptitle(f"{report.model}: coverage against the number of cases", fontsize=12)
    return picture(drawing, "png")
