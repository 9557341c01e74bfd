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


_CASE_FIELDS = {
    "id": "string",
    "capability": "string",
    "kind": "string",
    "seed_id": "string",
    "text": "string",
    "passes": "numbers",
    "inserted": "strings",
    "production": "string",
    "splits": "strings",
    "sources": "strings",
}
"""The columns that the suite decides: fields of a `Case`, and what they hold."""


def case_columns(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """The columns of an outcomes file that the suite decides; sets are sorted."""
    return {name: [_listed(getattr(case, name)) for case in cases] for name in _CASE_FIELDS}


def _listed(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


def outcomes_schema() -> pa.Schema:
    """The columns of a result's Parquet file."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "strings": pa.list_(pa.string()),
        "numbers": pa.list_(pa.int64()),
    }
    columns = {name: types[kind] for name, kind in _CASE_FIELDS.items()}
    return pa.schema(columns | {"label": pa.string(), "failed": pa.bool_()})


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
    values: dict[str, Any] = dict(row) | {"sources": row.get("sources") or ()}
    for name in ("passes", "splits"):
        values[name] = frozenset(values[name])
    for name in ("inserted", "sources"):
        values[name] = tuple(values[name])
    return Case(**{name: values[name] for name in _CASE_FIELDS})
