"""The commands score, report and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from s2lct.analysis.commands import report as reporting
from s2lct.cli.console import console
from s2lct.cli.options import Panel
from s2lct.errors import ScoringError
from s2lct.leaderboard.commands import score_models

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result

app = typer.Typer()
SCORING = Panel(app, "Score models")


@SCORING.shows(
    score_models.score,
    "s2lct score vader embedded-3class --suite dist/s2lct --out results/",
    "s2lct score ORG/MODEL --suite ORG/s2lct@v1.0.0",
    "s2lct score vader --suite checklist:sentiment.jsonl.gz --out checklist-results/",
    "s2lct score --predictions predicted.csv --name my-model --suite dist/s2lct",
)
def show_scores(scores: score_models.Scores, options: score_models.ScoreOptions) -> None:
    """Failure rates side by side, and where they were written."""
    from s2lct.leaderboard.results.write import plain_path
    from s2lct.leaderboard.site.report import ResultsTable

    if scores.results:
        console.print(ResultsTable(scores.results))
        console.print(
            f"Written: {', '.join(map(str, scores.files))}; see s2lct report "
            f"{' '.join(map(str, scores.files))} --html report.html"
        )
    for result in scores.results:
        if (given := result.model.predictions) is not None:
            console.print(
                f"{result.model.name}: given predictions ({given.file}); they cannot be scored "
                "again, and are no submission to a leaderboard."
            )
    if scores.relative:
        from s2lct.leaderboard.site.relative_table import relative_table

        console.print(relative_table(scores.relative))
        console.print(f"Case by case: {', '.join(str(one.file) for one in scores.relative)}")
    for path, result in zip(scores.files, scores.results, strict=True):
        plain = plain_path(result.model, options.out)
        if not result.partial and plain not in (None, path):
            console.print(f"{plain} stays as it is: it holds another result.")
    if scores.failed:
        raise ScoringError(
            f"{len(scores.failed)} of {len(set(options.models))} models could not be scored: "
            f"{', '.join(scores.failed)}",
            mend=("the others' results are written; " if scores.files else "")
            + "mend what is told above and score these again",
        )


@SCORING.shows(
    reporting.report,
    "s2lct report results/vader.json results/afinn.json --html report.html",
    "s2lct report results/ checklist-results/ --html report.html",
)
def show_report(results: tuple[Result, ...], options: reporting.ReportOptions) -> None:
    """Failure rates side by side, and the words that broke each model."""
    from s2lct.leaderboard.site.beside import by_suite, means_by_suite
    from s2lct.leaderboard.site.report import ResultsTable, shown_name

    suites = by_suite(results)
    for group in suites:
        if len(suites) > 1:
            console.rule(f"Suite {group[0].suite.name}", align="left")
        console.print(ResultsTable(group))
    if len(suites) > 1:
        console.print(means_by_suite(suites))
    for result in results:
        words = ", ".join(
            f"{word.item} ({word.pass_to_fail} of {word.expansions})"
            for word in result.flipping_words[:5]
        )
        console.print(f"{shown_name(result)}: pass-to-fail words: {words or 'none'}")
    if options.recompute:
        console.print(f"Every figure of {len(results)} result files follows from their cases.")
    if options.html is not None:
        console.print(f"Report written to {options.html}")


@SCORING.shows(score_models.compare, "s2lct compare results/vader.json results/afinn.json")
def show_comparison(compared: score_models.Compared, options: score_models.CompareOptions) -> None:
    """A table of differences, and on what cases they rest."""
    from s2lct.leaderboard.site.report import comparison_table

    for path, result in zip((options.first, options.second), compared.results, strict=True):
        if result.partial:
            console.print(
                f"{path} is partial ({result.selection}): the comparison is of the "
                f"{compared.cases:,} cases that both have, not of the suite."
            )
    one, other = (result.model.name for result in compared.results)
    console.print(comparison_table(one, other, compared.by_capability, compared.both_sides))
