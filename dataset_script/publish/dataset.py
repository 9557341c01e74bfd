"""Publish a suite as a versioned dataset, with ``eval.yaml``: a benchmark of the Hub."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from s2lct.cards import render_dataset_card
from s2lct.dataset_script.hub import Hub, Outcome, Publication, require_repo
from s2lct.dataset_script.publish.eval_yaml import EVAL_FILE, eval_yaml, harness_files
from s2lct.errors import PublishError, SuiteError, VersionError
from s2lct.hub_calls import said_by
from s2lct.suite.description import in_order
from s2lct.suite.harness import harness_splits
from s2lct.suite.read import WrittenSuite, parse_description, parse_rows, read_suite
from s2lct.suite.tables import KINDS, SUITE_FILE, example_of
from s2lct.suite.variety import variety_of
from s2lct.suite.versions import (
    Version,
    changelog_entry,
    check_bump,
    compare,
    counted,
    with_entry,
)

CARD = "README.md"
CHANGELOG = "CHANGELOG.md"
DATA = "data/"
_MOST_FAULTS = 5
_FIRST = Version(1, 0, 0)


def publish_dataset(folder: Path, repo: str, hub: Hub, version: str | None = None) -> Outcome:
    """Publish a suite in one commit with a tag ``vVERSION``.

    Args:
        folder: a suite that `s2lct build` wrote.
        repo: ``ORG/NAME``; made if there is none.
        hub: where and how.
        version: the semantic version; None for the one that follows from what changed.

    Raises:
        PublishError: the suite is broken or the Hub refuses it.
        SuiteError: there is no suite.
        VersionError: the version is not the one that follows from the changes.
    """
    from s2lct.builder.verify import verify_suite

    require_repo("--repo", repo)
    wanted = Version.read(version) if version else None
    if faults := verify_suite(folder):
        more = f" and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        raise PublishError(
            f"{folder}: the suite is broken: {'; '.join(faults[:_MOST_FAULTS])}{more}",
            hint="build it again; `s2lct verify DIR` lists every fault",
        )
    suite = read_suite(folder)
    unknown = f"what {repo} holds, and which version follows from it"
    return hub.publish_checked(
        _checked(suite, repo, wanted), unknown, partial(_published, hub, suite, repo, wanted)
    )


def _files(suite: WrittenSuite, repo: str, version: Version) -> dict[str, bytes]:
    """The suite's files as a version in a repository, without the builder's own folders."""
    options = {
        name: [_portable(one) for one in value] if isinstance(value, list) else _portable(value)
        for name, value in suite.described["options"].items()
    }
    described = suite.described | {"options": options, "version": str(version)}
    examples = {name: example_of(rows) for name, rows in suite.rows.items()}
    variety = variety_of(row for rows in suite.rows.values() for row in rows)
    files = {
        CARD: render_dataset_card(
            described, examples, repo, variety, harness_splits(suite.rows)
        ).encode(),
        SUITE_FILE: (json.dumps(described, indent=2, sort_keys=True) + "\n").encode(),
        EVAL_FILE: eval_yaml(suite).encode(),
        **harness_files(suite),
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


def _checked(suite: WrittenSuite, repo: str, wanted: Version | None) -> list[str]:
    """What can be said of a suite without a Hub; its files are made as they would be published.

    Raises:
        PublishError: its card is none.
    """
    files = _files(suite, repo, wanted or _FIRST)
    try:
        card = yaml.safe_load(files[CARD].decode().split("---")[1])
        licence, configs = card["license"], len(card["configs"])
    except (IndexError, KeyError, TypeError, yaml.YAMLError) as error:
        raise PublishError(
            f"{suite.folder}: its card cannot be made ({said_by(error)})",
            hint="build the suite again",
        ) from error
    size = sum(map(len, files.values()))
    cases = sum(row.kind in KINDS for row in suite.checked)
    return [
        f"{suite.folder} keeps its invariants ({cases:,} cases; what needs the models "
        "is checked by s2lct verify)",
        f"{repo} can be a repository's name",
        f"{wanted} is a semantic version" if wanted else "no version is asked for",
        f"the card describes {configs} configurations; {len(files)} files, {size:,} bytes",
        f"the card's licence is {licence} (corpus: {suite.described['corpus']['licence']})",
    ]


def _kinds(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    kinds = Counter(dict.fromkeys(KINDS, 0))
    kinds.update(row["kind"] for row in rows)
    return kinds


def _published(hub: Hub, suite: WrittenSuite, repo: str, wanted: Version | None) -> Outcome:
    state = hub.state(repo, "dataset")
    released = hub.versions(repo) if state else {}
    last = max(released, default=None)
    if last is None:
        version, bump, changelog = wanted or _FIRST, None, ""
        lines = [f"{name}: {counted(_kinds(rows))}" for name, rows in suite.rows.items()]
        headline = f"{version}, the first version:"
    else:
        # Whatever the changelog says, the last version may hold this very suite.
        same = Publication(repo, "dataset", "", _files(suite, repo, last), part=DATA)
        if same.differs_from(hub.state(repo, "dataset", last.tag)) == ([], []):
            if wanted not in (None, last):
                raise VersionError(
                    f"--version {wanted}: nothing changed since {last.tag} of {repo}",
                    hint=f"there is nothing to publish; load it with revision={last.tag!r}",
                )
            return Outcome([f"nothing to do: {last.tag} of {repo} is this suite"])
        change = compare(_published_rows(hub, repo, last), suite.rows)
        version, bump, lines = wanted or last.after(change.bump), change.bump, change.lines()
        if version in released:
            raise VersionError(
                f"--version {version}: {repo} has released it with other contents, and a released "
                f"tag never moves (since {last}{change.shortly() or ': its card differs'})",
                hint=f"publish it with --version {last.after(bump)}",
            )
        check_bump(last, version, change)
        changelog = (hub.read(repo, "dataset", CHANGELOG, last.tag) or b"").decode()
        headline = f"{last} → {version}: {bump.value}"
    entry = with_entry(changelog, changelog_entry(version, bump, lines))
    publication = Publication(
        repo,
        "dataset",
        f"S²LCT {version}",
        _files(suite, repo, version) | {CHANGELOG: entry.encode()},
        description="\n".join(f"- {line}" for line in lines),
        part=DATA,
        tag=version.tag,
    )
    outcome = hub.publish(publication, state)
    outcome.lines[:0] = [headline, *(f"  {line}" for line in lines)]
    return outcome


def _published_rows(hub: Hub, repo: str, version: Version) -> Mapping[str, list[dict[str, Any]]]:
    """The rows of a published version, by config."""

    def content(path: str) -> bytes:
        if (found := hub.read(repo, "dataset", path, version.tag)) is None:
            raise ValueError(f"it has no {path}")
        return found

    try:
        described = parse_description(content(SUITE_FILE), f"{repo}@{version.tag}")
        paths = {name: file["path"] for name, file in described["files"].items()}
        return {
            name: parse_rows(content(paths[name]), paths[name])
            for name in in_order(described, list(paths))
        }
    except (ValueError, SuiteError) as error:
        why = error.problem if isinstance(error, SuiteError) else error
        raise PublishError(
            f"{repo}: {version.tag} is no suite to compare with ({why})",
            hint="choose another --repo, or mend that tag by hand",
        ) from error
