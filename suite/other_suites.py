"""Suites of others: CheckList's cases, a table with columns of its own, a folder of tables.

They are named as corpora are, ``KIND:FILE``; see `SUITE_FORMS`. What is read here are rows, which
`cases.read_rows` checks as it checks those of any suite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from s2lct.errors import AnalysisError, ScoringError
from s2lct.files import is_here
from s2lct.identity import content_id
from s2lct.labels import CLASS_NAMES, LABELS
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of
from s2lct.suite.checklist import id_of_test, read_checklist
from s2lct.suite.row_files import ROW_FILES, is_empty, parsed, rows_of_file
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
_NESTED = [name for name, kind in COLUMNS.items() if not isinstance(kind, str)]
_MEANINGS: dict[str, tuple[int, ...]] = {
    **{str(number): (number,) for number in range(len(LABELS))},
    **{name: (number,) for name, number in CLASS_NAMES.items()},
}
_SHOWN = 60
Row = dict[str, Any]
Located = tuple[str, Mapping[str, Any]]
"""A row behind where it stands."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which columns of a table hold what, and what its labels mean, as far as a user says.

    Attributes:
        names: of columns, by ``text``, ``label``, ``capability`` and ``id``.
        labels: the labels that pass, by what stands in the table.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def find(self, role: str, row: Mapping[str, Any], where: str) -> str:
        """The column with that role in a row, empty where none need have it.

        Raises:
            ScoringError: there is none, and one must be.
        """
        candidates = (self.names[role],) if role in self.names else _CANDIDATES[role]
        found = next((name for name in candidates if name in row), "")
        if not found and (role in ("text", "label") or role in self.names):
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
        return f"{kind}:{Path(rest).name}", checklist_rows(Path(rest))
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
        if path.name.endswith(ROW_FILES)
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
    return _whole_rows(
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


def table_rows(rows: Sequence[Located], columns: TableColumns, capability: str = "") -> list[Row]:
    """Rows of any table as rows of a suite.

    Args:
        rows: each with where it stands.
        columns: which of these count.
        capability: of rows that name none; empty where each must.

    Raises:
        ScoringError: a row lacks something, or has a label that nothing explains.
    """
    labels = {
        str(row[name]).strip()
        for where, row in rows
        if (name := columns.find("label", row, where)) != "labels"
    }
    if labels and labels <= {"0", "1"} and not columns.labels:
        raise ScoringError(
            f"{rows[0][0]}: the labels are 0 and 1, and nothing says what they mean",
            hint="say it: csv:FILE?labels=0=negative,1=positive",
        )
    return _whole_rows(_named_columns(rows, columns, capability))


def _named_columns(
    rows: Iterable[Located], columns: TableColumns, capability: str
) -> Iterator[tuple[str, Row]]:
    """Rows whose columns are called as a suite calls them."""
    for where, row in rows:
        names = {role: columns.find(role, row, where) for role in _CANDIDATES}
        found: Row = {name: row[name] for name in COLUMNS if name in row and name != "id"}
        found |= {name: parsed(found[name]) or None for name in _NESTED if name in found}
        found = {name: value for name, value in found.items() if not is_empty(value)}
        text = row[names["text"]]
        if not isinstance(text, str) or not text.strip():
            raise ScoringError(f"{where}: has no text", hint="fill the cell, or leave the row out")
        found |= {"text": text, "labels": labels_of(row[names["label"]], where, columns.labels)}
        if names["label"] != "labels" or "label" not in found:
            found["label"] = found["labels"][0]
        found["capability"] = str(row.get(names["capability"], capability) or "")
        if is_empty(found["capability"]):
            raise ScoringError(
                f"{where}: names no capability",
                hint="fill its column capability, or say which it is: csv:FILE?capability=COLUMN",
            )
        if not is_empty(row.get(names["id"])):
            found["id"] = str(row[names["id"]])
        yield where, found


def _whole_rows(rows: Iterable[tuple[str, Row]]) -> list[Row]:
    """Rows with all that a suite's have; what is made up follows from the row alone.

    Of equal texts of a capability that have no ids the first counts; they are one case.
    """
    names: dict[str, str] = {}
    labels_of_id: dict[str, list[int]] = {}
    whole: list[Row] = []
    for where, row in rows:
        capability = capability_id_of(row["capability"])
        other = names.setdefault(capability, row["capability"])
        if other != row["capability"]:
            raise ScoringError(
                f"{where}: the capabilities {row['capability']!r} and {other!r} would both be "
                f"called {capability}",
                hint="rename one of them",
            )
        try:
            id_ = row.get("id") or content_id(row.get("kind", "seed"), capability, row["text"])
        except UnicodeEncodeError:
            raise ScoringError(
                f"{where}: its text holds half a character (a lone surrogate)",
                hint="write the file as UTF-8",
            ) from None
        if "id" not in row and (known := labels_of_id.get(id_)) is not None:
            if known != row["labels"]:
                raise ScoringError(
                    f"{where}: the text {row['text'][:_SHOWN]!r} stands there twice, with other "
                    "labels",
                    hint="decide which labels pass, and leave out the other row",
                )
            continue
        labels_of_id.setdefault(id_, row["labels"])
        made_up: Row = {"kind": "seed", "seed_id": id_, "template": "", "sources": []}
        whole.append(made_up | row | {"id": id_, "capability": capability})
    return whole


def labels_of(
    cell: Any, where: str, meanings: Mapping[str, tuple[int, ...]] | None = None
) -> list[int]:
    """The labels that pass, by their numbers, in the order of a cell such as ``neutral|positive``.

    Args:
        cell: names or numbers of labels, as a list or as text.
        where: the cell stands, for messages.
        meanings: of what may stand there; by default numbers, and the names that
            `labels.CLASS_NAMES` has.

    Raises:
        ScoringError: it holds what stands for no label.
    """
    value = parsed(cell)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    known = meanings or _MEANINGS
    parts = value if isinstance(value, list) else [str(value)]
    if str(value).strip() not in known and not isinstance(value, list):
        parts = str(value).split("|")
    names = [str(part).strip() for part in parts]
    found = [known.get(name, () if meanings else known.get(name.lower(), ())) for name in names]
    if not found or not all(found):
        raise ScoringError(
            f"{where}: the label {plain(str(cell), _SHOWN)!r} is unknown",
            hint=f"use {', '.join(LABELS)}, several with | between, or say what labels mean: "
            "csv:FILE?labels=hateful=negative,other=neutral|positive",
        )
    return list(dict.fromkeys(number for numbers in found for number in numbers))


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
        labels = [label.strip().lower() for label in meant.split("|")]
        if not name.strip() or not set(labels) <= set(LABELS) or name.strip() in found:
            raise ScoringError(
                f"{where}: {part!r} does not say what a label means",
                hint="write it like labels=hateful=negative,other=neutral|positive, each name once",
            )
        found[name.strip()] = tuple(LABELS.index(label) for label in labels)
    return found
