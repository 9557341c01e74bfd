"""Publish metric and leaderboard as Spaces that hold all of our code that they need."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.resources.abc import Traversable
from pathlib import Path

from s2lct.cards import render_app, render_leaderboard_card, render_metric_card
from s2lct.dataset_script.hub import Hub, Outcome, Publication, dry_run_without_hub, require_repo
from s2lct.errors import PublishError

PACKAGE = "package"
METRIC_FILE = Path(__file__).parents[1] / "metric" / "s2lct.py"
_PARTS = ("analysis", "builder", "cards", "dataset_script", "leaderboard", "suite")
_SHIPPED = (".py", ".jinja", ".json", ".parquet", ".yaml", ".js", ".css", ".html", "py.typed")
# Weights, corpora and what trains them are for building suites, not for scoring on them.
_LEFT_OUT = ("training", "weights", "data", "__pycache__")
_COMMON = (
    "huggingface-hub",
    "jinja2",
    "numpy",
    "pyarrow",
    "pydantic",
    "pyyaml",
    "rich",
    "scipy",
    "typer",
)
METRIC_REQUIREMENTS = (
    *_COMMON,
    "afinn",
    "datasets",
    "evaluate",
    "safetensors",
    "textblob",
    "torch",
    "transformers",
    "vaderSentiment",
)
LEADERBOARD_REQUIREMENTS = (*_COMMON, "pandas")


def publish_metric(
    repo: str,
    dataset: str | None = None,
    *,
    private: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
    hub: Hub | None = None,
) -> Outcome:
    """Publish the metric: ``evaluate.load("ORG/s2lct")`` reads it, and its app scores models.

    Args:
        repo: ``ORG/s2lct`` of the Space; the name decides what `evaluate` looks for.
        dataset: Hub id of the suite that the app scores on; None for ``repo``'s own.
        private: make a new Space private.
        create_pr: propose it in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
        hub: the Hub to publish to.

    Raises:
        PublishError: the Space has another name than the module, or the Hub refuses.
    """
    if repo.rpartition("/")[2] != METRIC_FILE.stem:
        raise PublishError(
            f"--repo {repo}: `evaluate` would look for a module of that name in it",
            mend=f"name the Space ORG/{METRIC_FILE.stem}",
        )
    require_repo("--repo", repo)
    dataset = dataset or repo
    require_repo("--dataset", dataset)
    files = {
        METRIC_FILE.name: METRIC_FILE.read_text(encoding="utf-8"),
        "app.py": render_app("metric", dataset=dataset),
        "README.md": render_metric_card(repo, dataset, _gradio()),
        "requirements.txt": requirements(METRIC_REQUIREMENTS),
    }
    return _publish_space(
        repo, "Publish the metric", files, private, create_pr, dry_run, hub or Hub()
    )


def publish_leaderboard(
    repo: str,
    results: str,
    dataset: str | None = None,
    *,
    private: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
    hub: Hub | None = None,
) -> Outcome:
    """Publish the leaderboard's app as a Space.

    Args:
        repo: ``ORG/NAME`` of the Space.
        results: Hub id of the dataset with the results; the app reads it when it starts.
        dataset: Hub id of the suite that the leaderboard is for; None if it is for none in
            particular.
        private: make a new Space private.
        create_pr: propose it in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
        hub: the Hub to publish to.

    Raises:
        PublishError: there are no results, or the Hub refuses.
    """
    hub = hub or Hub()
    require_repo("--repo", repo)
    require_repo("--results", results)
    if dataset:
        require_repo("--dataset", dataset)
    if not dry_run and hub.state(results, "dataset") is None:
        raise PublishError(
            f"--results {results}: there is no such dataset, or the token may not see it",
            mend=f"publish results first: s2lct publish results results/*.json --to {results}",
        )
    files = {
        "app.py": render_app("leaderboard", results=results, dataset=dataset or ""),
        "README.md": render_leaderboard_card(repo, results, dataset or "", _gradio()),
        "requirements.txt": requirements(LEADERBOARD_REQUIREMENTS),
    }
    return _publish_space(repo, "Publish the leaderboard", files, private, create_pr, dry_run, hub)


def _publish_space(
    repo: str,
    title: str,
    files: dict[str, str],
    private: bool,
    create_pr: bool,
    dry_run: bool,
    hub: Hub,
) -> Outcome:
    encoded = {path: text.encode() for path, text in files.items()} | package_files()
    size = sum(map(len, encoded.values()))
    checked = [
        f"{repo} can be a repository's name",
        f"card and app can be made; {len(encoded)} files, {size:,} bytes",
    ]
    with dry_run_without_hub(checked, f"what {repo} holds", dry_run=dry_run) as outcomes:
        outcomes.append(_uploaded(repo, title, encoded, private, create_pr, dry_run, hub))
    return outcomes[0]


def _uploaded(
    repo: str,
    title: str,
    encoded: dict[str, bytes],
    private: bool,
    create_pr: bool,
    dry_run: bool,
    hub: Hub,
) -> Outcome:
    state = hub.state(repo, "space")
    stale = [path for path in state.hashes if path.startswith(f"{PACKAGE}/")] if state else []
    publication = Publication(
        repo=repo,
        kind="space",
        title=title,
        files=encoded,
        removed=[path for path in stale if path not in encoded],
        private=private,
    )
    outcome = hub.publish(publication, state, create_pr=create_pr, dry_run=dry_run)
    packed = [line for line in outcome.lines if f" {PACKAGE}/" in line]
    outcome.lines = [line for line in outcome.lines if line not in packed]
    if packed:
        wrote = "would write" if dry_run else "wrote"
        outcome.lines.append(f"{wrote} s2lct itself: {len(packed)} files of {PACKAGE}/")
    return outcome


def package_files() -> dict[str, bytes]:
    """Our own code as a Space holds it, so that it needs no release of ours to install."""
    files = {
        f"{PACKAGE}/s2lct-{_own_version()}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: s2lct\nVersion: {_own_version()}\n"
        ).encode(),
    }
    for entry in resources.files("s2lct").iterdir():
        if entry.is_file() and entry.name.endswith(_SHIPPED):
            files[f"{PACKAGE}/s2lct/{entry.name}"] = entry.read_bytes()
    for part in _PARTS:
        _collect(resources.files(f"s2lct.{part}"), f"{PACKAGE}/s2lct/{part}", files)
    return files


def _collect(folder: Traversable, to: str, files: dict[str, bytes]) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name not in _LEFT_OUT:
                _collect(entry, f"{to}/{entry.name}", files)
        elif entry.name.endswith(_SHIPPED):
            files[f"{to}/{entry.name}"] = entry.read_bytes()


def requirements(packages: Sequence[str]) -> str:
    """A requirements.txt: the versions that are installed here, where they are."""
    return "".join(f"{name}{_pinned(name)}\n" for name in packages)


def _pinned(package: str) -> str:
    try:
        # torch's local version (2.13.0+cpu) is not on PyPI.
        return f"=={version(package).partition('+')[0]}"
    except PackageNotFoundError:
        return ""


def _own_version() -> str:
    try:
        return version("s2lct")
    except PackageNotFoundError:
        return "0"


def _gradio() -> str:
    try:
        return version("gradio")
    except PackageNotFoundError as error:
        raise PublishError(
            "the package gradio is not installed, and its version goes into the Space's card",
            mend='pip install "s2lct[leaderboard]"',
        ) from error
