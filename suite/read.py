"""The only reader of built suites, which may be malicious.

Checked are ``suite.json``, the SHA-256 of every file, every row, and the fingerprint of all rows.
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

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from s2lct.errors import SuiteError
from s2lct.files import read_limited
from s2lct.identity import SEMANTIC_VERSION, fingerprint_of
from s2lct.plain_text import ShortRepr, listed, plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.former_names import (
    description_with_present_names,
    former_fingerprints,
    former_schema,
    with_present_names,
)
from s2lct.suite.tables import (
    SHOWN_CHARACTERS,
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

_MAX_DESCRIPTION_BYTES = 16 << 20
_MAX_FILE_BYTES = 512 << 20
_DATA_FILE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.parquet"
_NO_SUITE_HINT = "name a folder that `s2lct build` wrote"
_MAX_REASON_CHARACTERS = 200
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, Field(max_length=100_000)]


class _Described(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)


class _File(_Described):
    path: Annotated[str, Field(max_length=400)]
    rows: _Count
    bytes: _Count
    memory: _Count
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
    sentences: _Count


class _Options(_Described):
    corpus: _Text
    templates: FormName


class _Description(_Described):
    """The schema of ``suite.json``."""

    version: Annotated[str, Field(pattern=SEMANTIC_VERSION, max_length=50)]
    fingerprint: _Sha256
    build_fingerprint: _Text
    options: _Options
    corpus: _Corpus
    capabilities: list[_Capability]
    counts: dict[str, dict[str, _Count]]
    files: dict[str, _File]

    @model_validator(mode="after")
    def _check_capabilities(self) -> _Description:
        ids = [capability.id for capability in self.capabilities]
        if len(set(ids)) < len(ids) or not all(map(is_capability_id, ids)):
            raise ValueError("capabilities: one stands there twice, or has a name that is taken")
        if uncounted := set(ids) - set(self.counts):
            raise ValueError(f"counts: {', '.join(uncounted)} is missing")
        for name, file in self.files.items():
            pattern = f"data/{re.escape(name)}/{_DATA_FILE}"
            if name not in ids or not re.fullmatch(pattern, file.path):
                name, path = (
                    plain(name, SHOWN_CHARACTERS),
                    plain(file.path, SHOWN_CHARACTERS),
                )
                raise ValueError(f"files.{name}.path: {path} is none of a capability's files")
        return self


def faults_in(error: ValidationError) -> Iterator[str]:
    """Pydantic's errors, one line each, without the refused values."""
    for fault in error.errors(include_url=False, include_input=False):
        location = plain(".".join(map(str, fault["loc"])), SHOWN_CHARACTERS)
        problem = fault["msg"].removeprefix("Value error, ")
        yield f"{location}: {problem[:1].lower()}{problem[1:]}".removeprefix(": ")


@dataclass(frozen=True, repr=False)
class WrittenSuite(ShortRepr):
    """A suite in a folder.

    Attributes:
        folder: the folder of the suite.
        described: the content of its ``suite.json``.
        rows: the rows of each capability, in the suite's order.
        has_former_names: whether its files have the column names of versions before 4.0.0.
    """

    folder: Path
    described: dict[str, Any]
    rows: dict[str, list[Row]] = field(repr=False)
    has_former_names: bool = False

    @property
    def version(self) -> str:
        """The semantic version of the suite."""
        return str(self.described["version"])

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the suite's rows."""
        return rows_fingerprint(self.all_rows)

    @property
    def all_rows(self) -> list[Row]:
        """The rows of all capabilities."""
        return [row for rows in self.rows.values() for row in rows]


def read_suite(folder: Path) -> WrittenSuite:
    """Read a suite and check all of it.

    Raises:
        SuiteError: the folder holds no suite, or a damaged or altered one; the message names the
            first fault.
    """
    suite, faults = examine(folder)
    _refuse(folder, faults)
    return suite


def examine(folder: Path) -> tuple[WrittenSuite, list[str]]:
    """Read the readable files of a suite, and list the faults of all files.

    Raises:
        SuiteError: ``suite.json`` is missing, or describes no suite.
    """
    described = read_description(folder)
    files = described["files"]
    names = [c["id"] for c in described["capabilities"] if c["id"] in files]
    faults: list[str] = []
    rows_of_capability: dict[str, list[Row]] = {}
    has_former_names = False
    for name in names:
        try:
            table = _table_in(folder, files[name])
            has_former_names |= table.schema.equals(former_schema())
            rows_of_capability[name] = [with_present_names(row) for row in table.to_pylist()]
        except FileNotFoundError:
            faults.append(f"{files[name]['path']}: is missing")
        except (OSError, ValueError) as error:
            faults.append(f"{files[name]['path']}: {_reason(error)}")
    suite = WrittenSuite(folder, described, rows_of_capability, has_former_names)
    tables = ((files[name]["path"], name, rows) for name, rows in rows_of_capability.items())
    faults += faults_of_rows(tables, built=True)
    fingerprint = described["fingerprint"]
    if not faults and fingerprint not in {suite.fingerprint, *former_fingerprints(suite.all_rows)}:
        faults.append(f"{SUITE_FILE}: the fingerprint is not that of the rows")
    recorded_fingerprint = described.get("capabilities_sha256")
    if recorded_fingerprint not in (None, fingerprint_of(described["capabilities"])):
        faults.append(f"{SUITE_FILE}: the capabilities are not those that were recorded")
    return suite, faults


def read_description(folder: Path) -> dict[str, Any]:
    """The checked content of ``suite.json``, without reading rows; see `read_suite`."""
    path = folder / SUITE_FILE
    try:
        described: dict[str, Any] = json.loads(read_limited(path, _MAX_DESCRIPTION_BYTES))
        _Description.model_validate(described)
    except ValidationError as error:
        _refuse(folder, [f"{SUITE_FILE}: {fault}" for fault in faults_in(error)])
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SuiteError(f"{path}: is missing", hint=_NO_SUITE_HINT) from error
    except (OSError, ValueError, RecursionError) as error:
        problem = f"{path}: cannot be read ({_reason(error)})"
        raise SuiteError(problem, hint=_NO_SUITE_HINT) from error
    return description_with_present_names(described)


def _refuse(folder: Path, faults: Sequence[str]) -> None:
    if faults:
        raise SuiteError(
            f"{folder}/{listed(faults, 1)}",
            hint=f"build or fetch the suite again; `s2lct verify {folder}` lists what is wrong",
        )


def _table_in(folder: Path, file: Mapping[str, Any]) -> pa.Table:
    """The table in a file; a ValueError if it differs from the file that ``suite.json`` records."""
    import pyarrow as pa

    content = read_limited(folder / file["path"], _MAX_FILE_BYTES)
    if sha256(content).hexdigest() != file["sha256"]:
        raise ValueError("is not the file that suite.json records (SHA-256 differs)")
    try:
        table = read_parquet(content).combine_chunks()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        raise ValueError(f"is no Parquet file that can be read ({_reason(error)})") from error
    if not any(table.schema.equals(schema()) for schema in (arrow_schema, former_schema)):
        raise ValueError("the columns are not those of a suite")
    if table.num_rows != file["rows"]:
        raise ValueError(f"{table.num_rows} rows, suite.json says {file['rows']}")
    return table


def _reason(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return plain(" ".join(str(reason).split()), _MAX_REASON_CHARACTERS)
