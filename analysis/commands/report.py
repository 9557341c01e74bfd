"""Results side by side."""

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
    suite: SuitesOfResults = [],  # noqa: B006
) -> list[Result]:
    """Put results side by side, worst first, with examples.

    Results on several suites, such as a built one and CheckList's cases, stand below each other,
    the suite of the first result with its examples first. Every figure is computed from what the
    model said of each case, whatever a result file says.
    """
    from s2lct.files import write_text
    from s2lct.leaderboard.results.read import Suites, read_scored, result_files
    from s2lct.leaderboard.site.report_page import html_report

    suites = Suites(suite)
    scored = [read_scored(path, suites) for path in result_files(results)]
    if html is not None:
        write_text(html, html_report(scored))
    return [one.result for one in scored]
