"""Publish metric and leaderboard as static Spaces: a page, and for the metric its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryDirectory

from s2lct.cards import render_leaderboard_card, render_metric_card, render_metric_page
from s2lct.dataset_script.hub import Hub, Publication, require_repo
from s2lct.dataset_script.install import METRIC_FILE, NAME
from s2lct.errors import PublishError
from s2lct.leaderboard.commands.leaderboards import build_leaderboard

_PACKAGE = "package/"
_PARTS = ("analysis", "builder", "cards", "dataset_script", "leaderboard", "suite")
_SHIPPED = (".py", ".jinja", ".json", ".parquet", ".yaml", "py.typed")
# Weights and corpora are for building suites, not for scoring on them.
_LEFT_OUT = ("weights", "data", "__pycache__")
_REQUIREMENTS = (
    "datasets evaluate huggingface-hub jinja2 numpy pyarrow pydantic pyyaml rich safetensors scipy "
    "textblob torch transformers typer vaderSentiment"
)


def publish_metric(repo: str, hub: Hub, dataset: str | None = None) -> list[str]:
    """Publish the metric, which ``evaluate.load("ORG/s2lct")`` reads.

    Args:
        repo: ``ORG/s2lct`` of the Space; the name decides what `evaluate` looks for.
        hub: where and how.
        dataset: Hub id of the suite that the card names; None for ``repo``'s own.

    Raises:
        PublishError: the Space has another name than the module, or the Hub refuses.
    """
    if repo.rpartition("/")[2] != NAME:
        raise PublishError(
            f"--repo {repo}: `evaluate` would look for a module of that name in it",
            hint=f"name the Space ORG/{NAME}",
        )
    require_repo("--repo", repo)
    dataset = dataset or repo
    require_repo("--dataset", dataset)
    # torch's local version (2.13.0+cpu) is not on PyPI.
    pinned = {name: version(name).partition("+")[0] for name in _REQUIREMENTS.split()}
    files = {
        METRIC_FILE.name: METRIC_FILE.read_bytes(),
        "README.md": render_metric_card(repo, dataset).encode(),
        "index.html": render_metric_page(repo).encode(),
        "requirements.txt": "".join(f"{name}=={pin}\n" for name, pin in pinned.items()).encode(),
        **dict(_package_files()),
    }
    return _publish_space(repo, "Publish the metric", files, hub)


def publish_leaderboard(repo: str, results: str, hub: Hub, dataset: str) -> list[str]:
    """Publish the leaderboard's page as it is now.

    Args:
        repo: ``ORG/NAME`` of the Space.
        results: Hub id of the dataset with the results.
        hub: where and how.
        dataset: Hub id of the suite that the leaderboard is for.

    Raises:
        PublishError: the Hub refuses.
        ScoringError: there are no results.
    """
    require_repo("--repo", repo)
    require_repo("--results", results)
    require_repo("--dataset", dataset)
    with TemporaryDirectory() as folder:
        site = Path(folder)
        build_leaderboard(results=results, suite=[dataset], out=site)
        files = {path.name: path.read_bytes() for path in sorted(site.iterdir())}
    files["README.md"] = render_leaderboard_card(results, dataset).encode()
    return _publish_space(repo, "Publish the leaderboard", files, hub)


def _publish_space(repo: str, title: str, files: Mapping[str, bytes], hub: Hub) -> list[str]:
    space = Publication(repo, "space", title, files, part=_PACKAGE)
    done = hub.publish(space, hub.state(repo, "space"))
    lines = [line for line in done if f" {_PACKAGE}" not in line]
    if packed := len(done) - len(lines):
        lines.append(f"… and s2lct itself: {packed} files of {_PACKAGE}")
    return lines


def _package_files() -> Iterator[tuple[str, bytes]]:
    """Our own code as a Space holds it, so that it needs no release of ours to install."""
    about = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version(NAME)}\n"
    yield f"{_PACKAGE}{NAME}-{version(NAME)}.dist-info/METADATA", about.encode()
    for entry in resources.files(NAME).iterdir():
        if entry.is_file():
            yield from _shipped(entry, f"{_PACKAGE}{NAME}/{entry.name}")
    for part in _PARTS:
        yield from _shipped(resources.files(f"{NAME}.{part}"), f"{_PACKAGE}{NAME}/{part}")


def _shipped(entry: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    if entry.is_file():
        if path.endswith(_SHIPPED):
            yield path, entry.read_bytes()
    elif entry.name not in _LEFT_OUT:
        for inner in sorted(entry.iterdir(), key=lambda one: one.name):
            yield from _shipped(inner, f"{path}/{inner.name}")
