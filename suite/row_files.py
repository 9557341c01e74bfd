"""Rows of CSV, JSON-lines and Parquet files that anybody may have written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.files import read_json_lines, regular_bytes
from s2lct.plain_text import plain

ROW_FILES = (".csv", ".jsonl", ".jsonl.gz", ".parquet")
"""Endings of the names of files that hold rows."""
_MOST_BYTES = 512 << 20
_MOST_ROWS = 2_000_000
_SHOWN = 200
Row = dict[str, Any]


def rows_of_file(path: Path, kind: str = "") -> list[tuple[str, Row]]:
    """The rows of a file, each with where it stands, as ``reviews.csv, row 2``.

    Rows of a CSV file, with a header and its cells as text, are counted with the header as row 1.

    Args:
        path: a CSV file, a file of JSON objects a line (packed with gzip or not), a Parquet file.
        kind: ``csv``, ``jsonl`` or ``parquet``; empty to go by the file's name.

    Raises:
        ScoringError: the file cannot be read, or holds something else; it names file and row.
    """
    if not kind and not path.name.endswith(ROW_FILES):
        raise ScoringError(
            f"{path}: its name does not say what it holds",
            hint=f"name it like one of {', '.join(ROW_FILES)}",
        )
    kind = kind or path.name.removesuffix(".gz").rpartition(".")[2]
    reader = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[kind]
    try:
        content = regular_bytes(path, _MOST_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(_MOST_BYTES)
        rows = list(islice(reader(path, content), _MOST_ROWS + 1))
    except (OSError, EOFError, ValueError, TypeError, zlib.error, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ScoringError(
            f"{path}: cannot be read as {kind} ({plain(why, _SHOWN)})",
            hint="write the file again, a text file as UTF-8",
        ) from error
    if len(rows) > _MOST_ROWS:
        raise ScoringError(f"{path}: has more than {_MOST_ROWS:,} rows", hint="give a part")
    return rows


def _csv_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    header = next(reader, [])
    if not any(header) or len(set(header)) < len(header):
        raise ScoringError(
            f"{path}: its first row names no columns, or one of them twice",
            hint="begin the file with a row of the names of its columns, each once",
        )
    for number, cells in enumerate(reader, start=2):
        where = f"{path.name}, row {number:,}"
        if cells and len(cells) != len(header):
            raise ScoringError(
                f"{where}: has {len(cells)} cells, the header {len(header)}",
                hint="put texts with commas in double quotes, and check the row",
            )
        if cells:
            yield where, dict(zip(header, cells, strict=True))


def _json_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
    def no_json(number: int, error: BaseException) -> ScoringError:
        return ScoringError(
            f"{path.name}, line {number:,}: is no JSON object ({plain(str(error), _SHOWN)})",
            hint="write one JSON object a line",
        )

    for number, row in read_json_lines(content.decode("utf-8-sig").split("\n"), no_json):
        if not isinstance(row, dict):
            raise no_json(number, ValueError(f"but {type(row).__name__}"))
        yield f"{path.name}, line {number:,}", row


def _parquet_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
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
