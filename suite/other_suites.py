"""Suites of others: CheckList's cases, a table with columns of its own, a folder of tables.

They are named as corpora are, ``KIND:FILE``; see `SUITE_FORMS`. What is read here are rows, which
`cases.read_rows` checks as it checks those of any suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from s2lct.errors import AnalysisError, ScoringError
from s2lct.files import is_here
from s2lct.identity import content_id
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of
from s2lct.suite.checklist import read_checklist
from s2lct.suite.checklist_release import id_of_test
from s2lct.suite.row_files import is_empty, is_row_file, parsed, rows_of_file
from s2lct.suite.tables import COLUMNS

CHECKLIST = "checklist"
TABLES = ("csv", "jsonl", "parquet")
SUITE_FORMS = (
    "name a folder, a Hub id, checklist:FILE.jsonl.gz, or csv:FILE, jsonl:FILE or parquet:FILE, "
    'with its columns where they are called otherwise: "csv:FILE?text=test_case&label=gold&'
    'capability=functionality&id=case_id&labels=hateful=negative,other=neutral|positive"'
)
_CANDIDATES = {
    "text": ("text", "sentence", "content", "review"),
    "label": ("labels", "label", "sentiment"),
    "capability": ("capability",),
    "id": ("id",),
}
_NESTED = ("sources", "production", "second_production", "inserted", "verdicts")
_SHOWN = 60
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which columns of a table hold what, and what its labels mean, as far as a user says.

    Attributes:
        names: of columns, by ``text``, ``label``, ``capability`` and ``id``.
        labels: the labels that pass, by what stands in the table.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def find(self, role: str, row: Mapping[str, Any], where: str, *, needed: bool) -> str | None:
        """The column with that role in a row; a `ScoringError` where it is needed and missing."""
        chosen = self.names.get(role)
        candidates = _CANDIDATES[role] if chosen is None else (chosen,)
        found = next((name for name in candidates if name in row), None)
        if found is None and (needed or chosen is not None):
            present = ", ".join(plain(str(name), _SHOWN) for name in row) or "none"
            raise ScoringError(
                f"{where}: has no column {' or '.join(candidates)}; its columns: {present}",
                hint=f"say which column holds the {role}: csv:FILE?{role}=COLUMN",
            )
        return found


def is_spec(suite: str) -> bool:
    """Whether a suite's name is ``KIND:FILE`` of a kind that is known here."""
    return suite.partition(":")[0] in (CHECKLIST, *TABLES) and ":" in suite


def rows_of_spec(suite: str) -> tuple[str, list[Row]]:
    """What a suite of others is called, and its rows as a suite has them.

    Args:
        suite: one for which `is_spec` holds.

    Raises:
        ScoringError: the file cannot be read, or is no suite; it names the file and the row.
    """
    kind, _, rest = suite.partition(":")
    if kind == CHECKLIST:
        path = Path(rest)
        return f"{kind}:{path.name}", checklist_rows(path)
    path, columns = _parsed_spec(kind, rest)
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    rows = table_rows(rows_of_file(path, kind), columns, capability=stem)
    return f"{kind}:{path.name}", rows


def rows_of_folder(folder: Path) -> list[Row]:
    """The rows of all tables below a folder, by their paths; none where it holds no table.

    Raises:
        ScoringError: a table cannot be read, or its rows are none of a suite.
    """
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if is_row_file(path)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    return [row for path in paths for row in table_rows(rows_of_file(path), TableColumns())]


def checklist_rows(path: Path) -> list[Row]:
    """CheckList's minimum-functionality cases as rows: a test is a capability, a case a seed.

    Raises:
        ScoringError: the file cannot be read, or contradicts itself.
    """
    try:
        cases = read_checklist(path)
    except AnalysisError as error:
        raise ScoringError(error.problem, hint=error.hint) from error
    rows = (
        (
            f"{path.name}, a case of {case.test!r}",
            {
                "capability": id_of_test(case.test),
                "text": case.text,
                "labels": [LABELS.index(label) for label in case.passes],
                "label": LABELS.index(case.expected[0]),
            },
        )
        for case in cases
    )
    return list(_whole_rows(rows))


def table_rows(
    rows: Iterable[tuple[str, Mapping[str, Any]]], columns: TableColumns, capability: str = ""
) -> list[Row]:
    """Rows of any table as rows of a suite.

    Args:
        rows: each with where it stands.
        columns: which of these count.
        capability: of rows that name none; empty where each must.

    Raises:
        ScoringError: a row lacks something, or has a label that nothing explains.
    """
    read = list(rows)
    numbers_alone = not columns.labels and {
        str(row[name]).strip()
        for where, row in read
        if (name := columns.find("label", row, where, needed=True)) not in (None, "labels")
    } in ({"0", "1"}, {"0"}, {"1"})
    if numbers_alone:
        raise ScoringError(
            f"{read[0][0]}: the labels are 0 and 1, and nothing says what they mean",
            hint="say it: csv:FILE?labels=0=negative,1=positive",
        )
    return list(_whole_rows(_told_rows(read, columns, capability)))


