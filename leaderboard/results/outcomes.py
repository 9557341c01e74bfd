"""What a model said of every case, as the Parquet file beside a result: written, and read again.

`UntrustedReader` is the one reader of results, whoever wrote them: sizes are checked before
anything is read, JSON is taken by its letter, of a Parquet file no more is decoded than its limits
allow, and every word that a page shows is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from s2lct.files import whole_file
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.both_sides import counted
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.scoring.statistics import Failed
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.cases import Case
from s2lct.suite.tables import COUNTERPART, KINDS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

LONGEST_TEXT = 20_000
MOST_VALUES_A_ROW = 1_000
MOST_ROW_GROUPS = 1_000
NO_ANSWER = -1
_ROOM_A_CHARACTER = 16
"""Bytes of a file, for each letter of the texts and ids of its suite; sources are longer."""
_STRING, _STRINGS, _NUMBERS = "string", "list<string>", "list<int64>"
_CASE_COLUMNS = {
    **dict.fromkeys(("id", "capability", "kind", "seed_id", "text"), _STRING),
    "passes": _NUMBERS,
    "inserted": _STRINGS,
    "production": _STRING,
    **dict.fromkeys(("splits", "sources"), _STRINGS),
}
"""The columns that the suite decides: fields of a `Case`, and what they hold."""
_ALSO_READ = {_STRING: ["large_string"], _STRINGS: ["list<null>"]}
"""What else writers give: lists that are all empty have no type of their own."""


def case_columns(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """The columns of an outcomes file that the suite decides; sets are sorted."""
    return {name: [_listed(getattr(case, name)) for case in cases] for name in _CASE_COLUMNS}


def _listed(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


def case_table(cases: Sequence[Case], **more: Sequence[Any]) -> pa.Table:
    """`case_columns` as a table, with more columns behind them."""
    import pyarrow as pa

    strings, numbers = pa.list_(pa.string()), pa.list_(pa.int64())
    types = {_STRING: pa.string(), _STRINGS: strings, _NUMBERS: numbers}
    columns = {
        name: pa.array(values, types[_CASE_COLUMNS[name]])
        for name, values in case_columns(cases).items()
    }
    return pa.table(columns | more)


def said_columns(said: npt.NDArray[np.integer[Any]]) -> dict[str, pa.Array]:
    """What was said, by ids as of `Outcomes`: a label, or null and which of two columns holds."""
    import pyarrow as pa

    told = pa.array([*LABELS, None, None], pa.string())
    return {
        "label": told.take(pa.array(said)),
        "refused": pa.array(said == REFUSED),
        "unreadable": pa.array(said == UNREADABLE),
    }


def said_ids(columns: Mapping[str, Sequence[Any]]) -> Labels:
    """The other way round, of columns of which older files have the label alone.

    A row that has none of a known label, refused and unreadable, or several, is `NO_ANSWER`.
    """
    labels = columns["label"]
    other = [columns.get(name) or [False] * len(labels) for name in ("refused", "unreadable")]
    known: dict[tuple[Any, ...], int] = {
        (label, False, False): number for number, label in enumerate(LABELS)
    } | {(None, True, False): REFUSED, (None, False, True): UNREADABLE}
    said = [known.get(row, NO_ANSWER) for row in zip(labels, *other, strict=True)]
    return np.array(said, dtype=np.int64)


def write_outcomes(outcomes: Outcomes, path: Path) -> None:
    """Write outcomes as Parquet, counterparts behind the cases, whole or not at all."""
    import pyarrow.parquet as pq

    failed = failed_cases(outcomes.asked, outcomes.said)
    columns = said_columns(outcomes.said)
    table = case_table(outcomes.asked, **columns, failed=failed.tolist())
    with whole_file(path) as file:
        pq.write_table(table, file)


@dataclass(frozen=True, slots=True)
class Limits:
    """What results may hold on suites that nobody has named as trusted."""

    rows: int = 200_000  # of a file
    bytes: int = 256 << 20  # of a file's words, ids among them
    all_rows: int = 2_000_000  # of all suites together
    all_bytes: int = 2 << 30  # of their words


STRANGERS = Limits(rows=20_000, bytes=32 << 20, all_rows=100_000, all_bytes=64 << 20)
"""Of a leaderboard, which reads what anybody hands in: SST's suite has 4,000 rows and 3 MB."""


class Untrusted(NamedTuple):
    """A result of anybody's, of which all is bounded and nothing is proved."""

    result: Result  # what the file says
    sha256: str  # of the file
    # As its outcomes have them, with counterparts; equal ones of one reader are one object.
    cases: tuple[Case, ...]
    labels: Labels  # what the model said of them, shape (cases,)
    failed: Failed  # which of them it fails


