"""Semantic versions of a suite: what changed since the last one, and which bump is due."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from s2lct.errors import PublishError
from s2lct.identity import SEMANTIC_VERSION

Row = Mapping[str, Any]
_IDENTITY = ("capability", "kind", "text", "seed_id", "labels", "label")
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
        """Read ``1.0.0``; anything else raises a `PublishError`."""
        if not re.fullmatch(SEMANTIC_VERSION, text):
            raise PublishError(
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


def compare(
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
    *,
    columns_renamed: bool = False,
) -> tuple[Bump, list[str]]:
    """Compare two versions of a suite, rows by config: the bump that is due, and the changes."""
    old, new = _by_id(before), _by_id(after)
    kept = [(row, new[id]) for id, row in old.items() if id in new]
    redefined = [now for was, now in kept if _identity(was) != _identity(now)]
    described_anew = [now for was, now in kept if was != now and _identity(was) == _identity(now)]
    spoiling = [
        *(["columns renamed: contrast, annotations, annotator"] if columns_renamed else []),
        *(f"capability {name} removed" for name in before if name not in after),
        *_counts([row for id, row in old.items() if id not in new], "removed"),
        *_counts(redefined, "relabelled or redefined"),
    ]
    enriching = [
        *(f"capability {name} added" for name in after if name not in before),
        *_counts([row for id, row in new.items() if id not in old], "added"),
        *_counts(described_anew, "described or annotated anew"),
    ]
    bump = Bump.MAJOR if spoiling else Bump.MINOR if enriching else Bump.PATCH
    return bump, spoiling + enriching


def changelog_with(
    changelog: str, version: Version, bump: Bump | None, lines: Iterable[str], notes: str = ""
) -> str:
    """A changelog with a version on top; ``bump`` is None for the first.

    ``notes`` are what whoever publishes it says of it.
    """
    why = "First version." if bump is None else f"{bump.name.capitalize()}: {bump.value}."
    listed = "".join(f"- {line}\n" for line in lines)
    older = changelog.removeprefix(_CHANGELOG_TITLE).strip()
    said = f"{notes.strip()}\n" if notes.strip() else ""
    headline = [_CHANGELOG_TITLE, f"## {version}\n", f"{why}\n"]
    parts = [*headline, said, listed, f"{older}\n" if older else ""]
    return "\n".join(filter(None, parts))


def counted(rows: Iterable[Row]) -> str:
    """``3 seeds, 1 expansion``."""
    kinds = sorted(Counter(row["kind"] for row in rows).items(), reverse=True)
    return ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in kinds)


def _counts(rows: Sequence[Row], happened: str) -> list[str]:
    names = dict.fromkeys(row["capability"] for row in rows)
    return [
        f"{name}: {counted(row for row in rows if row['capability'] == name)} {happened}"
        for name in names
    ]


def _by_id(rows_of: Mapping[str, Sequence[Row]]) -> dict[str, Row]:
    """Rows by id; the order of their labels means nothing."""
    rows = (row for rows in rows_of.values() for row in rows)
    return {row["id"]: {**row, "labels": sorted(row["labels"])} for row in rows}


def _identity(row: Row) -> list[Any]:
    return [row[name] for name in _IDENTITY]
