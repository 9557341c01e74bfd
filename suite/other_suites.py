"""Suites that s2lct did not build: CheckList's cases (Ribeiro et al. 2020), and tables.

Their names are ``KIND:FILE``; see `SUITE_FORMS`. `cases.load_suite` checks their rows, as it checks
the rows of any suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from s2lct.command import CLASSES, command
from s2lct.errors import ScoringError
from s2lct.files import as_json_lines, check_output_file, expanded_path, write_text
from s2lct.identity import content_id
from s2lct.labels import LABELS, Label, check_label_map, read_labels, written_label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of
from s2lct.suite.read import faults_in
from s2lct.suite.tables import Row
from s2lct.table_files import (
    TABLE_KINDS,
    LocatedRow,
    TableKind,
    is_blank,
    parse_json_cell,
    read_rows,
    table_kind,
)

CHECKLIST = "checklist"
SUITE_FORMS = (
    "name a folder, a Hub id, checklist:FILE.jsonl.gz, or csv:FILE, jsonl:FILE or parquet:FILE"
)
_TABLE_FORM = (
    "a table has the columns text and labels, label or gold (negative, neutral, positive; several "
    "with | between), and may have capability and id; `s2lct import table -h` takes others"
)
_CHECKLIST_FORM = "pass a file of JSON lines as `s2lct import checklist` writes it"
_TEXT_COLUMN = "text"
_LABEL_COLUMNS = ("labels", "label", "gold")
_MAX_SHOWN_CHARACTERS = 200
_I_THOUGHT = "simple negations: I thought x was {}, but it was not (should be {})"
_HARD = "Hard: Negation of {} with neutral stuff in the middle (should be {})"
_CAPABILITY_OF_TEST = {
    "Sentiment-laden words in context": "words-in-context",
    "neutral words in context": "neutral-in-context",
    "simple negations: negative": "negated-positive",
    "simple negations: not negative": "negated-negative",
    "simple negations: not neutral is still neutral": "negated-neutral",
    _I_THOUGHT.format("positive", "negative"): "thought-positive",
    _I_THOUGHT.format("negative", "neutral or positive"): "thought-negative",
    "simple negations: but it was not (neutral) should still be neutral": "thought-neutral",
    _HARD.format("positive", "negative"): "hard-negated-positive",
    _HARD.format("negative", "positive or neutral"): "hard-negated-negative",
    "negation of neutral with neutral in the middle, should still neutral": "hard-negated-neutral",
    "my opinion is what matters": "my-opinion-matters",
}
"""Short capability ids for tests of CheckList that have long names."""


def is_table_name(suite: str) -> bool:
    """Whether the name of a suite is ``KIND:FILE`` with a known kind."""
    kind, colon, _ = suite.partition(":")
    return bool(colon) and kind in (CHECKLIST, *TABLE_KINDS)


def read_other_suite(suite: str) -> tuple[str, list[Row]]:
    """The name of a suite that is a table, and its rows with the columns of a suite.

    Args:
        suite: a name for which `is_table_name` holds.

    Raises:
        ScoringError: the file cannot be read or is no suite; the message names file and row.
    """
    prefix, _, file = suite.partition(":")
    if not file.strip():
        raise ScoringError(f"--suite {suite}: names no file", hint=SUITE_FORMS)
    path = expanded_path(file)
    kind = next((kind for kind in TABLE_KINDS if kind == prefix), None)
    rows = _cases_of_checklist(path) if kind is None else _cases_of_table(path, kind)
    return f"{prefix}:{path.name}", _complete_rows(rows)


@dataclass(frozen=True)
class Imported:
    """An imported suite.

    Attributes:
        cases: the number of cases of each test or capability, in their order.
        out: the file that was written.
    """

    cases: Mapping[str, int]
    out: Path


@command
def import_table(
    source: Annotated[
        Path,
        typer.Argument(help="CSV, JSON lines or Parquet.", exists=True, dir_okay=False),
    ],
    out: Annotated[Path, typer.Option(help="File to write, .jsonl.", dir_okay=False)],
    *,
    text_column: Annotated[str, typer.Option(help="Column with the texts.")] = _TEXT_COLUMN,
    label_column: Annotated[
        str | None,
        typer.Option(help=r"Column with the labels \[default: labels, label or gold]."),
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="What the labels mean: 0=negative,1=positive.", rich_help_panel=CLASSES),
    ] = None,
) -> Imported:
    """Turn a table with columns and labels of its own into a suite to score on."""
    check_output_file(out, "--out")
    if out.suffix != ".jsonl":
        raise ScoringError(f"--out {out}: is no .jsonl", hint="name a file that ends in .jsonl")
    meanings = check_label_map(label_map)
    lines: list[Row] = []
    for _, row in _cases_of_table(source, table_kind(source), text_column, label_column, meanings):
        lines.append(row | {"labels": [LABELS[number] for number in row["labels"]]})
    write_text(out, as_json_lines(lines))
    return Imported(Counter(line["capability"] for line in lines), out)


class CheckListCase(BaseModel):
    """A case of CheckList: its test and capability, its texts and the labels that pass.

    A minimum-functionality case has one text and ``expected`` labels. Invariance and directional
    cases have no labels: their texts only serve as inputs of a model.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    test: str
    capability: str
    texts: Annotated[tuple[str, ...], Field(min_length=1)]
    expected: tuple[Label, ...] = ()

    @model_validator(mode="after")
    def _check_one_text_for_labels(self) -> CheckListCase:
        if self.expected and len(self.texts) > 1:
            raise ValueError("more than one text for its labels")
        return self

    @property
    def text(self) -> str:
        """The first text, and the only one of a minimum-functionality case."""
        return self.texts[0]

    @property
    def passes(self) -> tuple[Label, ...]:
        """The labels that pass, in the order of `LABELS`."""
        return tuple(label for label in LABELS if label in self.expected)


