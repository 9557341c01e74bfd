"""Suites of others: cases of CheckList (Ribeiro et al. 2020), and tables.

They are named as corpora are, ``KIND:FILE``; see `SUITE_FORMS`. What is read here are rows, which
`cases.load_suite` checks as it checks those of any suite.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from s2lct.command import CLASSES, command
from s2lct.errors import ScoringError
from s2lct.files import as_json_lines, check_file_out, named_path, regular_bytes, write_text
from s2lct.identity import content_id
from s2lct.labels import LABELS, Label, check_label_map, read_labels, written_label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import capability_id_of
from s2lct.suite.read import faults_in
from s2lct.suite.tables import Row, read_table

CHECKLIST = "checklist"
TABLES = ("csv", "jsonl", "parquet")
SUITE_FORMS = (
    "name a folder, a Hub id, checklist:FILE.jsonl.gz, or csv:FILE, jsonl:FILE or parquet:FILE"
)
_COLUMNS = (
    "a table has the columns text and labels, label or gold (negative, neutral, positive; several "
    "with | between), and may have capability and id; `s2lct import table -h` takes others"
)
_CASES = "pass a file of JSON lines as `s2lct import checklist` writes it"
TEXT = "text"
LABEL_COLUMNS = ("labels", "label", "gold")
_MOST_BYTES = 512 << 20
_BROKEN = (OSError, EOFError, ValueError, TypeError, ArithmeticError, MemoryError, zlib.error)
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MOST_UNPACKED_BYTES = 128 << 20
_SHOWN = 200
_I_THOUGHT = "simple negations: I thought x was {}, but it was not (should be {})"
_HARD = "Hard: Negation of {} with neutral stuff in the middle (should be {})"
SHORT_NAMES = {
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
"""What tests are called in tables whose names are too long for that."""
Located = tuple[str, Row]
"""A row behind where it stands, as ``reviews.csv, row 2``."""


def rows_of_file(path: Path, kind: str = "") -> list[Located]:
    """The rows of a file; those of a CSV file are counted with the header as row 1.

    Args:
        path: a CSV file with a header, a file of JSON objects a line (packed with gzip or not), a
            Parquet file.
        kind: ``csv``, ``jsonl`` or ``parquet``; empty to go by the file's name.

    Raises:
        ScoringError: the file cannot be read, or holds something else; it names file and row.
    """
    kind = kind or path.name.removesuffix(".gz").rpartition(".")[2]
    if kind not in TABLES:
        raise ScoringError(
            f"{path}: its name does not say what it holds",
            hint=f"name it like one of {', '.join(f'.{kind}' for kind in TABLES)}",
        )
    reader = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[kind]
    try:
        content = regular_bytes(path, _MOST_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(_MOST_UNPACKED_BYTES + 1)
            if len(content) > _MOST_UNPACKED_BYTES:
                raise ValueError(f"unpacks to more than {_MOST_UNPACKED_BYTES >> 20} MiB")
        return list(reader(path, content))
    except FileNotFoundError as error:
        raise ScoringError(f"{path}: there is no such file", hint="check the path") from error
    except (*_BROKEN, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ScoringError(
            f"{path}: cannot be read as {kind} ({plain(why, _SHOWN)})",
            hint="write the file again, a text file as UTF-8",
        ) from error


def _csv_rows(path: Path, content: bytes) -> Iterator[Located]:
    text = content.decode("utf-8-sig")
    csv.field_size_limit(_MOST_BYTES)
    # Some spreadsheets separate by what their language leaves free.
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if not any(header) or len(set(header)) < len(header):
        raise ValueError("its first row names no columns, or one of them twice")
    for number, cells in enumerate(reader, start=2):
        if cells and len(cells) != len(header):
            raise ValueError(f"row {number:,} has {len(cells)} cells, the header {len(header)}")
        if cells:
            yield f"{path.name}, row {number:,}", dict(zip(header, cells, strict=True))


def _json_rows(path: Path, content: bytes) -> Iterator[Located]:
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line, object_pairs_hook=_distinct)
                if _LONE_SURROGATE.search(line):
                    json.dumps(row, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"line {number:,} has one of two surrogates alone") from error
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number:,} is no JSON: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"line {number:,} is no JSON object")
            yield f"{path.name}, line {number:,}", row


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of which no key stands there twice."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _parquet_rows(path: Path, content: bytes) -> Iterator[Located]:
    import pyarrow as pa

    try:
        table = read_table(content)
        if len({*table.column_names}) < table.num_columns:
            raise ValueError("a column stands there twice")
        plain_fields = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
        # A dictionary's values are slow to get one by one.
        rows, name = table.cast(pa.schema(plain_fields)).to_pylist(), path.name
    except (pa.ArrowException, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise ValueError(str(error).partition("\n")[0]) from error
    classes = _class_names(table.schema.metadata or {})
    for number, row in enumerate(rows, start=1):
        for column, names in classes.items():
            if isinstance(place := row.get(column), int) and 0 <= place < len(names):
                row[column] = names[place]
        yield f"{name}, row {number:,}", row


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """What `datasets` wrote of columns that hold numbers of classes: the names of these."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        named = {
            column: feature["names"]
            for column, feature in features.items()
            if feature.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return {}
    return {column: list(map(str, names)) for column, names in named.items()}


