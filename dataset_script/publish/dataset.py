"""Publish a suite as a versioned dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from s2lct.cards import render_dataset_card
from s2lct.dataset_script.hub import (
    Hub,
    Outcome,
    Publication,
    RepoState,
    dry_run_without_hub,
    require_repo,
)
from s2lct.dataset_script.publish.eval_yaml import EVAL_FILE, configs_in_order, eval_yaml
from s2lct.errors import PublishError, SuiteError, VersionError
from s2lct.hub_calls import said_by
from s2lct.suite.read import parse_description, parse_rows, read_suite
from s2lct.suite.tables import SUITE_FILE, example_of
from s2lct.suite.versions import (
    Bump,
    SuiteChange,
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


@dataclass(frozen=True)
class LocalSuite:
    """A checked suite in a folder.

    Attributes:
        folder: where it lies.
        described: the contents of its ``suite.json``.
        rows: by config, without ``all``.
    """

    folder: Path
    described: Mapping[str, Any]
    rows: Mapping[str, Sequence[Mapping[str, Any]]]

    @classmethod
    def read(cls, folder: Path) -> LocalSuite:
        """Read a suite and check its files, ids, labels, links and fingerprint.

        Raises:
            PublishError: an invariant is broken.
            SuiteError: there is no suite.
        """
        from s2lct.builder.verify import verify_suite

        if faults := verify_suite(folder, quick=True):
            more = f" and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
            raise PublishError(
                f"{folder}: the suite is broken: {'; '.join(faults[:_MOST_FAULTS])}{more}",
                mend="build it again; `s2lct verify DIR` lists every fault",
            )
        suite = read_suite(folder)
        return cls(folder, suite.described, suite.rows)

    def files(self, repo: str, version: Version) -> dict[str, bytes]:
        """The suite's files as a version in a repository; the folder is not touched."""
        described = portable(self.described) | {"version": str(version)}
        examples = {name: example_of(rows) for name, rows in self.rows.items()}
        files = {
            CARD: render_dataset_card(described, examples, repo),
            SUITE_FILE: json.dumps(described, indent=2, sort_keys=True) + "\n",
            EVAL_FILE: eval_yaml(described),
        }
        encoded = {path: text.encode() for path, text in files.items()}
        for file in self.described["files"].values():
            encoded[file["path"]] = (self.folder / file["path"]).read_bytes()
        return encoded


def portable(described: Mapping[str, Any]) -> dict[str, Any]:
    """What ``suite.json`` says, with the builder's own folders left out of its options."""
    options = {
        name: [_portable(one) for one in value] if isinstance(value, list) else _portable(value)
        for name, value in described["options"].items()
    }
    return dict(described) | {"options": options}


def _portable(value: Any) -> Any:
    """A path, with or without ``sst:`` and the like, as its last part."""
    if not isinstance(value, str):
        return value
    kind, colon, location = value.rpartition(":")
    path = Path(location)
    return f"{kind}{colon}{path.name}" if path.is_absolute() else value


def publish_dataset(
    folder: Path,
    repo: str,
    version: str | None = None,
    *,
    private: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
    hub: Hub | None = None,
) -> Outcome:
    """Publish a suite in one commit with a tag ``vVERSION``.

    Args:
        folder: a suite that `s2lct build` wrote.
        repo: ``ORG/NAME``; made if there is none.
        version: the semantic version; None for the one that follows from what changed.
        private: make a new repository private.
        create_pr: propose it in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
        hub: the Hub to publish to.

    Raises:
        PublishError: the suite is broken or the Hub refuses it.
        VersionError: the version is not the one that follows from the changes.
    """
    require_repo("--repo", repo)
    wanted = Version.read(version) if version else None
    suite = LocalSuite.read(folder)
    checked = _checked(suite, repo, wanted)
    unknown = f"what {repo} holds, and which version follows from it"
    with dry_run_without_hub(checked, unknown, dry_run=dry_run) as outcomes:
        outcomes.append(
            _published(
                hub or Hub(),
                suite,
                repo,
                wanted,
                private=private,
                create_pr=create_pr,
                dry_run=dry_run,
            )
        )
    return outcomes[0]


def _checked(suite: LocalSuite, repo: str, wanted: Version | None) -> list[str]:
    """What can be said of a suite without a Hub; its files are made as they would be published.

    Raises:
        PublishError: its card is none.
    """
    files = suite.files(repo, wanted or Version(1, 0, 0))
    try:
        card = yaml.safe_load(files[CARD].decode().split("---")[1])
        licence, configs = card["license"], len(card["configs"])
    except (IndexError, KeyError, TypeError, yaml.YAMLError) as error:
        raise PublishError(
            f"{suite.folder}: its card cannot be made ({said_by(error)})",
            mend="build the suite again",
        ) from error
    cases = sum(len(rows) for rows in suite.rows.values())
    size = sum(map(len, files.values()))
    stated = suite.described["corpus"]["licence"]
    return [
        f"{suite.folder} keeps its invariants ({cases:,} cases; what needs the models is checked "
        "by s2lct verify)",
        f"{repo} can be a repository's name",
        f"{wanted} is a semantic version" if wanted else "no version is asked for",
        f"the card describes {configs} configurations; {len(files)} files, {size:,} bytes",
        f"the card's licence is {licence} (corpus: {stated})",
    ]


