"""Predictions in a file, made by whatever a team has, held against what a suite asks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.files import sha256_of
from s2lct.labels import check_label_map, meaning_of, written_label
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.leaderboard.models.record import ModelRecord, OptionsRecord, PredictionsRecord
from s2lct.leaderboard.results.record import LONGEST_NAME, check_own_name
from s2lct.leaderboard.scoring.score import Outcomes, outcomes_of
from s2lct.plain_text import plain, spreadsheet_cell
from s2lct.suite.cases import SuiteCases
from s2lct.suite.other_suites import Located, is_empty, parsed, rows_of_file

LABEL = "label"
PREDICTION_COLUMNS = (
    *("prediction", "predictions", "predicted", "predicted_label"),
    *("pred", "preds", "pred_label"),
)
PROBABILITY_COLUMNS = ("probabilities", "scores")
_OF_THE_CASE = ("id", "text", "capability", "kind", "seed_id")
_FORM = (
    "give a file .csv, .jsonl or .parquet with a column id or text, and prediction (or label), or "
    "a column of probabilities a class, as negative, neutral and positive"
)
_LABEL_MAP = (
    "say it with --label-map, such as --label-map {}, where 0 is the first class of the model"
)
_SHOWN = 60
_PLACE = re.compile(r"predictions\[(\d+)\]")


def outcomes_of_predictions(
    path: Path,
    suite: SuiteCases,
    name: str | None = None,
    label_map: Mapping[Any, Any] | None = None,
) -> Outcomes:
    """Outcomes of a model of which only a file of predictions is known.

    Rows are found by ``id``, or by ``text`` where there is no such column. A case may stand there
    twice with one label. What is of no case is left out with a warning.

    Args:
        path: a CSV, JSON-lines or Parquet file.
        suite: the cases that are asked, and contrasts; a file without some of these is of a part of
            the suite, without any.
        name: what the model is called; None to call it as the file.
        label_map: what classes mean; see `labels.check_label_map`.

    Raises:
        ScoringError: the file cannot be read, a row is no prediction or has another text than its
            case, a case has none, or two that contradict each other, or no result may be called so.
    """
    name = path.name.partition(".")[0] if name is None else name
    check_own_name(name)
    label_map = check_label_map(label_map)
    rows = list(rows_of_file(path))
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    key = next((column for column in ("id", "text") if column in columns), None)
    if key is None:
        raise ScoringError(f"{path}: has neither rows with an id nor with a text", hint=_FORM)
    numbers_of: dict[str, list[int]] = {}
    for number, case in enumerate(suite.with_contrasts):
        # A text that a spreadsheet would compute stands in an exported file behind an apostrophe.
        for text in {getattr(case, key), str(spreadsheet_cell(getattr(case, key)))}:
            numbers_of.setdefault(text, []).append(number)
    chosen = [row for row in rows if str(row[1].get(key, "")) in numbers_of]
    if not chosen:
        raise ScoringError(
            f"{path}: none of its {len(rows):,} rows has the {key} of a case of {suite.name}",
            hint="predict the cases of this suite: `s2lct export SUITE --format csv --out "
            "cases.csv` writes them",
        )
    if strange := len(rows) - len(chosen):
        warnings.warn(
            f"{path}: {strange:,} rows have the {key} of no case that is asked, and are left out",
            S2lctWarning,
            stacklevel=2,
        )
    try:
        column, predictions = _predictions(path, chosen, columns, label_map)
        labels, rule = labels_of_predictions(
            predictions, len(chosen), label_map=label_map, column=column, hint=_LABEL_MAP
        )
    except ScoringError as error:
        problem = _PLACE.sub(lambda found: chosen[int(found[1])][0], error.problem)
        raise ScoringError(problem, hint=error.hint) from error
    row_of: dict[int, int] = {}
    for place, (where, row) in enumerate(chosen):
        for number in numbers_of[str(row[key])]:
            case = suite.with_contrasts[number]
            text = str(row.get("text") or case.text)
            if text.split() not in (case.text.split(), str(spreadsheet_cell(case.text)).split()):
                raise ScoringError(
                    f"{where}: has the id {case.id} and another text than that case: "
                    f"{plain(text, _SHOWN)}",
                    hint="put each prediction beside the id of its own text, or leave the column "
                    "text out",
                )
            first = row_of.setdefault(number, place)
            if labels[first] != labels[place]:
                raise ScoringError(
                    f"{chosen[first][0]} and {where} give one case two different labels",
                    hint="keep one of them",
                )
    suite = _answered(path, suite, row_of)
    file = PredictionsRecord(file=plain(path.name, LONGEST_NAME), sha256=sha256_of(path))
    model = ModelRecord(
        name=name,
        revision="",
        weights_sha256="",
        label_rule=f"column{'s' if ', ' in column else ''} {plain(column, _SHOWN)}: {rule}",
        options=OptionsRecord.of(label_map),
        predictions=file,
    )
    return outcomes_of(model, suite, labels[[row_of[n] for n in range(len(suite.with_contrasts))]])


def _predictions(
    path: Path,
    rows: Sequence[Located],
    columns: Sequence[str],
    label_map: Mapping[str, str] | None,
) -> tuple[str, list[Any]]:
    """The columns that are read, and what each row predicts as `labels_of_predictions` takes it.

    The first of these counts: a column called as a prediction, one of probabilities, columns that
    are called as classes, a column ``label``, unless another one could be meant.
    """
    predicted = [name for name in PREDICTION_COLUMNS if name in columns]
    packed = [name for name in PROBABILITY_COLUMNS if name in columns]
    classes = [
        name for name in columns if name in (label_map or ()) or meaning_of(name) is not None
    ]
    if len(named := predicted or packed) > 1:
        raise ScoringError(
            f"{path}: columns {' and '.join(named)} are both called as predictions",
            hint="keep the one that counts, or rename the others",
        )
    if not named and len(classes) > 1:
        return ", ".join(classes), [
            {name: _number(row.get(name), name, where) for name in classes} for where, row in rows
        ]
    if not named and LABEL not in columns:
        raise ScoringError(
            f"{path}: has no predictions; its columns: {plain(', '.join(columns), 200)}", hint=_FORM
        )
    column = (named or [LABEL])[0]
    if column == LABEL:
        _check_label_column(path, rows, columns, label_map)
    for where, row in rows:
        if is_empty(row.get(column)):
            raise ScoringError(f"{where}: {column} is empty", hint="predict this case")
    cells = [parsed(row[column]) for _, row in rows]
    return column, [
        cell if isinstance(cell, (Mapping, list)) else written_label(cell) for cell in cells
    ]


def _check_label_column(
    path: Path,
    rows: Sequence[Located],
    columns: Sequence[str],
    label_map: Mapping[str, str] | None,
) -> None:
    """Refuse a column ``label`` that may be the right answer, with the prediction beside it."""
    if "labels" in columns:
        raise ScoringError(
            f"{path}: its columns label and labels are the suite's own: what passes",
            hint="put what the model predicts into a column prediction, or leave the suite's "
            "columns out but id",
        )

    def is_label(cell: object) -> bool:
        written = written_label(cell)
        known = written in ("", "0", "1", "2", *(label_map or ()))
        return known or meaning_of(written) is not None

    for column in columns:
        cells = [row.get(column) for _, row in rows]
        if (
            column not in (LABEL, *_OF_THE_CASE)
            and not all(map(is_empty, cells))
            and all(map(is_label, cells))
        ):
            raise ScoringError(
                f"{path}: label or {plain(column, _SHOWN)} may be the prediction, both hold labels",
                hint="call the column that holds what the model predicts prediction",
            )


def _number(cell: Any, name: str, where: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ScoringError(
            f"{where}: {name} is {plain(str(cell), _SHOWN)!r}, no probability",
            hint="give each class a number from 0 to 1",
        ) from None


def _answered(path: Path, suite: SuiteCases, found: Mapping[int, int]) -> SuiteCases:
    """The suite as far as it is answered: all of it, or its cases without contrasts."""
    cases = len(suite.cases)
    missing = [case for number, case in enumerate(suite.cases) if number not in found]
    if missing:
        raise ScoringError(
            f"{path}: lacks {len(missing):,} of the {cases:,} cases of {suite.name} (first "
            f"{missing[0].id}: {plain(missing[0].text, _SHOWN)})",
            hint="predict them too, or score a part with --capability or --limit",
        )
    lacking = [n for n in range(cases, len(suite.with_contrasts)) if n not in found]
    if not lacking:
        return suite
    if len(lacking) < len(suite.contrasts):
        warnings.warn(
            f"{path}: lacks {len(lacking):,} of the {len(suite.contrasts):,} contrasts, so that "
            "there is no consistency; predict them too",
            S2lctWarning,
            stacklevel=2,
        )
    return suite.restricted_to({case.id for case in suite.cases})
