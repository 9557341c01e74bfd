"""The one reader of written suites, for everything that is done with them.

Nothing is used before it is checked: the description, the SHA-256 of every file, every row, and
the fingerprint, which is computed from the rows. A suite may come from anybody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import SuiteError
from s2lct.files import regular_bytes
from s2lct.identity import fingerprint_of
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import spelled
from s2lct.suite.checks import Rows, rows_fingerprint
from s2lct.suite.description import description_faults, in_order, usable_files
from s2lct.suite.faults import Fault
from s2lct.suite.rows import CaseRow
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE, arrow_schema, features, with_all_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import DatasetDict

MOST_DESCRIPTION_BYTES = 16 << 20
MOST_DECODED_BYTES = 1 << 30
_MOST_FILE_BYTES = 512 << 20
_MOST_ROW_GROUPS = 10_000
_MOST_VALUES_A_ROW = 1_000
_MOST_BATCH_BYTES = 64 << 20
_MOST_BATCH_ROWS = 65_536
_NO_SUITE = "name a folder that `s2lct build` wrote"
_SHOWN = 200


@dataclass(frozen=True)
class WrittenSuite:
    """A suite in a folder, as far as it is sound.

    Attributes:
        folder: where it lies.
        described: the contents of its ``suite.json``.
        tables: by config, without ``all``, in the suite's order.
        rows: likewise, as plain values.
        checked: the same rows, checked.
        faults: what is wrong with it; empty for what `read_suite` gives.
    """

    folder: Path
    described: dict[str, Any]
    tables: dict[str, pa.Table] = field(repr=False)
    rows: dict[str, list[dict[str, Any]]] = field(repr=False)
    checked: list[CaseRow] = field(repr=False)
    faults: list[Fault]

    @property
    def version(self) -> str:
        """Its semantic version."""
        return str(self.described["version"])

    @property
    def fingerprint(self) -> str:
        """Computed from its rows."""
        return rows_fingerprint(self.checked)

    def chosen(self, capabilities: Sequence[str] = ()) -> list[str]:
        """The configs of the capabilities named, or all; a `SuiteError` names those it lacks."""
        names = spelled(capabilities, self.rows) if capabilities else tuple(self.rows)
        if unknown := [plain(name, _SHOWN) for name in names if name not in self.rows]:
            raise SuiteError(
                f"--capability {', '.join(unknown)}: not in this suite",
                hint=f"it has {', '.join(self.rows)}" if self.rows else "build one with more seeds",
            )
        return list(names)


def read_suite(folder: Path, told: str | None = None) -> WrittenSuite:
    """Read a suite, whole and checked.

    Args:
        folder: the suite.
        told: what it is called in messages; None for the folder's own name.

    Raises:
        SuiteError: there is none, or it is damaged or altered; the first fault is named.
    """
    suite = examine(folder, told, thoroughly=False)
    _refuse(suite.faults, folder, told)
    return suite


def examine(folder: Path, told: str | None = None, *, thoroughly: bool = True) -> WrittenSuite:
    """Read what is sound of a suite, and list what is not.

    Args:
        folder: the suite.
        told: see `read_suite`.
        thoroughly: look on behind the first kind of fault; what `read_suite` refuses anyway is
            else not looked into.

    Raises:
        SuiteError: there is no ``suite.json``, or it is no JSON object.
    """
    described = _read_json(folder, told)
    faults = list(description_faults(described))
    tables: dict[str, pa.Table] = {}
    raw: dict[str, list[dict[str, Any]]] = {}
    files = usable_files(described)
    checks = Rows(written=True)
    digest: list[list[Any]] = []
    for name in in_order(described, list(files)) if thoroughly or not faults else ():
        found = list[str]()
        table = _table_in(folder, files[name], found, go_on=thoroughly)
        faults += [Fault(files[name]["path"], one) for one in found]
        if table is not None:
            rows = table.to_pylist()
            digest += [[row["id"], row["text"], row["labels"]] for row in rows]
            sound = checks.add(rows, files[name]["path"], name)
            tables[name], raw[name] = table, [rows[number] for number in sound]
    checked = checks.together()
    faults += checks.faults
    whole = len(tables) == len(described["files"])
    if whole and fingerprint_of(digest) != described.get("fingerprint"):
        faults.append(Fault(SUITE_FILE, "the fingerprint is not that of the rows"))
    return WrittenSuite(folder, described, tables, raw, checked, faults)


def read_description(folder: Path, told: str | None = None) -> dict[str, Any]:
    """The contents of ``suite.json``, checked, for what needs no row; see `read_suite`."""
    described = _read_json(folder, told)
    _refuse(list(description_faults(described)), folder, told)
    return described


def parse_description(content: bytes, told: str) -> dict[str, Any]:
    """The contents of a ``suite.json`` that lies in no folder here, checked.

    Raises:
        SuiteError: it is no description of a suite, which is called ``told``.
    """
    described = _parse_json(content, f"{told}/{SUITE_FILE}")
    _refuse(list(description_faults(described)), Path(told), told)
    return described


def parse_rows(content: bytes, told: str) -> list[dict[str, Any]]:
    """The rows of a published Parquet file, which another version may have written.

    Raises:
        SuiteError: it is no Parquet file, or holds no rows of a suite; it is called ``told``.
    """
    faults = list[Any]()
    table = _parse_table(content, faults)
    rows: list[dict[str, Any]] = [] if table is None else table.to_pylist()
    checks = Rows(written=False)
    checks.add(rows, told)
    checks.together()
    if faults := faults + checks.faults:
        raise SuiteError(f"{told}: {faults[0]}", hint="fetch it again")
    return rows


def load_suite(folder: Path) -> dict[str, DatasetDict]:
    """Read a written suite: a `datasets.DatasetDict` for each config, ``all`` last.

    Raises:
        SuiteError: there is none, or it is damaged.
    """
    from datasets import Dataset, DatasetDict, DatasetInfo, NamedSplit, concatenate_datasets

    configs = {
        name: DatasetDict(
            {SPLIT: Dataset(table, DatasetInfo(features=features()), NamedSplit(SPLIT))}
        )
        for name, table in read_suite(folder).tables.items()
    }
    if configs:
        every = concatenate_datasets([config[SPLIT] for config in configs.values()])
        configs[ALL] = DatasetDict({SPLIT: every})
    return configs


def _refuse(faults: Sequence[Fault], folder: Path, told: str | None) -> None:
    if not faults:
        return
    first = faults[0]
    more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
    row = f"{first.row}: " if first.row else ""
    raise SuiteError(
        f"{told or folder}/{first.file}: {row}{first.what}{more}",
        hint="build or fetch the suite again"
        + ("" if told else f"; `s2lct verify {folder} --quick` lists what is wrong"),
    )


def _read_json(folder: Path, told: str | None) -> dict[str, Any]:
    path = f"{told or folder}/{SUITE_FILE}"
    try:
        content = regular_bytes(folder / SUITE_FILE, MOST_DESCRIPTION_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise SuiteError(f"{told or folder}: no {SUITE_FILE} there", hint=_NO_SUITE) from None
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: {_why(error)}", hint=_NO_SUITE) from error
    return _parse_json(content, path)


def _parse_json(content: bytes, path: str) -> dict[str, Any]:
    try:
        described = json.loads(content.decode(), parse_constant=_no_number)
        json.dumps(described, ensure_ascii=False).encode()  # no half characters
    except (ValueError, RecursionError) as error:
        why = f"is no JSON that can be read ({_why(error)})"
        raise SuiteError(f"{path}: {why}", hint=_NO_SUITE) from error
    if not isinstance(described, dict) or not isinstance(described.get("files"), dict):
        raise SuiteError(f"{path}: describes no suite", hint=_NO_SUITE)
    return described


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _table_in(
    folder: Path, file: Mapping[str, Any], faults: list[str], *, go_on: bool
) -> pa.Table | None:
    """A file's table, or None where it cannot be used; what is wrong is added to the faults."""
    try:
        content = regular_bytes(folder / file["path"], _MOST_FILE_BYTES)
    except OSError as error:
        faults.append("is missing" if isinstance(error, FileNotFoundError) else _why(error))
        return None
    if sha256(content).hexdigest() != file["sha256"]:
        faults.append("is not the file that suite.json records (SHA-256 differs from its sha256)")
        if not go_on:
            return None
    table = _parse_table(content, faults)
    if table is None:
        return None
    if table.num_rows != file["rows"]:
        faults.append(f"{table.num_rows} rows, suite.json says {file['rows']}")
    table = with_all_columns(table)
    if not table.schema.equals(arrow_schema()):
        faults.append("the columns are not those of a suite")
        return None
    return table


