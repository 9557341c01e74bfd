"""What a model said of every case, as the Parquet file beside a result: written, and read again.

`UntrustedReader` is the one reader of results, whoever wrote them: sizes are checked before
anything is read, JSON is taken by its letter, of a Parquet file no more is decoded than its limits
allow, and every word that a page shows is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import REFUSED, UNREADABLE
from s2lct.leaderboard.results import untrusted
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.cases import Case
from s2lct.suite.tables import COUNTERPART, KINDS

if TYPE_CHECKING:
    import pyarrow as pa

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
