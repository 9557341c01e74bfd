"""Predictions made elsewhere, in whatever form, as labels.

The label of a row follows from the row and the model's classes alone, never from other rows. What
is in no form, in another than the first row, or leaves open which label its model gives, is refused
by its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from reprlib import repr as shown
from typing import Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.labels import (
    ENDS,
    check_label_map,
    example_map,
    is_integer,
    read_labels,
    written_label,
)
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Array, LabelRule, Labels

_NAME, _NUMBER = "a label name", "a label id"
_PROBABILITIES, _SCORES = "a row of numbers", "scores with class names"
_FORMS = (
    "give every row in one form: label names, numbers of classes, probabilities of all classes, or "
    "what a text-classification pipeline returns with top_k=None"
)
_LEFT_OUT = 1e-3
"""What rows may lack to 1 that stand for all classes of a model nobody named."""
_NAME_CLASSES = "name every class of the model: classes=[…] or label_map={…}"
IN_PYTHON = (
    "name every class in the model's order: classes=[…], or classes=model.config.id2label; or say "
    'what labels mean: label_map="{}"'
)


def labels_of_predictions(
    predictions: Any,
    count: int,
    *,
    classes: Sequence[str] | None = None,
    label_map: Mapping[Any, Any] | None = None,
    column: str | None = None,
    hint: str = IN_PYTHON,
) -> tuple[Labels, str]:
    """Labels of predictions made elsewhere, shape (count,), and the rule in words.

    Args:
        predictions: label names, numbers of classes, probabilities in the order of the classes or
            by class name, or what a `text-classification` pipeline returns of all classes.
        count: how many there must be.
        classes: the names of all classes of the model, in its order. Without them, and without a
            label map of their numbers, numbers and unnamed columns are refused: models differ.
        label_map: what labels or classes mean, see `labels.check_label_map`.
        column: in which column of a file they stand, see `labels.meanings_of_labels`.
        hint: how the user says what numbers mean, with ``{}`` for an example of a label map.

    Raises:
        ScoringError: something says no label, or not which; it names the place of the row.
    """
    mapping = check_label_map(label_map)
    rows = listed(predictions)
    if not rows or len(rows) != count:
        raise ScoringError(
            f"{len(rows)} predictions for {count} references",
            hint="give one prediction a reference, in the same order",
        )
    forms = [_form(number, row) for number, row in enumerate(rows)]
    for number, form in enumerate(forms):
        if form != forms[0]:
            raise _refused(number, f" is {form}, predictions[0] is {forms[0]}", _FORMS)
    what = "label names" if forms[0] == _NAME else "label ids"
    if forms[0] in (_NAME, _NUMBER) and classes is None:
        written = list(map(written_label, rows))
        places: dict[str, str] = {}
        for number, label in enumerate(written):
            places.setdefault(label, f"predictions[{number}]")
        meanings = read_labels(places, column, mapping, hint=hint)
        said = ", ".join(f"{name} → {label}" for name, label in (mapping or {}).items())
        rule_in_words = f"{what}: {said} (from --label-map)" if said else what
        return np.array([meanings[label] for label in written], dtype=np.int64), rule_in_words
    names = [*mapping] if mapping and classes is None else classes
    if mapping and classes is None and all(map(str.isdecimal, mapping)):
        names = sorted(mapping, key=int)
    rule = None
    if names is not None:
        rule = rules.rule_for(
            rules.check_classes(names),
            label_map=mapping,
            origin="the names of the classes",
        )
    if rule is not None and forms[0] in (_NAME, _NUMBER):
        read_label = _names if forms[0] == _NAME else _numbers
        labels = np.array(read_label(rows, rule), dtype=np.int64)
        return labels, f"{what}: {rule.meanings_in_words}"
    ordered = classes is not None
    read = _scores if forms[0] == _SCORES else _columns
    rule, table = read(rows, rule, ordered, hint)
    return rule.labels(table, "predictions[{}]"), str(rule)


def listed(predictions: Any) -> list[Any]:
    """Predictions (a list, an array, a tensor, a table of `pandas` …) as a list of plain values."""
    if hasattr(predictions, "columns") and hasattr(predictions, "to_dict"):
        # A data frame names its columns; iterated, it would give the names alone.
        predictions = predictions.to_dict("records")
    plain = _plain(predictions)
    if isinstance(plain, (str, bytes, Mapping, set, frozenset)) or not isinstance(plain, Iterable):
        raise ScoringError(
            f"predictions are of type {type(predictions).__name__}, not one a reference",
            hint=f"give a list with one prediction a reference, in the same order; {rules.SOFTMAX}",
        )
    return [_plain(one) for one in plain]


def _refused(number: int, problem: str, hint: str) -> ScoringError:
    return ScoringError(f"predictions[{number}]{problem}", hint=hint)


def _plain(value: Any) -> Any:
    """Arrays and tensors as lists and numbers of Python; all else as it is."""
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
            return _PROBABILITIES
    hint = f"{_FORMS}; of two classes [1 - p, p] for p({ENDS[1]})" if _is_number(row) else _FORMS
    raise _refused(number, f" is no prediction: {shown(row)}, of type {type(row).__name__}", hint)


def _class(name: str, rule: LabelRule, number: int) -> int:
    found = rules.numbers_of(name, rule.classes)
    if len(found) != 1:
        problem = f": {name!r} is no class of the model, {', '.join(rule.classes)}"
        raise _refused(number, problem, _NAME_CLASSES)
    return found[0]


def _names(rows: Sequence[str], rule: LabelRule) -> list[int]:
    return [rule.meanings[_class(name, rule, number)] for number, name in enumerate(rows)]


def _numbers(rows: Sequence[int], rule: LabelRule) -> list[int]:
    """Labels by the places of the classes."""
    places = range(len(rule.classes))
    for number, value in enumerate(rows):
        if int(value) not in places:
            hint = f"use the numbers of the classes; {_NAME_CLASSES}"
            raise _refused(number, f": {value} is none of {', '.join(map(str, places))}", hint)
    return [rule.meanings[int(value)] for value in rows]


def _columns(
    rows: Sequence[Sequence[Any]], rule: LabelRule | None, ordered: bool, hint: str
) -> tuple[LabelRule, Array]:
    """Probabilities of rows of numbers, shape (rows, classes), and what the columns mean."""
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            problem = f" has {len(row)} numbers, predictions[0] has {width}"
            raise _refused(number, problem, "give every row a probability a class")
    if rule is None or not (ordered or all(map(str.isdecimal, rule.classes))):
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


def _scores(
    rows: Sequence[Any], rule: LabelRule | None, ordered: bool, hint: str
) -> tuple[LabelRule, Array]:
    """Probabilities of rows that name all classes, shape (rows, classes), and what these mean."""
    given = [_by_class(number, row) for number, row in enumerate(rows)]
    if rule is None:
        for number, scores in enumerate(given):
            if (total := sum(scores.values())) < 1 - _LEFT_OUT:
                raise _refused(number, f" names classes with {total:.4g} in sum", _FORMS)
        origin = "the names of the classes"
        rule = rules.rule_for(sorted(given[0]), origin=origin)
    table = np.zeros((len(rows), len(rule.classes)))
    for number, scores in enumerate(given):
        places = [_class(name, rule, number) for name in scores]
        if sorted(places) != list(range(len(rule.classes))):
            problem = f" names {', '.join(scores)}, the model's classes are "
            raise _refused(number, problem + ", ".join(rule.classes), _FORMS)
        table[number, places] = list(scores.values())
    return rule, table


def _by_class(
    number: int, row: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Probabilities by the names of the classes."""
    if isinstance(row, Mapping) and "label" not in row:
        entries: list[tuple[Any, Any]] = list(row.items())
    else:
        pairs = [row] if isinstance(row, Mapping) else row
        entries = [(one.get("label"), one.get("score")) for one in pairs]
    scores: dict[str, float] = {}
    for name, value in entries:
        score = _plain(value)
        if not (isinstance(name, str) or is_integer(name)) or not _is_number(score):
            raise _refused(number, f" is no prediction of a pipeline: {shown(row)}", _FORMS)
        if not -rules.ROUNDING <= score <= 1 + rules.ROUNDING:
            problem = f": the score of {shown(name)} is {shown(score)}, no probability"
            raise _refused(number, problem, rules.SOFTMAX)
        if str(name) in scores:
            hint = "give each class of the model a name of its own (id2label)"
            raise _refused(number, f" names {shown(name)} twice", hint)
        scores[str(name)] = float(score)
    if len(scores) < len(ENDS):
        raise _refused(number, f" names {', '.join(scores)} alone", _FORMS)
    return scores
