"""The one reader of built suites, for everything that is done with them.

Nothing is used before it is checked: the description, the SHA-256 of every file, every row, and
the fingerprint, which is computed from the rows. A suite may come from anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.errors import SuiteError
from s2lct.files import regular_bytes
from s2lct.identity import SEMANTIC_VERSION
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.tables import (
    SHOWN,
    SUITE_FILE,
    FormName,
    Row,
    arrow_schema,
    checked_rows,
    rows_fingerprint,
)

_MOST_DESCRIPTION_BYTES = 16 << 20
_MOST_FILE_BYTES = 512 << 20
_MOST_DECODED_BYTES = 1 << 30
_DATA_FILE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.parquet"
_NO_SUITE = "name a folder that `s2lct build` wrote"
_SHOWN = 200
_Number = Annotated[int, Field(ge=0, lt=1 << 53)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, Field(max_length=100_000)]


class _Described(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _File(_Described):
    path: Annotated[str, Field(max_length=400)]
    rows: _Number
    bytes: _Number
    memory: _Number
    sha256: _Sha256


class _Capability(_Described):
    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: _Text
    expectation: _Text
    forms: dict[str, Any]


class _Corpus(_Described):
    name: _Text
    description: _Text
    licence: _Text
    sentences: _Number


class _Options(_Described):
    corpus: _Text
    templates: FormName


class _Description(_Described):
    """What ``suite.json`` must say, whoever wrote it."""

    version: Annotated[str, Field(pattern=SEMANTIC_VERSION, max_length=50)]
    fingerprint: _Sha256
    build_fingerprint: _Text
    options: _Options
    corpus: _Corpus
    capabilities: list[_Capability]
    counts: dict[str, dict[str, _Number]]
    files: dict[str, _File]


def faults_told(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), SHOWN)
        what = fault["msg"].removeprefix("Value error, ")
        yield f"{where}: {what[:1].lower()}{what[1:]}".removeprefix(": ")


def description_faults(described: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the contents of ``suite.json``."""
    try:
        checked = _Description.model_validate(described)
    except ValidationError as error:
        yield from (f"{SUITE_FILE}: {what}" for what in faults_told(error))
        return
    ids = [capability.id for capability in checked.capabilities]
    if len(set(ids)) < len(ids) or not all(map(is_capability_id, ids)):
        yield f"{SUITE_FILE}: capabilities: one stands there twice, or has a name that is taken"
    if missing := set(ids) - set(checked.counts):
        yield f"{SUITE_FILE}: counts: {', '.join(missing)} is missing"
    for name, file in checked.files.items():
        if name not in ids or not re.fullmatch(f"data/{re.escape(name)}/{_DATA_FILE}", file.path):
            name, path = plain(name, SHOWN), plain(file.path, SHOWN)
            yield f"{SUITE_FILE}: files.{name}.path: {path} is none of a capability's files"


@dataclass(frozen=True)
class WrittenSuite:
    """A suite in a folder, as far as it is sound.

    Attributes:
        folder: where it lies.
        described: the contents of its ``suite.json``.
        rows: by config, without ``all``, in the suite's order.
        faults: what is wrong with it; empty for what `read_suite` gives.
    """

    folder: Path
    described: dict[str, Any]
    rows: dict[str, list[Row]] = field(repr=False)
    faults: list[str]

    @property
    def version(self) -> str:
        """Its semantic version."""
        return str(self.described["version"])

    @property
    def fingerprint(self) -> str:
        """Of its rows."""
        return str(self.described["fingerprint"])

    @property
    def all_rows(self) -> list[Row]:
        """The rows of all configs."""
        return [row for rows in self.rows.values() for row in rows]


def read_suite(folder: Path, called: str | None = None) -> WrittenSuite:
    """Read a suite, whole and checked.

    Args:
        folder: the suite.
        called: its name in messages; None for the folder's.

    Raises:
        SuiteError: there is none, or it is damaged or altered; the first fault is named.
    """
    suite = examine(folder, called)
    _refuse(suite.faults, folder, called)
    return suite