def _parse_table(content: bytes, faults: list[str]) -> pa.Table | None:
    """A Parquet file's table, decoded piece by piece, so that a small file stays a small one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            thrift_string_size_limit=16 << 20,
            thrift_container_size_limit=1_000_000,
            pre_buffer=False,
        )
        told = file.metadata
        if told.num_row_groups > _MOST_ROW_GROUPS:
            raise ValueError(f"{told.num_row_groups} row groups")
        largest = total = 1
        for group in map(told.row_group, range(told.num_row_groups)):
            for column in map(group.column, range(told.num_columns)):
                if column.num_values > _MOST_VALUES_A_ROW * max(group.num_rows, 1):
                    raise ValueError(f"{column.num_values} values in {group.num_rows} rows")
                largest = max(largest, column.total_uncompressed_size)
                total += max(column.total_uncompressed_size, 0)
        if total > MOST_DECODED_BYTES:
            raise ValueError(f"more than {MOST_DECODED_BYTES >> 30} GiB uncompressed")
        # A value of a dictionary may stand in every row, and is no larger than its column.
        rows_at_once = min(_MOST_BATCH_ROWS, max(1, _MOST_BATCH_BYTES // largest))
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in file.iter_batches(rows_at_once, use_threads=False):
            batches.append(batch)
            size += batch.nbytes
            if size > MOST_DECODED_BYTES:
                raise ValueError(f"unfolds to more than {MOST_DECODED_BYTES >> 30} GiB")
        table = pa.Table.from_batches(batches, file.schema_arrow).combine_chunks()
        table.validate(full=True)
        if any(pa.types.is_dictionary(column.type) for column in table.schema):
            raise ValueError("columns that stay folded")
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        faults.append(f"is no Parquet file that can be read ({_why(error)})")
        return None
    return table


def _why(error: BaseException) -> str:
    """What a library says of a file, in a line."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return plain(" ".join(str(said).split()), _SHOWN)
