"""Diversity as a table, as CSV, as JSON and as one HTML page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING

from markupsafe import Markup

from s2lct.analysis.diversity.measures import (
    ALL_CASES,
    NGRAMS,
    QUANTILES,
    Diversity,
    DiversityComparison,
    Figure,
)
from s2lct.analysis.plots import COLOURS
from s2lct.analysis.tables import NARROW, figures_table
from s2lct.pages import page_templates
from s2lct.plain_text import spreadsheet_cell

if TYPE_CHECKING:
    from rich.table import Table

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
            last = number == len(by_source) - 1
            shown.add_row(group if number == 0 else "", name, *cells(measured), end_section=last)
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
    from s2lct.analysis.diversity.plot import svg_panels

    template = page_templates("s2lct.analysis.diversity").get_template("diversity.html.jinja")
    return template.render(
        suite=suite,
        cases=comparison.groups[ALL_CASES][comparison.sources[0]].cases,
        sources=list(zip(comparison.sources, COLOURS, strict=False)),
        panels=[Markup(panel) for panel in svg_panels(comparison)],
        caption=caption(comparison),
        columns=COLUMNS,
        groups={
            group: {name: cells(measured) for name, measured in by_source.items()}
            for group, by_source in comparison.groups.items()
        },
        several=comparison.draws > 1,
    )
