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
from s2lct.labels import COLUMNS, ENDS, LABELS, check_label_map, is_integer
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Array as Array
from s2lct.leaderboard.answers.label_rules import LabelRule, Labels

_NAME, _NUMBER = "a label name", "a label id"
_PROBABILITIES, _SCORES = "a row of numbers", "scores with class names"
_FORMS = (
    "give every row in one form: label names, label ids (0 negative, 1 neutral, 2 positive), "
    "probabilities, or what a text-classification pipeline returns"
)
_WHOLE = (
    "give the scores of all classes (top_k=None in a pipeline), or name every class of the model: "
    "classes=[…] or label_map={…}"
)
_LEFT_OUT = 1e-3
"""What rows may lack to 1 that stand for all classes of a model nobody named."""


def labels_of_predictions(
    predictions: Any,
    count: int,
    *,
    neutral_band: tuple[float, float] = rules.NEUTRAL_BAND,
    classes: Sequence[str] | None = None,
    label_map: Mapping[Any, Any] | None = None,
) -> tuple[Labels, str]:
    """Label ids from predictions made elsewhere, shape (count,), and the rule in words.

    Predictions are label ids, label names, probabilities from negative to positive or by class
    name, or what a `text-classification` pipeline returns. ``classes`` names all classes of the
    model in its order: numbers and columns are then theirs. ``label_map`` (see `check_label_map`)
    says what they mean, and names them all where ``classes`` is not given.
    """
    band, mapping = rules.checked_band(neutral_band), check_label_map(label_map)
    names: Sequence[str] = () if classes is None else rules.check_classes(classes)
    if classes is None and mapping is not None:
        names = sorted(mapping, key=int) if all(map(str.isdecimal, mapping)) else list(mapping)
    rule = None
    if names:
        rule = rules.rule_for(
            names, label_map=mapping, neutral_band=band, origin="the names of the classes"
        )
    rows = listed(predictions)
    if len(rows) != count:
        raise ScoringError(
            f"{len(rows)} predictions for {count} references",
            hint="give one prediction a reference, in the same order",
        )
    if not rows:
        raise ScoringError("there are no predictions", hint="give one a reference, at least one")
    forms = [_form(number, row) for number, row in enumerate(rows)]
    for number, form in enumerate(forms):
        if form != forms[0]:
            raise _refused(number, f" is {form}, predictions[0] is {forms[0]}", _FORMS)
    if forms[0] in (_PROBABILITIES, _SCORES):
        if forms[0] == _SCORES:
            rule, table = _table_of_scores(rows, rule, band)
        else:
            rule, table = _table_of_rows(rows, rule, band, named=classes is not None)
        return rule.labels(table, "predictions[{}]"), str(rule)
    if forms[0] == _NAME:
        what, labels = "label names", _of_names(rows, rule)
    else:
        what, labels = "label ids", _of_numbers(rows, rule, named=classes is not None)
    told = what if rule is None else f"{what}: {rule.told_meanings}"
    return np.array(labels, dtype=np.int64), told


