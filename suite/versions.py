"""Semantic versions of a suite: what changed since the last one, and which bump that asks for."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from s2lct.errors import VersionError
from s2lct.identity import SEMANTIC_VERSION
from s2lct.labels import LABELS

Row = Mapping[str, Any]
_MOST_NAMED = 20
_FIRST = 5
_IDENTITY = ("capability", "kind", "text")
_ANNOTATIONS = ("template", "sources", "masked_text", "production", "inserted", "score")
CHANGELOG_TITLE = "# Changelog\n"


class Version(NamedTuple):
    """A semantic version."""

    major: int
    minor: int
    patch: int

    @classmethod
    def read(cls, text: str) -> Version:
        """Read ``1.0.0``.

        Raises:
            VersionError: it is none.
        """
        if not re.fullmatch(SEMANTIC_VERSION, text):
            raise VersionError(
                f"--version {text}: is not MAJOR.MINOR.PATCH", mend="write it like 1.0.0"
            )
        return cls(*map(int, text.split(".")))

    @classmethod
    def of_tag(cls, tag: str) -> Version | None:
        """The version of a tag ``v1.0.0``; None for other tags."""
        if not tag.startswith("v") or not re.fullmatch(SEMANTIC_VERSION, tag[1:]):
            return None
        return cls.read(tag[1:])

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
        return Version(self.major, self.minor, self.patch + 1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Bump(enum.Enum):
    """Which number of a version rises, and why."""

    MAJOR = "labels or ids changed their meaning, or cases went"
    MINOR = "cases or capabilities were added, or cases were annotated anew"
    PATCH = "only the card changed"


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A case whose labels changed.

    Attributes:
        id: the case.
        capability: ``LC1`` …
        before: the labels that passed, and in brackets the one to train on.
        after: those that pass now.
    """

    id: str
    capability: str
    before: str
    after: str


@dataclass(frozen=True)
class SuiteChange:
    """What changed from one version of a suite to another.

    Attributes:
        added, removed: kinds of cases by capability.
        relabelled: cases with the same id and other labels.
        redefined: ids that stand for another text, kind or capability, or another seed's family.
        annotated: number of cases by capability whose other columns changed.
        new_capabilities, gone_capabilities: configs.
    """

    added: Mapping[str, Counter[str]] = field(default_factory=dict)
    removed: Mapping[str, Counter[str]] = field(default_factory=dict)
    relabelled: Sequence[Relabelled] = ()
    redefined: Sequence[str] = ()
    annotated: Mapping[str, int] = field(default_factory=dict)
    new_capabilities: Sequence[str] = ()
    gone_capabilities: Sequence[str] = ()

    @property
    def bump(self) -> Bump:
        """The bump that the changes ask for."""
        if self.removed or self.relabelled or self.redefined or self.gone_capabilities:
            return Bump.MAJOR
        if self.added or self.new_capabilities or self.annotated:
            return Bump.MINOR
        return Bump.PATCH

    def shortly(self) -> str:
        """The first changes, behind a colon; empty if there is none."""
        lines = self.lines()
        more = f"; and {len(lines) - _FIRST} more" if len(lines) > _FIRST else ""
        return f": {'; '.join(lines[:_FIRST])}{more}" if lines else ""

    def lines(self) -> list[str]:
        """The changes, a line each."""
        told = [f"capability {name} removed" for name in self.gone_capabilities]
        told += [f"{name}: {counted(kinds)} removed" for name, kinds in self.removed.items()]
        told += _shortened(
            [
                f"{case.capability}: {case.id} relabelled from {case.before} to {case.after}"
                for case in self.relabelled
            ],
            "relabelled",
        )
        told += _shortened(
            [f"{id} stands for another case" for id in self.redefined], "that stand for another"
        )
        told += [f"capability {name} added" for name in self.new_capabilities]
        told += [f"{name}: {counted(kinds)} added" for name, kinds in self.added.items()]
        told += [
            f"{name}: sources, templates or insertions of {count} cases described anew"
            for name, count in self.annotated.items()
        ]
        return told


def compare(before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> SuiteChange:
    """Compare two versions of a suite.

    Args:
        before: rows by config (without ``all``).
        after: likewise.
    """
    old = {row["id"]: row for rows in before.values() for row in rows}
    new = {row["id"]: row for rows in after.values() for row in rows}
    kept = [(row, new[id]) for id, row in old.items() if id in new]
    redefined = [
        one["id"]
        for one, other in kept
        if any(one[column] != other[column] for column in (*_IDENTITY, "seed_id"))
    ]
    relabelled = [
        Relabelled(one["id"], other["capability"], _labels(one), _labels(other))
        for one, other in kept
        if _labels(one) != _labels(other)
    ]
    annotated = Counter(
        other["capability"]
        for one, other in kept
        if any(one.get(column) != other.get(column) for column in _ANNOTATIONS)
    )
    return SuiteChange(
        added=_kinds(row for id, row in new.items() if id not in old),
        removed=_kinds(row for id, row in old.items() if id not in new),
        relabelled=relabelled,
        redefined=redefined,
        annotated=dict(annotated),
        new_capabilities=[name for name in after if name not in before],
        gone_capabilities=[name for name in before if name not in after],
    )


def check_bump(last: Version, wanted: Version, comparison: SuiteChange) -> None:
    """Make sure that a version is the one that follows from the changes.

    Raises:
        VersionError: it is not; the right one is named.
    """
    right = last.after(comparison.bump)
    if wanted != right:
        raise VersionError(
            f"--version {wanted}: after {last} the next is {right}, "
            f"because {comparison.bump.value}{comparison.shortly()}",
            mend=f"publish it with --version {right}",
        )


def changelog_entry(version: Version, bump: Bump | None, lines: Iterable[str]) -> str:
    """What CHANGELOG.md says of a version.

    Args:
        version: the version.
        bump: which number rose; None for the first version.
        lines: what changed.
    """
    why = "First version." if bump is None else f"{bump.name.capitalize()}: {bump.value}."
    listed = "".join(f"- {line}\n" for line in lines)
    return f"## {version}\n\n{why}\n" + (f"\n{listed}" if listed else "")


def with_entry(changelog: str, entry: str) -> str:
    """A changelog with an entry on top."""
    older = changelog.removeprefix(CHANGELOG_TITLE).strip()
    return f"{CHANGELOG_TITLE}\n{entry}" + (f"\n{older}\n" if older else "")


def _kinds(rows: Iterable[Row]) -> dict[str, Counter[str]]:
    kinds: dict[str, Counter[str]] = {}
    for row in rows:
        kinds.setdefault(row["capability"], Counter())[row["kind"]] += 1
    return kinds


def _labels(row: Row) -> str:
    passing = " or ".join(LABELS[label] for label in sorted(row["labels"]))
    return f"{passing} ({LABELS[row['label']]})" if len(row["labels"]) > 1 else passing


def counted(kinds: Mapping[str, int]) -> str:
    """``3 seeds and 1 expansion``."""
    return " and ".join(
        f"{count} {kind}{'s' if count != 1 else ''}"
        for kind, count in sorted(kinds.items(), reverse=True)
    )


def _shortened(lines: list[str], what: str) -> list[str]:
    if len(lines) <= _MOST_NAMED:
        return lines
    return [*lines[:_MOST_NAMED], f"and {len(lines) - _MOST_NAMED} more cases {what}"]
