"""Publish metric and leaderboard as static Spaces: a page, and for the metric its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.cards import render
from s2lct.command import command
from s2lct.dataset_script.hub import (
    CreatePr,
    DryRun,
    Hub,
    Publication,
    RepoOption,
    require_repo,
)
from s2lct.dataset_script.install import METRIC_FILE, NAME
from s2lct.errors import PublishError
from s2lct.leaderboard.commands.results import build_leaderboard

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = "package/"
_PARTS = ("analysis", "builder", "cards", "dataset_script", "leaderboard", "suite")
_SHIPPED = (".py", ".jinja", ".json", ".yaml", "py.typed")
# Weights and annotations are for building suites, not for scoring on them.
_LEFT_OUT = ("weights", "annotations", "__pycache__")
_REQUIREMENTS = (
    "datasets evaluate huggingface-hub jinja2 numpy pyarrow pydantic pyyaml rich safetensors scipy "
    "textblob torch transformers typer vaderSentiment"
)


@command
def publish_metric(
    *,
    repo: RepoOption,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish the Space that `evaluate.load("ORG/s2lct")` reads."""
    if repo.rpartition("/")[2] != NAME:
        raise PublishError(
            f"--repo {repo}: `evaluate` would look for a module of that name in it",
            hint=f"name the Space ORG/{NAME}",
        )
    require_repo("--repo", repo)
    # torch's local version (2.13.0+cpu) is not on PyPI.
    pinned = {name: version(name).partition("+")[0] for name in _REQUIREMENTS.split()}
    files = {
        METRIC_FILE.name: METRIC_FILE.read_bytes(),
        "README.md": render("metric_card.md", repo=repo).encode(),
        "index.html": render("metric_page.html", repo=repo).encode(),
        "requirements.txt": "".join(f"{name}=={pin}\n" for name, pin in pinned.items()).encode(),
        **dict(_package_files()),
    }
    return _publish_space(repo, "Publish the metric", files, Hub(create_pr, dry_run))


@command
def publish_leaderboard(
    *,
    repo: RepoOption,
    results: Annotated[str, typer.Option(help="Dataset with the results, as ORG/NAME.")],
    dataset: Annotated[str, typer.Option(help="The suite's dataset, which the results are on.")],
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish the leaderboard's page as a Space.

    Give the same command again when results came in.
    """
    require_repo("--repo", repo)
    require_repo("--results", results)
    require_repo("--dataset", dataset)
    with TemporaryDirectory() as folder:
        site = Path(folder)
        build_leaderboard(results=results, suite=[dataset], out=site)
        files = {path.name: path.read_bytes() for path in sorted(site.iterdir())}
    card = render("leaderboard_card.md", results=results, dataset=dataset)
    files["README.md"] = card.encode()
    return _publish_space(repo, "Publish the leaderboard", files, Hub(create_pr, dry_run))


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
        for inner in sorted(entry.iterdir(), key=lambda entry: entry.name):
            yield from _shipped(inner, f"{path}/{inner.name}")
