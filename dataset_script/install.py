"""Install: after it ``load_dataset("s2lct", …)`` and ``evaluate.load("s2lct")`` work anywhere.

A name without an organization is no repository that one can publish to, but both libraries fall
back to their caches where the Hub does not know a name or cannot be reached. The caches are filled
by loading: the suite from a folder named s2lct, the metric from one named evaluate-metric--s2lct.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.dataset_script.hub import Hub
from s2lct.errors import S2lctError, SuiteError
from s2lct.files import write_text
from s2lct.hub_calls import causes_of, data_set
from s2lct.suite.read import WrittenSuite, parse_description, read_description, read_suite
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE
from s2lct.suite.versions import Version

NAME = "s2lct"
METRIC_FILE = Path(__file__).parent / "metric" / f"{NAME}.py"
# evaluate looks up a canonical metric in its cache under this name.
METRIC_CACHE_NAME = f"evaluate-metric--{NAME}"
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_REPLACED = "replaced"


class InstallError(S2lctError):
    """A suite cannot be installed."""


@dataclass(frozen=True)
class Installed:
    """What the literal names stand for now.

    Attributes:
        source: the folder, or the repository with the tag or branch.
        version, fingerprint: the suite's.
        configs: what ``load_dataset("s2lct", CONFIG)`` takes.
        replaced: the version that they stood for before; None if there was none.
        again: whether that was this very suite.
        shadow: a folder in the working directory that both libraries take instead, if any.
    """

    source: str
    version: str
    fingerprint: str
    configs: tuple[str, ...]
    replaced: str | None
    again: bool
    shadow: Path | None


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
        advance: called with what is being done, a few words each.

    Raises:
        InstallError: there is no such suite or version, or it is broken.
        PublishError: the Hub cannot be asked.
    """
    wanted = Version.read(version) if version is not None else None
    with _workplace() as work:
        folder, called = Path(source).expanduser(), str(source)
        if not folder.is_dir():
            if not isinstance(source, str) or not _REPO.fullmatch(source):
                raise InstallError(
                    f"{source}: neither a folder here nor a repository ORG/NAME",
                    hint="name a folder that `s2lct build` wrote, or a repository on the Hub",
                )
            folder = work / "download"
            called = _download(source, wanted, folder, advance)
        if not read_description(folder, called)["files"]:
            raise InstallError(f"{called}: the suite is empty", hint="build one with more seeds")
        suite = read_suite(folder, called)
        if version not in (None, suite.version):
            raise InstallError(
                f"--version {version}: {called} is version {suite.version}",
                hint=f"leave out --version, or name version {suite.version}",
            )
        ready = _loaded(suite, work, advance)
        advance("metric")
        _prime_metric(work)
        replaced, before = installed_version(), _installed_suite() or {}
        _replace(_suite_cache(), ready, work / _REPLACED)
    shadow = Path.cwd() / NAME
    return Installed(
        source=called,
        version=suite.version,
        fingerprint=suite.fingerprint,
        configs=(*suite.rows, ALL),
        replaced=replaced,
        again=before.get("fingerprint") == suite.fingerprint and replaced == suite.version,
        shadow=shadow if shadow.is_dir() else None,
    )


def installed_version() -> str | None:
    """The version that the literal name stands for; None if it stands for none."""
    if (described := _installed_suite()) is not None:
        return str(described["version"])
    # Filled by somebody who loaded a folder named s2lct.
    loaded = {info.parts[-3] for info in _suite_cache().glob("*/*/*/dataset_info.json")}
    return " and ".join(sorted(loaded)) or None


def _installed_suite() -> dict[str, Any] | None:
    try:
        return read_description(_suite_cache())
    except SuiteError:
        return None


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


def _download(
    repo: str, wanted: Version | None, target: Path, advance: Callable[[str], None]
) -> str:
    """Fetch what a published suite's suite.json names, and nothing else; ``REPO@REVISION``."""
    hub = Hub(failed="What was installed before is as it was.")
    advance(f"look into {repo}")
    released = list(hub.versions(repo))
    if wanted is not None and wanted not in released:
        raise InstallError(
            f"--version {wanted}: {repo} has not released it",
            hint=f"choose among {', '.join(map(str, released))}" if released else "leave it out",
        )
    chosen = wanted or max(released, default=None)
    revision = chosen.tag if chosen else "main"
    called = f"{repo}@{revision}"
    content = hub.read(repo, "dataset", SUITE_FILE, revision)
    if content is None:
        raise InstallError(
            f"{called}: holds no {SUITE_FILE}",
            hint="name a repository that `s2lct publish dataset` made",
        )
    paths = [file["path"] for file in parse_description(content, called)["files"].values()]
    advance(f"download {called}")
    with hub.asked_to("download", repo):
        hub.api.snapshot_download(
            repo,
            repo_type="dataset",
            revision=revision,
            local_dir=target,
            allow_patterns=[SUITE_FILE, *paths],
        )
    return called


def _loaded(suite: WrittenSuite, work: Path, advance: Callable[[str], None]) -> Path:
    """Load every config once, from a folder named s2lct into a cache of its own.

    Returns:
        The folder that `datasets` made in that cache.
    """
    import datasets

    folder, cache = work / "suite" / NAME, work / "cache"
    paths = {name: [suite.described["files"][name]["path"]] for name in suite.rows}
    counts = {name: len(rows) for name, rows in suite.rows.items()}
    for (path,) in paths.values():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(suite.folder / path, folder / path)
    paths[ALL] = [path for (path,) in paths.values()]
    counts[ALL] = sum(counts.values())
    _write_card(folder / "README.md", paths, suite.version)
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        for config, count in counts.items():
            advance(config)
            try:
                loaded = len(data_set(str(folder), config, split=SPLIT, cache_dir=str(cache)))
                if loaded != count:
                    raise ValueError(f"{loaded} rows, suite.json says {count}")
            except (datasets.exceptions.DatasetGenerationError, ValueError) as error:
                *_, root = causes_of(error)
                why = (str(root).splitlines() or [type(root).__name__])[0][:200]
                raise InstallError(
                    f"{suite.folder}: {config} cannot be loaded ({why})",
                    hint="fetch or build the suite again",
                ) from error
    finally:
        if shown:
            datasets.enable_progress_bars()
    write_text(cache / NAME / SUITE_FILE, json.dumps(suite.described, indent=2, sort_keys=True))
    return cache / NAME


def _write_card(card: Path, paths: dict[str, list[str]], version: str) -> None:
    """The YAML that tells `datasets` the configs and their version."""
    import yaml

    configs = [
        {
            "config_name": name,
            "version": version,
            "data_files": [{"split": SPLIT, "path": paths[name]}],
            **({"default": True} if name == ALL else {}),
        }
        for name in (ALL, *(name for name in paths if name != ALL))
    ]
    write_text(card, f"---\n{yaml.safe_dump({'configs': configs}, sort_keys=False)}---\n")


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
