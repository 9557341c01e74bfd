"""A suite's cases with what the analyses need beside them: template, sources, training label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from s2lct.errors import AnalysisError
from s2lct.suite.capability_ids import chosen
from s2lct.suite.cases import Case, case_from, read_rows
from s2lct.suite.tables import KINDS, Row


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A case with the number of the label to train on, and its making.

    ``sources`` are texts of the corpus sentences that it was made from; ``inserted`` is where its
    inserted words stand (character offsets, end exclusive).
    """

    case: Case
    label: int
    template: str
    sources: tuple[str, ...]
    inserted: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SuiteRows:
    """A suite's rows and what names the suite; see `suite.cases.SuiteCases`."""

    name: str
    version: str
    fingerprint: str
    rows: tuple[SuiteRow, ...]

    @property
    def capabilities(self) -> tuple[str, ...]:
        """In the suite's order."""
        return tuple(dict.fromkeys(row.case.capability for row in self.rows))


def load_rows(suite: str | Path | Iterable[Mapping[str, Any]]) -> SuiteRows:
    """Read a suite as `suite.cases.load_cases` does.

    Raises:
        ScoringError: there is no such suite, it is damaged, or rows are none of a suite.
        AnalysisError: rows lack what the analyses need.
    """
    read = read_rows(suite)
    rows = (_row_of(row) for row in read.rows if row["kind"] in KINDS)
    return SuiteRows(read.name, read.version, read.fingerprint, tuple(rows))


def _row_of(row: Row) -> SuiteRow:
    places = [(word["start"], word["end"]) for word in row["inserted"] or ()]
    if row["label"] is None or row["sources"] is None or any(None in place for place in places):
        raise AnalysisError(
            f"row {row['id']}: lacks label, sources or where its inserted words stand",
            hint="pass rows as `s2lct build` writes them",
        )
    sources = tuple(source["text"] for source in row["sources"])
    return SuiteRow(case_from(row), row["label"], row["template"] or "", sources, tuple(places))


def select_rows(suite: SuiteRows, capabilities: Sequence[str] | None) -> SuiteRows:
    """The rows of some capabilities; all where None are named.

    Raises:
        ScoringError: the suite lacks one.
    """
    if not capabilities:
        return suite
    names = chosen(capabilities, suite.capabilities, suite.name)
    return replace(suite, rows=tuple(row for row in suite.rows if row.case.capability in names))
