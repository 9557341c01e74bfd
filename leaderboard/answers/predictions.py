"""Read predictions of models, in any of several formats, as labels.

The label of a row follows from that row and the model's classes alone, never from other rows.
A row that leaves open which label it means is refused, and the error names the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.labels import (
    POLAR_LABELS,
    check_label_map,
    example_map,
    is_integer,
    read_labels,
    written_label,
)
from s2lct.leaderboard.answers.label_rules import (
    SOFTMAX_HINT,
    TIE_MARGIN,
    Array,
    LabelRule,
    Labels,
    check_classes,
    class_numbers,
    rule_for,
)

if TYPE_CHECKING:
    from s2lct.leaderboard.models.endpoint import EndpointUse

_LABEL_NAME, _LABEL_ID = "a label name", "a label id"
_ROW_OF_NUMBERS, _NAMED_SCORES = "a row of numbers", "scores with class names"
_FORMAT_HINT = (
    "give every row in one form: label names, numbers of classes, probabilities of all classes, or "
    "what a text-classification pipeline returns with top_k=None"
)
_CLASSES_HINT = "name every class of the model: classes=[…] or label_map={…}"
_PYTHON_HINT = (
    "name every class in the model's order: classes=[…], or classes=model.config.id2label; or say "
    'what labels mean: label_map="{}"'
)
_ORIGIN = "the names of the classes"
_MIN_SUM_OF_ALL_CLASSES = 1 - 1e-3
"""Least sum of a row's named probabilities, below which the row seems to lack classes."""


@dataclass(frozen=True)
class Predictions:
    """A model's predictions of texts.

    Attributes:
        labels: the label id of each text, or `REFUSED` or `UNREADABLE`; shape (texts,).
        label_rule: how outputs became labels, in words.
        label_map: the user's label map; None if there is none, or if it changes nothing.
        probabilities: probabilities of the labels, shape (texts, labels); None if the model gives
            labels only.
        endpoint: the server that answered, for models behind an endpoint.
    """

    labels: Labels
    label_rule: str
    label_map: Mapping[str, str] | None = None
    probabilities: Array | None = None
    endpoint: EndpointUse | None = None


def read_predictions(
    values: Any,
    count: int,
    *,
    classes: Sequence[str] | None = None,
    label_map: Mapping[Any, Any] | None = None,
    column: str | None = None,
    hint: str = _PYTHON_HINT,
) -> Predictions:
    """Read predictions that were made elsewhere; their probabilities are not returned.

    Args:
        values: label names, numbers of classes, probabilities in the order of the classes or by
            class name, or what a `text-classification` pipeline returns for all classes.
        count: the expected number of predictions.
        classes: the names of all classes of the model, in its order. Class numbers and rows of
            numbers need them, or a label map by number, because models differ in their order.
        label_map: the meanings of labels or classes, see `labels.check_label_map`.
        column: the file's column of predictions, see `labels.meanings_of_labels`.
        hint: the hint of errors about class numbers without a meaning, with ``{}`` for an example
            of a label map.

    Raises:
        ScoringError: a row is not a prediction, or leaves open which label it means.
    """
    checked_map = check_label_map(label_map)
    rows = as_list(values)
    if not rows or len(rows) != count:
        raise ScoringError(
            f"{len(rows)} predictions for {count} references",
            hint="give one prediction for each reference, in the same order",
        )
    formats = [_row_format(index, row) for index, row in enumerate(rows)]
    first_format = formats[0]
    for index, row_format in enumerate(formats):
        if row_format != first_format:
            problem = f" is {row_format}, predictions[0] is {first_format}"
            raise _row_error(index, problem, _FORMAT_HINT)
    is_label = first_format in (_LABEL_NAME, _LABEL_ID)
    kind = "label names" if first_format == _LABEL_NAME else "label ids"
    if is_label and classes is None:
        row_labels = [written_label(row) for row in rows]
        first_place_of_label: dict[str, str] = {}
        for index, label in enumerate(row_labels):
            first_place_of_label.setdefault(label, f"predictions[{index}]")
        meanings = read_labels(first_place_of_label, column, checked_map, hint=hint)
        labels = np.array([meanings[label] for label in row_labels], dtype=np.int64)
        map_in_words = ", ".join(f"{name} → {label}" for name, label in (checked_map or {}).items())
        rule_in_words = f"{kind}: {map_in_words} (from --label-map)" if map_in_words else kind
        return Predictions(labels, rule_in_words, checked_map)
    class_names: Any = classes
    if classes is None and checked_map:
        is_numbered = all(map(str.isdecimal, checked_map))
        class_names = sorted(checked_map, key=int) if is_numbered else [*checked_map]
    rule = None
    if class_names is not None:
        rule = rule_for(check_classes(class_names), label_map=checked_map, origin=_ORIGIN)
    if rule is not None and is_label:
        numbers = [_class_number(index, row, rule) for index, row in enumerate(rows)]
        labels = np.array(rule.meanings, dtype=np.int64)[numbers]
        return Predictions(labels, f"{kind}: {rule.meanings_in_words}", checked_map)
    if first_format == _NAMED_SCORES:
        rule, table = _table_of_scores(rows, rule)
    else:
        is_ordered = classes is not None or (checked_map and all(map(str.isdecimal, checked_map)))
        rule, table = _table_of_numbers(rows, rule if is_ordered else None, hint)
    return Predictions(rule.labels(table, "predictions[{}]"), str(rule), checked_map)


