"""Suites of others: CheckList's cases, and tables with columns of their own.

They are named as corpora are, ``KIND:FILE``; see `SUITE_FORMS`. What is read here are rows, which
`cases.read_rows` checks as it checks those of any suite.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from s2lct.errors import ScoringError
from s2lct.files import is_here, read_json_lines, regular_bytes
from s2lct.identity import content_id
from s2lct.labels import CLASS_NAMES, LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of
from s2lct.suite.checklist import id_of_test, read_checklist
from s2lct.suite.tables import Row

CHECKLIST = "checklist"
TABLES = ("csv", "jsonl", "parquet")
SUITE_FORMS = (
    "name a folder, a Hub id, checklist:FILE.jsonl.gz, or csv:FILE, jsonl:FILE or parquet:FILE, "
    'with its columns where they are called otherwise: "csv:FILE?text=test_case&label=gold&'
    'capability=functionality&id=case_id&labels=hateful=negative,other=neutral|positive"'
)
_COLUMNS = {
    "text": ("text", "sentence", "content", "review"),
    "label": ("labels", "label", "sentiment"),
    "capability": ("capability",),
    "id": ("id",),
}
"""What a column is called that an address does not name."""
_AS_BUILT = ("kind", "seed_id", "template", "sources", "production", "inserted")
"""Columns that are taken as they are, where a table has them."""
_MEANINGS: dict[str, tuple[int, ...]] = {
    **{str(number): (number,) for number in range(len(LABELS))},
    **{name: (number,) for name, number in CLASS_NAMES.items()},
}
"""What labels mean that an address does not explain."""
_MOST_BYTES = 512 << 20
_SHOWN = 200
Located = tuple[str, Row]
"""A row behind where it stands, as ``reviews.csv, row 2``."""


def rows_of_file(path: Path, kind: str = "") -> list[Located]:
    """The rows of a file; those of a CSV file are counted with the header as row 1.

    Args:
        path: a CSV file with a header, a file of JSON objects a line (packed with gzip or not), a
            Parquet file.
        kind: ``csv``, ``jsonl`` or ``parquet``; empty to go by the file's name.

    Raises:
        ScoringError: the file cannot be read, or holds something else; it names file and row.
    """
    kind = kind or path.name.removesuffix(".gz").rpartition(".")[2]
    if kind not in TABLES:
        raise ScoringError(
            f"{path}: its name does not say what it holds",
            hint=f"name it like one of {', '.join(f'.{kind}' for kind in TABLES)}",
        )
    reader = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[kind]
    try:
        content = regular_bytes(path, _MOST_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(_MOST_BYTES)
        return list(reader(path, content))
    except (OSError, EOFError, ValueError, TypeError, zlib.error, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ScoringError(
            f"{path}: cannot be read as {kind} ({plain(why, _SHOWN)})",
            hint="write the file again, a text file as UTF-8",
        ) from error


def _csv_rows(path: Path, content: bytes) -> Iterator[Located]:
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    header = next(reader, [])
    if not any(header) or len(set(header)) < len(header):
        raise ValueError("its first row names no columns, or one of them twice")
    for number, cells in enumerate(reader, start=2):
        if cells and len(cells) != len(header):
            raise ValueError(f"row {number:,} has {len(cells)} cells, the header {len(header)}")
        if cells:
            yield f"{path.name}, row {number:,}", dict(zip(header, cells, strict=True))


def _json_rows(path: Path, content: bytes) -> Iterator[Located]:
    def no_json(number: int, error: BaseException) -> ValueError:
        return ValueError(f"line {number:,} is no JSON object: {error}")

    for number, row in read_json_lines(content.decode("utf-8-sig").split("\n"), no_json):
        if not isinstance(row, dict):
            raise no_json(number, ValueError(f"but {type(row).__name__}"))
        yield f"{path.name}, line {number:,}", row


def _parquet_rows(path: Path, content: bytes) -> Iterator[Located]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content))
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > _MOST_BYTES:
        raise ValueError(f"holds more than {_MOST_BYTES >> 20} MiB")
    for number, row in enumerate(file.read().to_pylist(), start=1):
        yield f"{path.name}, row {number:,}", row


def parsed(cell: Any) -> Any:
    """A cell of a CSV file that holds JSON, as its value; all else as it is."""
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def is_empty(cell: Any) -> bool:
    """Whether a row says nothing in a cell."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def columns_of(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The names of all columns, in their order."""
    return list(dict.fromkeys(name for _, row in rows for name in row))


