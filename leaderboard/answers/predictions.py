"""Predictions made elsewhere, read into one of four forms.

Every row is read by itself: nothing that another row says changes what it is taken for. What is
in no form, or in another than the first row, is refused by its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from reprlib import repr as shown
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.labels import TASK, is_integer

Array = npt.NDArray[np.float64]
TOLERANCE = 1e-2
"""How far the probabilities of a text may be from 1 in sum: half precision rounds that much."""
_ROUNDING = 1e-6
SOFTMAX = (
    "give probabilities: for logits apply softmax, torch.softmax(logits, -1), or "
    'function_to_apply="softmax" in a pipeline'
)
_FORMS = (
    f"give every row in one form: label names, label ids ({TASK.numbered}), "
    "probabilities, or what a text-classification pipeline returns"
)
_INTEGERS = (
    f"give label ids as integers ({TASK.numbered}), or a probability a class, "
    f"[1 - p, p] for p({TASK.ends[1]})"
)


@dataclass(frozen=True, slots=True)
class Names:
    """Each row is the name of a label or class."""

    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Each row is the number of a label or class."""

    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Each row has a probability a class, shape (rows, classes)."""

    rows: Array


@dataclass(frozen=True, slots=True)
class Scores:
    """Each row has probabilities by name of class.

    Attributes:
        rows: of each row the classes that it names.
        ranked: whether the row may have left out classes that are less likely than those it
            names, as a pipeline with ``top_k`` does.
    """

    rows: tuple[dict[str, float], ...]
    ranked: tuple[bool, ...]


def listed(predictions: Any) -> list[Any]:
    """Predictions as a list of plain values.

    Args:
        predictions: a list, an array, a tensor, a table of `pandas`, a generator …

    Raises:
        ScoringError: they are no rows, or in no order.
    """
    if isinstance(predictions, Mapping) and "logits" in predictions:
        raise ScoringError("predictions are a model's output, not probabilities", mend=SOFTMAX)
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
            mend="give a list with one prediction a reference, in the same order",
        )
    return [_plain(one) for one in plain]


def read(rows: Sequence[Any]) -> Names | Numbers | Table | Scores:
    """Rows in the form that all of them have.

    Args:
        rows: at least one, as `listed` gives them.

    Raises:
        ScoringError: a row in no form, or in another than the first.
    """
    forms = [_form(number, row) for number, row in enumerate(rows)]
    for number, form in enumerate(forms):
        if form != forms[0]:
            raise ScoringError(
                f"predictions[{number}] is {form}, predictions[0] is {forms[0]}", mend=_FORMS
            )
    if forms[0] == _NAME:
        return Names(tuple(str(row) for row in rows))
    if forms[0] == _NUMBER:
        return Numbers(tuple(int(row) for row in rows))
    if forms[0] == _PROBABILITIES:
        return _table(rows)
    return Scores(
        tuple(_scores(number, row) for number, row in enumerate(rows)),
        tuple(not isinstance(row, Mapping) or "label" in row for row in rows),
    )


def unsound(table: Array) -> tuple[int, str] | None:
    """The first row that holds no probabilities, and why; None where all do.

    Args:
        table: shape (rows, classes).
    """
    finite = np.asarray(np.isfinite(table).all(axis=1))
    inside = np.asarray(((table >= -_ROUNDING) & (table <= 1 + _ROUNDING)).all(axis=1))
    sums = table.sum(axis=1)
    faulty = np.flatnonzero(~(finite & inside & (np.abs(sums - 1) <= TOLERANCE)))
    if not len(faulty):
        return None
    row = int(faulty[0])
    if not finite[row]:
        return row, "not a number (NaN or infinite)"
    values = ", ".join(f"{value:.4g}" for value in table[row])
    if not inside[row]:
        return row, f"not probabilities ({values}): outside 0 to 1"
    return row, f"not probabilities ({values}): the sum is {sums[row]:.4g}, not 1"


_NAME, _NUMBER = "a label name", "a label id"
_PROBABILITIES, _SCORES = "a row of numbers", "scores with class names"


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
            mend="pass plain lists or dense arrays",
        ) from error
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _form(number: int, row: Any) -> str:
    if isinstance(row, str):
        return _NAME
    if is_integer(row):
        return _NUMBER
    if isinstance(row, Mapping):
        if not row:
            raise ScoringError(f"predictions[{number}] is empty", mend=_FORMS)
        return _SCORES
    if isinstance(row, (list, tuple)):
        if not row:
            raise ScoringError(f"predictions[{number}] is empty", mend=_FORMS)
        values = [_plain(value) for value in row]
        if all(isinstance(value, Mapping) for value in values):
            return _SCORES
        if all(_is_number(value) for value in values):
            return _PROBABILITIES
    mend = _INTEGERS if isinstance(row, (Real, bool)) else _FORMS
    kind = "a boolean" if isinstance(row, bool) else f"of type {type(row).__name__}"
    raise ScoringError(f"predictions[{number}] is no prediction: {shown(row)}, {kind}", mend=mend)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _table(rows: Sequence[Sequence[Any]]) -> Table:
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ScoringError(
                f"predictions[{number}] has {len(row)} numbers, predictions[0] has {width}",
                mend="give every row a probability a class",
            )
    return Table(np.array([[float(_plain(value)) for value in row] for row in rows]))


def _scores(number: int, row: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, float]:
    if isinstance(row, Mapping) and "label" not in row:
        entries = list(row.items())
    else:
        entries = [
            _entry(number, one) for one in ([row] if isinstance(row, Mapping) else list(row))
        ]
    scores: dict[str, float] = {}
    for name, given in entries:
        score = _plain(given)
        if not _is_number(score):
            raise ScoringError(
                f"predictions[{number}]: the score of {shown(name)} is {shown(score)}", mend=SOFTMAX
            )
        if not np.isfinite(float(score)):
            raise ScoringError(
                f"predictions[{number}]: the score of {shown(name)} is not a number "
                "(NaN or infinite)",
                mend="check the model's weights and precision",
            )
        if not -_ROUNDING <= score <= 1 + _ROUNDING:
            raise ScoringError(
                f"predictions[{number}]: the score of {shown(name)} is {float(score):.4g}, no "
                "probability",
                mend=SOFTMAX,
            )
        if str(name) in scores:
            raise ScoringError(
                f"predictions[{number}] names {shown(name)} twice",
                mend="give the classes of the model names of their own (id2label)",
            )
        scores[str(name)] = float(score)
    return scores


def _entry(number: int, one: Mapping[str, Any]) -> tuple[str, Any]:
    name = one.get("label")
    if isinstance(name, bool) or not isinstance(name, (str, Integral)) or "score" not in one:
        raise ScoringError(
            f"predictions[{number}] is no answer of a pipeline: {shown(dict(one))}",
            mend="give a label and its score, or the label's name alone for every row",
        )
    return str(name), one["score"]
