"""The commands score, report, compare and gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from s2lct.cli.console import console, note, show, show_json
from s2lct.cli.options import Panel
from s2lct.command import Format
from s2lct.errors import ScoringError
from s2lct.leaderboard.commands import results as holding
from s2lct.leaderboard.commands import score_models

if TYPE_CHECKING:
    from s2lct.leaderboard.results.record import Result

FAILED = 1
app = typer.Typer()
SCORING = Panel(app, "Score models")


@SCORING.shows(
    score_models.score_models,
    "s2lct score vader embedded-3class --suite dist/s2lct --out results/",
    "s2lct score ORG/MODEL --suite ORG/s2lct@v1.0.0",
    "s2lct score vader --suite checklist:sentiment.jsonl.gz --out checklist-results/",
    "s2lct score --predictions predicted.csv --name my-model --suite dist/s2lct",
    name="score",
)
def show_scores(scores: score_models.Scores, *, format: Format = "table") -> None:
    """Figures of the models, and the files that hold them."""
    write = note if format == "json" else console.print
    if format == "json":
        show_json(scores.as_json())
    elif scores.results:
        show_results(scores.results)
        console.print(
            f"Written: {', '.join(map(str, scores.files))}; see s2lct report "
            f"{' '.join(map(str, scores.files))} --html report.html"
        )
    for result in scores.results:
        if (file := result.model.predictions) is not None:
            write(
                f"{result.model.name}: predictions of {file.file}, {result.model.label_rule}. "
                "Nobody can score them again, and no leaderboard takes them."
            )
        if (endpoint := result.model.endpoint) is not None:
            days = " to ".join(dict.fromkeys((endpoint.first_day, endpoint.last_day)))
            write(
                f"{result.model.name} at {endpoint.url}, which calls it "
                f"{endpoint.model_reported or '?'}: "
                f"{endpoint.requests:,} answers of {days}, {endpoint.prompt_tokens:,} tokens read, "
                f"{endpoint.completion_tokens:,} written. It cannot be scored again."
            )
    if scores.failed:
        raise ScoringError(
            f"could not be scored: {', '.join(scores.failed)}",
            hint=("the others' results are written; " if scores.files else "")
            + "mend what is told above and score these again",
        )


@SCORING.shows(
    holding.report,
    "s2lct report results/vader.json results/afinn.json --html report.html",
    "s2lct report results/ checklist-results/ --suite checklist:FILE --html report.html",
)
def show_report(results: list[Result]) -> None:
    """Figures side by side, and the words that broke each model."""
    from s2lct.leaderboard.results.order import best_first
    from s2lct.leaderboard.results.shown_names import ShownNames
    from s2lct.leaderboard.site.report import group_by_suite

    suites = group_by_suite(results)
    for group in suites:
        show_results(group)
    for group in suites:
        names = ShownNames(group)
        for result in best_first(group):
            words = ", ".join(
                f"{word.item} ({word.pass_to_fail} of {word.expansions})"
                for word in result.flipping_words[:5]
            )
            console.print(
                f"{names(result)}: words that turned a pass into a fail, of expansions with the "
                f"word whose seed passes: {words or 'none'}"
            )


def show_results(results: Sequence[Result]) -> None:
    """Tables of results on one suite, and warnings of models that mostly give one answer."""
    from s2lct.leaderboard.results.shown_names import ShownNames
    from s2lct.leaderboard.site.report import one_label_warning, results_tables

    names = ShownNames(results)
    for table in results_tables(results):
        console.print(table)
        console.print()
    for result in results:
        if warning := one_label_warning(result):
            console.print(f"{names(result)}: {warning}", style="yellow")


@SCORING.shows(holding.compare, "s2lct compare results/vader.json results/afinn.json")
def show_comparison(
    compared: holding.ComparedResults, *, first: Path, second: Path, format: Format = "table"
) -> None:
    """A table of differences, and the cases that they are computed on."""
    from s2lct.leaderboard.results.shown_names import ShownNames
    from s2lct.leaderboard.site.report import comparison_tables

    if format == "json":
        show_json(compared.as_json())
        return
    for path, result in zip((first, second), compared.results, strict=True):
        if result.partial:
            console.print(
                f"{path} is partial ({result.selection}): the comparison is of the "
                f"{compared.cases:,} cases that both have, not of the suite."
            )
    first_name, second_name = map(ShownNames(compared.results), compared.results)
    for table in comparison_tables(
        first_name, second_name, compared.failures, compared.consistency
    ):
        console.print(table)
        console.print()


@SCORING.shows(
    holding.gate,
    "s2lct gate results/vader.json --max LC4=20 --max mean=30 --min consistency=60",
    "s2lct gate results/new.json --no-worse-than main.json",
)
def show_gate(gate: holding.Gate, *, format: Format = "table") -> None:
    """A row for each check; the exit status is 1 if one fails."""
    from s2lct.leaderboard.site.report import gate_table

    if format == "json":
        show_json(gate.as_json())
    else:
        for path, result in gate.results:
            if result.partial:
                note(f"{path} is partial ({result.selection}): no figure is the suite's.")
        console.print(gate_table(gate.checks))
        if gate.figures_without_power:
            show(
                f"No loss can be shown, however large, in {gate.figures_without_power}: the "
                "earlier result passes too few cases there."
            )
        failed, checks = sum(not check.passed for check in gate.checks), len(gate.checks)
        of = "the check" if checks == 1 else f"all {checks} checks"
        show(f"{failed} of {checks} checks failed." if failed else f"Passed: {of}.")
    if not gate.passed:
        raise typer.Exit(FAILED)
