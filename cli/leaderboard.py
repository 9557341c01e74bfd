"""The commands of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from s2lct.cli.commands import PUBLISHING
from s2lct.cli.console import console
from s2lct.cli.options import command
from s2lct.leaderboard.commands import leaderboards, submissions

if TYPE_CHECKING:
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.submission.changes import Answer, ChangesVerdict
    from s2lct.leaderboard.submission.check import Verdict

REFUSED = 1


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    leaderboard = typer.Typer(
        help="Rank models: a page, an app, checks of submitted results.", no_args_is_help=True
    )
    command(
        leaderboard,
        leaderboards.build_leaderboard,
        "s2lct leaderboard build results/ --out site/",
        name="build",
    )(show_site)
    command(
        leaderboard,
        leaderboards.serve_leaderboard,
        "s2lct leaderboard serve results/",
        name="serve",
    )(lambda served, options: None)
    command(
        leaderboard,
        submissions.check,
        "s2lct leaderboard check results/vader.json --suite dist/s2lct --rescore",
    )(show_verdicts)
    command(
        leaderboard,
        submissions.check_changes,
        "s2lct leaderboard check-changes main refs/pr/3 --repo ORG/s2lct-results "
        "--suite ORG/s2lct@v1.0.0 --rescore",
    )(show_changes)
    command(
        leaderboard,
        submissions.check_pulls,
        "s2lct leaderboard check-pulls ORG/s2lct-results --suite ORG/s2lct@v1.0.0 --rescore",
    )(show_answers)
    app.add_typer(leaderboard, name="leaderboard", rich_help_panel=PUBLISHING)


def show_site(standings: list[SuiteStandings], options: leaderboards.BuildOptions) -> None:
    """The suites of the leaderboard, and where its page is."""
    from s2lct.leaderboard.site.site import PAGE

    for ranked in standings:
        suite = ranked.suite
        kind = {True: ", official", False: ", unofficial", None: ""}[suite.official]
        console.print(
            f"Suite {suite.version or '?'} ({suite.fingerprint[:12] or '?'}{kind}): "
            f"{len(ranked.standings)} models, {len(suite.cases)} cases"
        )
    console.print(f"Leaderboard written to {options.out / PAGE}")


def show_verdicts(verdicts: Iterator[Verdict], options: submissions.CheckOptions) -> None:
    """Each verdict with its reasons; the exit status is 1 where a result is refused."""
    from s2lct.leaderboard.submission.changes import verdict_in_words

    refused = False
    for verdict in verdicts:
        refused = refused or not verdict.accepted
        lines = verdict.as_json() if options.as_json else "\n".join(verdict_in_words(verdict))
        console.print(lines, soft_wrap=True)
    if refused:
        raise typer.Exit(REFUSED)


def show_changes(verdict: ChangesVerdict, options: submissions.ChangesOptions) -> None:
    """The verdict with its reasons; the exit status is 1 where the change is refused."""
    from s2lct.leaderboard.submission.changes import in_words

    answer = "accepted" if verdict.accepted else "refused"
    console.print(f"{answer}: {options.base}...{verdict.head}", soft_wrap=True)
    for line in in_words(verdict):
        console.print(f"  {line}", soft_wrap=True)
    if not verdict.accepted:
        raise typer.Exit(REFUSED)


def show_answers(answers: Iterator[Answer], options: submissions.PullsOptions) -> None:
    """What each pull request was answered."""
    for answer in answers:
        console.print(f"pull request {answer.number}: {answer.text}", soft_wrap=True)
