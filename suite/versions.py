"""Semantic versions of a suite: what changed since the last one, and which version is due."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packaging.version import Version

from s2lct.errors import PublishError
from s2lct.identity import SEMANTIC_VERSION

Row = Mapping[str, Any]
_IDENTITY_COLUMNS = ("capability", "kind", "text", "seed_id", "labels", "label")
_CHANGELOG_TITLE = "# Changelog\n"


class Bump(enum.Enum):
    """Which number of a version rises, and why."""

    MAJOR = "labels or ids changed their meaning, or cases went"
    MINOR = "cases or capabilities were added, or cases were annotated anew"
    PATCH = "only the card changed"


def read_version(text: str) -> Version:
    """A version such as ``1.0.0``; a `PublishError` for anything else."""
    if not re.fullmatch(SEMANTIC_VERSION, text):
        raise PublishError(
            f"--version {text}: is not MAJOR.MINOR.PATCH", hint="write it like 1.0.0"
        )
    return Version(text)


def tag_of(version: Version) -> str:
    """The tag of a version, such as ``v1.0.0``."""
    return f"v{version}"


def version_of_tag(tag: str) -> Version | None:
    """The version of a tag ``v1.0.0``; None for other tags."""
    return Version(tag) if re.fullmatch(f"v{SEMANTIC_VERSION[1:]}", tag) else None


def next_version(version: Version, bump: Bump) -> Version:
    """The version that follows if this number rises."""
    if bump is Bump.MAJOR:
        return Version(f"{version.major + 1}.0.0")
    if bump is Bump.MINOR:
        return Version(f"{version.major}.{version.minor + 1}.0")
    return Version(f"{version.major}.{version.minor}.{version.micro + 1}")


def compare(
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
    *,
    columns_renamed: bool = False,
) -> tuple[Bump, list[str]]:
    """The bump that is due between two versions of a suite, and the changes in words.

    Args:
        before: the rows of the last version by capability.
        after: those of the next.
        columns_renamed: whether the last one has the column names of before 4.0.0.
    """
    old, new = _rows_by_id(before), _rows_by_id(after)
    common = [(row, new[id]) for id, row in old.items() if id in new]
    redefined = [row for was, row in common if _identity(was) != _identity(row)]
    annotated = [row for was, row in common if was != row and _identity(was) == _identity(row)]
    breaking = [
        *(["columns renamed: contrast, annotations, annotator"] if columns_renamed else []),
        *(f"capability {name} removed" for name in before if name not in after),
        *_counts([row for id, row in old.items() if id not in new], "removed"),
        *_counts(redefined, "relabelled or redefined"),
    ]
    adding = [
        *(f"capability {name} added" for name in after if name not in before),
        *_counts([row for id, row in new.items() if id not in old], "added"),
        *_counts(annotated, "described or annotated anew"),
    ]
    bump = Bump.MAJOR if breaking else Bump.MINOR if adding else Bump.PATCH
    return bump, breaking + adding


def changelog_with(
    changelog: str, version: Version, bump: Bump | None, changes: Iterable[str], notes: str = ""
) -> str:
    """A changelog with a new version on top.

    Args:
        changelog: the one so far; empty for none.
        version: the new version.
        bump: what rose; None for the first version.
        changes: in words.
        notes: what the publisher says about the version.
    """
    reason = "First version." if bump is None else f"{bump.name.capitalize()}: {bump.value}."
    older = changelog.removeprefix(_CHANGELOG_TITLE).strip()
    parts = [
        *(_CHANGELOG_TITLE, f"## {version}\n", f"{reason}\n"),
        f"{notes.strip()}\n" if notes.strip() else "",
        "".join(f"- {change}\n" for change in changes),
        f"{older}\n" if older else "",
    ]
    return "\n".join(filter(None, parts))


def counted(rows: Iterable[Row]) -> str:
    """The rows of each kind in words: ``3 seeds, 1 expansion``."""
    kinds = sorted(Counter(row["kind"] for row in rows).items(), reverse=True)
    return ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in kinds)


def _counts(rows: Sequence[Row], change: str) -> list[str]:
    names = dict.fromkeys(row["capability"] for row in rows)
    return [
        f"{name}: {counted(row for row in rows if row['capability'] == name)} {change}"
        for name in names
    ]


def _rows_by_id(rows_of: Mapping[str, Sequence[Row]]) -> dict[str, Row]:
    """Rows by id, with their labels in order: another order is no change."""
    rows = (row for rows in rows_of.values() for row in rows)
    return {row["id"]: {**row, "labels": sorted(row["labels"])} for row in rows}


def _identity(row: Row) -> list[Any]:
    return [row[name] for name in _IDENTITY_COLUMNS]