def examine(folder: Path, called: str | None = None) -> WrittenSuite:
    """Read what is sound of a suite, and list what is not; see `read_suite`.

    Raises:
        SuiteError: there is no ``suite.json``, or it describes no suite.
    """
    described = _read_json(folder, called)
    faults = list(description_faults(described))
    if faults:  # what it says of its files is not to be relied on
        return WrittenSuite(folder, described, {}, faults)
    files = described["files"]
    order = [one["id"] for one in described["capabilities"] if one["id"] in files]
    read: dict[str, list[Row]] = {}
    for name in order:
        rows, found = _rows_in(folder, files[name])
        faults += (f"{files[name]['path']}: {what}" for what in found)
        if rows is not None:
            read[name] = rows
    sound, in_rows = checked_rows(
        ((files[name]["path"], name, rows) for name, rows in read.items()), built=True
    )
    faults += in_rows
    every = (row for rows in read.values() for row in rows)
    if len(read) == len(files) and rows_fingerprint(every) != described["fingerprint"]:
        faults.append(f"{SUITE_FILE}: the fingerprint is not that of the rows")
    kept = {name: [row for row in sound if row["capability"] == name] for name in read}
    return WrittenSuite(folder, described, kept, faults)


def read_description(folder: Path, called: str | None = None) -> dict[str, Any]:
    """The contents of ``suite.json``, checked, for what needs no row; see `read_suite`."""
    described = _read_json(folder, called)
    _refuse(list(description_faults(described)), folder, called)
    return described


def _refuse(faults: Sequence[str], folder: Path, called: str | None) -> None:
    if faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        raise SuiteError(
            f"{called or folder}/{faults[0]}{more}",
            hint="build or fetch the suite again"
            + ("" if called else f"; `s2lct verify {folder}` lists what is wrong"),
        )


def _read_json(folder: Path, called: str | None) -> dict[str, Any]:
    path = f"{called or folder}/{SUITE_FILE}"
    try:
        described = json.loads(regular_bytes(folder / SUITE_FILE, _MOST_DESCRIPTION_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        why = "is missing" if missing else f"cannot be read ({_why(error)})"
        raise SuiteError(f"{path}: {why}", hint=_NO_SUITE) from error
    if not isinstance(described, dict) or not isinstance(described.get("files"), dict):
        raise SuiteError(f"{path}: describes no suite", hint=_NO_SUITE)
    return described


def _rows_in(folder: Path, file: Mapping[str, Any]) -> tuple[list[Row] | None, list[str]]:
    """A file's rows, or None where it cannot be used, and what is wrong."""
    faults: list[str] = []
    try:
        content = regular_bytes(folder / file["path"], _MOST_FILE_BYTES)
        if sha256(content).hexdigest() != file["sha256"]:
            faults.append("is not the file that suite.json records (SHA-256 differs)")
        rows = _parsed(content)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        return None, [*faults, "is missing" if missing else _why(error)]
    if len(rows) != file["rows"]:
        faults.append(f"{len(rows)} rows, suite.json says {file['rows']}")
    return rows, faults


def _parsed(content: bytes) -> list[Row]:
    """A Parquet file's rows; a ValueError where they are none of a suite, or would be too many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > _MOST_DECODED_BYTES:
            raise ValueError(f"it holds more than {_MOST_DECODED_BYTES >> 30} GiB")
        table = file.read(use_threads=False).combine_chunks()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        raise ValueError(f"is no Parquet file that can be read ({_why(error)})") from error
    if not table.schema.equals(arrow_schema()):
        raise ValueError("the columns are not those of a suite")
    rows: list[Row] = table.to_pylist()
    return rows


def _why(error: BaseException) -> str:
    """What a library says of a file, in a line."""
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return plain(" ".join(str(why).split()), _SHOWN)
