"""Predictions: what models give, and what people hand over in whatever form, read as labels.

The label of a row follows from that row and the model's classes alone, never from other rows.
Whatever leaves open which label is meant is refused, and the error names the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from reprlib import repr as shown
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

_NAME, _NUMBER = "a label name", "a label id"
_NUMBERS, _SCORES = "a row of numbers", "scores with class names"
_FORMS_HINT = (
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


@dataclass(frozen=True)
class Predictions:
    """What a model predicts of texts.

    Attributes:
        labels: ids of labels, or `REFUSED` or `UNREADABLE`, shape (texts,).
        label_rule: how outputs became labels, in words.
        label_map: the user's label map, where it changes something.
        probabilities: of the labels, shape (texts, labels); None if the model gives labels alone.
        endpoint: the server that answered, if one did.
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
    """Read predictions that were made elsewhere; their probabilities are not kept.

    Args:
        values: label names, numbers of classes, probabilities in the order of the classes or by
            class name, or what a `text-classification` pipeline returns for all classes.
        count: how many predictions there must be.
        classes: the names of all classes of the model, in its order. Numbers and rows of numbers
            need them, or a label map of the numbers: models differ in their order.
        label_map: what labels or classes mean, see `labels.check_label_map`.
        column: the column of a file that holds them, see `labels.meanings_of_labels`.
        hint: how the user says what numbers mean, with ``{}`` for an example of a label map.

    Raises:
        ScoringError: a row is no prediction, or leaves open which label it means.
    """
    mapping = check_label_map(label_map)
    rows = listed(values)
    if not rows or len(rows) != count:
        raise ScoringError(
            f"{len(rows)} predictions for {count} references",
            hint="give one prediction for each reference, in the same order",
        )
    forms = [_form(number, row) for number, row in enumerate(rows)]
    form = forms[0]
    for number, other in enumerate(forms):
        if other != form:
            raise _row_error(number, f" is {other}, predictions[0] is {form}", _FORMS_HINT)
    is_label = form in (_NAME, _NUMBER)
    kind = "label names" if form == _NAME else "label ids"
    if is_label and classes is None:
        written = [written_label(row) for row in rows]
        places: dict[str, str] = {}
        for number, label in enumerate(written):
            places.setdefault(label, f"predictions[{number}]")
        meanings = read_labels(places, column, mapping, hint=hint)
        labels = np.array([meanings[label] for label in written], dtype=np.int64)
        said = ", ".join(f"{name} → {label}" for name, label in (mapping or {}).items())
        return Predictions(labels, f"{kind}: {said} (from --label-map)" if said else kind, mapping)
    names: Any = classes
    if classes is None and mapping:
        is_numbered = all(map(str.isdecimal, mapping))
        names = sorted(mapping, key=int) if is_numbered else [*mapping]
    rule = None
    if names is not None:
        rule = rule_for(check_classes(names), label_map=mapping, origin=_ORIGIN)
    if rule is not None and is_label:
        numbers = [_class_number(number, row, rule) for number, row in enumerate(rows)]
        labels = np.array(rule.meanings, dtype=np.int64)[numbers]
        return Predictions(labels, f"{kind}: {rule.meanings_in_words}", mapping)
    if form == _SCORES:
        rule, table = _table_of_scores(rows, rule)
    else:
        is_ordered = classes is not None or (mapping and all(map(str.isdecimal, mapping)))
        rule, table = _table_of_numbers(rows, rule if is_ordered else None, hint)
    return Predictions(rule.labels(table, "predictions[{}]"), str(rule), mapping)


def listed(values: Any) -> list[Any]:
    """Predictions (a list, an array, a tensor, a `pandas` table …) as a list of plain values."""
    if hasattr(values, "columns") and hasattr(values, "to_dict"):
        # A data frame names its columns; iterated, it would give the names alone.
        values = values.to_dict("records")
    plain = _plain(values)
    if isinstance(plain, (str, bytes, Mapping, set, frozenset)) or not isinstance(plain, Iterable):
        raise ScoringError(
            f"predictions are of type {type(values).__name__}, expected one for each reference",
            hint="give a list with one prediction for each reference, in the same order; "
            + SOFTMAX_HINT,
        )
    return [_plain(value) for value in plain]


