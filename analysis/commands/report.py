"""Results side by side, with what explains their failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import command
from s2lct.leaderboard.commands.results import SuitesOfResults

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result


@command
def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            help="Result files that `s2lct score` wrote, or folders of them; of one suite or "
            "several.",
        ),
    ],
    *,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the report as an HTML page.")
    ] = None,
    explanations: Annotated[
        list[Path],
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Add what `s2lct explain` wrote to the page; may be given again.",
        ),
    ] = [],  # noqa: B006
    suite: SuitesOfResults = [],  # noqa: B006
) -> list[Result]:
    """Put results side by side, worst first, with examples.

    Results on several suites, such as a built one and CheckList's cases, stand below each other,
    the suite of the first result with its examples first. Every figure is computed from what the
    model said of each case, whatever a result file says.
    """
    from s2lct.analysis.explain.report import html_section, read_explanations
    from s2lct.files import write_text
    from s2lct.leaderboard.results.read import Suites, read_scored, result_files
    from s2lct.leaderboard.site.report_page import html_report

    suites = Suites(suite)
    scored = [read_scored(path, suites) for path in result_files(results)]
    fingerprint = scored[0].result.suite.fingerprint
    explained = [read_explanations(path, fingerprint) for path in explanations]
    if html is not None:
        write_text(html, html_report(scored, [html_section(file) for file in explained]))
    return [one.result for one in scored]