def listed(predictions: Any) -> list[Any]:
    """Predictions (a list, an array, a tensor, a table of `pandas` …) as a list of plain values."""
    if isinstance(predictions, Mapping) and "logits" in predictions:
        raise ScoringError(
            "predictions are a model's output, not probabilities", hint=rules.SOFTMAX
        )
    if hasattr(predictions, "columns") and hasattr(predictions, "to_dict"):
        # A data frame names its columns; iterated, it would give the names alone.
        return [
            {str(name): _plain(value) for name, value in row.items()}
            for row in predictions.to_dict("records")
        ]
    plain = _plain(predictions)
    if isinstance(plain, (str, bytes, Mapping, set, frozenset)) or not isinstance(plain, Iterable):
        raise ScoringError(
            f"predictions are of type {type(predictions).__name__}, not one a reference",
            hint="give a list with one prediction a reference, in the same order",
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
    hint = _FORMS
    if _is_number(row):
        hint = f"{_FORMS}; of two classes [1 - p, p] for p({ENDS[1]})"
    raise _refused(number, f" is no prediction: {shown(row)}, of type {type(row).__name__}", hint)


def _class(name: str, rule: LabelRule, number: int) -> int:
    found = rules.numbers_of(name, rule.classes)
    if len(found) != 1:
        problem = f": {name!r} is no class of the model, {', '.join(rule.classes)}"
        hint = "name every class of the model: classes=[…] or label_map={…}"
        raise _refused(number, problem, hint)
    return found[0]


def _of_names(rows: Sequence[str], rule: LabelRule | None) -> list[int]:
    labels: list[int] = []
    for number, name in enumerate(rows):
        meaning = (
            rules.meaning_of(name) if rule is None else rule.meanings[_class(name, rule, number)]
        )
        if meaning is None:
            hint = f"use {', '.join(LABELS)}, or say what every class means: label_map={{…}}"
            raise _refused(number, f": {name!r} is no label", hint)
        labels.append(meaning)
    return labels


def _of_numbers(rows: Sequence[int], rule: LabelRule | None, *, named: bool) -> list[int]:
    known = {str(number): number for number in range(len(LABELS))}
    if rule is not None:
        by_number = {str(number): meaning for number, meaning in enumerate(rule.meanings)}
        known = dict(zip(rule.classes, rule.meanings, strict=True))
        decimal = [name.isdecimal() for name in rule.classes]
        if list(by_number) != list(known) and (any(decimal) if named else not all(decimal)):
            raise ScoringError(
                "predictions are numbers, and nothing says which class of "
                f"{', '.join(rule.classes)} has which",
                hint="give the names of the classes as predictions, or label_map={0: …, 1: …}"
                + ("" if named else " or classes=[…] in the model's order"),
            )
        known = by_number if named else known
    elif {*rows} == {0, 1}:
        three = ",".join(f"{number}={label}" for number, label in enumerate(LABELS))
        raise ScoringError(
            "predictions are 0 and 1 alone, and nothing says which labels these are",
            hint=f"of a model of two classes pass --label-map 0={ENDS[0]},1={ENDS[1]} "
            f"(in Python label_map={{0: …, 1: …}}), of one that never gives {LABELS[2]} {three}",
        )
    for number, value in enumerate(rows):
        if str(int(value)) not in known:
            hint = f"use the numbers of the classes, {', '.join(known)}, or pass probabilities"
            raise _refused(number, f": {value} is no label id", hint)
    return [known[str(int(value))] for value in rows]


def _table_of_rows(
    rows: Sequence[Sequence[Any]], rule: LabelRule | None, band: tuple[float, float], *, named: bool
) -> tuple[LabelRule, Array]:
    """Probabilities of rows of numbers, shape (rows, classes), and what the columns mean."""
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            told = f" has {len(row)} numbers, predictions[0] has {width}"
            raise _refused(number, told, "give every row a probability a class")
    shape = f"predictions of shape {(len(rows), width)}"
    if rule is None:
        if width not in COLUMNS:
            counts = " or ".join(map(str, sorted(COLUMNS)))
            hint = f"pass probabilities of {counts} classes, from {' to '.join(ENDS)}"
            raise ScoringError(shape, hint=hint)
        names = tuple(f"column {number}" for number in range(width))
        rule = LabelRule(names, COLUMNS[width], band, "the order of the columns")
    elif not named and list(rule.classes) != [str(n) for n in range(len(rule.classes))]:
        raise ScoringError(
            f"predictions are columns, and nothing says which is which of "
            f"{', '.join(rule.classes)}",
            hint="name the classes in the order of the columns: classes=[…]",
        )
    elif width != len(rule.classes):
        raise ScoringError(
            f"{shape} for {len(rule.classes)} classes ({', '.join(rule.classes)})",
            hint="give a column for each class of the model",
        )
    return rule, np.array([[float(_plain(value)) for value in row] for row in rows])


def _table_of_scores(
    rows: Sequence[Any], rule: LabelRule | None, band: tuple[float, float]
) -> tuple[LabelRule, Array]:
    """Probabilities of rows that name classes, shape (rows, classes), and what these mean."""
    given = [_scores(number, row) for number, row in enumerate(rows)]
    rule = rule or _rule_of_whole_rows(given, band)
    table = np.zeros((len(rows), len(rule.classes)))
    for number, scores in enumerate(given):
        places = [_class(name, rule, number) for name in scores]
        if len(set(places)) < len(places):
            raise _refused(number, " names a class twice", "give each class one score")
        values = list(scores.values())
        table[number, places] = values
        missing = [place for place in range(len(rule.classes)) if place not in places]
        if not missing:
            continue
        lacking = ", ".join(rule.classes[place] for place in missing)
        # A pipeline with top_k leaves out classes that are less likely than those it names. Where
        # two classes mean one label, these could be more likely together.
        ranked = not isinstance(rows[number], Mapping) or "label" in rows[number]
        if not ranked or len(set(rule.meanings)) < len(rule.meanings):
            raise _refused(number, f" lacks the classes {lacking}", _WHOLE)
        rest = (1 - sum(values)) / len(missing)
        if not -rules.TOLERANCE <= rest <= min(values) + rules.TOLERANCE:
            problem = f" is not probabilities: nothing is left for {lacking}"
            raise _refused(number, problem, rules.SOFTMAX)
        table[number, missing] = max(0.0, min(rest, min(values) * (1 - rules.ROUNDING)))
        table[number] /= table[number].sum()
    return rule, table


def _scores(number: int, row: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Probabilities by the names of the classes that a row names."""
    entries: list[tuple[Any, Any]] = []
    if isinstance(row, Mapping) and "label" not in row:
        entries = list(row.items())
    else:
        for one in [row] if isinstance(row, Mapping) else row:
            name = one.get("label")
            if not (isinstance(name, str) or is_integer(name)) or "score" not in one:
                hint = "give a label and its score, or the label's name alone for every row"
                raise _refused(number, f" is no answer of a pipeline: {shown(dict(one))}", hint)
            entries.append((name, one["score"]))
    scores: dict[str, float] = {}
    for name, value in entries:
        score = _plain(value)
        if not _is_number(score) or not -rules.ROUNDING <= score <= 1 + rules.ROUNDING:
            problem = f": the score of {shown(name)} is {shown(score)}, no probability"
            raise _refused(number, problem, rules.SOFTMAX)
        if str(name) in scores:
            hint = "give the classes of the model names of their own (id2label)"
            raise _refused(number, f" names {shown(name)} twice", hint)
        scores[str(name)] = float(score)
    return scores


def _rule_of_whole_rows(
    rows: Sequence[Mapping[str, float]], band: tuple[float, float]
) -> LabelRule:
    """The rule of rows that name all classes of their model; other rows are refused.

    No row tells what it left out: of two classes an uncertain answer is neutral, of three not.
    """
    if unknown := [name for row in rows for name in row if rules.meaning_of(name) is None]:
        raise ScoringError(
            f"predictions: nothing says what {', '.join(dict.fromkeys(unknown))} means",
            hint="say what every class means: label_map={…}, or give the model labels that say it "
            "(id2label)",
        )
    for number, row in enumerate(rows):
        total, told = sum(row.values()), f" names {', '.join(row)}"
        if len(row) == 1 or total < 1 - _LEFT_OUT:
            told += f" with {total:.4g} in sum, and nothing says which classes the model has"
            raise _refused(number, told, _WHOLE)
        if row.keys() != rows[0].keys():
            raise _refused(number, f"{told}, predictions[0] {', '.join(rows[0])}", _WHOLE)
    names = sorted(rows[0], key=lambda name: (rules.meaning_of(name), name))
    return rules.rule_for(names, neutral_band=band, origin="the names of the classes")
