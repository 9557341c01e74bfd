"""Publish metric and leaderboard as Spaces that hold all of our code that they need."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.resources.abc import Traversable

from s2lct.cards import render_app, render_leaderboard_card, render_metric_card
from s2lct.dataset_script.hub import Hub, Outcome, Publication, require_repo
from s2lct.dataset_script.install import METRIC_FILE, NAME
from s2lct.errors import PublishError

PACKAGE = "package"
_PARTS = ("analysis", "builder", "cards", "dataset_script", "leaderboard", "suite")
_SHIPPED = (".py", ".jinja", ".json", ".parquet", ".yaml", ".js", ".css", ".html", "py.typed")
# Weights, corpora and what trains them are for building suites, not for scoring on them.
_LEFT_OUT = ("training", "weights", "__pycache__")
# Of the builder's data, capabilities are read with lists of words and of search rules.
_LISTS = ("word_lists.yaml", "search_rules.yaml")
_COMMON = "huggingface-hub jinja2 numpy packaging pyarrow pydantic pyyaml rich scipy typer "
_FOR_METRIC = "afinn datasets evaluate safetensors textblob torch transformers vaderSentiment"
GRADIO = "6.31.0"
"""The version that the metric's app was tried with."""
# A Space of the SDK gradio is meant for Gradio's own server; any other program that listens at a
# port is what Hugging Face has the SDK docker for, which runs as the user 1000.
DOCKERFILE = f"""\
FROM python:{sys.version_info.major}.{sys.version_info.minor}-slim
RUN useradd --create-home --uid 1000 user
USER user
WORKDIR /home/user/app
COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir --user -r requirements.txt
COPY --chown=user . .
CMD ["python", "app.py"]
"""


def publish_metric(repo: str, hub: Hub, dataset: str | None = None) -> Outcome:
    """Publish the metric: ``evaluate.load("ORG/s2lct")`` reads it, and its app scores models.

    Args:
        repo: ``ORG/s2lct`` of the Space; the name decides what `evaluate` looks for.
        hub: where and how.
        dataset: Hub id of the suite that the app scores on; None for ``repo``'s own.

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
    files = {
        METRIC_FILE.name: METRIC_FILE.read_text(encoding="utf-8"),
        "app.py": render_app("metric", dataset=dataset),
        "README.md": render_metric_card(repo, dataset, GRADIO),
        "requirements.txt": _requirements(_COMMON + _FOR_METRIC),
    }
    return _publish_space(repo, "Publish the metric", "gradio", files, hub)


def publish_leaderboard(repo: str, results: str, hub: Hub, dataset: str | None = None) -> Outcome:
    """Publish the leaderboard's server as a Space.

    Args:
        repo: ``ORG/NAME`` of the Space.
        results: Hub id of the dataset with the results; the server follows what changes in it.
        hub: where and how.
        dataset: Hub id of the suite that the leaderboard is for, if it is for one.

    Raises:
        PublishError: there are no results, or the Hub refuses.
    """
    require_repo("--repo", repo)
    require_repo("--results", results)
    if dataset:
        require_repo("--dataset", dataset)
    if not hub.dry_run and hub.state(results, "dataset") is None:
        raise PublishError(
            f"--results {results}: there is no such dataset, or the token may not see it",
            hint=f"publish results first: s2lct publish results results/*.json --to {results}",
        )
    files = {
        "app.py": render_app("leaderboard", results=results, dataset=dataset or ""),
        "Dockerfile": DOCKERFILE,
        "README.md": render_leaderboard_card(results, dataset or ""),
        "requirements.txt": _requirements(_COMMON),
    }
    return _publish_space(repo, "Publish the leaderboard", "docker", files, hub)


def _publish_space(repo: str, title: str, sdk: str, texts: Mapping[str, str], hub: Hub) -> Outcome:
    """Publish a Space's own files and all of our code."""
    files = {path: text.encode() for path, text in texts.items()} | dict(_package_files())
    space = Publication(repo, "space", title, files, part=f"{PACKAGE}/", sdk=sdk)

    def publish() -> Outcome:
        outcome = hub.publish(space, hub.state(repo, "space"))
        lines = [line for line in outcome.lines if f" {PACKAGE}/" not in line]
        if packed := len(outcome.lines) - len(lines):
            wrote = "would write" if hub.dry_run else "wrote"
            lines.append(f"{wrote} s2lct itself: {packed} files of {PACKAGE}/")
        return Outcome(lines, outcome.url)

    size = sum(map(len, files.values()))
    checked = [
        f"{repo} can be a repository's name",
        f"card and app can be made; {len(files)} files, {size:,} bytes",
    ]
    return hub.publish_checked(checked, f"what {repo} holds", publish)


def _package_files() -> Iterator[tuple[str, bytes]]:
    """Our own code as a Space holds it, so that it needs no release of ours to install."""
    own = _version_of(NAME) or "0"
    described = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {own}\n"
    yield f"{PACKAGE}/{NAME}-{own}.dist-info/METADATA", described.encode()
    for entry in resources.files(NAME).iterdir():
        if entry.is_file():
            yield from _shipped(entry, f"{PACKAGE}/{NAME}")
    for part in _PARTS:
        yield from _shipped(resources.files(f"{NAME}.{part}"), f"{PACKAGE}/{NAME}", part)


def _shipped(entry: Traversable, to: str, name: str = "") -> Iterator[tuple[str, bytes]]:
    path = f"{to}/{name or entry.name}"
    if entry.is_file():
        if path.endswith(_SHIPPED):
            yield path, entry.read_bytes()
    elif entry.name not in _LEFT_OUT:
        for inner in sorted(entry.iterdir(), key=lambda one: one.name):
            if entry.name != "data" or inner.name in _LISTS:
                yield from _shipped(inner, path)


def _requirements(packages: str) -> str:
    """A requirements.txt: the versions that are installed here, where they are."""
    # torch's local version (2.13.0+cpu) is not on PyPI.
    pinned = {name: _version_of(name).partition("+")[0] for name in packages.split()}
    return "".join(f"{name}{known and f'=={known}'}\n" for name, known in pinned.items())


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
