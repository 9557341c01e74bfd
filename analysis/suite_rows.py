"""A suite's cases with what the analyses need beside them: template, sources, training label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.analysis.errors import AnalysisError
from s2lct.builder.capability_ids import spelled
from s2lct.builder.hub_calls import data_set
from s2lct.builder.records import LABELS
from s2lct.builder.write import ALL, SPLIT, SUITE_FILE
from s2lct.leaderboard.cases import Case, case_of, load_cases


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
    """Read a suite.

    Args:
        suite: a folder, a Hub id (``ORG/NAME`` or ``ORG/NAME@REVISION``), or rows.

    Raises:
        ScoringError: there is no such suite, or rows are none of a suite.
        AnalysisError: rows lack what the analyses need.
    """
    if not isinstance(suite, (str, Path)):
        return SuiteRows("rows", "", "", tuple(row_of(row) for row in suite))
    cases = load_cases(suite)  # says clearly what is wrong with a suite
    if Path(suite).is_dir():
        data: Iterable[Mapping[str, Any]] = _rows_of_folder(Path(suite))
    else:
        repo, _, revision = str(suite).partition("@")
        data = data_set(repo, ALL, split=SPLIT, revision=revision or None)
    rows = tuple(row_of(row) for row in data)
    return SuiteRows(cases.name, cases.version, cases.fingerprint, rows)


def _rows_of_folder(folder: Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow.parquet as pq

    suite = json.loads((folder / SUITE_FILE).read_text(encoding="utf-8"))
    for capability in suite["capabilities"]:
        if (file := suite["files"].get(capability["id"])) is not None:
            yield from pq.read_table(folder / file["path"]).to_pylist()


def row_of(row: Mapping[str, Any]) -> SuiteRow:
    """A row of a suite.

    Raises:
        ScoringError: the row is none of a suite.
        AnalysisError: it lacks what the analyses need.
    """
    case = case_of(row)
    try:
        label = row["label"]
        return SuiteRow(
            case=case,
            label=LABELS.index(label) if isinstance(label, str) else int(label),
            template=str(row["template"] or ""),
            sources=tuple(str(source["text"]) for source in row["sources"]),
            inserted=tuple(
                (int(word["start"]), int(word["end"])) for word in row["inserted"] or ()
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AnalysisError(
            f"row {case.id}: lacks label, template, sources or inserted ({error!r})",
            mend="pass rows as `s2lct build` writes them",
        ) from error


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
