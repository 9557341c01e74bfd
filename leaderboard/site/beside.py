"""Results on several suites beside each other, as a built one and CheckList's cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.prompts import over_prompts
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.untrusted import VERIFIED_FILE
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.leaderboard.site.report import percent, shown_name, worst_first
from s2lct.leaderboard.site.report_grids import Grids, hardest_first
from s2lct.pages import page_templates


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Result files by path; of a folder those that lie in it.

    Raises:
        ScoringError: a folder holds none.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        files = [file for file in sorted(path.glob("*.json")) if file.name != VERIFIED_FILE]
        if not files:
            raise ScoringError(
                f"{path}: holds no result file",
                hint="name a folder that `s2lct score … --out` wrote, or result files",
            )
        found += files
    return list(dict.fromkeys(found))


def by_suite(results: Sequence[Result]) -> list[list[Result]]:
    """Results of each suite, in the order in which suites come first.

    Raises:
        ScoringError: there is no result.
    """
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(one.suite.fingerprint, []).append(one)
    if not groups:
        raise ScoringError("no result files", hint="make some with `s2lct score MODEL --suite DIR`")
    return list(groups.values())


def means_by_suite(suites: Sequence[Sequence[Result]]) -> Group:
    """A row a model, a column a suite: mean failure rates in percent."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1)
    )
    table.add_column("mean %", overflow="fold", vertical="bottom")
    for group in suites:
        table.add_column(
            Text(group[0].suite.name), justify="right", overflow="fold", vertical="bottom"
        )
    for name, cells in _means(suites):
        table.add_row(*map(Text, (name, *cells)))
    note = "Means over the capabilities of a suite; – where a model has no whole result on it."
    return Group(Text(), table, Text(f"\n{note}", style="dim"))


def other_suites_section(suites: Sequence[Sequence[Result]]) -> Markup:
    """Means on all suites, and each suite but the first by capability, as a section of a page."""
    template = page_templates("s2lct.leaderboard.site").get_template("beside.html.jinja")
    others: list[dict[str, Any]] = []
    for group in suites[1:]:
        models = sorted(over_prompts(group), key=lambda one: worst_first(one.figures))
        figures = [one.figures for one in models]
        names = hardest_first(figures)
        grid = Grids(models, names, capability_words(names)).failure_rates()
        others.append({"suite": group[0].suite, "results": figures, "grid": grid})
    return Markup(
        template.render(
            suites=[group[0].suite for group in suites],
            means=_means(suites),
            others=others,
            shown_name=shown_name,
        )
    )


def _means(suites: Sequence[Sequence[Result]]) -> list[tuple[str, list[str]]]:
    """Each model by name with its mean on each suite; of several whole results the first counts.

    Results of one model that differ in the prompt alone are one.
    """
    models = [[one.figures for one in over_prompts(group)] for group in suites]
    names = dict.fromkeys(one.model.name for group in models for one in group)
    return [
        (
            name,
            [
                next(
                    (
                        percent(one.overall.failure_rate)
                        for one in group
                        if one.model.name == name and not one.partial
                    ),
                    "–",
                )
                for group in models
            ],
        )
        for name in names
    ]