def as_list(values: Any) -> list[Any]:
    """Predictions (a list, an array, a tensor, a `pandas` table …) as a list of Python values."""
    if hasattr(values, "columns") and hasattr(values, "to_dict"):
        # A data frame names its columns; iterated, it would give the names alone.
        values = values.to_dict("records")
    plain = _as_python(values)
    if isinstance(plain, (str, bytes, Mapping, set, frozenset)) or not isinstance(plain, Iterable):
        raise ScoringError(
            f"predictions are of type {type(values).__name__}, expected one for each reference",
            hint="give a list with one prediction for each reference, in the same order; "
            + SOFTMAX_HINT,
        )
    return [_as_python(value) for value in plain]


def _row_error(index: int, problem: str, hint: str) -> ScoringError:
    return ScoringError(f"predictions[{index}]{problem}", hint=hint)


def _as_python(value: Any) -> Any:
    """Turn an array or tensor into lists and numbers of Python; return other values unchanged."""
    try:
        if hasattr(value, "detach") and hasattr(value, "cpu"):
            value = value.detach().cpu()
            value = (value.double() if value.is_floating_point() else value).numpy()
        elif hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ScoringError(
            f"predictions hold a {type(value).__name__} that cannot be read ({error})",
            hint="pass plain lists or dense arrays",
        ) from error
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _row_format(index: int, row: Any) -> str:
    """The format of a row: `_LABEL_NAME`, `_LABEL_ID`, `_ROW_OF_NUMBERS` or `_NAMED_SCORES`."""
    if isinstance(row, str):
        return _LABEL_NAME
    if is_integer(row):
        return _LABEL_ID
    if isinstance(row, (Mapping, list, tuple)) and row:
        if isinstance(row, Mapping) or all(isinstance(value, Mapping) for value in row):
            return _NAMED_SCORES
        if all(_is_number(_as_python(value)) for value in row):
            return _ROW_OF_NUMBERS
    hint = _FORMAT_HINT
    if _is_number(row):
        hint += f"; of two classes [1 - p, p] for p({POLAR_LABELS[1]})"
    problem = f" is no prediction: {short_repr(row)}, of type {type(row).__name__}"
    raise _row_error(index, problem, hint)


