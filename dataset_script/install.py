"""Install a suite, so that ``load_dataset("s2lct")`` and ``evaluate.load("s2lct")`` work anywhere.

The Hub allows no repository without an organization in its name. But both libraries look into their
caches if the Hub does not know a name or cannot be reached. The caches are filled by loading the
suite from a folder named s2lct, and the metric from one named evaluate-metric--s2lct. The suite's
own files are put into the same cache, for scoring on "s2lct".
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
METRIC_CACHE_NAME = f"evaluate-metric--{NAME}"
"""The name under which `evaluate` looks up a metric without an organization in its cache."""


@dataclass(frozen=True)
class Installed:
    """The suite that is installed under the name s2lct.

    Attributes:
        source: the folder, or the repository with its tag or branch, as ``ORG/NAME@v1.0.0``.
        version: the version of the suite.
        configs: the configs for ``load_dataset("s2lct", CONFIG)``.
        shadow: a folder in the working directory that both libraries load instead, if any.
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
    requested_version = read_version(version) if version is not None else None
    advance = bar("install", None)
    suite_folder, source = expanded_path(suite), suite
    repository = repository_of(suite)
    if repository or not is_folder(suite_folder):
        if not repository:
            raise SuiteError(
                f"{plain(suite, 200)}: neither a folder here nor a repository ORG/NAME",
                hint="name a folder that `s2lct build` wrote, or a repository on the Hub",
            )
        source = (
            repository
            if "@" in repository
            else _repository_at_version(repository, requested_version)
        )
        advance(1, f"download {source}")
        suite_folder = published_suite(source)
    written_suite = read_suite(suite_folder)
    if not written_suite.rows:
        raise SuiteError(f"{source}: the suite is empty", hint="build one with more seeds")
    if version not in (None, written_suite.version):
        raise SuiteError(
            f"--version {version}: {source} is version {written_suite.version}",
            hint=f"leave out --version, or name version {written_suite.version}",
        )
    target, shadow = installed_folder(), Path.cwd() / NAME
    with (
        output_lock(target, "HF_DATASETS_CACHE"),
        atomic_folder(target, own_files=files_in(target)) as partial_folder,
        TemporaryDirectory() as work_folder,
    ):
        _fill_dataset_cache(written_suite, Path(work_folder), partial_folder, advance)
        advance(1, "metric")
        _fill_metric_cache(Path(work_folder))
    return Installed(
        source=source,
        version=written_suite.version,
        configs=(*written_suite.rows, ALL),
        shadow=shadow if shadow.is_dir() else None,
    )


def _repository_at_version(repo: str, requested_version: Version | None) -> str:
    """``REPO@TAG`` of the given version, else of the newest; ``REPO@main`` if there is none."""
    known_versions = released_versions(repo)
    if requested_version is not None and requested_version not in known_versions:
        raise SuiteError(
            f"--version {requested_version}: {repo} has not released it",
            hint=f"choose among {', '.join(map(str, known_versions))}"
            if known_versions
            else "leave it out",
        )
    version = requested_version or max(known_versions, default=None)
    return f"{repo}@{tag_of(version) if version else 'main'}"


def _fill_dataset_cache(
    suite: WrittenSuite, work_folder: Path, partial_folder: Path, advance: Bar
) -> None:
    """Load every config once with `datasets`, and copy what it caches.

    Args:
        suite: the suite.
        work_folder: an empty folder to work in.
        partial_folder: the folder for copies of the cached files and of the suite's own files.
        advance: the progress bar.
    """
    import datasets

    folder, cache = work_folder / "suite" / NAME, work_folder / "cache"
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
    for filled_folder in (cache / NAME, folder):
        shutil.copytree(filled_folder, partial_folder, dirs_exist_ok=True)


def _fill_metric_cache(work_folder: Path) -> None:
    """Put the metric module of this package into evaluate's cache, alone."""
    import evaluate

    folder = work_folder / METRIC_CACHE_NAME
    folder.mkdir()
    shutil.copyfile(METRIC_FILE, folder / METRIC_FILE.name)
    # `evaluate` names the cache after this file, and copies s2lct.py as the file imports it.
    write_text(folder / f"{METRIC_CACHE_NAME}.py", f"from .{NAME} import S2lct\n")
    evaluate.load(str(folder), download_mode="force_redownload")
