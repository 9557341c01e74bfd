"""A suite's cases with what the analyses need beside them: template, sources, training label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.errors import AnalysisError
from s2lct.suite.capability_ids import spelled
from s2lct.suite.cases import Case, case_from, read_rows
from s2lct.suite.rows import CaseRow


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A case with its making.

    Attributes:
        case: what is scored.
        label: the label to train on, a number of `LABELS`.
        template: see `builder.records.Seed`; empty without one.
        sources: texts of the corpus sentences that it was made from.
        inserted: where its inserted words stand (character offsets, end exclusive).
    """

    case: Case
    label: int
    template: str
    sources: tuple[str, ...]
    inserted: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SuiteRows:
    """A suite's rows and what names the suite; see `leaderboard.cases.SuiteCases`."""

    name: str
    version: str
    fingerprint: str
    rows: tuple[SuiteRow, ...]

    @property
    def capabilities(self) -> tuple[str, ...]:
        """In the suite's order."""
        return tuple(dict.fromkeys(row.case.capability for row in self.rows))


def load_rows(suite: str | Path | Iterable[Mapping[str, Any]]) -> SuiteRows:
    """Read a suite: a folder, a Hub id (``ORG/NAME`` or ``ORG/NAME@REVISION``), or rows.

    Raises:
        ScoringError: there is no such suite, it is damaged, or rows are none of a suite.
        AnalysisError: rows lack what the analyses need.
    """
    read = read_rows(suite)
    return SuiteRows(read.name, read.version, read.fingerprint, tuple(map(row_of, read.rows)))


def row_of(row: CaseRow) -> SuiteRow:
    """A checked row with what the analyses need.

    Raises:
        AnalysisError: it lacks that.
    """
    places = [(word.start, word.end) for word in row.inserted or ()]
    inserted = tuple((start, end) for start, end in places if start is not None and end is not None)
    if row.label is None or row.sources is None or len(inserted) < len(places):
        raise AnalysisError(
            f"row {row.id}: lacks label, sources or where its inserted words stand",
            mend="pass rows as `s2lct build` writes them",
        )
    return SuiteRow(
        case=case_from(row),
        label=row.label,
        template=row.template or "",
        sources=tuple(source.text for source in row.sources),
        inserted=inserted,
    )


def select_rows(suite: SuiteRows, capabilities: Sequence[str] | None) -> SuiteRows:
    """The rows of some capabilities; all where None are named.

    Raises:
        AnalysisError: the suite lacks one.
    """
    capabilities = spelled(capabilities or (), suite.capabilities)
    if unknown := [name for name in capabilities if name not in suite.capabilities]:
        raise AnalysisError(
            f"suite {suite.name}: has no capability {', '.join(unknown)}",
            mend=f"choose among {', '.join(suite.capabilities)}",
        )
    rows = tuple(
        row for row in suite.rows if not capabilities or row.case.capability in capabilities
    )
    return SuiteRows(suite.name, suite.version, suite.fingerprint, rows)