def parsed(cell: Any) -> Any:
    """A cell of a CSV file that holds JSON, as its value; all else as it is."""
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def is_empty(cell: Any) -> bool:
    """Whether a row says nothing in a cell."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


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
    kind, _, file = suite.partition(":")
    if not file.strip():
        raise ScoringError(f"--suite {suite}: names no file", hint=SUITE_FORMS)
    path = named_path(file)
    rows = _checklist_rows(path) if kind == CHECKLIST else _table_rows(path, kind)
    return f"{kind}:{path.name}", _whole_rows(rows)


@dataclass(frozen=True)
class Imported:
    """What was imported: cases by test or capability, in their order, and the file."""

    tests: Mapping[str, int]
    out: Path


@command
def import_table(
    source: Annotated[
        Path,
        typer.Argument(help="CSV, JSON lines or Parquet.", exists=True, dir_okay=False),
    ],
    out: Annotated[Path, typer.Option(help="File to write, .jsonl.", dir_okay=False)],
    *,
    text_column: Annotated[str, typer.Option(help="Column with the texts.")] = TEXT,
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
    check_file_out(out, "--out")
    if out.suffix != ".jsonl":
        raise ScoringError(f"--out {out}: is no .jsonl", hint="name a file that ends in .jsonl")
    meanings = check_label_map(label_map)
    lines: list[Row] = []
    for _, row in _table_rows(source, "", text_column, label_column, meanings):
        lines.append(row | {"labels": [LABELS[number] for number in row["labels"]]})
    write_text(out, as_json_lines(lines))
    return Imported(Counter(line["capability"] for line in lines), out)


class CheckListCase(BaseModel):
    """A case: its test, CheckList's capability, its texts and the labels that pass.

    A minimum-functionality case has one text. Invariance and directional cases have none
    ``expected``: they are texts to exercise a model with, which CheckList itself judges.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    test: str
    capability: str
    texts: Annotated[tuple[str, ...], Field(min_length=1)]
    expected: tuple[Label, ...] = ()

    @model_validator(mode="after")
    def _has_a_text_for_its_labels(self) -> CheckListCase:
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
    """Read every minimum-functionality case, of which there must be one; see `read_cases`."""
    cases = [case for case in read_cases(path) if case.expected]
    if not cases:
        raise ScoringError(f"{path}: holds no minimum-functionality case", hint=_CASES)
    return cases


