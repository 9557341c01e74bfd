"""What a model said of every case, as the Parquet file beside a result: written, and read again.

`UntrustedReader` is the one reader of results, whoever wrote them: sizes are checked before
anything is read, JSON is taken by its letter, the Parquet file is decoded in a process of its own
with little memory, and every word that a page shows is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from s2lct.leaderboard.results.decoder import Decoder, DecoderError
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

MOST_DECODED_BYTES = 256 << 20
MOST_ROWS = 200_000
MOST_CASES = 2_000_000
"""Of all suites together that nobody has named as trusted."""
LONGEST_TEXT = 20_000
NO_ANSWER = -1
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
        decoder: what decodes their Parquet files.
        names: refuse names that a page cannot show side by side.
        longest: characters of the longest text of a case.
        known: what suites ask that are trusted; equal cases will be these objects.
    """

    def __init__(
        self,
        decoder: Decoder,
        *,
        names: bool = True,
        longest: int = LONGEST_TEXT,
        known: Iterable[tuple[Case, ...]] = (),
    ) -> None:
        self._decoder, self._names, self._longest = decoder, names, longest
        self._cases_of: dict[str, tuple[Case, ...]] = {}
        self._known = {_all_of(cases): cases for cases in known}
        self._room = MOST_CASES

    def read(self, path: Path) -> Untrusted:
        """A result file and the outcomes beside it, or a `RefusedError`."""
        data = untrusted.bytes_of(path, untrusted.MOST_JSON_BYTES)
        result = untrusted.checked_record(data, names=self._names)
        name, rows = result.outcomes.path, result.outcomes.rows
        table = decoded(self._decoder, path, result, rows, 4 * self._longest, MOST_DECODED_BYTES)
        cases = self._cases(table, name)
        if not counted(cases).any():
            raise untrusted.RefusedError(f"{name}: has no seed and no expansion")
        labels = said_ids(table["columns"])
        if (labels == NO_ANSWER).any():
            raise untrusted.RefusedError(f"{name}: a label is none of {', '.join(LABELS)}")
        failed = failed_cases(cases, labels)
        if table["columns"]["failed"] != failed.tolist():
            raise untrusted.RefusedError(f"{name}: failed does not follow from the label")
        return Untrusted(result, sha256(data).hexdigest(), cases, labels, failed)

    def _cases(self, table: Mapping[str, Any], name: str) -> tuple[Case, ...]:
        digest = table["digest"]
        if "shared" not in table:
            if digest not in self._cases_of:
                raise untrusted.RefusedError(f"{name}: its cases were refused before")
            return self._cases_of[digest]
        cases = checked_cases(table["shared"], name, self._longest)
        key = _all_of(cases)
        if key not in self._known:
            if len(cases) > self._room:
                raise untrusted.RefusedError(
                    f"{name}: is of one suite too many to be held in memory"
                )
            self._room -= len(cases)
            self._known[key] = cases
        cases = self._cases_of[digest] = self._known[key]
        return cases


def _all_of(cases: tuple[Case, ...]) -> tuple[object, ...]:
    """What must be equal for cases to be taken for others: also what equality leaves out."""
    return cases, tuple(case.splits for case in cases)


def decoded(
    decoder: Decoder, path: Path, result: Result, rows: int, longest: int, most_bytes: int
) -> dict[str, Any]:
    """The columns of a result's Parquet file, see `untrusted_table.answer`; cases are shared.

    Args:
        decoder: what decodes it.
        path: the result file.
        result: what it says.
        rows: how many the table must have.
        longest: bytes of the longest text.
        most_bytes: what the columns may need in memory.
    """
    name = result.outcomes.path
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise untrusted.RefusedError(
            f"outcomes.path: {name!r} is no plain name of a Parquet file beside it"
        )
    if not 0 < rows <= MOST_ROWS:
        raise untrusted.RefusedError(f"outcomes.rows: is {rows:,}, at most {MOST_ROWS:,}")
    data = untrusted.bytes_of(path.parent / name, untrusted.MOST_TABLE_BYTES)
    if sha256(data).hexdigest() != result.outcomes.sha256:
        raise untrusted.RefusedError(
            f"{name}: is not the file that the result names (SHA-256 differs)"
        )
    columns = _CASE_COLUMNS | {"label": _STRING, "failed": "bool"}
    if result.format > 2:
        columns |= {"refused": "bool", "unreadable": "bool"}
    if result.format == 1:
        del columns["sources"]
    types = {column: [kind, *_ALSO_READ.get(kind, ())] for column, kind in columns.items()}
    limits = {"rows": rows, "characters": longest, "bytes": most_bytes}
    try:
        return decoder.ask(data, types=types, shared=list(_CASE_COLUMNS), **limits)
    except DecoderError as error:
        raise untrusted.RefusedError(f"{name}: {error}") from None


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
