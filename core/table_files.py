"""The reader of all tables that users bring: CSV, JSON and Parquet files, possibly gzipped.

Corpora, suites, predictions and annotations are all read here. A table may be malicious: its size
is bounded, and a table that cannot be read raises one error that names the file and the row.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import S2lctError, ScoringError
from s2lct.files import read_limited
from s2lct.plain_text import plain

if TYPE_CHECKING:
    import pyarrow as pa

TableKind = Literal["csv", "jsonl", "parquet"]
TABLE_KINDS: tuple[TableKind, ...] = ("csv", "jsonl", "parquet")
_KIND_OF_SUFFIX: dict[str, TableKind] = {
    **{"csv": "csv", "tsv": "csv", "jsonl": "jsonl", "json": "jsonl", "ndjson": "jsonl"},
    "parquet": "parquet",
}
LocatedRow = tuple[str, dict[str, Any]]
"""The location of a row, such as ``reviews.csv, row 2``, and its cells by column."""
_MAX_FILE_BYTES = 512 << 20
_MAX_UNPACKED_BYTES = 128 << 20
_MAX_PARQUET_BYTES = 1 << 30
_MAX_PARQUET_VALUES = 32_000_000
_MAX_REASON_CHARACTERS = 200
_READ_ERRORS = (OSError, EOFError, ValueError, TypeError, ArithmeticError, MemoryError)
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def table_kind(path: Path) -> TableKind | None:
    """The kind of table that a file has by its name; None if the suffix is unknown."""
    return _KIND_OF_SUFFIX.get(path.name.lower().removesuffix(".gz").rpartition(".")[2])


def read_rows(
    path: Path, kind: TableKind | None = None, *, error: type[S2lctError] = ScoringError
) -> list[LocatedRow]:
    """The rows of a table; those of a CSV file are counted with the header as row 1.

    Args:
        path: ``csv``: comma, semicolon or tab separate the cells, and the first row names the
            columns; ``jsonl``: a JSON object a line, or one array of objects; ``parquet``.
        kind: the kind of table; None to infer it from the file's name.
        error: the class of the error.

    Raises:
        S2lctError: the file cannot be read as this kind of table.
    """
    kind = kind or table_kind(path)
    if kind is None:
        raise error(
            f"{path}: its name does not say what it holds",
            hint=f"name it like one of {', '.join(f'.{suffix}' for suffix in _KIND_OF_SUFFIX)}",
        )
    try:
        content = read_limited(path, _MAX_FILE_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(_MAX_UNPACKED_BYTES + 1)
            if len(content) > _MAX_UNPACKED_BYTES:
                raise ValueError(f"unpacks to more than {_MAX_UNPACKED_BYTES >> 20} MiB")
        rows = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[kind](content)
        return [(f"{path.name}, {location}", row) for location, row in rows]
    except FileNotFoundError as fault:
        raise error(f"{path}: there is no such file", hint="check the path") from fault
    except (*_READ_ERRORS, csv.Error, zlib.error) as fault:
        reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        raise error(
            f"{path}: cannot be read as {kind} ({plain(reason, _MAX_REASON_CHARACTERS)})",
            hint="write the file again, a text file as UTF-8",
        ) from fault


def _decode(content: bytes) -> str:
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig")


def _csv_rows(content: bytes) -> Iterator[LocatedRow]:
    text = _decode(content)
    csv.field_size_limit(_MAX_FILE_BYTES)
    # The header decides: `csv.Sniffer` is misled by the punctuation of reviews.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if not any(header) or len(set(header)) < len(header):
        raise ValueError("its first row names no columns, or names one of them twice")
    for row_number, cells in enumerate(reader, start=2):
        if cells and len(cells) != len(header):
            raise ValueError(f"row {row_number:,} has {len(cells)} cells, the header {len(header)}")
        if cells:
            yield f"row {row_number:,}", dict(zip(header, cells, strict=True))


def _json_rows(content: bytes) -> Iterator[LocatedRow]:
    text = _decode(content)
    values: Iterable[tuple[str, Any]]
    if text.lstrip().startswith("["):
        array = _json_value("the array", text)
        values = ((f"row {number:,}", value) for number, value in enumerate(array, start=1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        located_lines = ((f"line {number:,}", line) for number, line in lines if line.strip())
        values = ((location, _json_value(location, line)) for location, line in located_lines)
    for location, value in values:
        if not isinstance(value, dict):
            raise ValueError(f"{location} is no JSON object")
        yield location, value


def _json_value(location: str, text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_object_of_distinct_keys)
        if _LONE_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{location} holds half of a surrogate pair") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{location} is no JSON: {error}") from error
    return value


def _object_of_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(cells := dict(pairs)) < len(pairs):
        raise ValueError("a key stands there twice")
    return cells


def _parquet_rows(content: bytes) -> Iterator[LocatedRow]:
    import pyarrow as pa

    try:
        table = read_parquet(content)
        if len({*table.column_names}) < table.num_columns:
            raise ValueError("a column stands there twice")
        # The values of dictionary-encoded columns are slow to get one by one.
        decoded_fields = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
        rows = table.cast(pa.schema(decoded_fields)).to_pylist()
    except (pa.ArrowException, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise ValueError(str(error).partition("\n")[0]) from error
    class_names = _class_names(table.schema.metadata or {})
    for number, row in enumerate(rows, start=1):
        for column, names in class_names.items():
            if isinstance(value := row.get(column), int) and 0 <= value < len(names):
                row[column] = names[value]
        yield f"row {number:,}", row


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The class names that `datasets` recorded for columns of class numbers."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return {
            column: [str(name) for name in feature["names"]]
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return {}


def read_parquet(content: bytes, *, shipped: bool = False) -> pa.Table:
    """The table of a Parquet file; a ValueError if it would be too large in memory.

    A text of many rows may be stored only once, and missing values take hardly any space. So the
    decoded size is computed first, except for files ``shipped`` with this package.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content))
    row_groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    stored_bytes = sum(group.total_byte_size for group in row_groups)
    columns = [group.column(number) for group in row_groups for number in range(group.num_columns)]
    value_count = sum(column.num_values for column in columns)
    limit = f"{_MAX_PARQUET_BYTES >> 30} GiB"
    if stored_bytes > _MAX_PARQUET_BYTES or value_count > _MAX_PARQUET_VALUES:
        raise ValueError(f"it holds more than {limit}, or {value_count:,} values")
    if not shipped and stored_bytes * file.metadata.num_rows > _MAX_PARQUET_BYTES:
        text_columns = {c.path_in_schema: None for c in columns if c.physical_type == "BYTE_ARRAY"}
        encoded = pq.ParquetFile(pa.BufferReader(content), read_dictionary=[*text_columns])
        chunks = (c for column in encoded.read(use_threads=False).columns for c in column.chunks)
        if sum(map(_decoded_bytes, chunks)) > _MAX_PARQUET_BYTES:
            raise ValueError(f"it unfolds to more than {limit}")
    return file.read(use_threads=False)


def _decoded_bytes(array: pa.Array) -> int:
    """The size in bytes of an array once its dictionary-encoded texts are decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
        return int(pc.sum(pc.take(lengths, array.indices)).as_py() or 0)
    if pa.types.is_struct(array.type):
        return sum(map(_decoded_bytes, array.flatten()))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _decoded_bytes(array.flatten())
    return int(array.nbytes)


def parse_json_cell(cell: Any) -> Any:
    """The value of a CSV cell that holds a JSON list or object; any other cell unchanged."""
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def is_blank(cell: Any) -> bool:
    """Whether a cell is empty or holds only white space."""
    return cell is None or (isinstance(cell, str) and not cell.strip())
