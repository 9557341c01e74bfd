"""Install: after it ``load_dataset("s2lct", …)`` and ``evaluate.load("s2lct")`` work anywhere.

A name without an organization is no repository that one can publish to, but both libraries fall
back to their caches where the Hub does not know a name or cannot be reached. The caches are filled
by loading: the suite from a folder named s2lct, the metric from one named evaluate-metric--s2lct.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.dataset_script.errors import told_hub_errors
from s2lct.errors import BuilderError, SuiteError
from s2lct.files import write_text
from s2lct.hub_calls import data_set
from s2lct.suite.description import in_order
from s2lct.suite.read import read_description, read_suite
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE
from s2lct.suite.versions import Version

NAME = "s2lct"
METRIC_FILE = Path(__file__).parent / "metric" / f"{NAME}.py"
# evaluate looks up a canonical metric in its cache under this name.
METRIC_CACHE_NAME = f"evaluate-metric--{NAME}"
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_REPLACED = "replaced"
_UNCHANGED = "What was installed before is as it was."


class InstallError(BuilderError):
    """A suite cannot be installed."""


@dataclass(frozen=True)
class Installed:
    """What the literal names stand for now.

    Attributes:
        source: the folder, or the repository with the tag or branch.
        version: the suite's version.
        fingerprint: the suite's fingerprint.
        configs: what ``load_dataset("s2lct", CONFIG)`` takes.
        replaced: the version that they stood for before; None if there was none.
        again: whether that was this very suite.
        shadow: a folder in the working directory that both libraries take instead; None if there
            is none.
    """

    source: str
    version: str
    fingerprint: str
    configs: tuple[str, ...]
    replaced: str | None
    again: bool
    shadow: Path | None


@dataclass(frozen=True)
class _Suite:
    """A suite in a folder, its description checked.

    Attributes:
        folder: where it lies.
        described: the contents of its ``suite.json``.
        files: path and number of rows for each config, without ``all``.
    """

    folder: Path
    described: dict[str, Any]
    files: dict[str, tuple[str, int]]

    @property
    def version(self) -> str:
        return str(self.described["version"])

    @property
    def fingerprint(self) -> str:
        return str(self.described["fingerprint"])


def install(
    source: str | Path,
    version: str | None = None,
    *,
    advance: Callable[[str], None] = lambda _: None,
) -> Installed:
    """Fill the local caches, so that the literal names work from any directory, offline too.

    The source may be deleted afterwards. What was installed before is replaced only when the new
    suite is ready as a whole; an installation that was interrupted is mended by the next.

    Args:
        source: a folder that `s2lct build` wrote, or a repository ``ORG/NAME``.
        version: the version that it must be; of a repository, None takes the newest.
        advance: told what is being done, a few words each.

    Raises:
        InstallError: there is no such suite or version, or it is broken.
        PublishError: the Hub cannot be asked.
    """
    if version is not None:
        Version.read(version)
    with _workplace() as work:
        folder, told = _fetched(source, version, work, advance)
        suite = _checked(folder, told)
        if version is not None and suite.version != version:
            raise InstallError(
                f"--version {version}: {told} is version {suite.version}",
                mend=f"leave out --version, or name version {suite.version}",
            )
        ready = _loaded(suite, work, advance)
        advance("metric")
        _prime_metric(work)
        replaced, before = installed_version(), installed_suite() or {}
        _replace(_suite_cache(), ready, work / _REPLACED)
    return Installed(
        source=told,
        version=suite.version,
        fingerprint=suite.fingerprint,
        configs=(*suite.files, ALL),
        replaced=replaced,
        again=before.get("fingerprint") == suite.fingerprint and replaced == suite.version,
        shadow=shadowing_folder(),
    )


def installed_suite() -> dict[str, Any] | None:
    """The ``suite.json`` of the installed suite; None if none is installed."""
    try:
        return read_description(_suite_cache())
    except SuiteError:
        return None


def installed_version() -> str | None:
    """The version that the literal name stands for; None if it stands for none."""
    if (described := installed_suite()) is not None:
        return str(described.get("version"))
    # Filled by somebody who loaded a folder named s2lct.
    loaded = {info.parts[-3] for info in _suite_cache().glob("*/*/*/dataset_info.json")}
    return " and ".join(sorted(loaded)) or None


def shadowing_folder(directory: Path | None = None) -> Path | None:
    """A folder named s2lct in a directory: both libraries take it instead of what is installed."""
    folder = (directory or Path.cwd()) / NAME
    return folder if folder.is_dir() else None


def _suite_cache() -> Path:
    from datasets import config

    return Path(config.HF_DATASETS_CACHE).expanduser() / NAME


@contextmanager
def _workplace() -> Iterator[Path]:
    """An empty folder beside the cache that is filled, for one installation at a time."""
    from filelock import FileLock

    cache = _suite_cache().parent
    cache.mkdir(parents=True, exist_ok=True)
    work = cache / f"{NAME}-installing"
    with FileLock(cache / f"{NAME}-installing.lock"):
        if (left := work / _REPLACED).exists() and not _suite_cache().exists():
            left.rename(_suite_cache())  # the last installation was killed between two renames
        if work.is_symlink():
            work.unlink()  # somebody else's: a folder is made here, and none followed
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _fetched(
    source: str | Path, version: str | None, work: Path, advance: Callable[[str], None]
) -> tuple[Path, str]:
    """The suite's folder, and what it is called in messages."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder, str(source)
    if not isinstance(source, str) or not _REPO.fullmatch(source):
        raise InstallError(
            f"{source}: neither a folder here nor a repository ORG/NAME",
            mend="name a folder that `s2lct build` wrote, or a repository on the Hub",
        )
    return _downloaded(source, version, work / "download", advance)


