"""The tables of a suite: names, columns and types, and how they are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from s2lct.labels import LABELS
from s2lct.suite.records import InsertedWord

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

SUITE_FILE = "suite.json"
SPLIT = "test"
KINDS = ("seed", "expansion")
ALL = "all"


def features() -> Features:
    """The columns of a suite."""
    from datasets import ClassLabel, Features, List, Value

    label = ClassLabel(names=list(LABELS))
    text, number, score = Value("string"), Value("int32"), Value("float64")
    return Features(
        {
            "id": text,
            "capability": text,
            "kind": text,
            "seed_id": text,
            "text": text,
            "labels": List(label),
            "label": label,
            "template": text,
            "sources": List(
                {
                    "corpus": text,
                    "id": text,
                    "split": text,
                    "text": text,
                    "label": label,
                    "score": score,
                }
            ),
            "masked_text": text,
            "production": {
                "lhs": text,
                "seed_rhs": List(text),
                "reference_rhs": List(text),
                "probability": score,
            },
            "inserted": List({"word": text, "tag": text, "start": number, "end": number}),
            "score": score,
        }
    )


def arrow_schema() -> pa.Schema:
    """The types of the columns, without `datasets`, which takes long to import."""
    import pyarrow as pa

    text, number, score, label = pa.string(), pa.int32(), pa.float64(), pa.int64()
    source = {"corpus": text, "id": text, "split": text, "text": text, "label": label}
    production = {"lhs": text, "seed_rhs": pa.list_(text), "reference_rhs": pa.list_(text)}
    inserted = {"word": text, "tag": text, "start": number, "end": number}
    columns = {
        "id": text,
        "capability": text,
        "kind": text,
        "seed_id": text,
        "text": text,
        "labels": pa.list_(label),
        "label": label,
        "template": text,
        "sources": pa.list_(pa.struct(source | {"score": score})),
        "masked_text": text,
        "production": pa.struct(production | {"probability": score}),
        "inserted": pa.list_(pa.struct(inserted)),
        "score": score,
    }
    return pa.schema(list(columns.items()))


def table_of(table_rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table whose schema tells `datasets` its features."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=features().arrow_schema)


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
    example = {
        "seed": seed["text"],
        "labels": " or ".join(LABELS[label] for label in seed["labels"]),
    }
    if expansion is not None:
        words = [InsertedWord(**word) for word in expansion["inserted"]]
        example["expansion"] = marked(expansion["text"], words)
    return example


def marked(text: str, inserted: Iterable[Any], before: str = "**", behind: str = "**") -> str:
    """A text with its inserted words between two marks."""
    for word in sorted(inserted, key=lambda word: -word.start):
        text = f"{text[: word.start]}{before}{word.word}{behind}{text[word.end :]}"
    return text
