"""The one reader of built suites, for everything that is done with them.

Nothing is used before it is checked: the description, the SHA-256 of every file, every row, and
the fingerprint, which is computed from the rows. A suite may come from anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.errors import SuiteError
from s2lct.files import read_limited
from s2lct.identity import SEMANTIC_VERSION
from s2lct.plain_text import ShortRepr, plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.former_names import (
    description_with_present_names,
    former_fingerprints,
    former_schema,
    with_present_names,
)
from s2lct.suite.tables import (
    SHOWN,
    SUITE_FILE,
    FormName,
    Row,
    arrow_schema,
    faults_of_rows,
    rows_fingerprint,
)
from s2lct.table_files import read_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DESCRIPTION_BYTES = 16 << 20
_MOST_FILE_BYTES = 512 << 20
_DATA_FILE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.parquet"
_NO_SUITE = "name a folder that `s2lct build` wrote"
_SHOWN = 200
_Number = Annotated[int, Field(ge=0, lt=1 << 53)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, Field(max_length=100_000)]


class _Described(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)


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


def faults_in(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), SHOWN)
        what = fault["msg"].removeprefix("Value error, ")
        yield f"{where}: {what[:1].lower()}{what[1:]}".removeprefix(": ")


@dataclass(frozen=True, repr=False)
class WrittenSuite(ShortRepr):
    """A suite in a folder.

    Attributes:
        folder: where it lies.
        described: the contents of its ``suite.json``.
        rows: by config, without ``all``, in the suite's order.
        has_former_names: whether its files have the columns of before 4.0.0.
    """

    folder: Path
    described: dict[str, Any]
    rows: dict[str, list[Row]] = field(repr=False)
    has_former_names: bool = False

    @property
    def version(self) -> str:
        """Its semantic version."""
        return str(self.described["version"])

    @cached_property
    def fingerprint(self) -> str:
        """Of its rows, whatever ``suite.json`` says."""
        return rows_fingerprint(self.all_rows)

    @property
    def all_rows(self) -> list[Row]:
        """The rows of all configs."""
        return [row for rows in self.rows.values() for row in rows]


def read_suite(folder: Path) -> WrittenSuite:
    """Read a suite, whole and checked.

    Raises:
        SuiteError: there is none, or it is damaged or altered; the first fault is named.
    """
    suite, faults = examine(folder)
    _refuse(folder, faults)
    return suite


def examine(folder: Path) -> tuple[WrittenSuite, list[str]]:
    """Read what can be read of a suite, and list what is wrong with it.

    Raises:
        SuiteError: there is no ``suite.json``, or it describes no suite.
    """
    described = read_description(folder)
    files = described["files"]
    faults: list[str] = []
    rows_of: dict[str, list[Row]] = {}
    has_former_names = False
    for name in (each["id"] for each in described["capabilities"] if each["id"] in files):
        try:
            table = _table_in(folder, files[name])
            has_former_names |= table.schema.equals(former_schema())
            rows_of[name] = [with_present_names(row) for row in table.to_pylist()]
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            faults.append(f"{files[name]['path']}: {'is missing' if missing else _why(error)}")
    suite = WrittenSuite(folder, described, rows_of, has_former_names)
    tables = ((files[name]["path"], name, rows) for name, rows in rows_of.items())
    faults += faults_of_rows(tables, built=True)
    stated = described["fingerprint"]
    if not faults and stated not in {suite.fingerprint, *former_fingerprints(suite.all_rows)}:
        faults.append(f"{SUITE_FILE}: the fingerprint is not that of the rows")
    return suite, faults


def read_description(folder: Path) -> dict[str, Any]:
    """The contents of ``suite.json``, checked, for what needs no row; see `read_suite`."""
    try:
        described: dict[str, Any] = json.loads(
            read_limited(folder / SUITE_FILE, _MOST_DESCRIPTION_BYTES)
        )
        checked = _Description.model_validate(described)
    except ValidationError as error:
        _refuse(folder, [f"{SUITE_FILE}: {what}" for what in faults_in(error)])
    except (OSError, ValueError, RecursionError) as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        why = "is missing" if missing else f"cannot be read ({_why(error)})"
        raise SuiteError(f"{folder}/{SUITE_FILE}: {why}", hint=_NO_SUITE) from error
    ids = [capability.id for capability in checked.capabilities]
    faults = []
    if len(set(ids)) < len(ids) or not all(map(is_capability_id, ids)):
        faults.append("capabilities: one stands there twice, or has a name that is taken")
    if uncounted := set(ids) - set(checked.counts):
        faults.append(f"counts: {', '.join(uncounted)} is missing")
    for name, file in checked.files.items():
        if name not in ids or not re.fullmatch(f"data/{re.escape(name)}/{_DATA_FILE}", file.path):
            name, path = plain(name, SHOWN), plain(file.path, SHOWN)
            faults.append(f"files.{name}.path: {path} is none of a capability's files")
    _refuse(folder, [f"{SUITE_FILE}: {what}" for what in faults])
    return description_with_present_names(described)


def _refuse(folder: Path, faults: Sequence[str]) -> None:
    if faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        raise SuiteError(
            f"{folder}/{faults[0]}{more}",
            hint=f"build or fetch the suite again; `s2lct verify {folder}` lists what is wrong",
        )


def _table_in(folder: Path, file: Mapping[str, Any]) -> pa.Table:
    """A file's rows; a ValueError where they are none of a suite, or would be too many."""
    import pyarrow as pa

    content = read_limited(folder / file["path"], _MOST_FILE_BYTES)
    if sha256(content).hexdigest() != file["sha256"]:
        raise ValueError("is not the file that suite.json records (SHA-256 differs)")
    try:
        table = read_parquet(content).combine_chunks()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        raise ValueError(f"is no Parquet file that can be read ({_why(error)})") from error
    if not any(table.schema.equals(schema()) for schema in (arrow_schema, former_schema)):
        raise ValueError("the columns are not those of a suite")
    if table.num_rows != file["rows"]:
        raise ValueError(f"{table.num_rows} rows, suite.json says {file['rows']}")
    return table


def _why(error: BaseException) -> str:
    """What a library says of a file, in a line."""
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return plain(" ".join(str(why).split()), _SHOWN)
