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
    last_version = max(released_versions(repo) if publisher.head else (), default=None)
    bump, older_changelog = None, ""
    if last_version is None:
        new_version = requested or Version("1.0.0")
        changes = [f"{name}: {counts_in_words(rows)}" for name, rows in written.rows.items()]
    else:
        last_tag = tag_of(last_version)
        with hub_errors(f"fetch {repo}@{last_tag}", PublishError):
            released_folder = Path(
                publisher.api.snapshot_download(repo, repo_type="dataset", revision=last_tag)
            )
        if _holds_exactly(released_folder, _files_by_path(written, repo, last_version)):
            if requested not in (None, last_version):
                raise PublishError(
                    f"--version {requested}: nothing changed since {last_tag} of {repo}",
                    hint=f"there is nothing to publish; load it with revision={last_tag!r}",
                )
            return [f"nothing to do: {last_tag} of {repo} is this suite"]
        released_suite = read_suite(released_folder)
        bump, changes = compare(
            released_suite.rows,
            written.rows,
            has_renamed_columns=released_suite.has_former_names and not written.has_former_names,
        )
        new_version = next_version(last_version, bump)
        if requested not in (None, new_version):
            changes_in_words = ": " * bool(changes) + "; ".join(changes[:_MAX_CHANGES_SHOWN])
            raise PublishError(
                f"--version {requested}: after {last_version} the next is {new_version}, because "
                f"{bump.value}{changes_in_words}",
                hint=f"publish it with --version {new_version}",
            )
        if (released_folder / CHANGELOG).exists():
            older_changelog = (released_folder / CHANGELOG).read_text("utf-8")
    changelog = changelog_with(older_changelog, new_version, bump, changes, notes)
    headline = (
        f"{last_version} → {new_version}: {bump.value}"
        if bump
        else f"{new_version}, the first version:"
    )
    description = "\n".join(f"- {change}" for change in changes)
    files = {**_files_by_path(written, repo, new_version), CHANGELOG: changelog.encode()}
    title = f"S²LCT {new_version}"
    report_lines = publisher.publish(
        files, title, description, replaced_pattern="data/*", tag=tag_of(new_version)
    )
    return [headline, *(f"  {change}" for change in changes), *report_lines]


def _holds_exactly(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether a folder holds all the given files (content by path), and no other data files."""
    data_paths = {path.relative_to(folder).as_posix() for path in folder.glob("data/**/*.parquet")}
    return data_paths <= files.keys() and all(
        (folder / path).exists() and (folder / path).read_bytes() == content
        for path, content in files.items()
    )


def _files_by_path(suite: WrittenSuite, repo: str, version: Version) -> dict[str, bytes]:
    """The contents, by path, of the files of a suite published in ``repo`` as ``version``."""
    from s2lct.suite.tables import SUITE_FILE, family_example

    options = {
        name: [_without_folders(part) for part in value]
        if isinstance(value, list)
        else _without_folders(value)
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


def _without_folders(option: Any) -> Any:
    """An option with absolute paths cut to their last part: ``sst:/data/a`` becomes ``sst:a``."""
    if not isinstance(option, str):
        return option
    kind, colon, location = option.rpartition(":")
    path = Path(location)
    return f"{kind}{colon}{path.name}" if path.is_absolute() else option
