"""What raters said, read from the JSON or CSV that they handed in."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.analysis.records import fault_of
from s2lct.analysis.study.form import RATINGS, Key
from s2lct.errors import AnalysisError

SCALES = ("relevance", "sentiment")
_MEND_FILE = "pass the JSON or CSV that a form gave, or the CSV that `s2lct study export` wrote"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater said of an item: ratings from 1 to 5; None where the rater left one out."""

    rater: str
    item: str
    relevance: int | None
    sentiment: int | None


class _JsonItem(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    relevance: int | None = Field(None, ge=RATINGS[0], le=RATINGS[-1])
    sentiment: int | None = Field(None, ge=RATINGS[0], le=RATINGS[-1])


class _JsonAnswers(BaseModel):
    """What a form exports."""

    model_config = ConfigDict(extra="ignore", strict=True)

    rater: str = ""
    answers: list[_JsonItem]


def read_answers(paths: Sequence[Path], key: Key) -> list[Answer]:
    """Read raters' files, JSON or CSV, in any order.

    A rater who left no name is called as the file is.

    Raises:
        AnalysisError: a file cannot be read, is of another study, holds a rating that is not 1
            to 5, or a rater rated an item twice and differently.
    """
    answers: dict[tuple[str, str], tuple[Answer, Path]] = {}
    for path in paths:
        for answer in _read(path):
            if answer.item not in key.items:
                raise AnalysisError(
                    f"{path}: {answer.item!r} is no item of study {key.study}",
                    hint="pass the key and the answers of one study",
                )
            known, where = answers.setdefault((answer.rater, answer.item), (answer, path))
            if known != answer:
                raise AnalysisError(
                    f"{where} and {path}: {answer.rater!r} has two answers to {answer.item}",
                    hint="pass only the later file, or give two raters different names",
                )
    return [answer for answer, _ in answers.values()]


def _read(path: Path) -> list[Answer]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.lstrip().startswith(("{", "[")):
            return list(_from_csv(text, path))
        read = _JsonAnswers.model_validate_json(text)
    except UnicodeDecodeError as error:
        raise AnalysisError(
            f"{path}: is not UTF-8 (byte {error.start})", hint="save it as UTF-8"
        ) from error
    except (OSError, ValidationError, csv.Error) as error:
        said = fault_of(error) if isinstance(error, ValidationError) else str(error)
        why = error.strerror if isinstance(error, OSError) else said
        raise AnalysisError(f"{path}: {why}", hint=_MEND_FILE) from error
    rater = read.rater.strip() or path.stem
    return [Answer(rater, one.id, one.relevance, one.sentiment) for one in read.answers]


def _from_csv(text: str, path: Path) -> Iterator[Answer]:
    first = text.partition("\n")[0]
    rows = csv.DictReader(
        text.splitlines(keepends=True), delimiter=max(",;\t", key=first.count), restval=""
    )
    rows.fieldnames = [(name or "").strip().lower() for name in rows.fieldnames or ()]
    if missing := [name for name in ("id", *SCALES) if name not in rows.fieldnames]:
        raise AnalysisError(f"{path}: has no column {', '.join(missing)}", hint=_MEND_FILE)
    for number, row in enumerate(rows, 1):
        if item := row["id"].strip():
            rater = row.get("rater", "").strip() or path.stem
            ratings = (
                _rating(row[scale].strip(), f"{path}: row {number}, {scale}") for scale in SCALES
            )
            yield Answer(rater, item, *ratings)


def _rating(text: str, where: str) -> int | None:
    if not text:
        return None
    for rating in RATINGS:
        if text in (str(rating), f"{rating}.0", f"{rating},0"):
            return rating
    raise AnalysisError(f"{where}: {text!r} is no rating", hint="rate 1 to 5, or leave it empty")
