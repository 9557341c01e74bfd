"""The rows of a suite: their schema, checks, fingerprint and examples."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import category

from s2lct.cards import escape_markdown
from s2lct.errors import ScoringError
from s2lct.identity import content_id, fingerprint_of
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id

if TYPE_CHECKING:
    import pyarrow as pa

SUITE_FILE = "suite.json"
FormName = Literal["fluent", "paper"]
SPLIT = "test"
KINDS = ("seed", "expansion")
"""The kinds of rows that failure rates count."""
CONTRAST = "contrast"
"""The kind of rows that are a case changed so that no label passes both; ``seed_id`` is its id."""
FORMER_CONTRAST = "counterpart"
"""The kind of contrasts before suite 4.0.0, which is still hashed so that ids stay the same."""
ORIGINS = ("masked", "phrase", "attested")
ALL = "all"
Row = dict[str, Any]
_OPTIONAL_COLUMNS = ("production", "second_production", "probability", "masked_text", "score")
"""Columns that may be empty in a built suite."""
_MAX_TEXT_CHARACTERS, _MAX_NAME_CHARACTERS = 100_000, 200
SHOWN_CHARACTERS = 80
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
    "annotations": [{"of": "string", "annotator": "string", "natural": "int32"}],
}
"""The type of each column of a suite; ``[type]`` is a list, and a mapping a struct."""
EMPTY_ROW: Row = {name: [] if isinstance(kind, list) else None for name, kind in COLUMNS.items()}
EMPTY_ROW |= {"origin": ""}
"""The default value of each column."""


def case_id(kind: str, capability: str, text: str) -> str:
    """The id of a case or contrast: a hash of these three as 16 hexadecimal digits."""
    return content_id(FORMER_CONTRAST if kind == CONTRAST else kind, capability, text)


def arrow_schema() -> pa.Schema:
    """The Arrow schema of a suite's files."""
    return schema_of(COLUMNS)