def _published(
    hub: Hub,
    suite: LocalSuite,
    repo: str,
    wanted: Version | None,
    *,
    private: bool,
    create_pr: bool,
    dry_run: bool,
) -> Outcome:
    state = hub.state(repo, "dataset")
    tags = hub.tags(repo, "dataset") if state else {}
    released = {known: tag for tag in tags if (known := Version.of_tag(tag))}
    last = max(released, default=None)
    if last is not None and _is_released(hub, repo, last, suite):
        return _unchanged(repo, last, wanted)
    if last is None:
        wanted = wanted or Version(1, 0, 0)
        lines, bump, changelog = _contents(suite), None, ""
    else:
        comparison = compare(_published_rows(hub, repo, last), suite.rows)
        wanted = wanted or last.after(comparison.bump)
        _check_version(repo, released, last, wanted, comparison)
        lines, bump = comparison.lines(), comparison.bump
        published = hub.read(repo, "dataset", CHANGELOG, last.tag)
        changelog = published.decode() if published else ""
    publication = _publication(suite, repo, wanted, lines, bump, changelog, state, private)
    outcome = hub.publish(publication, state, create_pr=create_pr, dry_run=dry_run)
    outcome.lines[:0] = [_headline(last, wanted, bump), *(f"  {line}" for line in lines)]
    return outcome


def _publication(
    suite: LocalSuite,
    repo: str,
    version: Version,
    lines: Sequence[str],
    bump: Bump | None,
    changelog: str,
    state: RepoState | None,
    private: bool,
) -> Publication:
    entry = changelog_entry(version, bump, lines)
    files = suite.files(repo, version)
    files[CHANGELOG] = with_entry(changelog, entry).encode()
    stale = [path for path in state.hashes if path.startswith(DATA)] if state else []
    return Publication(
        repo=repo,
        kind="dataset",
        title=f"S²LCT {version}",
        description="\n".join(f"- {line}" for line in lines),
        files=files,
        removed=[path for path in stale if path not in files],
        tag=version.tag,
        private=private,
    )


def _is_released(hub: Hub, repo: str, last: Version, suite: LocalSuite) -> bool:
    """Whether the last version holds this very suite, whatever its changelog says."""
    state = hub.state(repo, "dataset", last.tag)
    files = suite.files(repo, last)
    return (
        state is not None
        and all(state.holds(path, content) for path, content in files.items())
        and all(path in files for path in state.hashes if path.startswith(DATA))
    )


def _unchanged(repo: str, last: Version, wanted: Version | None) -> Outcome:
    if wanted not in (None, last):
        raise VersionError(
            f"--version {wanted}: nothing changed since {last.tag} of {repo}",
            mend=f"there is nothing to publish; load it with revision={last.tag!r}",
        )
    return Outcome([f"nothing to do: {last.tag} of {repo} is this suite"])


def _check_version(
    repo: str,
    released: Mapping[Version, str],
    last: Version,
    wanted: Version,
    comparison: SuiteChange,
) -> None:
    if wanted in released:
        right = last.after(comparison.bump)
        told = comparison.shortly() or ": its card differs"
        raise VersionError(
            f"--version {wanted}: {repo} has released it with other contents, and a released tag "
            f"never moves (since {last}{told})",
            mend=f"publish it with --version {right}",
        )
    check_bump(last, wanted, comparison)


def _published_rows(hub: Hub, repo: str, version: Version) -> dict[str, list[dict[str, Any]]]:
    """The rows of a published version, by config."""
    try:
        told = hub.read(repo, "dataset", SUITE_FILE, version.tag)
        if told is None:
            raise ValueError(f"it has no {SUITE_FILE}")
        described = parse_description(told, f"{repo}@{version.tag}")
        rows: dict[str, list[dict[str, Any]]] = {}
        for name in configs_in_order(described):
            path = described["files"][name]["path"]
            content = hub.read(repo, "dataset", path, version.tag)
            if content is None:
                raise ValueError(f"it has no {path}")
            rows[name] = parse_rows(content, path)
    except (ValueError, SuiteError) as error:
        why = error.problem if isinstance(error, SuiteError) else error
        raise PublishError(
            f"{repo}: {version.tag} is no suite to compare with ({why})",
            mend="choose another --repo, or mend that tag by hand",
        ) from error
    return rows


def _contents(suite: LocalSuite) -> list[str]:
    counts = suite.described["counts"]
    return [
        f"{name}: "
        + counted({"seed": counts[name]["seeds"], "expansion": counts[name]["expansions"]})
        for name in suite.rows
    ]


def _headline(last: Version | None, version: Version, bump: Bump | None) -> str:
    if last is None or bump is None:
        return f"{version}, the first version:"
    return f"{last} → {version}: {bump.value}"
