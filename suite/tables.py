"""The rows of a suite: their columns, what they must be, and what is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import ScoringError
from s2lct.identity import content_id, fingerprint_of
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id

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
Row = dict[str, Any]
_OPTIONAL = ("production", "second_production", "probability", "masked_text", "score")
"""Columns that may be empty in a suite that was built."""
_LONGEST_TEXT, _LONGEST_NAME, _MOST_LISTED = 100_000, 200, 1_000
SHOWN = 80
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


def rows_fingerprint(rows: Iterable[Mapping[str, Any]]) -> str:
    """What identifies a suite: a hash over ids, texts and labels of its rows, in its order."""
    return fingerprint_of([[row["id"], row["text"], row["labels"]] for row in rows])


def typed_rows(given: Sequence[Any]) -> list[Row]:
    """Rows from anywhere with every column in its type, None where they have none.

    Labels may be names; arrays, numbers and tuples of NumPy and its like may stand for Python's.

    Raises:
        ScoringError: one cannot have these types.
    """
    refused = (TypeError, ValueError, OverflowError, AttributeError)
    try:
        return _typed(given)
    except refused:
        for number, row in enumerate(given):
            try:
                _typed([row])
            except refused as error:
                raise ScoringError(
                    f"{_where('', row, number)}: is no row of a suite ({plain(str(error), SHOWN)})",
                    hint="pass rows as `load_dataset` gives them",
                ) from error
        raise


def _typed(given: Iterable[Any]) -> list[Row]:
    import pyarrow as pa

    rows: list[Row] = []
    for row in given:
        if not isinstance(row, Mapping):
            raise TypeError("it holds no columns")
        sources = row.get("sources")
        if sources is not None:
            sources = [source | {"label": _number(source.get("label"))} for source in sources]
        labels = row.get("labels")
        rows.append(
            dict(row)
            | {"sources": sources, "label": _number(row.get("label"))}
            | {"labels": None if labels is None else [_number(label) for label in labels]}
        )
    typed: list[Row] = pa.Table.from_pylist(rows, schema=arrow_schema()).to_pylist()
    for row in typed:
        for name in ("production", "second_production"):
            if row[name] is not None and not any(row[name].values()):
                row[name] = None  # some readers give an empty struct where there is none
    return typed


def _number(label: Any) -> Any:
    return LABELS.index(label) if isinstance(label, str) and label in LABELS else label


def checked_rows(
    tables: Iterable[tuple[str, str, Sequence[Row]]], *, built: bool
) -> tuple[list[Row], list[str]]:
    """The sound rows of a suite, and what is wrong with the others or shows between rows.

    Args:
        tables: of each file its name and the capability of all its rows, both empty where rows
            come from no file, and the rows, in the types of `COLUMNS`.
        built: whether they must be as they are built here: whole, with ids that are hashes.
    """
    sound: dict[str, tuple[str, int, Row]] = {}
    faults: list[str] = []
    named: set[str | None] = set()  # ids of all rows, sound or not
    for file, capability, rows in tables:
        for number, row in enumerate(rows):
            found = list(_faults(row, built=built))
            if capability not in ("", row["capability"]):
                found.append(f"it stands among the rows of {capability}")
            if row["id"] in named:
                found.append("its id stands there twice")
            named.add(row["id"])
            faults += (f"{_where(file, row, number)}: {what}" for what in found)
            if not found:
                sound[row["id"]] = (file, number, row)
    for file, number, row in sound.values():
        *_, seed = sound.get(row["seed_id"], (None,))
        found = list(_faults_between(row, seed, built=built)) if seed else []
        if row["seed_id"] not in named:  # of a broken seed enough was said
            found = [f"its seed {plain(row['seed_id'], SHOWN)} is not in the suite"]
        faults += (f"{_where(file, row, number)}: {what}" for what in found)
    return [row for *_, row in sound.values()], faults


def _faults(row: Row, *, built: bool) -> Iterator[str]:
    """What is wrong with a row by itself."""
    names = [row[name] or "" for name in ("id", "capability", "kind", "seed_id")]
    text, labels, label = row["text"] or "", row["labels"], row["label"]
    if not all(0 < len(name) <= _LONGEST_NAME for name in names):
        yield "it lacks an id, capability, kind or seed_id, or has one that is too long"
    if not text.strip() or len(text) > _LONGEST_TEXT:
        yield "it has no text, or one that is too long"
    if row["kind"] not in (*KINDS, COUNTERPART):
        yield "its kind is none"
    if not is_capability_id(row["capability"] or ""):
        yield "its capability has a name that none can have"
    if not labels or not _is_whole(labels, ["label"]) or len(set(labels)) < len(labels):
        yield f"its labels are {labels}"
    elif label not in (None, *labels):
        yield "its label is not among those that pass"
    if row["kind"] == "seed" and row["seed_id"] != row["id"]:
        yield "a seed's seed_id is its own id"
    inserted = row["inserted"] or ()
    if max(len(inserted), len(row["sources"] or ()), len(row["verdicts"] or ())) > _MOST_LISTED:
        yield "it lists too much"
    for word in inserted:
        start, end = word["start"], word["end"]
        if None not in (start, end) and not (0 <= start < end and text[start:end] == word["word"]):
            yield "an inserted word is not at its offsets"
    if row["origin"] not in (None, "", *ORIGINS):
        yield "its origin is none"
    for found in row["verdicts"] or ():
        if found["of"] not in ("case", "sentence") or found["natural"] not in (0, 1, 2):
            yield "one of its verdicts is none"
    if not built:
        return
    if not _is_whole(row, COLUMNS):
        yield "it, a source or an inserted word lacks something"
    elif row["id"] != content_id(row["kind"], row["capability"], text):
        yield "its id is not the hash of its capability and text"
    if row["kind"] == "expansion" and not (row["production"] and inserted):
        yield "it has no production, or no inserted word"


def _is_whole(value: Any, kind: Any) -> bool:
    """Whether a value of a column, or of a part of one, lacks nothing."""
    if isinstance(kind, list):
        return value is not None and all(_is_whole(part, kind[0]) for part in value)
    if isinstance(kind, dict):
        return value is not None and all(
            _is_whole(value[name], part) or (name in _OPTIONAL and value[name] is None)
            for name, part in kind.items()
        )
    return value in range(len(LABELS)) if kind == "label" else value is not None


def _faults_between(row: Row, seed: Row, *, built: bool) -> Iterator[str]:
    if row["kind"] == "seed":
        return
    if (seed["kind"], seed["capability"]) != ("seed", row["capability"]):
        yield "its seed is none, or of another capability"
    if row["kind"] == "expansion" and built:
        words = [(word["start"], word["end"]) for word in row["inserted"]]
        if without(row["text"], words) != seed["text"]:
            yield "without its inserted words it is not its seed"


def _where(file: str, row: Any, number: int) -> str:
    columns = ("capability", "kind", "id")
    names = [row.get(name) for name in columns] if isinstance(row, Mapping) else [None]
    known = all(isinstance(name, str) and name for name in names)
    called = plain(" ".join(map(str, names)), SHOWN) if known else f"row {number}"
    return f"{file}, {called}" if file else called


def without(text: str, inserted: Sequence[tuple[int, int]]) -> str:
    """A text without its inserted words, from start to end, and the space that came with each.

    What begins with a comma came without one.
    """
    for start, end in sorted(inserted, reverse=True):
        if text[start : start + 1] == ",":
            pass
        elif text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    return text