def is_spec(suite: str) -> bool:
    """Whether a suite's name is ``KIND:FILE`` of a kind that is known here."""
    return suite.partition(":")[0] in (CHECKLIST, *TABLES) and ":" in suite


def rows_of_spec(suite: str) -> tuple[str, list[Row]]:
    """What a suite of others is called, and its rows as a suite has them.

    Args:
        suite: one for which `is_spec` holds.

    Raises:
        ScoringError: the file cannot be read, or is no suite; it names the file and the row.
    """
    kind, _, rest = suite.partition(":")
    if kind == CHECKLIST:
        path = Path(rest)
        rows = _checklist_rows(path)
    else:
        path, columns, meanings = _parsed_spec(kind, rest)
        stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
        rows = _table_rows(rows_of_file(path, kind), columns, meanings, stem)
    return f"{kind}:{path.name}", _whole_rows(rows)


def _checklist_rows(path: Path) -> Iterator[Located]:
    """CheckList's minimum-functionality cases: a test is a capability, a case a seed."""
    for case in read_checklist(path):
        yield (
            f"{path.name}, a case of {case.test!r}",
            {
                "capability": id_of_test(case.test),
                "text": case.text,
                "labels": [LABELS.index(label) for label in case.passes],
                "label": LABELS.index(case.expected[0]),
            },
        )


def _table_rows(
    rows: Sequence[Located],
    columns: Mapping[str, str],
    meanings: Mapping[str, tuple[int, ...]],
    capability: str,
) -> Iterator[Located]:
    """Rows of any table with the columns of a suite."""
    names = [(row, _column("label", columns, row, where)) for where, row in rows]
    labels = {str(row[name]).strip() for row, name in names if name != "labels"}
    if labels and labels <= {"0", "1"} and not meanings:
        raise ScoringError(
            f"{rows[0][0]}: the labels are 0 and 1, and nothing says what they mean",
            hint="say it: csv:FILE?labels=0=negative,1=positive",
        )
    for where, row in rows:
        of = {role: _column(role, columns, row, where) for role in _COLUMNS}
        cells = {name: parsed(row[name]) for name in _AS_BUILT if name in row}
        found = {name: cell for name, cell in cells.items() if not is_empty(cell) and cell != []}
        text = row[of["text"]]
        if not isinstance(text, str) or not text.strip():
            raise ScoringError(f"{where}: has no text", hint="fill the cell, or leave the row out")
        found |= {"text": text, "labels": _labels(row[of["label"]], where, meanings)}
        trained_on = row.get("label") if of["label"] == "labels" else None
        found["label"] = (
            found["labels"] if is_empty(trained_on) else _labels(trained_on, where, meanings)
        )[0]
        found["capability"] = str(row.get(of["capability"]) or capability)
        if not is_empty(row.get(of["id"])):
            found["id"] = str(row[of["id"]])
        yield where, found


def _column(role: str, columns: Mapping[str, str], row: Row, where: str) -> str:
    """The column with that role in a row; empty where none need have it."""
    candidates = (columns[role],) if role in columns else _COLUMNS[role]
    found = next((name for name in candidates if name in row), "")
    if not found and (role in ("text", "label") or role in columns):
        present = ", ".join(plain(str(name), _SHOWN) for name in row) or "none"
        raise ScoringError(
            f"{where}: has no column {' or '.join(candidates)}; its columns: {present}",
            hint=f"say which column holds the {role}: csv:FILE?{role}=COLUMN",
        )
    return found


