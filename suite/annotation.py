"""Annotation: forms to answer questions about texts on, the answers, and how far they agree."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import AnnotationError
from s2lct.files import read_json_lines
from s2lct.plain_text import plain, spreadsheet_cell
from s2lct.tables import page_templates

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TABLE_MARK = "i"
"""Before an id in a table: spreadsheets take hexadecimal ids for numbers."""
_YES = {True: "1", False: "0"}
_LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Question:
    """What annotators answer about a text.

    Attributes:
        name: the column of its answers.
        wording: the question itself.
        explanation: how to answer, in a sentence or two.
        answers: what may be written into the column, and what each stands for.
        about_item: whether the title and the description of an item stand beside it.
    """

    name: str
    wording: str
    explanation: str
    answers: Mapping[str, str]
    about_item: bool = False

    def answer(self, given: object) -> str | None:
        """The answer that was given, by its value or by what it stands for; None for none.

        Raises:
            ValueError: that is no answer.
        """
        text = _YES[given] if isinstance(given, bool) else str("" if given is None else given)
        text = text.strip().casefold().removesuffix(".0").removesuffix(",0")
        for value, word in self.answers.items():
            if text in (value.casefold(), word.casefold()):
                return value
        if text:
            raise ValueError(
                f"{self.name} {plain(text, _LONGEST_SHOWN)!r} is none of {', '.join(self.answers)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """A text that questions are about, and what it is to show."""

    id: str
    text: str
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Texts and questions for an annotator.

    Attributes:
        name: of the file that is handed in, and of what a browser keeps.
        heading: the page's.
        introduction: paragraphs before the questions.
        items: in the order in which they are read.
        questions: about each of them.
    """

    name: str
    heading: str
    introduction: Sequence[str]
    items: Sequence[Item]
    questions: Sequence[Question]

    def html(self) -> str:
        """One page to be filled in, which needs no network."""
        data = {
            "name": self.name,
            "questions": [
                {"name": question.name, "answers": list(question.answers)}
                for question in self.questions
            ],
            "items": [asdict(item) for item in self.items],
        }
        template = page_templates("s2lct.suite").get_template("annotation_form.html.jinja")
        return template.render(form=self, data=data)

    def csv(self) -> str:
        """The same as a table to be filled in, with a mark that has spreadsheets read UTF-8."""
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\r\n")
        titled = any(item.title or item.description for item in self.items)
        about = ("title", "description") if titled else ()
        writer.writerow(("id", *about, "text", *(question.name for question in self.questions)))
        for item in self.items:
            cells = (TABLE_MARK + item.id, *(getattr(item, name) for name in about), item.text)
            writer.writerow([*map(spreadsheet_cell, cells), *("" for _ in self.questions)])
        return "\ufeff" + table.getvalue()


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotator answered about an item: values by question, without those left out."""

    annotator: str
    item: str
    answers: Mapping[str, str]


def read_annotations(
    paths: Sequence[Path], questions: Sequence[Question], ids: Collection[str]
) -> list[Annotation]:
    """Read filled-in forms: tables, what the page saves, or JSON lines.

    Args:
        paths: of the files, in any order.
        questions: that were put.
        ids: of all items that were handed out.

    Returns:
        An annotation for each annotator and item; who left no name is called as the file is.

    Raises:
        AnnotationError: a file cannot be read, names another item, holds something that is no
            answer, or an annotator answered about an item twice and differently.
    """
    found: dict[tuple[str, str], tuple[Annotation, str]] = {}
    for path in paths:
        for where, row in _rows(path, questions):
            id = str(row.get("id") or "").strip().removeprefix(TABLE_MARK)
            if not id and not any(row.get(question.name) for question in questions):
                continue
            if id not in ids:
                raise AnnotationError(
                    f"{where}: {plain(id, _LONGEST_SHOWN)!r} is the id of no text on these forms",
                    hint="name the forms that were filled in, and leave the ids as they are",
                )
            try:
                given = {one.name: one.answer(row.get(one.name)) for one in questions}
            except ValueError as error:
                raise AnnotationError(f"{where}: {error}", hint="give one of these") from error
            name = str(row.get("annotator") or "").strip() or path.stem
            answers = {name: value for name, value in given.items() if value is not None}
            new = Annotation(name, id, answers)
            known, first = found.setdefault((name, id), (new, where))
            if known != new:
                raise AnnotationError(
                    f"{first} and {where}: {plain(name, _LONGEST_SHOWN)!r} answered about {id} "
                    "twice, and differently",
                    hint="keep one of the two, or give two annotators different names",
                )
    return [annotation for annotation, _ in found.values()]


def _rows(path: Path, questions: Sequence[Question]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What stands in a file about each item, and where."""
    hint = "hand in what the form saved, or the filled-in table as UTF-8"
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.lstrip().startswith("{"):
            yield from _table_rows(text, path)
            return
        try:
            saved = json.loads(text)
        except ValueError:
            saved = None
        if isinstance(saved, dict) and "answers" in saved:
            for number, row in enumerate(saved["answers"], 1):
                yield f"{path}: answer {number}", {"annotator": saved.get("annotator")} | dict(row)
            return

        def refused(number: int, error: BaseException) -> AnnotationError:
            return AnnotationError(f"{path}: line {number}: {error}", hint=hint)

        for number, row in read_json_lines(text.splitlines(), refused):
            yield f"{path}: line {number}", dict(row)
    except (OSError, ValueError, TypeError, RecursionError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise AnnotationError(f"{path}: {why}", hint=hint) from error


def _table_rows(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    first = text.partition("\n")[0]
    lines = text.splitlines(keepends=True)
    rows = csv.DictReader(lines, delimiter=max(",;\t", key=first.count), restval="")
    rows.fieldnames = [(name or "").strip().lower() for name in rows.fieldnames or ()]
    if "id" not in rows.fieldnames:
        raise ValueError("has no column id")
    for number, row in enumerate(rows, 1):
        yield f"{path}: row {number}", row


def alpha(counts: npt.NDArray[np.int64], level: Literal["nominal", "ordinal"]) -> float | None:
    """Krippendorff's alpha from how often each item (row) was given each value (column).

    None where no item has two values or all values are the same: it is not defined.
    """
    import krippendorff
    import numpy as np

    paired = counts[counts.sum(axis=1) >= 2]
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        return None
    return float(krippendorff.alpha(value_counts=paired, level_of_measurement=level))
