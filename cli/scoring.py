"""The commands score, report, compare and gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from s2lct.analysis.commands import report as reporting
from s2lct.cli.console import console, note, show, show_json
from s2lct.cli.options import Panel
from s2lct.errors import ScoringError
from s2lct.leaderboard.commands import gates, score_models, score_options

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result

FAILED = 1
app = typer.Typer()
SCORING = Panel(app, "Score models")


@SCORING.shows(
    score_models.score,
    "s2lct score vader embedded-3class --suite dist/s2lct --out results/",
    "s2lct score ORG/MODEL --suite ORG/s2lct@v1.0.0",
    "s2lct score vader --suite checklist:sentiment.jsonl.gz --out checklist-results/",
    "s2lct score --predictions predicted.csv --name my-model --suite dist/s2lct",
)
def show_scores(scores: score_models.Scores, options: score_options.ScoreOptions) -> None:
    """Failure rates side by side, and where they were written."""
    from s2lct.leaderboard.results.write import plain_path
    from s2lct.leaderboard.site.report import ResultsTable

    as_json = options.format == "json"
    if as_json:
        show_json(scores.as_json())
    elif scores.results:
        console.print(ResultsTable(scores.results))
        console.print(
            f"Written: {', '.join(map(str, scores.files))}; see s2lct report "
            f"{' '.join(map(str, scores.files))} --html report.html"
        )
    for result, sent in zip(scores.results, scores.sent, strict=True):
        if (of := result.model.endpoint) is not None:
            days = " to ".join(dict.fromkeys((of.first_day, of.last_day)))
            console.print(
                f"{result.model.name} at {of.url}, which calls it {of.model_reported or '?'}: "
                f"{of.requests:,} requests ({sent or 0:,} in this run), {of.prompt_tokens:,} "
                f"tokens read, {of.completion_tokens:,} written, on {days}; {of.reused:,} answers "
                "are kept from earlier runs. It cannot be scored again."
            )
        if (given := result.model.predictions) is not None:
            console.print(
                f"{result.model.name}: given predictions ({given.file}); they cannot be scored "
                "again, and are no submission to a leaderboard."
            )
    for path, result in zip(scores.files, scores.results, strict=True):
        plain = plain_path(result.model, options.out)
        if not result.partial and plain not in (None, path):
            (note if as_json else console.print)(
                f"{plain} stays as it is: it holds another result."
            )
    if scores.failed:
        raise ScoringError(
            f"{len(scores.failed)} of {len(set(options.models))} models could not be scored: "
            f"{', '.join(scores.failed)}",
            hint=("the others' results are written; " if scores.files else "")
            + "mend what is told above and score these again",
        )


@SCORING.shows(
    reporting.report,
    "s2lct report results/vader.json results/afinn.json --html report.html",
    "s2lct report results/ checklist-results/ --html report.html",
)
def show_report(results: tuple[Result, ...], options: reporting.ReportOptions) -> None:
    """Failure rates side by side, and the words that broke each model."""
    from s2lct.leaderboard.results.prompts import over_prompts
    from s2lct.leaderboard.site.beside import by_suite, means_by_suite
    from s2lct.leaderboard.site.report import ResultsTable, shown_name

    suites = by_suite(results)
    for group in suites:
        if len(suites) > 1:
            console.rule(f"Suite {group[0].suite.name}", align="left")
        console.print(ResultsTable(group))
    if len(suites) > 1:
        console.print(means_by_suite(suites))
    for result in (model.figures for group in suites for model in over_prompts(group)):
        words = ", ".join(
            f"{word.item} ({word.pass_to_fail} of {word.expansions})"
            for word in result.flipping_words[:5]
        )
        console.print(f"{shown_name(result)}: pass-to-fail words: {words or 'none'}")
    if options.html is not None:
        console.print(f"Report written to {options.html}")


@SCORING.shows(score_models.compare, "s2lct compare results/vader.json results/afinn.json")
def show_comparison(compared: score_models.Compared, options: score_models.CompareOptions) -> None:
    """A table of differences, and on what cases they rest."""
    from s2lct.leaderboard.site.report import comparison_table

    if options.format == "json":
        show_json(compared.as_json())
        return
    for path, result in zip((options.first, options.second), compared.results, strict=True):
        if result.partial:
            console.print(
                f"{path} is partial ({result.selection}): the comparison is of the "
                f"{compared.cases:,} cases that both have, not of the suite."
            )
    one, other = (result.model.name for result in compared.results)
    console.print(comparison_table(one, other, compared.by_capability, compared.both_sides))


@SCORING.shows(
    gates.gate,
    "s2lct gate results/vader.json --max LC4=20 --max mean=30 --min both-sides=60",
    "s2lct gate results/new.json --no-worse-than main.json --junit s2lct.xml",
)
def show_gate(gate: gates.Gate, options: gates.GateOptions) -> None:
    """A row a check; the exit status is 1 where one fails."""
    if options.format == "json":
        show_json(gate.as_json())
    else:
        for one in (*gate.results, *gate.before):
            if one.result.partial:
                note(f"{one.path} is partial ({one.result.selection}): no figure is the suite's.")
        if gate.detectable:
            show(f"no worse: of these cases the test sees {gate.detectable}, four times of five")
        table = Table(box=SIMPLE_HEAD, show_edge=False, header_style="bold")
        for heading in ("", "asked", "found", ""):
            table.add_column(heading, overflow="fold")
        for check in gate.checks:
            verdict = Text("pass: better" if check.better else "pass")
            verdict = verdict if check.passed else Text("fail", style="bold red")
            table.add_row(str(check.figure), check.asked, check.told, verdict)
        console.print(table)
        if gate.before:
            show(
                f"no worse: than {', '.join(str(one.path) for one in gate.before)}; fails where "
                "the test of s2lct compare shows a difference"
            )
        failed = sum(not check.passed for check in gate.checks)
        show(f"{failed or 'none'} of {len(gate.checks)} checks failed")
    if not gate.passed:
        raise typer.Exit(FAILED)
