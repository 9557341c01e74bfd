"""The leaderboard as a page, and as a server of that page."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from s2lct.errors import S2lctWarning
from s2lct.options import Argument, Option, Options, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.results.scored import Collection
    from s2lct.leaderboard.results.standings import SuiteStandings


class CollectionOptions(Options):
    """Which results a leaderboard is made of."""

    results: Annotated[
        str,
        Argument(
            "Folder of result files, Hub dataset ORG/NAME\\[@REVISION], or an outcomes.parquet."
        ),
    ]
    suite: Annotated[
        tuple[str, ...],
        Option(
            "The suite that the leaderboard is for: folder, Hub id@REVISION, or Hub id for all its "
            "versions; may be given again. Results on others stand below, marked unofficial."
        ),
    ] = ()


_SHOWN = 20


def collected(options: CollectionOptions, bars: Bars) -> Collection:
    """The results of a leaderboard; of what is left out a warning tells why."""
    from s2lct.leaderboard.results.collection import collect
    from s2lct.leaderboard.results.hub_results import official_suites

    bar, read = None, 0

    def advance(done: int, total: int) -> None:
        nonlocal bar, read
        bar = bar or bars("reading results", total)
        bar(done - read)
        read = done

    official = official_suites(list(options.suite)) if options.suite else None
    collection = collect(options.results, advance, official=official)
    lines = [f"left out {line}" for line in collection.skipped[:_SHOWN]]
    if len(collection.skipped) > _SHOWN:
        lines.append(f"left out {len(collection.skipped) - _SHOWN} more")
    first = collection.suites[0]
    if first.official is None and len(collection.suites) > 1:
        lines.append(
            f"No --suite says which suite is meant: {first.version or '?'} "
            f"({first.fingerprint[:12] or '?'}) comes first, because it has most verified results, "
            "or most results where none or as many are verified"
        )
    elif first.official is False:
        lines.append(f"No result is on {', '.join(options.suite)}: all are unofficial")
    for line in lines:
        warnings.warn(line, S2lctWarning, stacklevel=2)
    return collection


class BuildOptions(CollectionOptions):
    """Options of `build_leaderboard`."""

    out: Annotated[Path, Option("Folder for the page and its data.", path="folder")] = Path("site")


@takes(BuildOptions)
def build_leaderboard(options: BuildOptions, bars: Bars) -> list[SuiteStandings]:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.leaderboard.site.about import Destination
    from s2lct.leaderboard.site.site import build_site

    submit_to = Destination.of(options.results, options.suite)
    return build_site(collected(options, bars), options.out, submit_to)


class ServeOptions(CollectionOptions):
    """Options of `serve_leaderboard`."""

    host: Annotated[str, Option("Address; this machine alone by default.")] = "127.0.0.1"
    port: Annotated[
        int | None, Field(ge=1, le=65_535), Option("Port; the first free one by default.")
    ] = None


@takes(ServeOptions)
def serve_leaderboard(options: ServeOptions, bars: Bars) -> None:
    """Serve the same page; it is built again when the results change."""
    from s2lct.leaderboard.site.server import serve

    def collect_again() -> Collection:
        return collected(options, bars)

    serve(
        options.results,
        collect_again,
        suites=options.suite,
        host=options.host,
        port=options.port,
        announce=print,
    )
