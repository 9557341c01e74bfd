"""The commands ``s2lct leaderboard …``, ``s2lct publish …`` and ``s2lct install``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.console import console, note, show
from s2lct.cli.options import PUBLISHING, Panel
from s2lct.dataset_script.dataset import publish_dataset
from s2lct.dataset_script.install import NAME, Installed, install
from s2lct.dataset_script.results import publish_results
from s2lct.dataset_script.space import publish_leaderboard, publish_metric
from s2lct.leaderboard.commands import results

if TYPE_CHECKING:
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.results.submission import SubmissionCheck

EXIT_STATUS_OF_REFUSAL = 1
app = typer.Typer()
publish = typer.Typer(
    name="publish",
    help="Put suite, metric, leaderboard and results on the Hub.\n\n"
    "HF_ENDPOINT names another server than the Hugging Face Hub. --dry-run says what would be "
    "done and needs no token.",
    no_args_is_help=True,
)
leaderboard = typer.Typer(
    help="Rank models on a page, and check submitted results.", no_args_is_help=True
)
app.add_typer(leaderboard, name="leaderboard", rich_help_panel=PUBLISHING)
app.add_typer(publish, rich_help_panel=PUBLISHING)


def show_lines(lines: list[str]) -> None:
    """Show the lines that describe what was done, or would be."""
    for line in lines:
        show(line)


for _publish_function, _example in (
    (publish_dataset, "dataset dist/s2lct --repo ORG/s2lct --version 1.0.0 --dry-run"),
    (publish_metric, "metric --repo ORG/s2lct --dry-run"),
    (
        publish_leaderboard,
        "leaderboard --repo ORG/s2lct-leaderboard --results ORG/s2lct-results \\\n"
        "    --dataset ORG/s2lct --dry-run",
    ),
    (publish_results, "results results/vader.json --to ORG/s2lct-results --dry-run"),
):
    _name, *_ = _example.split()
    Panel(publish).shows(_publish_function, f"s2lct publish {_example}", name=_name)(show_lines)


@Panel(app, PUBLISHING).shows(
    install, "s2lct install dist/s2lct", "s2lct install ORG/s2lct --version 1.0.0"
)
def show_installed(installed: Installed) -> None:
    """Show the suite that the name s2lct stands for now, and how to load it."""
    show(f"Installed version {installed.version} of {installed.source}.")
    show(f'  load_dataset("{NAME}", "{installed.configs[0]}", split="test")')
    show(f'  evaluate.load("{NAME}")\nConfigs: {", ".join(installed.configs)}.')
    if installed.shadow is not None:
        note(
            f"{installed.shadow}: in this directory both lines take this folder instead of what is "
            "installed. Rename it, or work from another directory."
        )


@Panel(leaderboard).shows(
    results.build_leaderboard, "s2lct leaderboard build results/ --out site/", name="build"
)
def show_site(standings: tuple[SuiteStandings, ...], *, out: Path) -> None:
    """Show the suites of the leaderboard, and the path of its page."""
    from s2lct.leaderboard.site.site import PAGE

    for board in standings:
        suite = board.suite
        console.print(
            f"Suite {suite.name} {suite.version or 'without a version'} "
            f"({suite.fingerprint[:12]}): "
            f"{len(board.standings)} models, {len(suite.cases)} cases"
        )
    console.print(f"Leaderboard written to {out / PAGE}")


@Panel(leaderboard).shows(
    results.check, "s2lct leaderboard check results/vader.json --suite dist/s2lct --rescore"
)
def show_checks(
    checks: Iterator[SubmissionCheck],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with a line of JSON for each file.")
    ] = False,
) -> None:
    """Show each check with its reasons; exit with status 1 if a result is refused."""
    is_refused = False
    for check in checks:
        is_refused = is_refused or not check.accepted
        show(check.as_json() if as_json else str(check))
    if is_refused:
        raise typer.Exit(EXIT_STATUS_OF_REFUSAL)