def _told_rows(
    rows: Iterable[tuple[str, Mapping[str, Any]]], columns: TableColumns, capability: str
) -> Iterator[tuple[str, Row]]:
    """What rows say, under the names that a suite has for it."""
    for where, row in rows:
        names = {
            role: columns.find(role, row, where, needed=role in ("text", "label"))
            for role in _CANDIDATES
        }
        own: Row = {name: row[name] for name in COLUMNS if name in row}
        own |= {name: parsed(own[name]) or None for name in _NESTED if name in own}
        own = {name: value for name, value in own.items() if not is_empty(value)}
        text, label = row[str(names["text"])], row[str(names["label"])]
        if not isinstance(text, str) or not text.strip():
            raise ScoringError(f"{where}: has no text", hint="fill the cell, or leave the row out")
        own["text"] = text
        own["labels"] = _labels(label, columns.labels, where)
        if names["label"] != "labels" or "label" not in own:
            own["label"] = own["labels"][0]
        named = row[names["capability"]] if names["capability"] else capability
        if is_empty(named):
            raise ScoringError(
                f"{where}: names no capability",
                hint="fill its column capability, or say which it is: csv:FILE?capability=COLUMN",
            )
        own["capability"] = str(named)
        own.pop("id", None)
        if names["id"] and not is_empty(row[names["id"]]):
            own["id"] = str(row[names["id"]])
        yield where, own


def _whole_rows(rows: Iterable[tuple[str, Row]]) -> Iterator[Row]:
    """Rows with all that a suite's have; what is made up follows from the row alone.

    Of equal texts of a capability that have no ids the first counts; they are one case.
    """
    names: dict[str, str] = {}
    labels_of: dict[str, list[int]] = {}
    for where, row in rows:
        named = row["capability"]
        capability = capability_id_of(named)
        if names.setdefault(capability, named) != named:
            raise ScoringError(
                f"{where}: the capabilities {named!r} and {names[capability]!r} would both be "
                f"called {capability}",
                hint="rename one of them",
            )
        kind = row.get("kind", "seed")
        try:
            row["text"].encode()
        except UnicodeEncodeError:
            raise ScoringError(
                f"{where}: its text holds half a character (a lone surrogate)",
                hint="write the file as UTF-8",
            ) from None
        own = str(row.get("id") or content_id(kind, capability, row["text"]))
        if "id" not in row:
            labels = labels_of.setdefault(own, row["labels"])
            if labels is not row["labels"]:
                if labels != row["labels"]:
                    raise ScoringError(
                        f"{where}: the text {row['text'][:_SHOWN]!r} stands there twice, with "
                        "other labels",
                        hint="decide which labels pass, and leave out the other row",
                    )
                continue
        yield {
            "kind": kind,
            "seed_id": own,
            "template": "",
            "sources": [],
            **row,
            "id": own,
            "capability": capability,
        }


def _labels(cell: Any, labels: Mapping[str, tuple[int, ...]], where: str) -> list[int]:
    """The labels that pass, by their numbers, in the order of the cell."""
    value = parsed(cell)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if str(value).strip() in labels:
        return list(labels[str(value).strip()])
    parts = value if isinstance(value, list) else str(value).split("|")
    found = [number for part in parts for number in _label(part, labels)]
    if not found or len(found) < len(parts):
        raise ScoringError(
            f"{where}: the label {plain(str(cell), _SHOWN)!r} is unknown",
            hint=f"use {', '.join(LABELS)}, several with | between, or say what labels mean: "
            "csv:FILE?labels=hateful=negative,other=neutral|positive",
        )
    return list(dict.fromkeys(found))


def _label(part: Any, labels: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    name = str(part).strip()
    if name in labels:
        return labels[name]
    known = {str(number): number for number in range(len(LABELS))}
    known |= {label: number for number, label in enumerate(LABELS)}
    known |= {label[:3]: number for number, label in enumerate(LABELS)}
    return (known[name.lower()],) if name.lower() in known and not labels else ()


def _parsed_spec(kind: str, rest: str) -> tuple[Path, TableColumns]:
    """The file and the columns that ``FILE?text=…&label=…`` names."""
    file, _, query = rest.partition("?")
    if is_here(Path(rest)):
        file, query = rest, ""
    if not file.strip():
        raise ScoringError(f"--suite {kind}:{rest}: names no file", hint=SUITE_FORMS)
    names: dict[str, str] = {}
    labels: dict[str, tuple[int, ...]] = {}
    for part in filter(None, query.split("&")):
        role, _, value = part.partition("=")
        if role == "labels":
            labels = _label_map(unquote(value), f"--suite {kind}:{rest}")
        elif role in _CANDIDATES and value and role not in names:
            names[role] = unquote(value)
        else:
            raise ScoringError(
                f"--suite {kind}:{rest}: {part!r} names no column, or one a second time",
                hint=f"write {' or '.join(f'{one}=COLUMN' for one in _CANDIDATES)} or "
                "labels=NAME=LABEL,…, with & between",
            )
    return Path(file), TableColumns(names, labels)


def _label_map(text: str, where: str) -> dict[str, tuple[int, ...]]:
    """``hateful=negative,other=neutral|positive`` as numbers of labels by name."""
    found: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        name, _, meant = part.rpartition("=")
        names = [one.strip().lower() for one in re.split(r"\|", meant)]
        if not name.strip() or not set(names) <= set(LABELS) or name.strip() in found:
            raise ScoringError(
                f"{where}: {part!r} does not say what a label means",
                hint="write it like labels=hateful=negative,other=neutral|positive, each name once",
            )
        found[name.strip()] = tuple(LABELS.index(one) for one in names)
    return found
