"""Predictions in a file, made outside s2lct, matched with the cases of a suite."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.files import sha256_of
from s2lct.labels import check_label_map, meaning_of, written_label
from s2lct.leaderboard.answers.predictions import read_predictions
from s2lct.leaderboard.models.record import ModelRecord, OptionsRecord, PredictionsRecord
from s2lct.leaderboard.results.record import MAX_NAME_LENGTH, check_own_name
from s2lct.leaderboard.scoring.score import Outcomes, outcomes_of
from s2lct.plain_text import MAX_SNIPPET_CHARACTERS, plain, spreadsheet_cell
from s2lct.suite.cases import SuiteCases
from s2lct.table_files import LocatedRow, is_blank, parse_json_cell, read_rows

LABEL = "label"
PREDICTION_COLUMNS = (
    *("prediction", "predictions", "predicted", "predicted_label"),
    *("pred", "preds", "pred_label"),
)
PROBABILITY_COLUMNS = ("probabilities", "scores")
_CASE_COLUMNS = ("id", "text", "capability", "kind", "seed_id")
_FORM_HINT = (
    "give a file .csv, .jsonl or .parquet with a column id or text, and prediction (or label), or "
    "a column of probabilities for each class, as negative, neutral and positive"
)
_LABEL_MAP_HINT = (
    "say it with --label-map, such as --label-map {}, where 0 is the first class of the model"
)
_ROW_NUMBER = re.compile(r"predictions\[(\d+)\]")


def outcomes_of_predictions(
    path: Path,
    suite: SuiteCases,
    name: str | None = None,
    label_map: Mapping[Any, Any] | None = None,
) -> Outcomes:
    """Outcomes of a model of which only a file of predictions is known.

    Rows belong to cases by ``id``, or by ``text`` where there is no such column. A case may stand
    there twice with one label. Rows of no case are left out with a warning.

    Args:
        path: a CSV, JSON-lines or Parquet file.
        suite: the cases and contrasts to predict. If the file lacks contrasts, the outcomes are of
            a part of the suite, without any.
        name: what the model is called; None to call it as the file.
        label_map: what classes mean; see `labels.check_label_map`.

    Raises:
        ScoringError: the file cannot be read, a row is no prediction or has another text than its
            case, a case has none, or two that contradict each other, or the name may not be given.
    """
    name = path.name.partition(".")[0] if name is None else name
    check_own_name(name)
    label_map = check_label_map(label_map)
    rows = read_rows(path)
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    key = next((column for column in ("id", "text") if column in columns), None)
    if key is None:
        raise ScoringError(f"{path}: has no column id or text", hint=_FORM_HINT)
    numbers_of: dict[str, list[int]] = {}
    for number, case in enumerate(suite.with_contrasts):
        # A text that a spreadsheet would compute stands in an exported file behind an apostrophe.
        for text in {getattr(case, key), str(spreadsheet_cell(getattr(case, key)))}:
            numbers_of.setdefault(text, []).append(number)
    matched = [row for row in rows if str(row[1].get(key, "")) in numbers_of]
    if not matched:
        raise ScoringError(
            f"{path}: none of its {len(rows):,} rows has the {key} of a case of {suite.name}",
            hint="predict the cases of this suite: `s2lct export SUITE --format csv --out "
            "cases.csv` writes them",
        )
    if unmatched := len(rows) - len(matched):
        warnings.warn(
            f"{path}: {unmatched:,} rows have the {key} of no case that is asked, and are left out",
            S2lctWarning,
            stacklevel=2,
        )
    try:
        column, values = _predictions(path, matched, columns, label_map)
        predictions = read_predictions(
            values, len(matched), label_map=label_map, column=column, hint=_LABEL_MAP_HINT
        )
    except ScoringError as error:
        problem = _ROW_NUMBER.sub(lambda match: matched[int(match[1])][0], error.problem)
        raise ScoringError(problem, hint=error.hint) from error
    labels, rule = predictions.labels, predictions.label_rule
    row_of_case: dict[int, int] = {}
    for place, (where, row) in enumerate(matched):
        for number in numbers_of[str(row[key])]:
            case = suite.with_contrasts[number]
            text = str(row.get("text") or case.text)
            if text.split() not in (case.text.split(), str(spreadsheet_cell(case.text)).split()):
                raise ScoringError(
                    f"{where}: has the id {case.id} and another text than that case: "
                    f"{_snippet(text)}",
                    hint="put each prediction beside the id of its own text, or leave the column "
                    "text out",
                )
            first = row_of_case.setdefault(number, place)
            if labels[first] != labels[place]:
                raise ScoringError(
                    f"{matched[first][0]} and {where} give one case two different labels",
                    hint="keep one of them",
                )
    suite = _answered_part(path, suite, row_of_case)
    model = ModelRecord(
        name=name,
        revision="",
        weights_sha256="",
        label_rule=f"column{'s' * (', ' in column)} {_snippet(column)}: {rule}",
        options=OptionsRecord.of(label_map),
        predictions=PredictionsRecord(
            file=plain(path.name, MAX_NAME_LENGTH), sha256=sha256_of(path)
        ),
    )
    order = [row_of_case[number] for number in range(len(suite.with_contrasts))]
    return outcomes_of(model, suite, labels[order])


def _predictions(
    path: Path,
    rows: Sequence[LocatedRow],
    columns: Sequence[str],
    label_map: Mapping[str, str] | None,
) -> tuple[str, list[Any]]:
    """The columns to read, and each row's prediction as `read_predictions` takes it.

    The first of these that the file has is read: a column with a name for predictions, one for
    probabilities, columns with the names of classes, a column ``label`` unless it may be the gold
    label.
    """
    named = [name for name in PREDICTION_COLUMNS if name in columns]
    named = named or [name for name in PROBABILITY_COLUMNS if name in columns]
    classes = [
        name for name in columns if name in (label_map or ()) or meaning_of(name) is not None
    ]
    if len(named) > 1:
        raise ScoringError(
            f"{path}: columns {' and '.join(named)} are both called as predictions",
            hint="keep the one that counts, or rename the others",
        )
    if not named and len(classes) > 1:
        return ", ".join(classes), [
            {name: _number(row.get(name), name, where) for name in classes} for where, row in rows
        ]
    if not named and LABEL not in columns:
        shown = plain(", ".join(columns), 200)
        raise ScoringError(f"{path}: has no predictions; its columns: {shown}", hint=_FORM_HINT)
    column = (named or [LABEL])[0]
    if column == LABEL:
        _check_label_column(path, rows, columns, label_map)
    for where, row in rows:
        if is_blank(row.get(column)):
            raise ScoringError(f"{where}: {column} is empty", hint="predict this case")
    cells = [parse_json_cell(row[column]) for _, row in rows]
    return column, [
        cell if isinstance(cell, (Mapping, list)) else written_label(cell) for cell in cells
    ]


def _check_label_column(
    path: Path,
    rows: Sequence[LocatedRow],
    columns: Sequence[str],
    label_map: Mapping[str, str] | None,
) -> None:
    """Refuse a column ``label`` that may be the gold label, with the prediction beside it."""
    if "labels" in columns:
        raise ScoringError(
            f"{path}: its columns label and labels are the suite's own: what passes",
            hint="put what the model predicts into a column prediction, or leave the suite's "
            "columns out but id",
        )

    def is_label(cell: object) -> bool:
        text = written_label(cell)
        return text in ("", "0", "1", "2", *(label_map or ())) or meaning_of(text) is not None

    for column in columns:
        cells = [row.get(column) for _, row in rows]
        is_other = column not in (LABEL, *_CASE_COLUMNS) and not all(map(is_blank, cells))
        if is_other and all(map(is_label, cells)):
            raise ScoringError(
                f"{path}: label or {_snippet(column)} may be the prediction, both hold labels",
                hint="call the column that holds what the model predicts prediction",
            )


def _snippet(text: str) -> str:
    return plain(text, MAX_SNIPPET_CHARACTERS)


def _number(cell: Any, name: str, where: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ScoringError(
            f"{where}: {name} is {_snippet(str(cell))!r}, no probability",
            hint="give each class a number from 0 to 1",
        ) from None


def _answered_part(path: Path, suite: SuiteCases, answered: Mapping[int, int]) -> SuiteCases:
    """The whole suite if all of it is answered, or its cases without contrasts."""
    cases = len(suite.cases)
    missing = [case for number, case in enumerate(suite.cases) if number not in answered]
    if missing:
        raise ScoringError(
            f"{path}: lacks {len(missing):,} of the {cases:,} cases of {suite.name} (first "
            f"{missing[0].id}: {_snippet(missing[0].text)})",
            hint="predict them too, or score a part with --capability or --limit",
        )
    contrasts = len(suite.contrasts)
    lacking = sum(number not in answered for number in range(cases, cases + contrasts))
    if not lacking:
        return suite
    if lacking < contrasts:
        warnings.warn(
            f"{path}: lacks {lacking:,} of the {contrasts:,} contrasts, so that there is no "
            "consistency; predict them too",
            S2lctWarning,
            stacklevel=2,
        )
    return suite.restricted_to({case.id for case in suite.cases})
