"""The tables of a suite: names, columns and types, and how they are loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from s2lct.labels import LABELS

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

SUITE_FILE = "suite.json"
FormName = Literal["fluent", "paper"]
SPLIT = "test"
KINDS = ("seed", "expansion")
"""The kinds of cases that a failure rate counts."""
COUNTERPART = "counterpart"
"""A contrast: a row that has its seed's sentence with the opposite label."""
ORIGINS = ("masked", "phrase", "attested", "synonym")
ALL = "all"
HARNESS = "harness"
"""The config of a published suite that other harnesses read; see `harness`."""
_PRODUCTION = {
    "lhs": "string",
    "seed_rhs": ["string"],
    "reference_rhs": ["string"],
    "probability": "float64",
}
_SOURCE = {
    **dict.fromkeys(("corpus", "id", "split", "text"), "string"),
    "label": "label",
    "score": "float64",
    "used": "string",
}
COLUMNS: dict[str, Any] = {
    "id": "string",
    "capability": "string",
    "kind": "string",
    "seed_id": "string",
    "text": "string",
    "labels": ["label"],
    "label": "label",
    "template": "string",
    "sources": [_SOURCE],
    "masked_text": "string",
    "production": _PRODUCTION,
    "second_production": _PRODUCTION,
    "inserted": [{"word": "string", "tag": "string", "start": "int32", "end": "int32"}],
    "score": "float64",
    "origin": "string",
    "verdicts": [{"of": "string", "reader": "string", "natural": "int32"}],
}
"""The columns of a suite and their types: a list is of one type, a mapping has named parts."""


def features() -> Features:
    """The columns as `datasets` has them."""
    from datasets import ClassLabel, Features, List, Value

    def feature(kind: Any) -> Any:
        if isinstance(kind, list):
            return List(feature(kind[0]))
        if isinstance(kind, dict):
            return {name: feature(part) for name, part in kind.items()}
        return ClassLabel(names=list(LABELS)) if kind == "label" else Value(kind)

    return Features(feature(COLUMNS))


def arrow_schema() -> pa.Schema:
    """The same without `datasets`, which takes long to import."""
    import pyarrow as pa

    def arrow_type(kind: Any) -> pa.DataType:
        if isinstance(kind, list):
            return pa.list_(arrow_type(kind[0]))
        if isinstance(kind, dict):
            return pa.struct([(name, arrow_type(part)) for name, part in kind.items()])
        return pa.type_for_alias("int64" if kind == "label" else kind)

    return pa.schema([(name, arrow_type(kind)) for name, kind in COLUMNS.items()])


def table_of(table_rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table whose schema names the features for `datasets`."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=features().arrow_schema)


def with_all_columns(table: pa.Table) -> pa.Table:
    """A table of an older version, which has no column ``verdicts``, with an empty one."""
    import pyarrow as pa

    if "verdicts" in table.column_names:
        return table
    field = arrow_schema().field("verdicts")
    return table.append_column(field, pa.array([[]] * table.num_rows, field.type))


def origins_of(table_rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How many expansions there are of each origin."""
    return Counter(row["origin"] for row in table_rows if row["kind"] == "expansion")


def reading_of(table_rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How far cases were read, and by whom.

    Returns:
        ``read``: how many cases were read, whole or the sentences in them; ``readers``: for each
        annotator by name, of how many cases they read something.
    """
    names = [{found["reader"] for found in row.get("verdicts") or ()} for row in table_rows]
    readers = Counter(name for of_row in names for name in of_row)
    return {"read": sum(map(bool, names)), "readers": dict(sorted(readers.items()))}


def example_of(table_rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A seed with its first expansion, from the first family that has one.

    Args:
        table_rows: the rows of a capability, each seed before its expansions.

    Returns:
        ``seed`` and ``labels`` as text, and ``expansion`` with its inserted words marked, if any.
    """
    expansion = next((row for row in table_rows if row["kind"] == "expansion"), None)
    wanted = expansion["seed_id"] if expansion else table_rows[0]["id"]
    seed = next(row for row in table_rows if row["id"] == wanted)
    labels = " or ".join(LABELS[label] for label in seed["labels"])
    example = {"seed": seed["text"], "labels": labels}
    if expansion is not None:
        text = expansion["text"]
        for word in sorted(expansion["inserted"], key=lambda word: -word["start"]):
            text = f"{text[: word['start']]}**{word['word']}**{text[word['end'] :]}"
        example["expansion"] = text
    return example
