"""What a model said of every case, as the Parquet file beside a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.files import whole_file
from s2lct.labels import LABELS
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    import pyarrow as pa


def case_columns(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """The columns of an outcomes file that the suite decides."""
    return {
        "id": [case.id for case in cases],
        "capability": [case.capability for case in cases],
        "kind": [case.kind for case in cases],
        "seed_id": [case.seed_id for case in cases],
        "text": [case.text for case in cases],
        "passes": [sorted(case.passes) for case in cases],
        "inserted": [list(case.inserted) for case in cases],
        "production": [case.production for case in cases],
        "splits": [sorted(case.splits) for case in cases],
        "sources": [list(case.sources) for case in cases],
    }


def outcomes_schema() -> pa.Schema:
    """The columns of a result's Parquet file."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        {
            "id": text,
            "capability": text,
            "kind": text,
            "seed_id": text,
            "text": text,
            "passes": pa.list_(pa.int64()),
            "inserted": pa.list_(text),
            "production": text,
            "splits": pa.list_(text),
            "sources": pa.list_(text),
            "label": text,
            "failed": pa.bool_(),
        }
    )


def write_outcomes(outcomes: Outcomes, path: Path) -> None:
    """Write outcomes as Parquet, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        case_columns(outcomes.cases)
        | {
            "label": [LABELS[label] for label in outcomes.labels],
            "failed": outcomes.failed.tolist(),
        },
        schema=outcomes_schema(),
    )
    with whole_file(path) as file:
        pq.write_table(table, file)


def case_of_outcome(row: Mapping[str, Any]) -> Case:
    """The case of a row of outcomes; those of format 1 do not tell its sources."""
    return Case(
        id=row["id"],
        capability=row["capability"],
        kind=row["kind"],
        seed_id=row["seed_id"],
        text=row["text"],
        passes=frozenset(row["passes"]),
        inserted=tuple(row["inserted"]),
        production=row["production"],
        splits=frozenset(row["splits"]),
        sources=tuple(row.get("sources") or ()),
    )
