"""The commands of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.console import console, show
from s2lct.cli.options import PUBLISHING, Panel
from s2lct.leaderboard.commands import leaderboards

if TYPE_CHECKING:
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.submission.check import Verdict

REFUSED = 1
app = typer.Typer()
leaderboard = typer.Typer(
    help="Rank models on a page, and check submitted results.", no_args_is_help=True
)
app.add_typer(leaderboard, name="leaderboard", rich_help_panel=PUBLISHING)
COMMANDS = Panel(leaderboard)


@COMMANDS.shows(
    leaderboards.build_leaderboard, "s2lct leaderboard build results/ --out site/", name="build"
)
def show_site(standings: tuple[SuiteStandings, ...], *, out: Path) -> None:
    """The suites of the leaderboard, and where its page is."""
    from s2lct.leaderboard.site.site import PAGE

    for ranked in standings:
        suite = ranked.suite
        console.print(
            f"Suite {suite.version or '?'} ({suite.fingerprint[:12] or '?'}): "
            f"{len(ranked.standings)} models, {len(suite.cases)} cases"
        )
    console.print(f"Leaderboard written to {out / PAGE}")


@COMMANDS.shows(
    leaderboards.check, "s2lct leaderboard check results/vader.json --suite dist/s2lct --rescore"
)
def show_verdicts(
    verdicts: Iterator[Verdict],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with a line of JSON for each file.")
    ] = False,
) -> None:
    """Each verdict with its reasons; the exit status is 1 where a result is refused."""
    from s2lct.leaderboard.submission.check import in_words

    refused = False
    for verdict in verdicts:
        refused = refused or not verdict.accepted
        show(verdict.as_json() if as_json else "\n".join(in_words(verdict)))
    if refused:
        raise typer.Exit(REFUSED)
