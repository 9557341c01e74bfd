"""Rows of CSV, JSON-lines and Parquet files that anybody may have written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.files import regular_bytes
from s2lct.json_lines import read_json_lines
from s2lct.plain_text import plain

MOST_BYTES = 512 << 20
MOST_ROWS = 2_000_000
ROW_FILES = (".csv", ".jsonl", ".jsonl.gz", ".parquet")
"""Endings of the names of files that hold rows."""
_SHOWN = 200
_ROWS_AT_ONCE = 4_096
Row = dict[str, Any]


def is_row_file(path: Path) -> bool:
    """Whether a file's name says that it holds rows."""
    return path.name.endswith(ROW_FILES)


def rows_of_file(path: Path, kind: str = "") -> Iterator[tuple[str, Row]]:
    """The rows of a file, each with where it stands, as ``reviews.csv, row 2``.

    Rows of a CSV file, with a header and its cells as text, are counted with the header as row 1.

    Args:
        path: a CSV file, a file of JSON objects a line (packed with gzip or not), a Parquet file.
        kind: ``csv``, ``jsonl`` or ``parquet``; empty to go by the file's name.

    Raises:
        ScoringError: the file cannot be read, or holds something else; it names file and row.
    """
    if not kind:
        if not is_row_file(path):
            raise ScoringError(
                f"{path}: its name does not say what it holds",
                hint=f"name it like one of {', '.join(ROW_FILES)}",
            )
        kind = path.name.removesuffix(".gz").rpartition(".")[2]
    content = _content(path)
    reader = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[kind]
    for number, (where, row) in enumerate(reader(path, content)):
        if number == MOST_ROWS:
            raise ScoringError(f"{path}: has more than {MOST_ROWS:,} rows", hint="give a part")
        yield where, row


def _content(path: Path) -> bytes:
    """The bytes of a file, unpacked."""
    try:
        content = regular_bytes(path, MOST_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise OSError(None, f"unfolds to more than {MOST_BYTES >> 20} MiB")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ScoringError(f"{path}: {plain(why, _SHOWN)}", hint="name a file of rows") from error
    return content


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScoringError(
            f"{path}: is no UTF-8 (byte {error.start:,})", hint="write the file as UTF-8"
        ) from error


def _csv_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
    reader = csv.reader(io.StringIO(_text(path, content), newline=""), strict=True)
    try:
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
    except csv.Error as error:
        raise ScoringError(
            f"{path.name}, line {reader.line_num:,}: {error}", hint="mend the quotes of this row"
        ) from error


def _json_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
    def no_json(number: int, error: BaseException) -> ScoringError:
        return ScoringError(
            f"{path.name}, line {number:,}: is no JSON ({plain(str(error), _SHOWN)})",
            hint="write one JSON object a line",
        )

    for number, row in read_json_lines(_text(path, content).split("\n"), no_json):
        if not isinstance(row, dict):
            raise no_json(number, ValueError("no object"))
        yield f"{path.name}, line {number:,}", row


def _parquet_rows(path: Path, content: bytes) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(pa.BufferReader(content), pre_buffer=False) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                if batch.nbytes > MOST_BYTES:
                    raise ValueError(f"unfolds to more than {MOST_BYTES >> 20} MiB")
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path.name}, row {number:,}", row
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise ScoringError(
            f"{path}: is no Parquet file that can be read ({plain(str(error), _SHOWN)})",
            hint="write the file again",
        ) from error


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