def schema_of(columns: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of columns, with the features for `datasets`, which is slow to import.

    Args:
        columns: the type of each column by its name, as in `COLUMNS`.
    """
    import pyarrow as pa

    def arrow_type(kind: Any) -> pa.DataType:
        if isinstance(kind, list):
            return pa.list_(arrow_type(kind[0]))
        if isinstance(kind, dict):
            return pa.struct([(name, arrow_type(part_kind)) for name, part_kind in kind.items()])
        return pa.type_for_alias("int64" if kind == "label" else kind)

    features_json = json.dumps({"info": {"features": _features(columns)}})
    fields = [(name, arrow_type(kind)) for name, kind in columns.items()]
    return pa.schema(fields, {"huggingface": features_json})


def _features(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_features(kind[0])]  # the way to write a list that datasets 3 reads, too
    if isinstance(kind, dict):
        return {name: _features(part) for name, part in kind.items()}
    if kind == "label":
        return {"names": list(LABELS), "_type": "ClassLabel"}
    return {"dtype": kind, "_type": "Value"}


def table_of(table_rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table whose schema names the features for `datasets`."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=arrow_schema())


def annotation_counts(table_rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The number of annotated cases, in total and by annotator.

    Returns:
        ``read``: the number of cases with annotations of the case or of its sentences;
        ``annotators``: the number of cases that each annotator annotated, by name.
    """
    names_of_rows = [
        {annotation["annotator"] for annotation in row.get("annotations") or ()}
        for row in table_rows
    ]
    annotators = Counter(name for names in names_of_rows for name in names)
    return {"read": sum(map(bool, names_of_rows)), "annotators": dict(sorted(annotators.items()))}


def family_example(table_rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A seed with its first expansion, from the first family that has one.

    Args:
        table_rows: the rows of a capability, each seed before its expansions.

    Returns:
        In Markdown: ``seed``, ``labels`` and, if any, ``expansion`` with bold inserted words.
    """
    expansion = next((row for row in table_rows if row["kind"] == "expansion"), None)
    seed_id = expansion["seed_id"] if expansion else table_rows[0]["id"]
    seed = next(row for row in table_rows if row["id"] == seed_id)
    labels = " or ".join(LABELS[label] for label in seed["labels"])
    example = {"seed": escape_markdown(seed["text"]), "labels": labels}
    if expansion is not None:
        parts: list[str] = []
        end = 0
        for word in sorted(expansion["inserted"], key=lambda word: word["start"]):
            before = expansion["text"][end : word["start"]]
            parts += [_spaced_markdown(before), f"**{escape_markdown(word['word'])}**"]
            end = word["end"]
        example["expansion"] = "".join([*parts, _spaced_markdown(expansion["text"][end:])])
    return example


def _spaced_markdown(text: str) -> str:
    """A part of a sentence as Markdown, with its leading and trailing spaces."""
    stripped = text.strip()
    return text.replace(stripped, escape_markdown(stripped)) if stripped else text


def rows_fingerprint(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over those values in the rows of a suite that figures depend on, in any row order.

    Scores, probabilities and annotations are not hashed: no figure depends on them, and the last
    digits of scores differ between processors.
    """
    return fingerprint_of(sorted(fingerprint_of(_identity(row)) for row in rows))


def _identity(row: Mapping[str, Any]) -> list[Any]:
    """The values of a row that figures depend on; an empty value equals a missing one."""
    labels = row["labels"]
    names = (row[name] or "" for name in ("id", "capability", "kind", "seed_id", "text"))
    sources = [
        [source[name] or "" for name in ("corpus", "id", "text")] for source in row["sources"] or ()
    ]
    inserted = [[word[name] for name in ("word", "start", "end")] for word in row["inserted"] or ()]
    label = labels[0] if row["label"] is None else row["label"]
    return [*names, sorted(labels), label, row["template"] or "", sources, inserted]


def typed_rows(rows: Sequence[Any]) -> list[Row]:
    """Rows of a user with each value in the type of its column, and None for a missing column.

    Values may be of NumPy or similar libraries, such as arrays for lists.

    Raises:
        ScoringError: a value cannot have the type of its column.
    """
    import pyarrow as pa

    try:
        cells = [{name: _none_for_nan(cell) for name, cell in dict(row).items()} for row in rows]
        typed: list[Row] = pa.Table.from_pylist(cells, schema=arrow_schema()).to_pylist()
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ScoringError(
            f"rows: are none of a suite ({plain(str(error), SHOWN_CHARACTERS)})",
            hint="pass rows as `load_dataset` gives them",
        ) from error
    for row in typed:
        for name in ("production", "second_production"):
            if row[name] is not None and not any(row[name].values()):
                row[name] = None  # some readers give an empty struct where there is none
    return typed


def _none_for_nan(cell: Any) -> Any:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def faults_of_rows(tables: Iterable[tuple[str, str, Sequence[Row]]], *, built: bool) -> list[str]:
    """The faults of single rows of a suite or, if there are none, of links from rows to seeds.

    Args:
        tables: for each file (its name, the capability of its rows, the rows in the types of
            `COLUMNS`); name and capability are empty for rows from no file.
        built: whether the rows must be complete and have hashes as ids, like rows of s2lct.
    """
    row_of_id: dict[str, Row] = {}
    locations: list[str] = []
    faults: list[str] = []
    for file, capability, rows in tables:
        for row_number, row in enumerate(rows):
            row_faults = [*_faults(row), *(_faults_of_build(row) if built else ())]
            if capability not in ("", row["capability"]):
                row_faults.append(f"it stands among the rows of {capability}")
            if row["id"] in row_of_id:
                row_faults.append("its id stands there twice")
            row_of_id[row["id"]] = row
            locations.append(_location_of(file, row, row_number))
            faults += (f"{locations[-1]}: {fault}" for fault in row_faults)
    return faults or [
        f"{location}: {fault}"
        for location, row in zip(locations, row_of_id.values(), strict=True)
        for fault in _faults_beside_seed(row, row_of_id.get(row["seed_id"]), built=built)
    ]


def _faults(row: Row) -> Iterator[str]:
    """The faults of a single row that no suite may have."""
    names = [row[name] or "" for name in ("id", "capability", "kind", "seed_id")]
    text, labels, label = row["text"] or "", row["labels"], row["label"]
    if not all(0 < len(name) <= _MAX_NAME_CHARACTERS for name in names):
        yield "it lacks an id, capability, kind or seed_id, or has one that is too long"
    if not text.strip() or len(text) > _MAX_TEXT_CHARACTERS:
        yield "it has no text, or one that is too long"
    if row["kind"] not in (*KINDS, CONTRAST):
        yield "its kind is none"
    if not is_capability_id(row["capability"] or ""):
        yield "its capability has a name that none can have"
    if not labels or not _is_complete(labels, ["label"]) or len(set(labels)) < len(labels):
        yield f"its labels are {labels}"
    elif label not in (None, *labels):
        yield "its label is not among those that pass"
    if row["kind"] == "seed" and row["seed_id"] != row["id"]:
        yield "a seed's seed_id is its own id"
    for word in row["inserted"] or ():
        start, end = word["start"], word["end"]
        if None not in (start, end) and not (0 <= start < end and text[start:end] == word["word"]):
            yield "an inserted word is not at its offsets"
    if row["origin"] not in (None, "", *ORIGINS):
        yield "its origin is none"


def _faults_of_build(row: Row) -> Iterator[str]:
    """The further faults of a single row that no suite built by s2lct may have."""
    text = row["text"] or ""
    if not _is_complete(row, COLUMNS):
        yield "it, a source or an inserted word lacks something"
    elif row["id"] != case_id(row["kind"], row["capability"], text):
        yield "its id is not the hash of its capability and text"
    if any(category(letter) == "Cc" for letter in text):
        yield "its text has control characters"
    if len(row["labels"] or ()) == len(LABELS):
        yield "every label passes it"
    if row["kind"] == "expansion" and not (row["production"] and row["inserted"]):
        yield "it has no production, or no inserted word"


def _is_complete(value: Any, kind: Any) -> bool:
    """Whether a value has all parts of its type, as in `COLUMNS`."""
    if isinstance(kind, list):
        return value is not None and all(_is_complete(part, kind[0]) for part in value)
    if isinstance(kind, dict):
        return value is not None and all(
            _is_complete(value[name], part) or (name in _OPTIONAL_COLUMNS and value[name] is None)
            for name, part in kind.items()
        )
    return value in range(len(LABELS)) if kind == "label" else value is not None


def _faults_beside_seed(row: Row, seed: Row | None, *, built: bool) -> Iterator[str]:
    """The faults of the link from a row to its seed, or from a contrast to its case."""
    if seed is None:
        yield f"its seed {plain(row['seed_id'], SHOWN_CHARACTERS)} is not in the suite"
    elif seed["capability"] != row["capability"] or seed["kind"] not in (
        KINDS if row["kind"] == CONTRAST else ("seed",)
    ):
        yield "its seed is none, or of another capability"
    elif row["kind"] == "expansion" and built:
        words = [(word["start"], word["end"]) for word in row["inserted"]]
        if without(row["text"], words) != seed["text"]:
            yield "without its inserted words it is not its seed"


def _location_of(file: str, row: Row, row_number: int) -> str:
    names = [row[name] for name in ("capability", "kind", "id")]
    location = plain(" ".join(names), SHOWN_CHARACTERS) if all(names) else f"row {row_number}"
    return f"{file}, {location}" if file else location


def without(text: str, inserted: Sequence[tuple[int, int]]) -> str:
    """The text of an expansion without its inserted words, and without one space for each.

    An insertion that begins with a comma was added without a space. If the text began with an
    insertion, the remaining text gets a capital: *At times, it works.* becomes *It works.*

    Args:
        text: the text of an expansion.
        inserted: the character offsets of the inserted words, ends exclusive.
    """
    began_with_insertion = text[:1].isupper() and any(start == 0 for start, _ in inserted)
    for start, end in sorted(inserted, reverse=True):
        if text[start : start + 1] == ",":
            pass
        elif text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    # A word with a capital of its own keeps its first letter: iPod.
    if began_with_insertion and text.split(" ", 1)[0].islower():
        text = text[0].upper() + text[1:]
    return text