def _downloaded(
    repo: str, version: str | None, target: Path, advance: Callable[[str], None]
) -> tuple[Path, str]:
    """Fetch a published suite: what its suite.json names, and nothing else."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    hub = HfApi(library_name=NAME)
    with told_hub_errors("read", repo, _UNCHANGED):
        advance(f"look into {repo}")
        tags = [tag.name for tag in hub.list_repo_refs(repo, repo_type="dataset").tags]
    released = sorted(known for tag in tags if (known := Version.of_tag(tag)))
    if version is not None and Version.read(version) not in released:
        raise InstallError(
            f"--version {version}: {repo} has not released it",
            mend=f"choose among {', '.join(map(str, released))}" if released else "leave it out",
        )
    chosen = Version.read(version) if version else (released[-1] if released else None)
    revision = chosen.tag if chosen else "main"
    told = f"{repo}@{revision}"
    with told_hub_errors("download", repo, _UNCHANGED):
        try:
            hub.hf_hub_download(
                repo, SUITE_FILE, repo_type="dataset", revision=revision, local_dir=target
            )
        except LocalEntryNotFoundError:
            raise
        except EntryNotFoundError:
            raise InstallError(
                f"{told}: holds no {SUITE_FILE}",
                mend="name a repository that `s2lct publish dataset` made",
            ) from None
        paths = [path for path, _ in _described(target, told).files.values()]
        advance(f"download {told}")
        hub.snapshot_download(
            repo, repo_type="dataset", revision=revision, local_dir=target, allow_patterns=paths
        )
    return target, told


def _described(folder: Path, told: str) -> _Suite:
    """Read suite.json; what it names may come from anybody.

    Raises:
        InstallError: the suite is empty.
        SuiteError: there is none, or it is not what `s2lct build` writes.
    """
    described = read_description(folder, told)
    files = {
        name: (described["files"][name]["path"], described["files"][name]["rows"])
        for name in in_order(described, list(described["files"]))
    }
    if not files:
        raise InstallError(f"{told}: the suite is empty", mend="build one with more seeds")
    return _Suite(folder, described, files)


def _checked(folder: Path, told: str) -> _Suite:
    """A suite that is whole: its files, its rows and its fingerprint fit together."""
    suite = _described(folder, told)
    read_suite(folder, told)
    return suite


def _loaded(suite: _Suite, work: Path, advance: Callable[[str], None]) -> Path:
    """Load every config once, from a folder named s2lct into a cache of its own.

    Returns:
        The folder that `datasets` made in that cache.
    """
    import datasets

    folder, cache = work / "suite" / NAME, work / "cache"
    for path, _ in suite.files.values():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(suite.folder / path, folder / path)
    _write_card(suite, folder)
    rows = {name: count for name, (_, count) in suite.files.items()}
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        for config, count in (rows | {ALL: sum(rows.values())}).items():
            advance(config)
            try:
                loaded = data_set(str(folder), config, split=SPLIT, cache_dir=str(cache))
            except (datasets.exceptions.DatasetGenerationError, ValueError) as error:
                raise InstallError(
                    f"{suite.folder}: {config} cannot be loaded ({_root(error)})",
                    mend="fetch or build the suite again",
                ) from error
            if len(loaded) != count:
                raise InstallError(
                    f"{suite.folder}: {config} has {len(loaded)} rows, suite.json says {count}",
                    mend="fetch or build the suite again",
                )
    finally:
        if shown:
            datasets.enable_progress_bars()
    write_text(cache / NAME / SUITE_FILE, json.dumps(suite.described, indent=2, sort_keys=True))
    return cache / NAME


def _write_card(suite: _Suite, folder: Path) -> None:
    """The YAML that tells `datasets` the configs and their version."""
    import yaml

    def config(name: str, paths: Sequence[str]) -> dict[str, Any]:
        files = [{"split": SPLIT, "path": list(paths)}]
        return {"config_name": name, "version": suite.version, "data_files": files}

    paths = {name: path for name, (path, _) in suite.files.items()}
    configs = [
        {**config(ALL, [*paths.values()]), "default": True},
        *(config(name, [path]) for name, path in paths.items()),
    ]
    card = yaml.safe_dump({"configs": configs}, sort_keys=False)
    write_text(folder / "README.md", f"---\n{card}---\n")


def _prime_metric(work: Path) -> None:
    """Put the metric module of this package into evaluate's cache, alone."""
    import evaluate

    folder = work / METRIC_CACHE_NAME
    folder.mkdir()
    shutil.copyfile(METRIC_FILE, folder / METRIC_FILE.name)
    # The cache is named after this file, and is looked into for s2lct.py, which it pulls along.
    write_text(folder / f"{METRIC_CACHE_NAME}.py", f"from .{NAME} import S2lct\n")
    evaluate.load(str(folder), download_mode="force_redownload")


def _replace(target: Path, ready: Path, old: Path) -> None:
    """Put a folder in the place of another, which is moved away."""
    if target.exists():
        target.rename(old)
    try:
        ready.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise


def _root(error: BaseException) -> str:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__
