"""Install a suite, so that ``load_dataset("s2lct")`` and ``evaluate.load("s2lct")`` work anywhere.

Nobody can publish a repository without an organization in its name, but both libraries look into
their caches where the Hub does not know a name or cannot be reached. The caches are filled by
loading: the suite from a folder named s2lct, the metric from one named evaluate-metric--s2lct. The
suite's own files lie in the same cache, for scoring on "s2lct".
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from packaging.version import Version

from s2lct.cards import dataset_metadata
from s2lct.command import command
from s2lct.errors import SuiteError
from s2lct.files import atomic_folder, expanded_path, files_in, is_folder, output_lock, write_text
from s2lct.hub_calls import repository_of
from s2lct.leaderboard.results.hub import released_versions
from s2lct.plain_text import plain
from s2lct.progress import Bar, bar
from s2lct.suite.cases import installed_folder, published_suite
from s2lct.suite.read import WrittenSuite, read_suite
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE
from s2lct.suite.versions import read_version, tag_of

NAME = "s2lct"
METRIC_FILE = Path(__file__).with_name(f"{NAME}.py")
# evaluate looks up a canonical metric in its cache under this name.
METRIC_CACHE_NAME = f"evaluate-metric--{NAME}"


@dataclass(frozen=True)
class Installed:
    """What the name s2lct stands for now.

    Attributes:
        source: the folder, or the repository with the tag or branch.
        version: the suite's.
        configs: what ``load_dataset("s2lct", CONFIG)`` takes.
        shadow: a folder in the working directory that both libraries take instead, if any.
    """

    source: str
    version: str
    configs: tuple[str, ...]
    shadow: Path | None


@command
def install(
    suite: Annotated[
        str,
        typer.Argument(
            help="A suite that `s2lct build` wrote, or a published one.", metavar="DIR|ORG/NAME"
        ),
    ],
    *,
    version: Annotated[
        str | None, typer.Option(help="The version, as 1.0.0; of a repository, else the newest.")
    ] = None,
) -> Installed:
    """Make load_dataset("s2lct") and evaluate.load("s2lct") work.

    From any directory, offline too. The folder may be deleted afterwards. What was installed before
    is replaced only when the new suite is ready as a whole.
    """
    requested = read_version(version) if version is not None else None
    advance = bar("install", None)
    folder, source = expanded_path(suite), suite
    repository = repository_of(suite)
    if repository or not is_folder(folder):
        if not repository:
            raise SuiteError(
                f"{plain(suite, 200)}: neither a folder here nor a repository ORG/NAME",
                hint="name a folder that `s2lct build` wrote, or a repository on the Hub",
            )
        source = repository if "@" in repository else _released(repository, requested)
        advance(1, f"download {source}")
        folder = published_suite(source)
    written = read_suite(folder)
    if not written.rows:
        raise SuiteError(f"{source}: the suite is empty", hint="build one with more seeds")
    if version not in (None, written.version):
        raise SuiteError(
            f"--version {version}: {source} is version {written.version}",
            hint=f"leave out --version, or name version {written.version}",
        )
    target, shadow = installed_folder(), Path.cwd() / NAME
    with (
        output_lock(target, "HF_DATASETS_CACHE"),
        atomic_folder(target, own_files=files_in(target)) as ready,
        TemporaryDirectory() as work,
    ):
        _load(written, Path(work), ready, advance)
        advance(1, "metric")
        _prime_metric(Path(work))
    return Installed(
        source=source,
        version=written.version,
        configs=(*written.rows, ALL),
        shadow=shadow if shadow.is_dir() else None,
    )


def _released(repo: str, requested: Version | None) -> str:
    """``REPO@TAG`` of a version, by default the newest; ``REPO@main`` where there is none."""
    released = released_versions(repo)
    if requested is not None and requested not in released:
        raise SuiteError(
            f"--version {requested}: {repo} has not released it",
            hint=f"choose among {', '.join(map(str, released))}" if released else "leave it out",
        )
    chosen = requested or max(released, default=None)
    return f"{repo}@{tag_of(chosen) if chosen else 'main'}"


def _load(suite: WrittenSuite, work: Path, ready: Path, advance: Bar) -> None:
    """Load every config once with `datasets`, from a folder named s2lct into a cache of its own.

    Args:
        suite: the suite.
        work: an empty folder to work in.
        ready: the folder that gets what `datasets` cached, and the suite's own files.
        advance: is told each config.
    """
    import datasets

    folder, cache = work / "suite" / NAME, work / "cache"
    for path in (SUITE_FILE, *(file["path"] for file in suite.described["files"].values())):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(suite.folder / path, folder / path)
    write_text(folder / "README.md", f"---\n{dataset_metadata(suite.described)}---\n")
    had_bars = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        for config in (*suite.rows, ALL):
            advance(1, config)
            datasets.load_dataset(str(folder), config, split=SPLIT, cache_dir=str(cache))
    finally:
        if had_bars:
            datasets.enable_progress_bars()
    for filled in (cache / NAME, folder):
        shutil.copytree(filled, ready, dirs_exist_ok=True)


def _prime_metric(work: Path) -> None:
    """Put the metric module of this package into evaluate's cache, alone."""
    import evaluate

    folder = work / METRIC_CACHE_NAME
    folder.mkdir()
    shutil.copyfile(METRIC_FILE, folder / METRIC_FILE.name)
    # The cache is named after this file, and is looked into for s2lct.py, which it pulls along.
    write_text(folder / f"{METRIC_CACHE_NAME}.py", f"from .{NAME} import S2lct\n")
    evaluate.load(str(folder), download_mode="force_redownload")
