"""The commands of the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cli.commands import PUBLISHING, examples
from s2lct.cli.submission import check, check_changes, check_pulls

if TYPE_CHECKING:
    from s2lct.leaderboard.results.collection import Collection

leaderboard = typer.Typer(
    help="Rank models: a page, a server, checks of submitted results.",
    no_args_is_help=True,
)
Source = Annotated[
    str,
    typer.Argument(
        help="Folder of result files, Hub dataset ORG/NAME\\[@REVISION], or an outcomes.parquet."
    ),
]
Official = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="The suite that the leaderboard is for: folder, Hub id@REVISION, or Hub id for all "
        "its versions; may be given again. Results on others stand below, marked unofficial.",
    ),
]
_SHOWN = 20


@leaderboard.command(epilog=examples("s2lct leaderboard build results/ --out site/"))
def build(
    results: Source,
    suite: Official = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page and its data.", file_okay=False)
    ] = Path("site"),
) -> None:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.cli.console import console, told_errors
    from s2lct.leaderboard.site.site import PAGE, build_site

    with told_errors():
        collection = _collected(results, suite)
        for one in build_site(collection, out):
            kind = {True: ", official", False: ", unofficial", None: ""}[one.suite.official]
            console.print(
                f"Suite {one.suite.version or '?'} ({one.suite.fingerprint[:12] or '?'}{kind}): "
                f"{len(one.standings)} models, {len(one.suite.cases)} cases"
            )
        console.print(f"Leaderboard written to {out / PAGE}")


@leaderboard.command(epilog=examples("s2lct leaderboard serve results/"))
def serve(
    results: Source,
    suite: Official = None,
    host: Annotated[
        str, typer.Option(help="Address; this machine alone by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; the first free one by default.", min=1, max=65_535),
    ] = None,
) -> None:
    """Serve the same page; it is built again when the results change."""
    from s2lct.cli.console import console, told_errors
    from s2lct.leaderboard.site.server import serve as serve_page

    with told_errors():
        serve_page(
            results,
            lambda: _collected(results, suite),
            host=host,
            port=port,
            announce=lambda address: console.print(f"Leaderboard at {address}"),
        )


leaderboard.command(
    epilog=examples("s2lct leaderboard check results/vader.json --suite dist/s2lct --rescore")
)(check)
leaderboard.command(
    epilog=examples(
        "s2lct leaderboard check-changes main refs/pr/3 --repo ORG/s2lct-results "
        "--suite ORG/s2lct@v1.0.0 --rescore"
    )
)(check_changes)
leaderboard.command(
    epilog=examples(
        "s2lct leaderboard check-pulls ORG/s2lct-results --suite ORG/s2lct@v1.0.0 --rescore"
    )
)(check_pulls)


def _collected(results: str, suites: list[str] | None) -> Collection:
    """Read results under a progress bar; what is left out is told in a line each."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from s2lct.cli.console import errors
    from s2lct.leaderboard.results.collection import collect
    from s2lct.leaderboard.results.hub_results import official_suites

    official = official_suites(suites) if suites else None
    with Progress(
        TextColumn("reading results", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=errors,
    ) as progress:
        task = progress.add_task("", total=None)
        collection = collect(
            results,
            lambda done, total: progress.update(task, completed=done, total=total),
            official=official,
        )
    for line in collection.skipped[:_SHOWN]:
        errors.print(f"left out {line}")
    if len(collection.skipped) > _SHOWN:
        errors.print(f"left out {len(collection.skipped) - _SHOWN} more")
    first = collection.suites[0]
    if first.official is None and len(collection.suites) > 1:
        errors.print(
            f"No --suite says which suite is meant: {first.version or '?'} "
            f"({first.fingerprint[:12] or '?'}) comes first, because it has most verified results, "
            "or most results where none or as many are verified"
        )
    elif first.official is False:
        errors.print(f"No result is on {', '.join(suites or ())}: all are unofficial")
    return collection


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    app.add_typer(leaderboard, name="leaderboard", rich_help_panel=PUBLISHING)
