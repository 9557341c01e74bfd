"""Labels from predictions made elsewhere.

The label of a row follows from the row and the model's classes alone, never from other rows. Where
a row leaves open which label its model gives, it is refused.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.labels import TASK, Task, check_label_map
from s2lct.leaderboard.answers.label_rules import (
    NEUTRAL_BAND,
    LabelRule,
    Labels,
    band_of,
    check_classes,
    meaning_of,
    number_of,
    rule_for,
)
from s2lct.leaderboard.answers.predictions import (
    SOFTMAX,
    TOLERANCE,
    Names,
    Numbers,
    Scores,
    Table,
    listed,
    read,
)

_WHOLE = (
    "give the scores of all classes (top_k=None in a pipeline), or name every class of the model: "
    "classes=[…] or label_map={…}"
)


def labels_of_predictions(
    predictions: Any,
    count: int,
    *,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
    classes: Sequence[str] | None = None,
    label_map: Mapping[Any, Any] | None = None,
    task: Task = TASK,
) -> tuple[Labels, str]:
    """Labels from predictions made elsewhere.

    Args:
        predictions: label ids (0 negative, 1 neutral, 2 positive), label names, probabilities of
            shape (cases, 2, 3 or 5) from negative to positive (the task's ``columns``) or by class
            name, or what a `text-classification` pipeline returns: a dict a text, or a list of
            dicts.
        count: how many there must be.
        neutral_band: for two classes, see `LabelRule`.
        classes: the names of all classes of the model, in its order; numbers are then classes'
            numbers, and columns are theirs.
        label_map: what the classes mean, see `check_label_map`; without ``classes`` it names them
            all.
        task: whose labels.

    Returns:
        Label ids, shape (count,), and the rule in words.

    Raises:
        ScoringError: another number of predictions, none, or one that means nothing.
    """
    band = band_of(neutral_band, task)
    rule = _stated_rule(classes, label_map, band, task)
    rows = listed(predictions)
    if len(rows) != count:
        shape = tuple(getattr(predictions, "shape", ()))
        shaped = f" (of shape {shape})" if len(shape) > 1 else ""
        raise ScoringError(
            f"{len(rows)} predictions{shaped} for {count} references",
            mend="give one prediction a reference, in the same order",
        )
    if not rows:
        raise ScoringError("there are no predictions", mend="give one a reference, at least one")
    form = read(rows)
    if isinstance(form, Names):
        return _of_names(form, rule, task)
    if isinstance(form, Numbers):
        return _of_numbers(form, rule, task, named=classes is not None)
    if isinstance(form, Table):
        return _of_table(form, rule, band, task, named=classes is not None)
    return _of_scores(form, rule, band, task)


def _stated_rule(
    classes: Sequence[str] | None,
    label_map: Mapping[Any, Any] | None,
    band: tuple[float, float],
    task: Task,
) -> LabelRule | None:
    mapping = check_label_map(label_map, task)
    if classes is not None:
        names: tuple[str, ...] = check_classes(classes)
    elif mapping is not None:
        names = tuple(sorted(mapping, key=int) if all(map(str.isdecimal, mapping)) else mapping)
    else:
        return None
    rule = rule_for(names, label_map=mapping, neutral_band=band, task=task)
    return rule if mapping is not None else replace(rule, origin="the names of the classes")


def _of_names(form: Names, rule: LabelRule | None, task: Task) -> tuple[Labels, str]:
    labels: list[int] = []
    for number, name in enumerate(form.rows):
        if rule is not None:
            labels.append(rule.meanings[_class(name, rule, number)])
        elif (meaning := meaning_of(name, task)) is not None:
            labels.append(meaning)
        else:
            raise ScoringError(
                f"predictions[{number}]: {name!r} is no label",
                mend=f"use {', '.join(task.labels)}, or say what every class means: "
                "label_map={…}",
            )
    return np.array(labels, dtype=np.int64), _as_they_stand("label names", rule)


def _of_numbers(
    form: Numbers, rule: LabelRule | None, task: Task, *, named: bool
) -> tuple[Labels, str]:
    if rule is None:
        known = {str(n): n for n in range(len(task.labels))}
        mend = f"use {task.numbered}, or pass probabilities"
    else:
        of_name = dict(zip(rule.classes, rule.meanings, strict=True))
        of_number = {str(n): meaning for n, meaning in enumerate(rule.meanings)}
        numbered = list(of_number) == list(rule.classes)
        if not numbered and (
            any(name.isdecimal() for name in rule.classes)
            if named
            else not all(name.isdecimal() for name in rule.classes)
        ):
            raise ScoringError(
                f"predictions are numbers, and nothing says which class of "
                f"{', '.join(rule.classes)} has which",
                mend="give the names of the classes as predictions, or label_map={0: …, 1: …}"
                + ("" if named else " or classes=[…] in the model's order"),
            )
        known = of_number if named else of_name
        mend = f"use the numbers of the classes, {', '.join(known)}"
    for number, value in enumerate(form.rows):
        if str(value) not in known:
            raise ScoringError(f"predictions[{number}]: {value} is no label id", mend=mend)
    if rule is None and len(task.labels) > 2 and {*form.rows} == {0, 1}:
        warnings.warn(
            f"predictions are 0 and 1 alone, taken for {' and '.join(task.labels[:2])}: for the "
            f"numbers of two classes pass classes={json.dumps(task.ends)}",
            stacklevel=2,
        )
    labels = np.array([known[str(value)] for value in form.rows], dtype=np.int64)
    return labels, _as_they_stand("label ids", rule)


def _as_they_stand(what: str, rule: LabelRule | None) -> str:
    return what if rule is None else f"{what}: {rule.told_meanings}"


def _of_table(
    form: Table, rule: LabelRule | None, band: tuple[float, float], task: Task, *, named: bool
) -> tuple[Labels, str]:
    shape = form.rows.shape
    if rule is None:
        meanings = task.columns.get(shape[1])
        if meanings is None:
            *fewer, most = sorted(task.columns)
            counts = " or ".join(filter(None, (", ".join(map(str, fewer)), str(most))))
            raise ScoringError(
                f"predictions of shape {shape}",
                mend=f"pass probabilities of {counts} classes, from {' to '.join(task.ends)}",
            )
        names = tuple(f"column {number}" for number in range(len(meanings)))
        rule = LabelRule(names, meanings, band, "the order of the columns", task)
    elif not named and list(rule.classes) != [str(n) for n in range(len(rule.classes))]:
        raise ScoringError(
            f"predictions are columns, and nothing says which is which of "
            f"{', '.join(rule.classes)}",
            mend="name the classes in the order of the columns: classes=[…]",
        )
    elif shape[1] != len(rule.classes):
        raise ScoringError(
            f"predictions of shape {shape} for {len(rule.classes)} classes "
            f"({', '.join(rule.classes)})",
            mend="give a column for each class of the model",
        )
    return rule.labels(form.rows, "predictions[{}]"), str(rule)


def _of_scores(
    form: Scores, rule: LabelRule | None, band: tuple[float, float], task: Task
) -> tuple[Labels, str]:
    if rule is None:
        rule = _rule_of_whole_rows(form, band, task)
        table = np.array([[row[name] for name in rule.classes] for row in form.rows])
        return rule.labels(table, "predictions[{}]"), str(rule)
    labels: list[int] = []
    for number, (row, ranked) in enumerate(zip(form.rows, form.ranked, strict=True)):
        scores: dict[int, float] = {}
        for name, score in row.items():
            place = _class(name, rule, number)
            if place in scores:
                raise ScoringError(
                    f"predictions[{number}] names class {rule.classes[place]} twice",
                    mend="give each class one score",
                )
            scores[place] = score
        labels.append(_label_of(scores, rule, number, ranked=ranked))
    return np.array(labels, dtype=np.int64), str(rule)


def _rule_of_whole_rows(form: Scores, band: tuple[float, float], task: Task) -> LabelRule:
    """The rule of rows that name all classes of their model.

    A row that names some of them is refused, as no row tells what it left out: of two classes an
    uncertain answer is neutral, of three it is not.

    Raises:
        ScoringError: a row whose scores do not make up the whole, or with other classes.
    """
    first = form.rows[0]
    unknown = [name for row in form.rows for name in row if meaning_of(name, task) is None]
    if unknown:
        raise ScoringError(
            f"predictions: nothing says what {', '.join(dict.fromkeys(unknown))} means",
            mend="say what every class means: label_map={…}, or give the model labels that say it "
            "(id2label)",
        )
    for number, row in enumerate(form.rows):
        total = sum(row.values())
        if total > 1 + TOLERANCE:
            raise ScoringError(
                f"predictions[{number}] is not probabilities: the sum is {total:.4g}, not 1",
                mend=SOFTMAX,
            )
        if len(row) == 1 or total < 1 - _LEFT_OUT:
            raise ScoringError(
                f"predictions[{number}] names {', '.join(row)} with {total:.4g} in sum, and "
                "nothing says which classes the model has",
                mend=_WHOLE,
            )
        if row.keys() != first.keys():
            raise ScoringError(
                f"predictions[{number}] names {', '.join(row)}, predictions[0] {', '.join(first)}",
                mend=_WHOLE,
            )
    names = sorted(first, key=lambda name: (meaning_of(name, task), name))
    return replace(rule_for(names, neutral_band=band, task=task), origin="the names of the classes")


_LEFT_OUT = 1e-3
"""What rows may lack to 1 that stand for all classes of a model nobody named: a class left out
could have no more."""


def _class(name: str, rule: LabelRule, number: int) -> int:
    place = number_of(name, rule.classes)
    if place is None:
        raise ScoringError(
            f"predictions[{number}]: {name!r} is no class of the model, {', '.join(rule.classes)}",
            mend="name every class of the model: classes=[…] or label_map={…}",
        )
    return place


def _label_of(scores: Mapping[int, float], rule: LabelRule, number: int, *, ranked: bool) -> int:
    """The label of a row that may lack the model's less likely classes.

    Raises:
        ScoringError: the row is not probabilities, or classes it lacks could change its label.
    """
    missing = [place for place in range(len(rule.classes)) if place not in scores]
    rest = 1 - sum(scores.values())
    most = min(scores.values())
    problem = ""
    if rest < -TOLERANCE or (not missing and rest > TOLERANCE):
        problem = f"the sum is {1 - rest:.4g}, not 1"
    elif missing and not ranked:
        lacking = ", ".join(rule.classes[place] for place in missing)
        raise ScoringError(
            f"predictions[{number}] lacks the classes {lacking}", mend="give every class a score"
        )
    elif rest > len(missing) * most + TOLERANCE:
        problem = (
            f"the best of {len(rule.classes)} classes have {1 - rest:.4g}, and the others, none "
            f"above {most:.4g}, cannot make up the rest"
        )
    if problem:
        raise ScoringError(f"predictions[{number}] is not probabilities: {problem}", mend=SOFTMAX)
    rest = max(0.0, rest)
    known = np.zeros((1, len(rule.classes)))
    known[0, list(scores)] = list(scores.values())
    if len(missing) == 1:
        known[0, missing[0]] = rest
    if len(missing) <= 1:
        return int(rule.labels(known, f"predictions[{number}]")[0])
    count, high_end = len(rule.task.labels), rule.task.high
    open_to = np.bincount([rule.meanings[place] for place in missing], minlength=count)
    held = rule.folded(known)[0]
    least = held + np.maximum(0, rest - most * (len(missing) - open_to))
    greatest = held + np.minimum(rest, most * open_to)
    if rule.has_neutral:
        for meaning in range(count):
            if least[meaning] >= np.delete(greatest, meaning).max():
                return meaning
    else:
        low, high = rule.banded(np.array([least[high_end], greatest[high_end]])).tolist()
        if low == high:
            return int(low)
    raise ScoringError(
        f"predictions[{number}] leaves its label open: classes it lacks "
        f"({', '.join(rule.classes[place] for place in missing)}) mean the same together",
        mend="give the scores of all classes: top_k=None in a pipeline",
    )