def read_checklist(path: Path) -> list[CheckListCase]:
    """Read the minimum-functionality cases of a file, which must hold one; see `read_cases`."""
    cases = [case for case in read_cases(path) if case.expected]
    if not cases:
        raise ScoringError(f"{path}: holds no minimum-functionality case", hint=_CHECKLIST_FORM)
    return cases


def read_cases(path: Path) -> list[CheckListCase]:
    """Read cases of CheckList of any type.

    Raises:
        ScoringError: the file cannot be read, has no case, or a line is no case; the message names
            the line.
    """
    cases: list[CheckListCase] = []
    for location, row in read_rows(path, "jsonl"):
        try:
            cases.append(CheckListCase.model_validate(row))
        except ValidationError as error:
            problem = f"{location}: is no case ({'; '.join(faults_in(error))})"
            raise ScoringError(problem, hint=_CHECKLIST_FORM) from error
    if not cases:
        raise ScoringError(f"{path}: holds no case", hint=_CHECKLIST_FORM)
    return cases


def _cases_of_checklist(path: Path) -> Iterator[LocatedRow]:
    """Rows of CheckList's minimum-functionality cases: a test is a capability, a case a seed."""
    for case in read_checklist(path):
        yield (
            f"{path.name}, a case of {case.test!r}",
            {
                "capability": capability_id_of(_CAPABILITY_OF_TEST.get(case.test, case.test)),
                "text": case.text,
                "labels": [LABELS.index(label) for label in case.passes],
                "label": LABELS.index(case.expected[0]),
            },
        )


def _cases_of_table(
    path: Path,
    kind: TableKind | None,
    text_column: str = _TEXT_COLUMN,
    label_column: str | None = None,
    label_map: Mapping[str, str] | None = None,
) -> Iterator[LocatedRow]:
    """Text, labels and capability of each row of a table, and its id if it has one."""
    rows = read_rows(path, kind)
    columns = {name for _, row in rows for name in row}
    candidates = [name for name in _LABEL_COLUMNS if name in columns]
    if label_column is None and len(candidates) > 1 and "gold" in candidates:
        raise ScoringError(
            f"{path.name}: columns {' and '.join(candidates)} may both say which labels pass",
            hint="keep the one that does, or rename the others",
        )
    label_column = label_column or next(iter(candidates), _LABEL_COLUMNS[0])
    labels_of_rows: list[list[str]] = []
    first_location: dict[str, str] = {}
    for location, row in rows:
        text = row.get(text_column)
        if not isinstance(text, str) or is_blank(text) or is_blank(row.get(label_column)):
            present = ", ".join(plain(str(name), _MAX_SHOWN_CHARACTERS) for name in row) or "none"
            problem = f"{location}: has no text or label; columns: {present}"
            raise ScoringError(problem, hint=_TABLE_FORM)
        if row.get("kind") not in (None, "", "seed"):
            raise ScoringError(
                f"{location}: is of a suite that was exported", hint="pass that suite itself"
            )
        labels_of_rows.append(_labels_in(row[label_column]))
        for label in labels_of_rows[-1]:
            first_location.setdefault(label, location)
    meanings = read_labels(
        first_location,
        label_column,
        label_map,
        hint=f"say it: `s2lct import table {plain(str(path))} --label-map {{}} --out "
        "labelled.jsonl` writes a table to pass as jsonl:labelled.jsonl",
    )
    file_name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    for (location, row), labels in zip(rows, labels_of_rows, strict=True):
        case = {
            "text": row[text_column],
            "labels": [*dict.fromkeys(meanings[label] for label in labels)],
            "capability": str(row.get("capability") or file_name),
        }
        yield location, case if is_blank(row.get("id")) else case | {"id": str(row["id"])}


def _labels_in(cell: Any) -> list[str]:
    """The labels in a cell: one label, a JSON list, or several labels separated by ``|``."""
    value = parse_json_cell(cell)
    labels = value if isinstance(value, list) else written_label(value).split("|")
    return [written_label(label) for label in labels] or [""]


def _complete_rows(cases: Iterable[LocatedRow]) -> list[Row]:
    """Rows with all columns of a suite; equal cases without ids become one row."""
    name_of_id: dict[str, str] = {}
    rows: dict[tuple[str, ...], Row] = {}
    for location, case in cases:
        capability = capability_id_of(case["capability"])
        name = name_of_id.setdefault(capability, case["capability"])
        if name != case["capability"]:
            raise ScoringError(
                f"{location}: the capabilities {case['capability']!r} and {name!r} would both be "
                f"called {capability}",
                hint="rename one of them",
            )
        id = case.get("id") or content_id("seed", capability, case["text"])
        key = (id, location) if "id" in case else (id, *map(str, case["labels"]))
        fields = {"template": "", "sources": []} | case
        id_fields = {"id": id, "capability": capability, "kind": "seed", "seed_id": id}
        rows.setdefault(key, fields | id_fields)
    return list(rows.values())
