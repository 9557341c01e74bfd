"""Publish a suite as a versioned dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from packaging.version import Version

from s2lct.cards import render_dataset_card
from s2lct.command import command
from s2lct.dataset_script.hub import CreatePr, DryRun, Publisher, RepoOption, require_repo
from s2lct.errors import PublishError
from s2lct.leaderboard.results.hub import hub_errors, released_versions
from s2lct.suite.versions import (
    changelog_with,
    compare,
    counts_in_words,
    next_version,
    read_version,
    tag_of,
)

if TYPE_CHECKING:
    from s2lct.suite.read import WrittenSuite

CHANGELOG = "CHANGELOG.md"
_MAX_CHANGES_SHOWN = 5


@command
def publish_dataset(
    suite: Annotated[Path, typer.Argument(help="A suite that `s2lct build` wrote.", metavar="DIR")],
    *,
    repo: RepoOption,
    version: Annotated[
        str | None,
        typer.Option(
            help=r"Semantic version, as 1.0.0 \[default: the one that follows from what changed]."
        ),
    ] = None,
    notes: Annotated[
        str, typer.Option(help="What is new in this version, in words, for its changelog.")
    ] = "",
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> list[str]:
    """Publish a suite: one commit, one tag, a changelog."""
    from s2lct.builder.verify import verify_suite
    from s2lct.suite.read import read_suite

    require_repo("--repo", repo)
    requested = read_version(version) if version else None
    if faults := verify_suite(suite):
        raise PublishError(
            f"{suite}: the suite is broken: {faults[0]}",
            hint="build it again; `s2lct verify DIR` lists every fault",
        )
    written = read_suite(suite)
    publisher = Publisher(repo, "dataset", create_pr, dry_run)
    last = max(released_versions(repo) if publisher.head else (), default=None)
    bump, older_changelog = None, ""
    if last is None:
        new = requested or Version("1.0.0")
        changes = [f"{name}: {counts_in_words(rows)}" for name, rows in written.rows.items()]
    else:
        with hub_errors(f"fetch {repo}@{tag_of(last)}", PublishError):
            released = Path(
                publisher.api.snapshot_download(repo, repo_type="dataset", revision=tag_of(last))
            )
        if _holds(released, _files(written, repo, last)):
            if requested not in (None, last):
                raise PublishError(
                    f"--version {requested}: nothing changed since {tag_of(last)} of {repo}",
                    hint=f"there is nothing to publish; load it with revision={tag_of(last)!r}",
                )
            return [f"nothing to do: {tag_of(last)} of {repo} is this suite"]
        before = read_suite(released)
        bump, changes = compare(
            before.rows,
            written.rows,
            has_renamed_columns=before.has_former_names and not written.has_former_names,
        )
        new = next_version(last, bump)
        if requested not in (None, new):
            shown = ": " * bool(changes) + "; ".join(changes[:_MAX_CHANGES_SHOWN])
            raise PublishError(
                f"--version {requested}: after {last} the next is {new}, because "
                f"{bump.value}{shown}",
                hint=f"publish it with --version {new}",
            )
        if (released / CHANGELOG).exists():
            older_changelog = (released / CHANGELOG).read_text("utf-8")
    changelog = changelog_with(older_changelog, new, bump, changes, notes)
    headline = f"{last} → {new}: {bump.value}" if bump else f"{new}, the first version:"
    description = "\n".join(f"- {change}" for change in changes)
    files = {**_files(written, repo, new), CHANGELOG: changelog.encode()}
    title = f"S²LCT {new}"
    done = publisher.publish(files, title, description, replaced="data/*", tag=tag_of(new))
    return [headline, *(f"  {change}" for change in changes), *done]


def _holds(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether a folder has all these files, and no other data files."""
    data = {path.relative_to(folder).as_posix() for path in folder.glob("data/**/*.parquet")}
    return data <= files.keys() and all(
        (folder / path).exists() and (folder / path).read_bytes() == content
        for path, content in files.items()
    )


def _files(suite: WrittenSuite, repo: str, version: Version) -> dict[str, bytes]:
    """The suite's files as a version in a repository, content by path."""
    from s2lct.suite.tables import SUITE_FILE, family_example

    options = {
        name: [_portable(part) for part in value] if isinstance(value, list) else _portable(value)
        for name, value in suite.described["options"].items()
    }
    described = suite.described | {
        "options": options,
        "version": str(version),
        "fingerprint": suite.fingerprint,
    }
    examples = {name: family_example(rows) for name, rows in suite.rows.items()}
    files = {
        "README.md": render_dataset_card(described, examples, repo).encode(),
        SUITE_FILE: (json.dumps(described, indent=2, sort_keys=True) + "\n").encode(),
    }
    for file in suite.described["files"].values():
        files[file["path"]] = (suite.folder / file["path"]).read_bytes()
    return files


def _portable(option: Any) -> Any:
    """An option without the folders of a path, with or without ``sst:`` and the like before it."""
    if not isinstance(option, str):
        return option
    kind, colon, location = option.rpartition(":")
    path = Path(location)
    return f"{kind}{colon}{path.name}" if path.is_absolute() else option