def _row_error(number: int, problem: str, hint: str) -> ScoringError:
    return ScoringError(f"predictions[{number}]{problem}", hint=hint)


def _plain(value: Any) -> Any:
    """Arrays and tensors as lists and numbers of Python; everything else as it is."""
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


def _form(number: int, row: Any) -> str:
    if isinstance(row, str):
        return _NAME
    if is_integer(row):
        return _NUMBER
    if isinstance(row, (Mapping, list, tuple)) and row:
        if isinstance(row, Mapping) or all(isinstance(value, Mapping) for value in row):
            return _SCORES
        if all(_is_number(_plain(value)) for value in row):
            return _NUMBERS
    hint = _FORMS_HINT
    if _is_number(row):
        hint += f"; of two classes [1 - p, p] for p({POLAR_LABELS[1]})"
    raise _row_error(number, f" is no prediction: {shown(row)}, of type {type(row).__name__}", hint)


def _class_number(number: int, label: str | int, rule: LabelRule) -> int:
    """The class that a row names, by its name or its number."""
    if isinstance(label, str):
        numbers = class_numbers(label, rule.classes)
        if len(numbers) != 1:
            problem = f": {label!r} is no class of the model, {', '.join(rule.classes)}"
            raise _row_error(number, problem, _CLASSES_HINT)
        return numbers[0]
    if not 0 <= int(label) < len(rule.classes):
        choices = ", ".join(map(str, range(len(rule.classes))))
        hint = f"use the numbers of the classes; {_CLASSES_HINT}"
        raise _row_error(number, f": {label} is none of {choices}", hint)
    return int(label)


def _table_of_numbers(
    rows: Sequence[Sequence[Any]], rule: LabelRule | None, hint: str
) -> tuple[LabelRule, Array]:
    """Probabilities of rows in the order of the classes, shape (rows, classes)."""
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            problem = f" has {len(row)} numbers, predictions[0] has {width}"
            raise _row_error(number, problem, "give every row a probability for each class")
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
    return rule, np.array([[float(_plain(value)) for value in row] for row in rows])


def _table_of_scores(rows: Sequence[Any], rule: LabelRule | None) -> tuple[LabelRule, Array]:
    """Probabilities of rows that name their classes, shape (rows, classes)."""
    scores_of_rows = [_scores_by_class(number, row) for number, row in enumerate(rows)]
    if rule is None:
        for number, scores in enumerate(scores_of_rows):
            if (total := sum(scores.values())) < _MIN_SUM_OF_ALL_CLASSES:
                raise _row_error(number, f" names classes with {total:.4g} in sum", _FORMS_HINT)
        rule = rule_for(sorted(scores_of_rows[0]), origin=_ORIGIN)
    table = np.zeros((len(rows), len(rule.classes)))
    for number, scores in enumerate(scores_of_rows):
        columns = [_class_number(number, name, rule) for name in scores]
        if sorted(columns) != list(range(len(rule.classes))):
            problem = f" names {', '.join(scores)}, the model's classes are "
            raise _row_error(number, problem + ", ".join(rule.classes), _FORMS_HINT)
        table[number, columns] = list(scores.values())
    return rule, table


def _scores_by_class(
    number: int, row: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """A row as probabilities by class name."""
    if isinstance(row, Mapping) and "label" not in row:
        entries: list[tuple[Any, Any]] = list(row.items())
    else:
        pairs = [row] if isinstance(row, Mapping) else row
        entries = [(pair.get("label"), pair.get("score")) for pair in pairs]
    scores: dict[str, float] = {}
    for name, value in entries:
        score = _plain(value)
        if not (isinstance(name, str) or is_integer(name)) or not _is_number(score):
            raise _row_error(number, f" is no prediction of a pipeline: {shown(row)}", _FORMS_HINT)
        if not -TIE_MARGIN <= score <= 1 + TIE_MARGIN:
            problem = f": the score of {shown(name)} is {shown(score)}, no probability"
            raise _row_error(number, problem, SOFTMAX_HINT)
        if str(name) in scores:
            hint = "give each class of the model a name of its own (id2label)"
            raise _row_error(number, f" names {shown(name)} twice", hint)
        scores[str(name)] = float(score)
    if len(scores) < len(POLAR_LABELS):
        raise _row_error(number, f" names {', '.join(scores)} alone", _FORMS_HINT)
    return scores
