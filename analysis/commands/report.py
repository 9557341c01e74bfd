"""Results side by side, with what explains their failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from s2lct.options import Argument, Option, Options, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result


class ReportOptions(Options):
    """Options of `report`."""

    results: Annotated[
        tuple[Path, ...],
        Argument(
            "Result files that `s2lct score` wrote, or folders of them; of one suite or several.",
            path="existing",
        ),
    ]
    html: Annotated[Path | None, Option("Write the report as an HTML page.", path="file")] = None
    explanations: Annotated[
        tuple[Path, ...],
        Option(
            "Add what `s2lct explain` wrote to the page; may be given again.",
            path="existing file",
        ),
    ] = ()


@takes(ReportOptions)
def report(options: ReportOptions, bars: Bars) -> tuple[Result, ...]:
    """Put results side by side, worst first, with examples.

    Results on several suites, such as a built one and CheckList's cases, stand below each other,
    the suite of the first result with its examples first. Every figure is computed from what the
    model said of each case, whatever a result file says.
    """
    from s2lct.analysis.explain.report import html_section, read_explanations
    from s2lct.leaderboard.results.read import read_scored
    from s2lct.leaderboard.site.beside import by_suite, other_suites_section, result_files
    from s2lct.leaderboard.site.report import Scored
    from s2lct.leaderboard.site.report_page import write_html

    paths = result_files(options.results)
    read = [Scored(*read_scored(path)) for path in paths]
    results = tuple(one.result for one in read)
    first, *others = by_suite(results)
    fingerprint = results[0].suite.fingerprint
    explained = [read_explanations(path, fingerprint) for path in options.explanations]
    if options.html is not None:
        scored = [one for one in read if one.result in first]
        sections = [other_suites_section([first, *others])] if others else []
        sections += [html_section(file) for file in explained]
        write_html(scored, options.html, sections)
    return results
