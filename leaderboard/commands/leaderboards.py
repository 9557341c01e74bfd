"""The leaderboard's commands: its page, and checks of what somebody hands in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import command
from s2lct.errors import S2lctWarning

if TYPE_CHECKING:
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.results.submission import Verdict

_SHOWN = 20


@command
def build_leaderboard(
    results: Annotated[
        str, typer.Argument(help=r"Folder of result files, or Hub dataset ORG/NAME\[@REVISION].")
    ],
    *,
    suite: Annotated[
        list[str],
        typer.Option(
            help="The suite that the leaderboard is for: folder, Hub id@REVISION, or Hub id for "
            "all its versions; may be given again. Results on others are left out. "
            r"\[default: those that the results name, where their folders are here]"
        ),
    ] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Folder for the page and its data.")] = Path("site"),
) -> tuple[SuiteStandings, ...]:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.leaderboard.results.hub_results import on_hub, suites_named
    from s2lct.leaderboard.results.standings import collect
    from s2lct.leaderboard.site.site import build_site

    collection = collect(results, suites_named(suite))
    lines = [f"left out {line}" for line in collection.skipped[:_SHOWN]]
    if len(collection.skipped) > _SHOWN:
        lines.append(f"left out {len(collection.skipped) - _SHOWN} more")
    for line in lines:
        warnings.warn(line, S2lctWarning, stacklevel=2)
    places = {}
    if on_hub(results):
        places["results"] = results.partition("@")[0]
    if named := next(filter(on_hub, suite), ""):
        places["suite"] = named
    return build_site(collection, out, **places)


@command
def check(
    files: Annotated[
        list[Path], typer.Argument(help="Result files; each with its Parquet file beside it.")
    ],
    *,
    suite: Annotated[
        str, typer.Option(help=r"The suite, from a source you trust: folder or Hub id\[@REVISION].")
    ] = "s2lct",
    rescore: Annotated[
        bool,
        typer.Option(
            help="Load the models and ask them all cases again; best in a container with limits."
        ),
    ] = False,
) -> Iterator[Verdict]:
    """Accept or refuse submitted results, with reasons, a file at a time.

    The exit status is 1 where one is refused.
    """
    from s2lct.leaderboard.results import submission
    from s2lct.suite.cases import load_cases

    cases = load_cases(suite)
    return (submission.check(file, cases, rescore=rescore) for file in files)
