"""Label rules: how the classes of a model become the labels of the task.

A rule is explicit, and recorded with every result. A model that does not say what its classes mean
is refused: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.labels import (
    KNOWN_MODELS,
    LABELS,
    NEGATIVE,
    NEUTRAL,
    NEUTRAL_BAND,
    POLAR_LABELS,
    POSITIVE,
    check_label_map,
    meaning_of,
    plain_name,
)
from s2lct.plain_text import did_you_mean

MAX_CLASSES = 5
MAX_SUM_ERROR = 1e-2
"""Largest difference of a text's summed probabilities from 1: half precision rounds that much."""
TIE_MARGIN = 1e-6
"""Largest difference of probabilities that count as equal: last bits depend on the machine."""
SOFTMAX_HINT = (
    "give probabilities: for logits apply softmax, torch.softmax(logits, -1), or "
    'function_to_apply="softmax" in a pipeline'
)
Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelRule:
    """Which label each class of a model means.

    The probabilities of a label's classes are summed, and the largest sum wins. For a model without
    a neutral class, a text is neutral if p(positive) lies strictly within `NEUTRAL_BAND`.

    Attributes:
        classes: the names of the classes, in the order of the model.
        meanings: the label id of each class.
        origin: the source of the meanings, in words.
        label_map: the user's label map, from class names to labels; None if it changes
            no meaning, so that equal rules compare equal.
    """

    classes: tuple[str, ...]
    meanings: tuple[int, ...]
    origin: str = "the model's id2label"
    label_map: dict[str, str] | None = None

    @property
    def has_neutral(self) -> bool:
        """Whether a class means neutral."""
        return NEUTRAL in self.meanings

    def __str__(self) -> str:
        if self.has_neutral:
            return f"{self.meanings_in_words}; probabilities summed, the largest wins"
        low, high = NEUTRAL_BAND
        return (
            f"{self.meanings_in_words}; {LABELS[NEUTRAL]} where "
            f"{low:.3g} < p({LABELS[POSITIVE]}) < {high:.3g}"
        )

    @property
    def meanings_in_words(self) -> str:
        """The label of each class and the source of these meanings, as text."""
        pairs = zip(self.classes, self.meanings, strict=True)
        listed = ", ".join(f"{name} → {LABELS[meaning]}" for name, meaning in pairs)
        return f"{listed} (from {self.origin})"

    def label_probabilities(self, probabilities: Array) -> Array:
        """Probabilities of labels, shape (texts, labels), summed from those of the classes."""
        summed = np.zeros((len(probabilities), len(LABELS)))
        for class_number, meaning in enumerate(self.meanings):
            summed[:, meaning] += probabilities[:, class_number]
        return summed

    def labels(
        self, probabilities: Array, row_name: str = "text number {}: the model's output"
    ) -> Labels:
        """The label id of each text; of labels that tie (see `TIE_MARGIN`) the first wins.

        Args:
            probabilities: shape (texts, classes).
            row_name: the name of a row in error messages, with ``{}`` for its number.

        Raises:
            ScoringError: a row does not consist of probabilities.
        """
        if probabilities.ndim != 2 or probabilities.shape[1] != len(self.classes):
            raise ScoringError(
                f"probabilities of shape {probabilities.shape} for {len(self.classes)} classes",
                hint="give one row for each text and one column for each class",
            )
        _check_probabilities(probabilities, row_name)
        summed = self.label_probabilities(probabilities)
        if self.has_neutral:
            is_winner = summed >= summed.max(axis=1, keepdims=True) - TIE_MARGIN
            return np.asarray(is_winner.argmax(axis=1), dtype=np.int64)
        return self._labels_by_band(summed[:, POSITIVE])

    def _labels_by_band(self, positive: Array) -> Labels:
        """Labels by p(positive); neutral if inside `NEUTRAL_BAND` by more than `TIE_MARGIN`."""
        low, high = NEUTRAL_BAND[0] + TIE_MARGIN, NEUTRAL_BAND[1] - TIE_MARGIN
        labels = np.where(positive >= high, POSITIVE, NEUTRAL)
        return np.where(positive <= low, NEGATIVE, labels).astype(np.int64)

    def could_win(
        self, labels: Labels, probabilities: Array, margin: float
    ) -> npt.NDArray[np.bool_]:
        """Whether each text's label could win if probabilities changed by up to ``margin``."""
        summed = self.label_probabilities(probabilities)
        if self.has_neutral:
            probability_of_label = summed[np.arange(len(labels)), labels]
            return np.asarray(summed.max(axis=1) - probability_of_label <= margin + TIE_MARGIN)
        positive = summed[:, POSITIVE]
        lowest = self._labels_by_band(positive - margin)
        highest = self._labels_by_band(positive + margin)
        return np.asarray((lowest <= labels) & (labels <= highest))


def fault_of_probabilities(table: Array) -> str:
    """The reason why a table's rows are not probabilities; empty if they are."""
    try:
        _check_probabilities(table, "text number {}")
    except ScoringError as error:
        return error.problem
    return ""


