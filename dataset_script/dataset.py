"""Publish a suite as a versioned dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2lct.cards import render_dataset_card
from s2lct.command import command
from s2lct.dataset_script.hub import (
    CreatePr,
    DryRun,
    Hub,
    Publication,
    RepoOption,
    require_repo,
)
from s2lct.errors import PublishError
from s2lct.suite.versions import Version, changelog_with, compare, counted

if TYPE_CHECKING:
    from s2lct.suite.read import WrittenSuite

CHANGELOG = "CHANGELOG.md"
_DATA = "data/"
_SHOWN = 5


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
    from s2lct.suite.cases import published_suite
    from s2lct.suite.read import read_suite

    require_repo("--repo", repo)
    wanted = Version.read(version) if version else None
    if faults := verify_suite(suite):
        raise PublishError(
            f"{suite}: the suite is broken: {faults[0]}",
            hint="build it again; `s2lct verify DIR` lists every fault",
        )
    written, hub = read_suite(suite), Hub(create_pr, dry_run)
    state = hub.state(repo, "dataset")
    last = max(hub.versions(repo) if state else (), default=None)
    bump, changelog = None, b""
    if last is None:
        new = wanted or Version(1, 0, 0)
        lines = [f"{name}: {counted(rows)}" for name, rows in written.rows.items()]
    else:
        # Whatever the changelog says, the last version may hold this very suite.
        same = Publication(repo, "dataset", "", _files(written, repo, last), part=_DATA)
        if same.differs_from(hub.state(repo, "dataset", last.tag)) == ([], []):
            if wanted not in (None, last):
                raise PublishError(
                    f"--version {wanted}: nothing changed since {last.tag} of {repo}",
                    hint=f"there is nothing to publish; load it with revision={last.tag!r}",
                )
            return [f"nothing to do: {last.tag} of {repo} is this suite"]
        released = f"{repo}@{last.tag}"
        before = read_suite(published_suite(released))
        bump, lines = compare(
            before.rows,
            written.rows,
            columns_renamed=before.has_former_names and not written.has_former_names,
        )
        new = last.after(bump)
        if wanted not in (None, new):
            raise PublishError(
                f"--version {wanted}: after {last} the next is {new}, because {bump.value}"
                f"{': ' if lines else ''}{'; '.join(lines[:_SHOWN])}",
                hint=f"publish it with --version {new}",
            )
        changelog = hub.read(repo, "dataset", CHANGELOG, last.tag)
    files = _files(written, repo, new)
    files[CHANGELOG] = changelog_with(changelog.decode(), new, bump, lines, notes).encode()
    description = "\n".join(f"- {line}" for line in lines)
    publication = Publication(
        repo, "dataset", f"S²LCT {new}", files, description, part=_DATA, tag=new.tag
    )
    headline = f"{last} → {new}: {bump.value}" if bump else f"{new}, the first version:"
    return [headline, *(f"  {line}" for line in lines), *hub.publish(publication, state)]


def _files(suite: WrittenSuite, repo: str, version: Version) -> dict[str, bytes]:
    """The suite's files as a version in a repository."""
    from s2lct.suite.tables import SUITE_FILE, example_of

    options = {
        name: [_portable(part) for part in value] if isinstance(value, list) else _portable(value)
        for name, value in suite.described["options"].items()
    }
    described = suite.described | {
        "options": options,
        "version": str(version),
        "fingerprint": suite.fingerprint,
    }
    examples = {name: example_of(rows) for name, rows in suite.rows.items()}
    card = render_dataset_card(described, examples, repo)
    files = {
        "README.md": card.encode(),
        SUITE_FILE: (json.dumps(described, indent=2, sort_keys=True) + "\n").encode(),
    }
    for file in suite.described["files"].values():
        files[file["path"]] = (suite.folder / file["path"]).read_bytes()
    return files


def _portable(value: Any) -> Any:
    """A path, with or without ``sst:`` and the like, as its last part."""
    if not isinstance(value, str):
        return value
    kind, colon, location = value.rpartition(":")
    path = Path(location)
    return f"{kind}{colon}{path.name}" if path.is_absolute() else value
