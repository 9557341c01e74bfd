"""Semantic versions of a suite: the changes since the previous version, and the next version."""

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
    """The number of a semantic version to increase, with the reason."""

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
    """The version after increasing one number."""
    if bump is Bump.MAJOR:
        return Version(f"{version.major + 1}.0.0")
    if bump is Bump.MINOR:
        return Version(f"{version.major}.{version.minor + 1}.0")
    return Version(f"{version.major}.{version.minor}.{version.micro + 1}")


def compare(
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
    *,
    has_renamed_columns: bool = False,
) -> tuple[Bump, list[str]]:
    """The bump between two versions of a suite, and the changes in words.

    Args:
        before: the rows of the previous version by capability.
        after: the rows of the next version by capability.
        has_renamed_columns: whether the previous version has the column names used before
            4.0.0.
    """
    old_rows, new_rows = _rows_by_id(before), _rows_by_id(after)
    pairs = [(row, new_rows[id]) for id, row in old_rows.items() if id in new_rows]
    redefined = [row for old_row, row in pairs if _identity(old_row) != _identity(row)]
    reannotated = [
        row for old_row, row in pairs if old_row != row and _identity(old_row) == _identity(row)
    ]
    breaking = [
        *(["columns renamed: contrast, annotations, annotator"] if has_renamed_columns else []),
        *(f"capability {name} removed" for name in before if name not in after),
        *_change_lines([row for id, row in old_rows.items() if id not in new_rows], "removed"),
        *_change_lines(redefined, "relabelled or redefined"),
    ]
    additions = [
        *(f"capability {name} added" for name in after if name not in before),
        *_change_lines([row for id, row in new_rows.items() if id not in old_rows], "added"),
        *_change_lines(reannotated, "described or annotated anew"),
    ]
    bump = Bump.MAJOR if breaking else Bump.MINOR if additions else Bump.PATCH
    return bump, breaking + additions


def changelog_with(
    changelog: str, version: Version, bump: Bump | None, changes: Iterable[str], notes: str = ""
) -> str:
    """A changelog with a new version on top.

    Args:
        changelog: the existing changelog; empty for none.
        version: the new version.
        bump: the number that was increased; None for the first version.
        changes: the changes in words.
        notes: the publisher's notes on the version.
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


def counts_in_words(rows: Iterable[Row]) -> str:
    """The number of rows of each kind in words: ``3 seeds, 1 expansion``."""
    kinds = sorted(Counter(row["kind"] for row in rows).items(), reverse=True)
    return ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in kinds)


def _change_lines(rows: Sequence[Row], change: str) -> list[str]:
    capabilities = dict.fromkeys(row["capability"] for row in rows)
    return [
        f"{name}: {counts_in_words(row for row in rows if row['capability'] == name)} {change}"
        for name in capabilities
    ]


def _rows_by_id(rows_by_capability: Mapping[str, Sequence[Row]]) -> dict[str, Row]:
    """Rows by id, with labels sorted, because a different order of labels is no change."""
    rows = (row for rows in rows_by_capability.values() for row in rows)
    return {row["id"]: {**row, "labels": sorted(row["labels"])} for row in rows}


def _identity(row: Row) -> list[Any]:
    return [row[name] for name in _IDENTITY_COLUMNS]