def _check_probabilities(table: Array, row_name: str) -> None:
    is_finite = np.asarray(np.isfinite(table).all(axis=1))
    is_in_range = np.asarray(((table >= -TIE_MARGIN) & (table <= 1 + TIE_MARGIN)).all(axis=1))
    sums = table.sum(axis=1)
    faulty_rows = np.flatnonzero(~(is_finite & is_in_range & (np.abs(sums - 1) <= MAX_SUM_ERROR)))
    if not len(faulty_rows):
        return
    row = int(faulty_rows[0])
    if not is_finite[row]:
        raise ScoringError(
            f"{row_name.format(row)} is not a number (NaN or infinite)",
            hint="check the model's weights and precision",
        )
    values = ", ".join(f"{value:.4g}" for value in table[row])
    reason = f"the sum is {sums[row]:.4g}, not 1" if is_in_range[row] else "outside 0 to 1"
    raise ScoringError(
        f"{row_name.format(row)} is not probabilities ({values}): {reason}", hint=SOFTMAX_HINT
    )


def check_classes(classes: Any, source: str = "classes=") -> tuple[str, ...]:
    """Check the class names of a model, and return them in the model's order.

    Args:
        classes: a list of names, or a mapping from class numbers to names, such as a model's
            ``config.id2label``.
        source: the name of the argument in error messages.

    Raises:
        ScoringError: there are not 2 to `MAX_CLASSES` distinct names.
    """
    if isinstance(classes, Mapping) and {*classes} == {*range(len(classes))}:
        classes = [classes[number] for number in range(len(classes))]
    is_list = isinstance(classes, Iterable) and not isinstance(classes, (str, Mapping))
    names = tuple(map(str, classes)) if is_list else ()
    if not 2 <= len({*map(plain_name, names)}) == len(names) <= MAX_CLASSES:
        raise ScoringError(
            f"{source}: expected 2 to {MAX_CLASSES} distinct class names, got {classes!r}",
            hint="name every class of a model of sentence sentiment, in its order: "
            'classes=["negative", "positive"], or classes=model.config.id2label',
        )
    return names


def rule_for(
    classes: Sequence[str],
    *,
    model: str = "",
    label_map: Mapping[Any, Any] | None = None,
    origin: str = "the model's id2label",
) -> LabelRule:
    """The label rule of a model.

    Args:
        classes: the names of the model's classes, in its order.
        model: the model's name, which is looked up among `labels.KNOWN_MODELS`.
        label_map: the user's label map, by class name or number; it overrides other sources.
        origin: the source of the names, in words.

    Raises:
        ScoringError: a class has no meaning, no class means negative or none means positive, the
            number of classes is wrong, or ``label_map`` names a class that the model lacks.
    """
    shown_name = model or "(unnamed)"
    names = check_classes(classes, f"classes of model {shown_name}")
    checked_map = check_label_map(label_map)
    if checked_map is not None:
        meanings, origin = _mapped_meanings(names, checked_map, shown_name), "--label-map"
    else:
        meanings = [meaning_of(name) for name in names]
        known_meanings = KNOWN_MODELS.get(model, ())
        pairs = zip(meanings, known_meanings, strict=False)
        is_compatible = all(meaning in (None, label) for meaning, label in pairs)
        if is_compatible and len(known_meanings) == len(names):
            meanings, origin = list(known_meanings), "the table of well-known models"
    unknown_names = [name for name, meaning in zip(names, meanings, strict=True) if meaning is None]
    if unknown_names:
        example = ",".join(f"{name}={'|'.join(LABELS)}" for name in unknown_names)
        raise ScoringError(
            f"model {shown_name}: nothing says what {', '.join(unknown_names)} means",
            hint=f"say it: --label-map {example} (in Python label_map={{…}}, for every class)",
        )
    label_ids = tuple(meaning for meaning in meanings if meaning is not None)
    if not {NEGATIVE, POSITIVE} <= set(label_ids):
        raise ScoringError(
            f"model {shown_name}: classes {', '.join(names)} lack {' or '.join(POLAR_LABELS)}",
            hint="pass a sentiment model, or say what its classes mean with --label-map",
        )
    if checked_map is None:
        return LabelRule(names, label_ids, origin)
    with suppress(ScoringError):
        rule_without_map = rule_for(classes, model=model)
        if rule_without_map.meanings == label_ids:
            return rule_without_map
    map_by_name = {name: LABELS[label] for name, label in zip(names, label_ids, strict=True)}
    return LabelRule(names, label_ids, origin, map_by_name)


def class_numbers(name: str, classes: Sequence[str]) -> list[int]:
    """The numbers of the classes of that name, or else of the only class spelled alike."""
    exact_matches = [number for number, other in enumerate(classes) if other == name]
    wanted_name = plain_name(name)
    alike = [number for number, other in enumerate(classes) if plain_name(other) == wanted_name]
    return exact_matches or (alike if len(alike) == 1 else [])


def _mapped_meanings(
    names: Sequence[str], label_map: Mapping[str, str], model: str
) -> list[int | None]:
    meanings: list[int | None] = [None] * len(names)
    for key, label in label_map.items():
        numbers = class_numbers(key, names)
        if not numbers and key.isdecimal() and int(key) < len(names):
            numbers = [int(key)]
        if not numbers:
            raise ScoringError(
                f"--label-map: {key} is no class of model {model}",
                hint=f"{did_you_mean(key, names)}name its classes, {', '.join(names)}, or their "
                "numbers from 0",
            )
        for number in numbers:
            if meanings[number] is not None:
                raise ScoringError(
                    f"--label-map: names class {names[number]} of model {model} twice",
                    hint="give each class one label, by its name or its number",
                )
            meanings[number] = LABELS.index(label)
    return meanings