def _class_number(index: int, label: str | int, rule: LabelRule) -> int:
    """The number of the class that a row names by its name or its number."""
    if isinstance(label, str):
        numbers = class_numbers(label, rule.classes)
        if len(numbers) != 1:
            problem = f": {label!r} is no class of the model, {', '.join(rule.classes)}"
            raise _row_error(index, problem, _CLASSES_HINT)
        return numbers[0]
    if not 0 <= int(label) < len(rule.classes):
        choices = ", ".join(map(str, range(len(rule.classes))))
        hint = f"use the numbers of the classes; {_CLASSES_HINT}"
        raise _row_error(index, f": {label} is none of {choices}", hint)
    return int(label)


def _table_of_numbers(
    rows: Sequence[Sequence[Any]], rule: LabelRule | None, hint: str
) -> tuple[LabelRule, Array]:
    """The rule, and a table of unnamed probabilities, shape (rows, classes)."""
    width = len(rows[0])
    for index, row in enumerate(rows):
        if len(row) != width:
            problem = f" has {len(row)} numbers, predictions[0] has {width}"
            raise _row_error(index, problem, "give every row a probability for each class")
    if rule is None:
        raise ScoringError(
            f"predictions[0] is a row of {width} numbers, and nothing says of which class each is",
            hint=hint.replace("{}", example_map(map(str, range(width)))),
        )
    if width != len(rule.classes):
        raise ScoringError(
            f"predictions of shape {(len(rows), width)}",
            hint=f"pass probabilities of {len(rule.classes)} classes: {', '.join(rule.classes)}",
        )
    return rule, np.array([[float(_as_python(value)) for value in row] for row in rows])


def _table_of_scores(rows: Sequence[Any], rule: LabelRule | None) -> tuple[LabelRule, Array]:
    """The rule, and a table of probabilities by class name, shape (rows, classes)."""
    scores_of_rows = [_scores_by_class(index, row) for index, row in enumerate(rows)]
    if rule is None:
        for index, scores in enumerate(scores_of_rows):
            if (total := sum(scores.values())) < _MIN_SUM_OF_ALL_CLASSES:
                raise _row_error(index, f" names classes with {total:.4g} in sum", _FORMAT_HINT)
        rule = rule_for(sorted(scores_of_rows[0]), origin=_ORIGIN)
    table = np.zeros((len(rows), len(rule.classes)))
    for index, scores in enumerate(scores_of_rows):
        columns = [_class_number(index, name, rule) for name in scores]
        if sorted(columns) != list(range(len(rule.classes))):
            problem = f" names {', '.join(scores)}, the model's classes are "
            raise _row_error(index, problem + ", ".join(rule.classes), _FORMAT_HINT)
        table[index, columns] = list(scores.values())
    return rule, table


def _scores_by_class(
    index: int, row: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """The probabilities of a row, by class name."""
    if isinstance(row, Mapping) and "label" not in row:
        entries: list[tuple[Any, Any]] = list(row.items())
    else:
        pairs = [row] if isinstance(row, Mapping) else row
        entries = [(pair.get("label"), pair.get("score")) for pair in pairs]
    scores: dict[str, float] = {}
    for name, value in entries:
        score = _as_python(value)
        if not (isinstance(name, str) or is_integer(name)) or not _is_number(score):
            problem = f" is no prediction of a pipeline: {short_repr(row)}"
            raise _row_error(index, problem, _FORMAT_HINT)
        if not -TIE_MARGIN <= score <= 1 + TIE_MARGIN:
            problem = f": the score of {short_repr(name)} is {short_repr(score)}, no probability"
            raise _row_error(index, problem, SOFTMAX_HINT)
        if str(name) in scores:
            hint = "give each class of the model a name of its own (id2label)"
            raise _row_error(index, f" names {short_repr(name)} twice", hint)
        scores[str(name)] = float(score)
    if len(scores) < len(POLAR_LABELS):
        raise _row_error(index, f" names {', '.join(scores)} alone", _FORMAT_HINT)
    return scores