class UntrustedReader:
    """Reads one result after the other.

    Args:
        names: refuse names that a page cannot show side by side.
        longest: characters of the longest text of a case.
        known: what suites ask that are trusted; equal cases will be these objects.
        limits: what suites may hold that are not among these.
    """

    def __init__(
        self,
        *,
        names: bool = True,
        longest: int = LONGEST_TEXT,
        known: Iterable[tuple[Case, ...]] = (),
        limits: Limits | None = None,
    ) -> None:
        self._names, self._longest, self._limits = names, longest, limits or Limits()
        self._cases_of: dict[str, tuple[Case, ...]] = {}
        self._known = {_all_of(cases): cases for cases in known}
        self._most_rows = max([self._limits.rows, *map(len, self._known.values())])
        words = [sum(len(case.text) + len(case.id) for case in own) for own in self._known.values()]
        self._most_bytes = max([self._limits.bytes, *(_ROOM_A_CHARACTER * one for one in words)])
        self._rows_left, self._bytes_left = self._limits.all_rows, self._limits.all_bytes

    def read(self, path: Path) -> Untrusted:
        """A result file and the outcomes beside it, or a `RefusedError`."""
        data = untrusted.bytes_of(path, untrusted.MOST_JSON_BYTES)
        result = untrusted.checked_record(data, names=self._names)
        name, rows = result.outcomes.path, result.outcomes.rows
        if not 0 < rows <= self._most_rows:
            raise untrusted.RefusedError(
                f"outcomes.rows: is {rows:,}; a suite that --suite does not name may have "
                f"{self._most_rows:,}"
            )
        table, words = decoded(path, result, rows, 4 * self._longest, self._most_bytes)
        cases = self._cases(table.select(list(_cases_columns(result))), words, name)
        columns = table.drop_columns(list(_cases_columns(result))).to_pydict()
        if not counted(cases).any():
            raise untrusted.RefusedError(f"{name}: has no seed and no expansion")
        labels = said_ids(columns)
        if (labels == NO_ANSWER).any():
            raise untrusted.RefusedError(f"{name}: a label is none of {', '.join(LABELS)}")
        failed = failed_cases(cases, labels)
        if columns["failed"] != failed.tolist():
            raise untrusted.RefusedError(f"{name}: failed does not follow from the label")
        return Untrusted(result, sha256(data).hexdigest(), cases, labels, failed)

    def _cases(self, table: pa.Table, words: int, name: str) -> tuple[Case, ...]:
        """The cases of a table; equal tables that were written alike are read once."""
        digest = _digest_of(table)
        if digest not in self._cases_of:
            cases = checked_cases(table.to_pydict(), name, self._longest)
            key = _all_of(cases)
            if key not in self._known:
                if len(cases) > self._rows_left or words > self._bytes_left:
                    raise untrusted.RefusedError(
                        f"{name}: its suite would be one too many, with {len(cases):,} cases and "
                        f"{words:,} bytes; all suites that --suite does not name may have "
                        f"{self._limits.all_rows:,} cases and {self._limits.all_bytes:,} bytes"
                    )
                self._rows_left -= len(cases)
                self._bytes_left -= words
                self._known[key] = cases
            self._cases_of[digest] = self._known[key]
        return self._cases_of[digest]


def _all_of(cases: tuple[Case, ...]) -> tuple[object, ...]:
    """What must be equal for cases to be taken for others: also what equality leaves out."""
    return cases, tuple(case.splits for case in cases)


def _digest_of(table: pa.Table) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sha256(sink.getvalue()).hexdigest()


def _cases_columns(result: Result) -> list[str]:
    """The columns of a result's file that the suite decides."""
    return [name for name in _CASE_COLUMNS if result.format > 1 or name != "sources"]


