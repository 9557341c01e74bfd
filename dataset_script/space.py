"""Publish the metric and the leaderboard as static Spaces: a page, and the metric's code."""

from __future__ import annotations

from importlib import resources
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from s2lct.cards import render
from s2lct.command import command
from s2lct.dataset_script.hub import CreatePr, DryRun, Publisher, RepoOption, require_repo
from s2lct.dataset_script.install import METRIC_FILE, NAME
from s2lct.errors import PublishError
from s2lct.leaderboard.commands.results import build_leaderboard

_SUBPACKAGES = ("analysis", "builder", "cards", "dataset_script", "leaderboard", "suite")
_REQUIREMENTS = (
    "datasets evaluate huggingface-hub jinja2 numpy pyarrow pydantic pyyaml rich safetensors scipy "
    "textblob torch transformers typer vaderSentiment"
)


@command
def publish_metric(
    *, repo: RepoOption, create_pr: CreatePr = False, dry_run: DryRun = False
) -> list[str]:
    """Publish the Space that `evaluate.load("ORG/s2lct")` reads."""
    if repo.rpartition("/")[2] != NAME:
        raise PublishError(
            f"--repo {repo}: `evaluate` would look for a module of that name in it",
            hint=f"name the Space ORG/{NAME}",
        )
    require_repo("--repo", repo)
    # torch's local version (2.13.0+cpu) is not on PyPI.
    pinned_versions = {name: version(name).partition("+")[0] for name in _REQUIREMENTS.split()}
    files = {
        METRIC_FILE.name: METRIC_FILE.read_bytes(),
        "README.md": render("metric_card.md", repo=repo).encode(),
        "index.html": render("metric_page.html", repo=repo).encode(),
        "requirements.txt": "".join(
            f"{name}=={pin}\n" for name, pin in pinned_versions.items()
        ).encode(),
    }
    files |= {f"package/{path}": content for path, content in _package_files().items()}
    publisher = Publisher(repo, "space", create_pr, dry_run)
    return publisher.publish(files, "Publish the metric", replaced_pattern="package/*")


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
        build_leaderboard(results=results, suite=[dataset], out=Path(folder))
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    card = render("leaderboard_card.md", results=results, dataset=dataset)
    publisher = Publisher(repo, "space", create_pr, dry_run)
    return publisher.publish(files | {"README.md": card.encode()}, "Publish the leaderboard")


def _package_files() -> dict[str, bytes]:
    """The files of this package for a Space, so that it need not be on PyPI.

    Files that are used only to build suites are left out.
    """
    metadata = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version(NAME)}\n"
    files = {f"{NAME}-{version(NAME)}.dist-info/METADATA": metadata.encode()}
    for package in (NAME, *(f"{NAME}.{part}" for part in _SUBPACKAGES)):
        with resources.as_file(resources.files(package)) as folder:
            for path in folder.rglob("*"):
                relative_path = path.relative_to(folder)
                is_left_out = {"weights", "annotations", "__pycache__"}.intersection(
                    relative_path.parts
                )
                if path.is_file() and not is_left_out and path.suffix not in (".parquet", ".txt"):
                    files[f"{package.replace('.', '/')}/{relative_path.as_posix()}"] = (
                        path.read_bytes()
                    )
    return files
