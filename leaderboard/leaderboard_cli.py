"""The commands of the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.builder.commands import PUBLISHING, examples
from s2lct.leaderboard.submission_cli import check

if TYPE_CHECKING:
    from s2lct.leaderboard.collection import Collection

leaderboard = typer.Typer(
    help="Rank models: a page, an app, checks of submitted results.",
    no_args_is_help=True,
)
Source = Annotated[
    str,
    typer.Argument(
        help="Folder of result files, Hub dataset ORG/NAME\\[@REVISION], or an outcomes.parquet."
    ),
]
_SHOWN = 20


@leaderboard.command(epilog=examples("s2lct leaderboard build results/ --out site/"))
def build(
    results: Source,
    out: Annotated[
        Path, typer.Option(help="Folder for the page and its data.", file_okay=False)
    ] = Path("site"),
) -> None:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.builder.console import console, told_errors
    from s2lct.leaderboard.site import PAGE, build_site

    with told_errors():
        collection = _collected(results)
        for one in build_site(collection, out):
            console.print(
                f"Suite {one.suite.version or '?'} ({one.suite.fingerprint[:12] or '?'}): "
                f"{len(one.standings)} models, {len(one.suite.cases)} cases"
            )
        console.print(f"Leaderboard written to {out / PAGE}")


@leaderboard.command(epilog=examples("s2lct leaderboard serve results/"))
def serve(
    results: Source,
    host: Annotated[
        str | None, typer.Option(help="Address; this machine alone by default.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port; the first free one by default.", min=1, max=65_535),
    ] = None,
) -> None:
    """Serve an app with the same data."""
    from s2lct.builder.console import told_errors
    from s2lct.leaderboard.app import serve as serve_app

    with told_errors():
        serve_app(_collected(results), host=host, port=port)


leaderboard.command(
    epilog=examples("s2lct leaderboard check results/vader.json --suite dist/s2lct --rescore")
)(check)


def _collected(results: str) -> Collection:
    """Read results under a progress bar; what is left out is told in a line each."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from s2lct.builder.console import errors
    from s2lct.leaderboard.collection import collect

    with Progress(
        TextColumn("reading results", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=errors,
    ) as progress:
        task = progress.add_task("", total=None)
        collection = collect(
            results, lambda done, total: progress.update(task, completed=done, total=total)
        )
    for line in collection.skipped[:_SHOWN]:
        errors.print(f"left out {line}")
    if len(collection.skipped) > _SHOWN:
        errors.print(f"left out {len(collection.skipped) - _SHOWN} more")
    return collection


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    app.add_typer(leaderboard, name="leaderboard", rich_help_panel=PUBLISHING)
