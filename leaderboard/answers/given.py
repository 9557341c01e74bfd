"""Predictions in a file, made by whatever a team has, held against what a suite asks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.files import sha256_of
from s2lct.labels import TASK
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Array, LabelRule, Labels
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.plain_text import plain, spreadsheet_cell
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.row_files import columns_of, is_empty, parsed, rows_of_file

LABEL_COLUMNS = ("prediction", "predicted", "predicted_label", "label")
PROBABILITY_COLUMNS = ("probabilities", "scores")
OWN_LABELS = "labels"
"""A column of the suite's own: a file that has it has in ``label`` what passes."""
_MEND = (
    "give a file .csv, .jsonl or .parquet with a column id or text, and label (or prediction), or "
    "a column of probabilities a class, as negative, neutral and positive"
)
_SOME = 3
_SHOWN = 60
_LONGEST_NAME = 200
_SAME = 1e-6
"""How far the probabilities of one answer that stands there twice may differ."""
_PLACE = re.compile(r"predictions\[(\d+)\]")
Told = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class GivenPredictions:
    """What a file says of what a suite asks.

    Attributes:
        suite: without counterparts where the file does not have them all.
        labels: of all that the suite asks, shape (asked,).
        label_rule: how answers became labels, in words.
        file: its name.
        sha256: of the file.
        rule: what the classes mean; None where the file gives labels alone.
        by_text: probabilities of the rule's classes by text.
    """

    suite: SuiteCases
    labels: Labels
    label_rule: str
    file: str
    sha256: str
    rule: LabelRule | None
    by_text: Mapping[str, Array]


def read_predictions(
    path: Path,
    suite: SuiteCases,
    *,
    label_map: Mapping[Any, Any] | None = None,
    neutral_band: tuple[float, float] = rules.NEUTRAL_BAND,
    also: Sequence[str] = (),
) -> GivenPredictions:
    """Read predictions of a suite's cases, and of its counterparts as far as they are there.

    Rows are found by ``id``, or by ``text`` where there is no such column. A case may stand there
    twice with one answer. What is of no case is left out with a warning.

    Args:
        path: a CSV, JSON-lines or Parquet file.
        suite: the cases that are asked.
        label_map: what classes mean; see `labels.check_label_map`.
        neutral_band: see `label_rules.LabelRule`.
        also: other texts of which probabilities are wanted, if they are there.

    Raises:
        ScoringError: the file cannot be read, a row is no prediction or has another text than its
            case, a case has none, or two that contradict each other.
    """
    rows = list(rows_of_file(path))
    if not rows:
        raise ScoringError(f"{path}: holds no row", hint=_MEND)
    columns = columns_of(rows)
    key = next((name for name in ("id", "text") if name in columns), None)
    if key is None:
        raise ScoringError(f"{path}: has neither a column id nor text", hint=_MEND)
    asked = suite.asked
    numbers_of = _numbers_of(asked, key)
    others = {str(spreadsheet_cell(text)): text for text in also} | {text: text for text in also}
    names = [str(row.get(key, "")) for _, row in rows]
    text_of = [str(row.get("text", "")) for _, row in rows]
    wanted = [n for n in range(len(rows)) if names[n] in numbers_of or text_of[n] in others]
    _tell_unknown(path, key, [names[n] for n in sorted({*range(len(rows))} - {*wanted})])
    if not wanted:
        raise ScoringError(
            f"{path}: none of its {len(rows):,} rows has the {key} of a case of {suite.name}",
            hint="predict the cases of this suite: `s2lct export SUITE --format csv --out "
            "cases.csv` writes them",
        )
    chosen = [rows[number] for number in wanted]
    predictions = _predictions(path, chosen, columns, label_map)
    try:
        labels, told = labels_of_predictions(
            predictions, len(predictions), neutral_band=neutral_band, label_map=label_map
        )
        rule, table = _whole_table(predictions, label_map, neutral_band)
    except ScoringError as error:
        problem = _PLACE.sub(lambda found: chosen[int(found[1])][0], error.problem)
        told = problem if problem != error.problem else f"{path}: {problem}"
        raise ScoringError(told, hint=error.hint) from error
    first: dict[int, int] = {}
    by_text: dict[str, Array] = {}
    for place, number in enumerate(wanted):
        of_cases = numbers_of.get(names[number], ())
        for case in of_cases:
            _check_text(*rows[number], asked[case])
            _check_same(chosen, labels, table, first.setdefault(case, place), place)
        if table is not None:
            texts = [asked[case].text for case in of_cases]
            texts += [others[text_of[number]]] if text_of[number] in others else []
            by_text |= dict.fromkeys(texts, table[place])
    suite = _answered(path, suite, first, key)
    said = np.array([labels[first[number]] for number in range(len(suite.asked))], dtype=np.int64)
    return GivenPredictions(
        suite, said, told, plain(path.name, _LONGEST_NAME), sha256_of(path), rule, by_text
    )


