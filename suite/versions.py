"""Semantic versions of a suite: what changed since the last one, and which bump is due."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from s2lct.errors import VersionError
from s2lct.identity import SEMANTIC_VERSION
from s2lct.labels import LABELS

Row = Mapping[str, Any]
_MOST_NAMED = 20
_FIRST = 5
_IDENTITY = ("capability", "kind", "text", "seed_id")
_DESCRIPTION = (
    *("template", "sources", "masked_text", "production", "inserted", "score", "origin"),
    "verdicts",
)
_CHANGELOG_TITLE = "# Changelog\n"


class Bump(enum.Enum):
    """Which number of a version rises, and why."""

    MAJOR = "labels or ids changed their meaning, or cases went"
    MINOR = "cases or capabilities were added, or cases were annotated anew"
    PATCH = "only the card changed"


class Version(NamedTuple):
    """A semantic version."""

    major: int
    minor: int
    patch: int

    @classmethod
    def read(cls, text: str) -> Version:
        """Read ``1.0.0``; anything else raises a `VersionError`."""
        if not re.fullmatch(SEMANTIC_VERSION, text):
            raise VersionError(
                f"--version {text}: is not MAJOR.MINOR.PATCH", hint="write it like 1.0.0"
            )
        return cls(*map(int, text.split(".")))

    @classmethod
    def of_tag(cls, tag: str) -> Version | None:
        """The version of a tag ``v1.0.0``; None for other tags."""
        return cls.read(tag[1:]) if re.fullmatch(f"v{SEMANTIC_VERSION[1:]}", tag) else None

    @property
    def tag(self) -> str:
        """Its tag."""
        return f"v{self}"

    def after(self, bump: Bump) -> Version:
        """The next version."""
        if bump is Bump.MAJOR:
            return Version(self.major + 1, 0, 0)
        if bump is Bump.MINOR:
            return Version(self.major, self.minor + 1, 0)
        return self._replace(patch=self.patch + 1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True)
class SuiteChange:
    """What changed from one version of a suite to another, and the bump that is due."""

    bump: Bump
    changes: Sequence[str]

    def shortly(self) -> str:
        """The first changes, behind a colon; empty if there is none."""
        more = f"; and {len(self.changes) - _FIRST} more" if len(self.changes) > _FIRST else ""
        return f": {'; '.join(self.changes[:_FIRST])}{more}" if self.changes else ""


def compare(before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> SuiteChange:
    """Compare two versions of a suite: rows by config, without ``all``."""
    old = {row["id"]: row for rows in before.values() for row in rows}
    new = {row["id"]: row for rows in after.values() for row in rows}
    kept = [(row, new[id]) for id, row in old.items() if id in new]
    relabelled = [
        f"{now['capability']}: {was['id']} relabelled from {_labels(was)} to {_labels(now)}"
        for was, now in kept
        if _labels(was) != _labels(now)
    ]
    redefined = [
        f"{was['id']} stands for another case"
        for was, now in kept
        if any(was[column] != now[column] for column in _IDENTITY)
    ]
    described_anew = Counter(
        now["capability"]
        for was, now in kept
        # Rows of older versions lack a column, which is empty in newer ones.
        if any((was.get(column) or None) != (now.get(column) or None) for column in _DESCRIPTION)
    )
    spoiling = [
        *(f"capability {name} removed" for name in before if name not in after),
        *_counts((row for id, row in old.items() if id not in new), "removed"),
        *_shortened(relabelled, "relabelled"),
        *_shortened(redefined, "that stand for another"),
    ]
    enriching = [
        *(f"capability {name} added" for name in after if name not in before),
        *_counts((row for id, row in new.items() if id not in old), "added"),
        *(
            f"{name}: sources, templates, insertions or verdicts of {count} cases described anew"
            for name, count in described_anew.items()
        ),
    ]
    bump = Bump.MAJOR if spoiling else Bump.MINOR if enriching else Bump.PATCH
    return SuiteChange(bump, spoiling + enriching)


def check_bump(last: Version, wanted: Version, change: SuiteChange) -> None:
    """Raise a `VersionError` unless a version is the one that follows from the changes."""
    due = last.after(change.bump)
    if wanted != due:
        raise VersionError(
            f"--version {wanted}: after {last} the next is {due}, "
            f"because {change.bump.value}{change.shortly()}",
            hint=f"publish it with --version {due}",
        )


def changelog_with(
    changelog: str, version: Version, bump: Bump | None, lines: Iterable[str]
) -> str:
    """A changelog with a version on top; ``bump`` is None for the first."""
    why = "First version." if bump is None else f"{bump.name.capitalize()}: {bump.value}."
    listed = "".join(f"- {line}\n" for line in lines)
    older = changelog.removeprefix(_CHANGELOG_TITLE).strip()
    parts = [_CHANGELOG_TITLE, f"## {version}\n", f"{why}\n", listed, f"{older}\n" if older else ""]
    return "\n".join(filter(None, parts))


def counted(rows: Iterable[Row]) -> str:
    """``3 seeds and 1 expansion``, ``4 seeds, 3 expansions and 4 counterparts``."""
    kinds = Counter(row["kind"] for row in rows)
    *first, last = (
        f"{count} {kind}{'s' if count != 1 else ''}"
        for kind, count in sorted(kinds.items(), reverse=True)
    )
    return f"{', '.join(first)} and {last}" if first else last


def _counts(rows: Iterable[Row], happened: str) -> list[str]:
    by_capability: dict[str, list[Row]] = {}
    for row in rows:
        by_capability.setdefault(row["capability"], []).append(row)
    return [f"{name}: {counted(found)} {happened}" for name, found in by_capability.items()]


def _labels(row: Row) -> str:
    passing = " or ".join(LABELS[label] for label in sorted(row["labels"]))
    return f"{passing} ({LABELS[row['label']]})" if len(row["labels"]) > 1 else passing


def _shortened(lines: list[str], what: str) -> list[str]:
    if len(lines) <= _MOST_NAMED:
        return lines
    return [*lines[:_MOST_NAMED], f"and {len(lines) - _MOST_NAMED} more cases {what}"]