def read_cases(path: Path) -> list[CheckListCase]:
    """Read cases of CheckList, of whatever type.

    Raises:
        ScoringError: the file cannot be read, a line is no case, or it holds none; it names the
            line.
    """
    cases: list[CheckListCase] = []
    for where, row in rows_of_file(path, "jsonl"):
        try:
            cases.append(CheckListCase.model_validate(row))
        except ValidationError as error:
            problem = f"{where}: is no case ({'; '.join(faults_in(error))})"
            raise ScoringError(problem, hint=_CASES) from error
    if not cases:
        raise ScoringError(f"{path}: holds no case", hint=_CASES)
    return cases


def _checklist_rows(path: Path) -> Iterator[Located]:
    """CheckList's minimum-functionality cases: a test is a capability, a case a seed."""
    for case in read_checklist(path):
        yield (
            f"{path.name}, a case of {case.test!r}",
            {
                "capability": capability_id_of(SHORT_NAMES.get(case.test, case.test)),
                "text": case.text,
                "labels": [LABELS.index(label) for label in case.passes],
                "label": LABELS.index(case.expected[0]),
            },
        )


def _table_rows(
    path: Path,
    kind: str,
    text_column: str = TEXT,
    label_column: str | None = None,
    label_map: Mapping[str, str] | None = None,
) -> Iterator[Located]:
    """Rows of any table with the columns of a suite; those without a capability are the file's."""
    rows = rows_of_file(path, kind)
    columns = dict.fromkeys(name for _, row in rows for name in row)
    labelled = [name for name in LABEL_COLUMNS if name in columns]
    if label_column is None and len(labelled) > 1 and "gold" in labelled:
        raise ScoringError(
            f"{path.name}: columns {' and '.join(labelled)} may both say which labels pass",
            hint="keep the one that does, or rename the others",
        )
    column = label_column or next(iter(labelled), LABEL_COLUMNS[0])
    cells: list[list[str]] = []
    places: dict[str, str] = {}
    for where, row in rows:
        text = row.get(text_column)
        if not isinstance(text, str) or is_empty(text) or is_empty(row.get(column)):
            present = ", ".join(plain(str(name), _SHOWN) for name in row) or "none"
            raise ScoringError(f"{where}: has no text or label; columns: {present}", hint=_COLUMNS)
        if row.get("kind") not in (None, "", "seed"):
            raise ScoringError(
                f"{where}: is of a suite that was exported", hint="pass that suite itself"
            )
        cells.append(_labels_in(row[column]))
        for label in cells[-1]:
            places.setdefault(label, where)
    meanings = read_labels(
        places,
        column,
        label_map,
        hint=f"say it: `s2lct import table {plain(str(path))} --label-map {{}} --out "
        "labelled.jsonl` writes a table to pass as jsonl:labelled.jsonl",
    )
    file = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    for (where, row), labels in zip(rows, cells, strict=True):
        case = {
            "text": row[text_column],
            "labels": [*dict.fromkeys(meanings[label] for label in labels)],
            "capability": str(row.get("capability") or file),
        }
        if not is_empty(row.get("id")):
            case["id"] = str(row["id"])
        yield where, case


def _labels_in(cell: Any) -> list[str]:
    """The labels that pass of a cell such as ``neutral|positive``, as they are written."""
    value = parsed(cell)
    parts = value if isinstance(value, list) else written_label(value).split("|")
    return [written_label(part) for part in parts] or [""]


def _whole_rows(rows: Iterable[Located]) -> list[Row]:
    """Rows with all that a suite's have; equal rows without ids are one case."""
    names: dict[str, str] = {}
    whole: dict[tuple[str, ...], Row] = {}
    for where, row in rows:
        capability = capability_id_of(row["capability"])
        other = names.setdefault(capability, row["capability"])
        if other != row["capability"]:
            raise ScoringError(
                f"{where}: the capabilities {row['capability']!r} and {other!r} would both be "
                f"called {capability}",
                hint="rename one of them",
            )
        id = row.get("id") or content_id("seed", capability, row["text"])
        key = (id, where) if "id" in row else (id, *map(str, row["labels"]))
        made_up = {"id": id, "capability": capability, "kind": "seed", "seed_id": id}
        whole.setdefault(key, {"template": "", "sources": []} | row | made_up)
    return list(whole.values())