def _labels(cell: Any, where: str, meanings: Mapping[str, tuple[int, ...]]) -> list[int]:
    """The labels that pass, by their numbers, of a cell such as ``neutral|positive``."""
    value = parsed(cell)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    known = meanings or _MEANINGS
    parts = value if isinstance(value, list) else [str(value)]
    if not isinstance(value, list) and str(value).strip() not in known:
        parts = str(value).split("|")
    names = [str(part).strip() for part in parts]
    found = [known.get(name, () if meanings else known.get(name.lower(), ())) for name in names]
    if not found or not all(found):
        raise ScoringError(
            f"{where}: the label {plain(str(cell), _SHOWN)!r} is unknown",
            hint=f"use {', '.join(LABELS)}, several with | between, or say what labels mean: "
            "csv:FILE?labels=hateful=negative,other=neutral|positive",
        )
    return list(dict.fromkeys(number for numbers in found for number in numbers))


def _whole_rows(rows: Iterable[Located]) -> list[Row]:
    """Rows with all that a suite's have; what is made up follows from the row alone.

    Of equal texts of a capability that have no ids the first counts; they are one case.
    """
    names: dict[str, str] = {}
    labels_of_id: dict[str, list[int]] = {}
    whole: list[Row] = []
    for where, row in rows:
        capability = capability_id_of(row["capability"])
        other = names.setdefault(capability, row["capability"])
        if other != row["capability"]:
            raise ScoringError(
                f"{where}: the capabilities {row['capability']!r} and {other!r} would both be "
                f"called {capability}",
                hint="rename one of them",
            )
        try:
            id_ = row.get("id") or content_id(row.get("kind", "seed"), capability, row["text"])
        except UnicodeEncodeError:
            raise ScoringError(
                f"{where}: its text holds half a character (a lone surrogate)",
                hint="write the file as UTF-8",
            ) from None
        known = labels_of_id.setdefault(id_, row["labels"])
        if known != row["labels"] and "id" not in row:
            raise ScoringError(
                f"{where}: the text {plain(row['text'], _SHOWN)!r} stands there twice, with other "
                "labels",
                hint="decide which labels pass, and leave out the other row",
            )
        if known is row["labels"] or "id" in row:
            made_up: Row = {"kind": "seed", "seed_id": id_, "template": "", "sources": []}
            whole.append(made_up | row | {"id": id_, "capability": capability})
    return whole


def _parsed_spec(kind: str, rest: str) -> tuple[Path, dict[str, str], dict[str, tuple[int, ...]]]:
    """The file that ``FILE?text=…&labels=…`` names, its columns, and what its labels mean."""
    file, _, query = rest.partition("?")
    if is_here(Path(rest)):
        file, query = rest, ""
    if not file.strip():
        raise ScoringError(f"--suite {kind}:{rest}: names no file", hint=SUITE_FORMS)
    columns: dict[str, str] = {}
    meanings: dict[str, tuple[int, ...]] = {}
    for part in filter(None, query.split("&")):
        role, _, value = part.partition("=")
        if role == "labels":
            meanings = _label_map(unquote(value), f"--suite {kind}:{rest}")
        elif role in _COLUMNS and value and role not in columns:
            columns[role] = unquote(value)
        else:
            raise ScoringError(
                f"--suite {kind}:{rest}: {part!r} names no column, or one a second time",
                hint=f"write {' or '.join(f'{role}=COLUMN' for role in _COLUMNS)} or "
                "labels=NAME=LABEL,…, with & between",
            )
    return Path(file), columns, meanings


def _label_map(text: str, where: str) -> dict[str, tuple[int, ...]]:
    """``hateful=negative,other=neutral|positive`` as numbers of labels by name."""
    found: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        name, _, meant = part.rpartition("=")
        labels = [label.strip().lower() for label in meant.split("|")]
        if not name.strip() or not set(labels) <= set(LABELS) or name.strip() in found:
            raise ScoringError(
                f"{where}: {part!r} does not say what a label means",
                hint="write it like labels=hateful=negative,other=neutral|positive, each name once",
            )
        found[name.strip()] = tuple(LABELS.index(label) for label in labels)
    return found
