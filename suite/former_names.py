"""The column names of suites before 4.0.0, and their conversion to the present names.

A contrast was a *counterpart*, an annotation a *verdict* and an annotator a *reader*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from s2lct.identity import fingerprint_of
from s2lct.suite.tables import COLUMNS, CONTRAST, FORMER_CONTRAST, Row, rows_fingerprint, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

_FORMER_ANNOTATION = {"of": "string", "reader": "string", "natural": "int32"}


def former_schema() -> pa.Schema:
    """The Arrow schema of a suite before 4.0.0."""
    columns = {name: kind for name, kind in COLUMNS.items() if name != "annotations"}
    return schema_of(columns | {"verdicts": [_FORMER_ANNOTATION]})


def with_present_names(row: Mapping[str, Any]) -> Row:
    """A row with present names; a row that has them already is unchanged."""
    renamed = dict(row)
    if renamed.get("kind") == FORMER_CONTRAST:
        renamed["kind"] = CONTRAST
    if "verdicts" in renamed:
        renamed["annotations"] = [
            {"of": former["of"], "annotator": former["reader"], "natural": former["natural"]}
            for former in renamed.pop("verdicts") or ()
        ]
    return renamed


def description_with_present_names(described: Mapping[str, Any]) -> dict[str, Any]:
    """The content of ``suite.json`` with present names."""
    renamed = dict(described)
    renamed["counts"] = {
        capability: {
            "contrasts" if name == "counterparts" else name: count for name, count in counts.items()
        }
        for capability, counts in described["counts"].items()
    }
    reading = renamed.get("reading")
    if isinstance(reading, dict) and "readers" in reading:
        renamed["reading"] = {"read": reading["read"], "annotators": reading["readers"]}
    return renamed


def former_fingerprints(rows: Iterable[Row]) -> set[str]:
    """The fingerprints that a suite before 4.0.0 with these rows may have recorded."""
    renamed = [row | {"kind": FORMER_CONTRAST} if row["kind"] == CONTRAST else row for row in rows]
    of_texts = fingerprint_of([[row["id"], row["text"], row["labels"]] for row in renamed])
    return {of_texts, rows_fingerprint(renamed)}