def decoded(
    path: Path, result: Result, rows: int, longest: int, most_bytes: int
) -> tuple[pa.Table, int]:
    """A result's Parquet file as a table, and how many bytes its words have.

    What the file says of itself is held against the limits before anything is decoded; repeated
    words, which a few bytes may stand for, stay codes until they are counted.

    Args:
        path: the result file.
        result: what it says.
        rows: how many the table must have.
        longest: bytes of the longest text.
        most_bytes: of all words together.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = result.outcomes.path
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise untrusted.RefusedError(
            f"outcomes.path: {name!r} is no plain name of a Parquet file beside it"
        )
    data = untrusted.bytes_of(path.parent / name, untrusted.MOST_TABLE_BYTES)
    if sha256(data).hexdigest() != result.outcomes.sha256:
        raise untrusted.RefusedError(
            f"{name}: is not the file that the result names (SHA-256 differs)"
        )
    columns = {column: _CASE_COLUMNS[column] for column in _cases_columns(result)}
    columns |= {"label": _STRING, "failed": "bool"}
    if result.format > 2:
        columns |= {"refused": "bool", "unreadable": "bool"}
    try:
        described = pq.ParquetFile(
            pa.BufferReader(data),
            thrift_string_size_limit=1 << 20,
            thrift_container_size_limit=100_000,
        )
        if fault := _fault_of_description(described, columns, rows, most_bytes):
            raise untrusted.RefusedError(f"{name}: {fault}")
        metadata = described.metadata
        leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        words = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        table = pq.read_table(pa.BufferReader(data), read_dictionary=words, use_threads=False)
        table.validate(full=True)
        sizes = {column: _bytes_of_words(table[column]) for column in columns}
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        lines = str(error).splitlines() or [""]
        raise untrusted.RefusedError(
            f"{name}: is no Parquet file that can be read ({lines[0][:120]})"
        ) from None
    if len(table) != rows:
        raise untrusted.RefusedError(f"{name}: decodes to {len(table):,} rows for {rows:,} cases")
    for column, (_, most) in sizes.items():
        if most > longest:
            raise untrusted.RefusedError(f"{name}: column {column} holds a text of {most:,} bytes")
    total = sum(size for size, _ in sizes.values())
    if total > most_bytes:
        raise untrusted.RefusedError(f"{name}: holds {total:,} bytes, at most {most_bytes:,}")
    return table, total


def _fault_of_description(
    file: pq.ParquetFile, columns: Mapping[str, str], rows: int, most_bytes: int
) -> str:
    """Why a Parquet file is not read, by what it says of itself; empty if it is."""
    metadata, names = file.metadata, file.schema_arrow.names
    if metadata.num_rows != rows:
        return f"has {metadata.num_rows:,} rows for {rows:,} cases"
    if metadata.num_row_groups > MOST_ROW_GROUPS:
        return f"has {metadata.num_row_groups:,} row groups, at most {MOST_ROW_GROUPS:,}"
    if sorted(names) != sorted(columns):
        more, less = len(set(names) - set(columns)), len(set(columns) - set(names))
        return (
            f"has other columns than `s2lct score` writes ({more} too many, {less} missing, "
            f"{len(names) - len(set(names))} twice)"
        )
    for field in file.schema_arrow:
        wanted = columns[field.name]
        found = re.sub("^list<(element|item): ", "list<", str(field.type))
        if found not in (wanted, *_ALSO_READ.get(wanted, ())):
            return f"column {field.name} is of type {str(field.type)[:60]}"
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    size = sum(max(chunk.total_uncompressed_size, 0) for chunk in chunks)
    values = max((chunk.num_values for chunk in chunks), default=0)
    if size > most_bytes:
        return f"holds {size:,} bytes uncompressed, at most {most_bytes:,}"
    if values > MOST_VALUES_A_ROW * rows:
        return f"holds a column of {values:,} values for {rows:,} rows"
    return ""


def _bytes_of_words(column: pa.ChunkedArray) -> tuple[int, int]:
    """How many bytes the words of a column have together, and the longest of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = longest = 0
    for chunk in column.chunks:
        words = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
        if pa.types.is_dictionary(words.type):
            lengths = pc.binary_length(words.dictionary).take(words.indices)
        elif pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
            lengths = pc.binary_length(words)
        else:
            total += words.nbytes
            continue
        total += (pc.sum(lengths).as_py() or 0) + len(lengths)
        longest = max(longest, pc.max(lengths).as_py() or 0)
    return total, longest


def checked_cases(
    columns: Mapping[str, Sequence[Any]], name: str, longest: int
) -> tuple[Case, ...]:
    """Columns of the file ``name`` as cases, with texts of ``longest`` characters at most."""
    cases: dict[str, Case] = {}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        fault = _fault_of_case(row, longest) or ("comes twice" if row["id"] in cases else "")
        if fault:
            raise untrusted.RefusedError(f"{name}: case {plain(str(row['id']), 40)!r} {fault}")
        # Those of format 1 do not tell their sources.
        lists = {name: tuple(row.get(name) or ()) for name in ("inserted", "sources")}
        sets = {name: frozenset(row[name]) for name in ("passes", "splits")}
        cases[row["id"]] = Case(**(row | lists | sets))
    return tuple(cases.values())


def _fault_of_case(row: Mapping[str, Any], longest: int) -> str:
    if None in row.values() or any(None in part for part in row.values() if isinstance(part, list)):
        return "has gaps"
    words = [row["production"], *row["inserted"], *row["splits"], *row.get("sources", ())]
    for field in ("id", "seed_id"):
        if (
            not row[field]
            or len(row[field]) > untrusted.LONGEST_NAME
            or not row[field].isprintable()
        ):
            return f"has no {field} that can be shown"
    if row["kind"] not in (known := (*KINDS, COUNTERPART)):
        return f"is of no known kind ({', '.join(known)})"
    if not is_capability_id(row["capability"]):
        return f"is of {plain(row['capability'], 40)!r}, which is no name of a capability"
    if not row["passes"] or not set(row["passes"]) <= set(range(len(LABELS))):
        return "has no known label"
    if len(row["text"]) > longest:
        return f"has a text longer than {longest:,} characters"
    if not all(row["inserted"]):
        return "has an inserted word that is empty"
    if max(map(len, words)) > longest:
        return f"has a word longer than {longest:,} characters"
    return ""