def _numbers_of(asked: Sequence[Case], key: str) -> dict[str, list[int]]:
    """Numbers of what is asked by id or text; texts also as a spreadsheet's file has them."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(asked):
        numbers.setdefault(case.id if key == "id" else case.text, []).append(number)
    if key == "text":
        numbers |= {
            cell: of
            for text, of in numbers.items()
            if (cell := str(spreadsheet_cell(text))) != text
        }
    return numbers


def _tell_unknown(path: Path, key: str, unknown: Sequence[str]) -> None:
    if strange := list(dict.fromkeys(unknown)):
        warnings.warn(
            f"{path}: {len(strange):,} {key}s are of no case that is asked and are left out "
            f"({_some(strange)})",
            S2lctWarning,
            stacklevel=3,
        )


def _predictions(
    path: Path, rows: Sequence[Told], columns: Sequence[str], label_map: Mapping[Any, Any] | None
) -> list[Any]:
    """What each row says, in a form that `labels_of_predictions` takes."""
    named = [name for name in LABEL_COLUMNS if name in columns]
    if OWN_LABELS in columns and named == ["label"]:
        raise ScoringError(
            f"{path}: its columns label and {OWN_LABELS} are the suite's own: what passes",
            hint="put what the model says into a column prediction, or leave the suite's columns "
            "out but id",
        )
    packed = next((name for name in PROBABILITY_COLUMNS if name in columns), None)
    classes = [
        name
        for name in columns
        if name in map(str, label_map or ()) or rules.meaning_of(name) is not None
    ]
    if packed is not None:
        return [_cell(row, packed, where) for where, row in rows]
    if len(classes) > 1:
        return [
            {name: _number(row.get(name), name, where) for name in classes} for where, row in rows
        ]
    if not named:
        raise ScoringError(
            f"{path}: says nothing of what the model answered; its columns: "
            f"{', '.join(plain(name, _SHOWN) for name in columns)}",
            hint=_MEND,
        )
    cells = [_cell(row, named[0], where) for where, row in rows]
    if all(isinstance(cell, float) and cell.is_integer() for cell in cells):
        return [int(cell) for cell in cells]
    # The cells of a CSV file are texts, numbers too.
    if all(isinstance(cell, str) and cell.strip().isdecimal() for cell in cells):
        return [int(cell) for cell in cells]
    return [cell.strip() if isinstance(cell, str) else cell for cell in cells]


def _cell(row: Mapping[str, Any], name: str, where: str) -> Any:
    if is_empty(row.get(name)):
        raise ScoringError(f"{where}: {name} is empty", hint="predict this case, or leave it out")
    return parsed(row[name])


def _number(cell: Any, name: str, where: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ScoringError(
            f"{where}: {name} is {plain(str(cell), _SHOWN)!r}, no probability",
            hint="give each class a number from 0 to 1",
        ) from None


def _whole_table(
    predictions: Sequence[Any],
    label_map: Mapping[Any, Any] | None,
    neutral_band: tuple[float, float],
) -> tuple[LabelRule | None, Array | None]:
    """Probabilities of rows that have them of every class, and what these mean; else neither.

    The rows are known to be predictions.
    """
    rows = [_by_class(one) for one in predictions]
    names = list(rows[0])
    if len(names) < 2 or any(row.keys() != rows[0].keys() for row in rows):
        return None, None
    if names == [str(number) for number in range(len(names))] and label_map is None:
        rule = LabelRule(tuple(names), TASK.columns[len(names)], neutral_band)
    else:
        rule = rules.rule_for(names, label_map=label_map, neutral_band=neutral_band)
    return rule, np.array([[float(row[name]) for name in names] for row in rows])


def _by_class(prediction: Any) -> dict[str, Any]:
    """A prediction's probabilities by class, or by column; empty where it has none."""
    if isinstance(prediction, Mapping):
        return {} if "label" in prediction else dict(prediction)
    if not isinstance(prediction, list):
        return {}
    if prediction and isinstance(prediction[0], Mapping):
        return {str(one["label"]): one["score"] for one in prediction}
    return {str(number): value for number, value in enumerate(prediction)}


def _check_text(where: str, row: Mapping[str, Any], case: Case) -> None:
    """Refuse a row whose text is not that of the case that its id names."""
    text = " ".join(str(row.get("text") or "").split())
    meant = (case.text, str(spreadsheet_cell(case.text)))
    if text and text not in [" ".join(one.split()) for one in meant]:
        raise ScoringError(
            f"{where}: has the id {case.id} and another text than that case: {plain(text, _SHOWN)}",
            hint="put each prediction beside the id of its own text, or leave the column text out",
        )


def _check_same(
    rows: Sequence[Told], labels: Labels, table: Array | None, one: int, other: int
) -> None:
    """Refuse two answers to one case, by the places of their rows."""
    differ = labels[one] != labels[other]
    if table is not None:
        differ = differ or np.abs(table[one] - table[other]).max() > _SAME
    if differ:
        raise ScoringError(
            f"{rows[one][0]} and {rows[other][0]} give one case two different answers",
            hint="keep one of them",
        )


def _answered(path: Path, suite: SuiteCases, found: Mapping[int, int], key: str) -> SuiteCases:
    """The suite as far as it is answered: all cases, and all counterparts or none."""
    cases = len(suite.cases)
    missing = [case for number, case in enumerate(suite.cases) if number not in found]
    if missing:
        some = _some([getattr(case, key) for case in missing])
        raise ScoringError(
            f"{path}: lacks {len(missing):,} of the {cases:,} cases of {suite.name} ({some})",
            hint="predict them too, or score a part with --capability, --kind or --limit",
        )
    lacking = sum(number not in found for number in range(cases, len(suite.asked)))
    if not lacking:
        return suite
    if lacking < len(suite.counterparts):
        warnings.warn(
            f"{path}: lacks {lacking:,} of the {len(suite.counterparts):,} counterparts, so that "
            "what is right on both sides is left out",
            S2lctWarning,
            stacklevel=3,
        )
    return replace(suite, counterparts=())


def _some(names: Sequence[str]) -> str:
    def shown() -> Iterator[str]:
        yield from (plain(name, _SHOWN) for name in names[:_SOME])
        if len(names) > _SOME:
            yield "…"

    return ", ".join(shown())
