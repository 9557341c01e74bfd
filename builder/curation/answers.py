"""Answers of people: filled sheets, read into verdicts."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.builder.curation.language_models import ANSWERS
from s2lct.builder.curation.reading import check_care
from s2lct.builder.curation.sheets import TABLE_MARK, TO_FILL, Item
from s2lct.builder.curation.verdicts import BEST, Verdict, VerdictFile, Verdicts, trap_of
from s2lct.errors import BuildError
from s2lct.json_lines import read_json_lines
from s2lct.plain_text import plain

_LABELS = ANSWERS | {label: label for label in ANSWERS.values()}
_GRADES = tuple(map(str, range(BEST + 1)))
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_MEND = "fill in a sheet that `s2lct curate` wrote: id, label, natural and, for cases, relevant"
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Answered:
    """What came of a file of answers.

    Attributes:
        verdicts: how many were new.
        unanswered: how many items were left out, of the sheets that the file answers.
    """

    verdicts: int
    unanswered: int


def take_answers(
    path: Path, sheets: Mapping[Path, Sequence[Item]], reader: str, file: VerdictFile
) -> Answered:
    """Append a reader's answers to the verdicts.

    Args:
        path: the answers, CSV or JSON lines.
        sheets: what was handed out.
        reader: who answered.
        file: of verdicts.

    Raises:
        BuildError: an answer is to none of the sheets' items, is given twice or cannot be
            understood; or broken sentences were called natural. Then nothing is appended.
    """
    cases = {item.id: bool(item.description) for some in sheets.values() for item in some}
    cases |= {trap_of(id): is_case for id, is_case in cases.items()}
    found: dict[str, Verdict] = {}
    for where, row in _rows(path):
        id = row["id"]
        if id not in cases:
            raise BuildError(
                f"{where}: {plain(id, _LONGEST_SHOWN)!r} is in no sheet that was written to --out",
                hint="name the --out whose sheets were filled, and leave the ids as they are",
            )
        if id in found:
            raise BuildError(
                f"{where}: {id} was answered before in this file", hint="keep one of the two"
            )
        if any(row[column] for column in TO_FILL):
            found[id] = _verdict(where, row, reader, is_case=cases[id])
    if not found:
        raise BuildError(f"--answers {path}: holds no answer", hint=_MEND)
    known = {verdict.id: verdict for verdict in file.all if verdict.reader == reader}
    new = [verdict for id, verdict in found.items() if known.get(id) != verdict]
    check_care(reader, Verdicts([*file.all, *new]))
    file.append(new)
    asked = {
        item.id
        for some in sheets.values()
        if any(item.id in found for item in some)
        for item in some
    }
    return Answered(len(new), len(asked - found.keys()))


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Each answer with its place in the file; what is missing is empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BuildError(f"{path}: is not UTF-8", hint="save it as UTF-8") from error
    except OSError as error:
        raise BuildError(f"--answers {path}: {error.strerror}", hint=_MEND) from error
    rows = _json_rows(text, path) if text.lstrip().startswith("{") else _table_rows(text, path)
    for where, row in rows:
        cells = {name: _cell(row.get(name)) for name in ("id", *TO_FILL)}
        cells["id"] = cells["id"].removeprefix(TABLE_MARK)
        if cells["id"]:
            yield where, cells
        elif any(cells.values()):
            raise BuildError(f"{where}: has no id", hint=_MEND)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return "" if value is None else str(value).strip()


def _json_rows(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    def refused(number: int, error: BaseException) -> BuildError:
        return BuildError(f"{path}, line {number}: {error}", hint=_MEND)

    for number, row in read_json_lines(text.splitlines(), refused):
        if not isinstance(row, dict):
            raise refused(number, ValueError("is no object"))
        yield f"{path}, line {number}", row


def _table_rows(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    first = text.partition("\n")[0]
    rows = csv.DictReader(
        text.splitlines(keepends=True), delimiter=max(",;\t", key=first.count), restval=""
    )
    try:
        rows.fieldnames = [(name or "").strip().lower() for name in rows.fieldnames or ()]
        if missing := [name for name in ("id", *TO_FILL[:2]) if name not in rows.fieldnames]:
            raise BuildError(f"{path}: has no column {', '.join(missing)}", hint=_MEND)
        for number, row in enumerate(rows, 1):
            yield f"{path}, row {number}", row
    except csv.Error as error:
        raise BuildError(f"{path}: {error}", hint="save it as CSV") from error


def _verdict(where: str, row: Mapping[str, str], reader: str, *, is_case: bool) -> Verdict:
    def fault(column: str, wanted: str) -> BuildError:
        given = f"{plain(row[column], _LONGEST_SHOWN)!r} is none" if row[column] else "is empty"
        return BuildError(f"{where}: {column} {given}", hint=f"give one of {wanted}")

    label = _LABELS.get(row["label"].lower())
    if label is None:
        raise fault("label", ", ".join(ANSWERS))
    natural = row["natural"].removesuffix(".0").removesuffix(",0")
    if natural not in _GRADES:
        raise fault("natural", ", ".join(_GRADES))
    relevant = _TRUTHS.get(row["relevant"].lower().removesuffix(".0"))
    if is_case and relevant is None:
        raise fault("relevant", "1, 0")
    return Verdict(
        id=row["id"],
        reader=reader,
        label=label,
        natural=int(natural),
        relevant=relevant if is_case else None,
    )
