"""Read a file of predictions made outside s2lct, and match them with the cases of a suite."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.files import sha256_of
from s2lct.labels import check_label_map, meaning_of, written_label
from s2lct.leaderboard.answers.predictions import read_predictions
from s2lct.leaderboard.models.record import ModelRecord, OptionsRecord, PredictionsRecord
from s2lct.leaderboard.results.record import MAX_NAME_LENGTH, check_name_of_own_model
from s2lct.leaderboard.scoring.score import Outcomes, outcomes_of
from s2lct.plain_text import MAX_SNIPPET_CHARACTERS, plain, spreadsheet_cell
from s2lct.suite.cases import SuiteCases
from s2lct.table_files import LocatedRow, is_blank, parse_json_cell, read_rows

LABEL_COLUMN = "label"
PREDICTION_COLUMNS = (
    *("prediction", "predictions", "predicted", "predicted_label"),
    *("pred", "preds", "pred_label"),
)
PROBABILITY_COLUMNS = ("probabilities", "scores")
_CASE_COLUMNS = ("id", "text", "capability", "kind", "seed_id")
_FILE_FORMAT_HINT = (
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
    """Outcomes of a model known only by a file of its predictions.

    A row belongs to the case with its ``id``, or, if the file has no such column, with its
    ``text``. A case may have several rows if their labels agree. Rows that belong to no case are
    left out with a warning.

    Args:
        path: a CSV, JSON-lines or Parquet file.
        suite: the cases and contrasts to predict. If the file lacks contrasts, the outcomes cover
            the cases alone.
        name: the name of the model; None for the name of the file.
        label_map: the label that each class means; see `labels.check_label_map`.

    Raises:
        ScoringError: the file cannot be read; a row is no prediction or has another text than its
            case; a case has no prediction, or contradictory ones; or the name is not allowed.
    """
    name = path.name.partition(".")[0] if name is None else name
    check_name_of_own_model(name)
    label_map = check_label_map(label_map)
    rows = read_rows(path)
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    key_column = next((column for column in ("id", "text") if column in columns), None)
    if key_column is None:
        raise ScoringError(f"{path}: has no column id or text", hint=_FILE_FORMAT_HINT)
    case_numbers_of_key: dict[str, list[int]] = {}
    for case_number, case in enumerate(suite.with_contrasts):
        # In an exported file, a text that a spreadsheet would compute starts with an apostrophe.
        for text in {getattr(case, key_column), str(spreadsheet_cell(getattr(case, key_column)))}:
            case_numbers_of_key.setdefault(text, []).append(case_number)
    matched_rows = [row for row in rows if str(row[1].get(key_column, "")) in case_numbers_of_key]
    if not matched_rows:
        raise ScoringError(
            f"{path}: none of its {len(rows):,} rows has the {key_column} of a case of "
            f"{suite.name}",
            hint="predict the cases of this suite: `s2lct export SUITE --format csv --out "
            "cases.csv` writes them",
        )
    if unmatched_count := len(rows) - len(matched_rows):
        warnings.warn(
            f"{path}: {unmatched_count:,} rows have the {key_column} of no case that is asked, and "
            "are left out",
            S2lctWarning,
            stacklevel=2,
        )
    try:
        column, values = _predictions(path, matched_rows, columns, label_map)
        predictions = read_predictions(
            values, len(matched_rows), label_map=label_map, column=column, hint=_LABEL_MAP_HINT
        )
    except ScoringError as error:
        problem = _ROW_NUMBER.sub(lambda match: matched_rows[int(match[1])][0], error.problem)
        raise ScoringError(problem, hint=error.hint) from error
    labels, rule = predictions.labels, predictions.label_rule
    row_of_case: dict[int, int] = {}
    for row_number, (location, row) in enumerate(matched_rows):
        for case_number in case_numbers_of_key[str(row[key_column])]:
            case = suite.with_contrasts[case_number]
            text = str(row.get("text") or case.text)
            if text.split() not in (case.text.split(), str(spreadsheet_cell(case.text)).split()):
                raise ScoringError(
                    f"{location}: has the id {case.id} and another text than that case: "
                    f"{_snippet(text)}",
                    hint="put each prediction beside the id of its own text, or leave the column "
                    "text out",
                )
            first_row = row_of_case.setdefault(case_number, row_number)
            if labels[first_row] != labels[row_number]:
                raise ScoringError(
                    f"{matched_rows[first_row][0]} and {location} give one case two different "
                    "labels",
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
    row_numbers = [row_of_case[case_number] for case_number in range(len(suite.with_contrasts))]
    return outcomes_of(model, suite, labels[row_numbers])


def _predictions(
    path: Path,
    rows: Sequence[LocatedRow],
    columns: Sequence[str],
    label_map: Mapping[str, str] | None,
) -> tuple[str, list[Any]]:
    """The names of the columns to read, and each row's prediction, ready for `read_predictions`.

    In order of preference, these columns are read: one of `PREDICTION_COLUMNS`, one of
    `PROBABILITY_COLUMNS`, all columns named after classes, a column ``label`` that cannot be the
    gold label.
    """
    prediction_columns = [name for name in PREDICTION_COLUMNS if name in columns]
    prediction_columns = prediction_columns or [c for c in PROBABILITY_COLUMNS if c in columns]
    class_columns = [
        name for name in columns if name in (label_map or ()) or meaning_of(name) is not None
    ]
    if len(prediction_columns) > 1:
        raise ScoringError(
            f"{path}: columns {' and '.join(prediction_columns)} are both called as predictions",
            hint="keep the one that counts, or rename the others",
        )
    if not prediction_columns and len(class_columns) > 1:
        return ", ".join(class_columns), [
            {name: _probability(row.get(name), name, location) for name in class_columns}
            for location, row in rows
        ]
    if not prediction_columns and LABEL_COLUMN not in columns:
        shown = plain(", ".join(columns), 200)
        raise ScoringError(
            f"{path}: has no predictions; its columns: {shown}", hint=_FILE_FORMAT_HINT
        )
    column = (prediction_columns or [LABEL_COLUMN])[0]
    if column == LABEL_COLUMN:
        _check_label_column(path, rows, columns, label_map)
    for location, row in rows:
        if is_blank(row.get(column)):
            raise ScoringError(f"{location}: {column} is empty", hint="predict this case")
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
    """Refuse a column ``label`` if it may be the gold label and another column the prediction."""
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
        is_other = column not in (LABEL_COLUMN, *_CASE_COLUMNS) and not all(map(is_blank, cells))
        if is_other and all(map(is_label, cells)):
            raise ScoringError(
                f"{path}: label or {_snippet(column)} may be the prediction, both hold labels",
                hint="call the column that holds what the model predicts prediction",
            )


def _snippet(text: str) -> str:
    return plain(text, MAX_SNIPPET_CHARACTERS)


def _probability(cell: Any, column: str, location: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ScoringError(
            f"{location}: {column} is {_snippet(str(cell))!r}, no probability",
            hint="give each class a number from 0 to 1",
        ) from None


def _answered_part(path: Path, suite: SuiteCases, answered_numbers: Container[int]) -> SuiteCases:
    """The suite if all of it is answered, or its cases alone if a contrast is not answered.

    ``answered_numbers`` are numbers of `SuiteCases.with_contrasts`.
    """
    case_count = len(suite.cases)
    missing = [case for number, case in enumerate(suite.cases) if number not in answered_numbers]
    if missing:
        raise ScoringError(
            f"{path}: lacks {len(missing):,} of the {case_count:,} cases of {suite.name} (first "
            f"{missing[0].id}: {_snippet(missing[0].text)})",
            hint="predict them too, or score a part with --capability or --limit",
        )
    contrast_count = len(suite.contrasts)
    missing_contrast_count = sum(
        number not in answered_numbers for number in range(case_count, case_count + contrast_count)
    )
    if not missing_contrast_count:
        return suite
    if missing_contrast_count < contrast_count:
        warnings.warn(
            f"{path}: lacks {missing_contrast_count:,} of the {contrast_count:,} contrasts, so "
            "that there is no consistency; predict them too",
            S2lctWarning,
            stacklevel=2,
        )
    return suite.restricted_to({case.id for case in suite.cases})
