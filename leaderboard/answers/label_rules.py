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
"""How far the probabilities of a text may be from 1 in sum: half precision rounds that much."""
TIE_MARGIN = 1e-6
"""Probabilities that differ by no more are equal: the last bits depend on the machine."""
SOFTMAX_HINT = (
    "give probabilities: for logits apply softmax, torch.softmax(logits, -1), or "
    'function_to_apply="softmax" in a pipeline'
)
Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelRule:
    """Which label each class of a model means.

    The probabilities of a label's classes are summed, and the largest sum wins. In a model without
    a neutral class, p(positive) strictly within `NEUTRAL_BAND` is neutral.

    Attributes:
        classes: their names, in the order of the model.
        meanings: the label id of each class.
        origin: where the meanings were taken from, in words.
        label_map: the user's label map, by the names of the classes; None where the meanings follow
            without it. Equal rules have equal maps.
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
        """What each class means, and where that was taken from."""
        pairs = zip(self.classes, self.meanings, strict=True)
        listed = ", ".join(f"{name} → {LABELS[meaning]}" for name, meaning in pairs)
        return f"{listed} (from {self.origin})"

    def folded(self, probabilities: Array) -> Array:
        """The probabilities of the labels, shape (texts, labels), from those of the classes."""
        folded = np.zeros((len(probabilities), len(LABELS)))
        for column, meaning in enumerate(self.meanings):
            folded[:, meaning] += probabilities[:, column]
        return folded

    def labels(
        self, probabilities: Array, row_name: str = "text number {}: the model's output"
    ) -> Labels:
        """The label of each text; of labels that are equal up to `TIE_MARGIN` the first wins.

        Args:
            probabilities: shape (texts, classes).
            row_name: what an error calls the row of number ``{}``.

        Raises:
            ScoringError: a row is not probabilities.
        """
        if probabilities.ndim != 2 or probabilities.shape[1] != len(self.classes):
            raise ScoringError(
                f"probabilities of shape {probabilities.shape} for {len(self.classes)} classes",
                hint="give one row for each text and one column for each class",
            )
        _check_probabilities(probabilities, row_name)
        folded = self.folded(probabilities)
        if self.has_neutral:
            wins = folded >= folded.max(axis=1, keepdims=True) - TIE_MARGIN
            return np.asarray(wins.argmax(axis=1), dtype=np.int64)
        return self._labels_by_band(folded[:, POSITIVE])

    def _labels_by_band(self, positive: Array) -> Labels:
        """Labels by p(positive); the ends of the band, up to `TIE_MARGIN`, lie outside."""
        low, high = NEUTRAL_BAND[0] + TIE_MARGIN, NEUTRAL_BAND[1] - TIE_MARGIN
        labels = np.where(positive >= high, POSITIVE, NEUTRAL)
        return np.where(positive <= low, NEGATIVE, labels).astype(np.int64)

    def could_be(
        self, labels: Labels, probabilities: Array, margin: float
    ) -> npt.NDArray[np.bool_]:
        """Whether each label wins, or would if probabilities were moved by ``margin``."""
        folded = self.folded(probabilities)
        if self.has_neutral:
            chosen = folded[np.arange(len(labels)), labels]
            return np.asarray(folded.max(axis=1) - chosen <= margin + TIE_MARGIN)
        positive = folded[:, POSITIVE]
        lowest = self._labels_by_band(positive - margin)
        highest = self._labels_by_band(positive + margin)
        return np.asarray((lowest <= labels) & (labels <= highest))


def fault_of_probabilities(table: Array) -> str:
    """Why the rows of a table are not probabilities; empty if they are."""
    try:
        _check_probabilities(table, "text number {}")
    except ScoringError as error:
        return error.problem
    return ""


def _check_probabilities(table: Array, row_name: str) -> None:
    finite = np.asarray(np.isfinite(table).all(axis=1))
    in_range = np.asarray(((table >= -TIE_MARGIN) & (table <= 1 + TIE_MARGIN)).all(axis=1))
    sums = table.sum(axis=1)
    faulty = np.flatnonzero(~(finite & in_range & (np.abs(sums - 1) <= MAX_SUM_ERROR)))
    if not len(faulty):
        return
    row = int(faulty[0])
    if not finite[row]:
        raise ScoringError(
            f"{row_name.format(row)} is not a number (NaN or infinite)",
            hint="check the model's weights and precision",
        )
    values = ", ".join(f"{value:.4g}" for value in table[row])
    why = f"the sum is {sums[row]:.4g}, not 1" if in_range[row] else "outside 0 to 1"
    raise ScoringError(
        f"{row_name.format(row)} is not probabilities ({values}): {why}", hint=SOFTMAX_HINT
    )


def check_classes(classes: Any, source: str = "classes=") -> tuple[str, ...]:
    """The names of a model's classes, in its order.

    Args:
        classes: a list, or a mapping from their numbers, as a model's ``config.id2label`` is.
        source: what an error calls them.

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
        classes: their names, in the order of the model.
        model: its name, which is looked up among `labels.KNOWN_MODELS`.
        label_map: what the user says of classes, by name or number; it comes first.
        origin: where the names come from, in words.

    Raises:
        ScoringError: a class has no meaning, none means negative or positive, their number is
            wrong, or ``label_map`` names a class that the model lacks.
    """
    shown_name = model or "(unnamed)"
    names = check_classes(classes, f"classes of model {shown_name}")
    mapping = check_label_map(label_map)
    if mapping is not None:
        meanings, origin = _mapped_meanings(names, mapping, shown_name), "--label-map"
    else:
        meanings = [meaning_of(name) for name in names]
        table = KNOWN_MODELS.get(model, ())
        pairs = zip(meanings, table, strict=False)
        if len(table) == len(names) and all(stated in (None, label) for stated, label in pairs):
            meanings, origin = list(table), "the table of well-known models"
    unclear = [name for name, meaning in zip(names, meanings, strict=True) if meaning is None]
    if unclear:
        example = ",".join(f"{name}={'|'.join(LABELS)}" for name in unclear)
        raise ScoringError(
            f"model {shown_name}: nothing says what {', '.join(unclear)} means",
            hint=f"say it: --label-map {example} (in Python label_map={{…}}, for every class)",
        )
    complete = tuple(meaning for meaning in meanings if meaning is not None)
    if not {NEGATIVE, POSITIVE} <= set(complete):
        raise ScoringError(
            f"model {shown_name}: classes {', '.join(names)} lack {' or '.join(POLAR_LABELS)}",
            hint="pass a sentiment model, or say what its classes mean with --label-map",
        )
    if mapping is None:
        return LabelRule(names, complete, origin)
    with suppress(ScoringError):
        without_map = rule_for(classes, model=model)
        if without_map.meanings == complete:
            return without_map
    by_name = {name: LABELS[label] for name, label in zip(names, complete, strict=True)}
    return LabelRule(names, complete, origin, by_name)


def class_numbers(name: str, classes: Sequence[str]) -> list[int]:
    """The numbers of the classes of a name; without any, of the only one spelled alike."""
    exact = [number for number, other in enumerate(classes) if other == name]
    wanted = plain_name(name)
    alike = [number for number, other in enumerate(classes) if plain_name(other) == wanted]
    return exact or (alike if len(alike) == 1 else [])


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
