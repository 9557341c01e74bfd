"""Label rules: how a model's classes become the labels of the task.

A rule is explicit and recorded with every result. Where a model does not say what its classes
mean, it is refused: nothing is guessed.
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
    ENDS,
    KNOWN_MODELS,
    LABELS,
    NEGATIVE,
    NEUTRAL,
    NEUTRAL_BAND,
    POSITIVE,
    check_label_map,
    meaning_of,
    plain_name,
)
from s2lct.plain_text import did_you_mean

MOST_CLASSES = 5
TOLERANCE = 1e-2
"""How far the probabilities of a text may be from 1 in sum: half precision rounds that much."""
ROUNDING = 1e-6
"""Probabilities that differ by no more are equal: the last bits depend on the machine."""
SOFTMAX = (
    "give probabilities: for logits apply softmax, torch.softmax(logits, -1), or "
    'function_to_apply="softmax" in a pipeline'
)
Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelRule:
    """What each class of a model means: the number of a label.

    In a model without a neutral class, p(positive) strictly within `NEUTRAL_BAND` is neutral.
    ``origin`` says where the meanings were taken from.
    """

    classes: tuple[str, ...]
    meanings: tuple[int, ...]
    origin: str = "the model's id2label"

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
        """Probabilities of the labels, shape (texts, labels), of those of the classes."""
        folded = np.zeros((len(probabilities), len(LABELS)))
        for column, meaning in enumerate(self.meanings):
            folded[:, meaning] += probabilities[:, column]
        return folded

    def labels(
        self, probabilities: Array, called: str = "text number {}: the model's output"
    ) -> Labels:
        """The label of each text, of probabilities (texts, classes).

        The largest wins, of those that are equal up to `ROUNDING` the first label.
        Rows that are no probabilities are refused with a ScoringError, under the name ``called``.
        """
        if probabilities.ndim != 2 or probabilities.shape[1] != len(self.classes):
            raise ScoringError(
                f"probabilities of shape {probabilities.shape} for {len(self.classes)} classes",
                hint="give one row a text and one column a class",
            )
        _check_probabilities(probabilities, called)
        folded = self.folded(probabilities)
        if self.has_neutral:
            wins = folded >= folded.max(axis=1, keepdims=True) - ROUNDING
            return np.asarray(wins.argmax(axis=1), dtype=np.int64)
        return self.banded(folded[:, POSITIVE])

    def banded(self, positive: Array) -> Labels:
        """Labels of a model without a neutral class by its p(positive), shape (texts,).

        An end of the band, up to `ROUNDING`, is none of it.
        """
        low, high = NEUTRAL_BAND[0] + ROUNDING, NEUTRAL_BAND[1] - ROUNDING
        labels = np.where(positive >= high, POSITIVE, NEUTRAL)
        return np.where(positive <= low, NEGATIVE, labels).astype(np.int64)

    def could_be(
        self, labels: Labels, probabilities: Array, margin: float
    ) -> npt.NDArray[np.bool_]:
        """Whether labels, shape (texts,), win, or lose by no more than a margin.

        That is by how much the winner's probability may be larger; where a neutral band decides, by
        how much p(positive) may lie beyond the label's end of it.
        """
        folded = self.folded(probabilities)
        if self.has_neutral:
            held = folded[np.arange(len(labels)), labels]
            return np.asarray(folded.max(axis=1) - held <= margin + ROUNDING)
        positive = folded[:, POSITIVE]
        lowest, highest = self.banded(positive - margin), self.banded(positive + margin)
        return np.asarray((lowest <= labels) & (labels <= highest))


def fault_of_probabilities(table: Array) -> str:
    """Why rows, one a text, are no probabilities; empty if they are."""
    try:
        _check_probabilities(table, "text number {}")
    except ScoringError as error:
        return error.problem
    return ""


def _check_probabilities(table: Array, called: str) -> None:
    finite = np.asarray(np.isfinite(table).all(axis=1))
    inside = np.asarray(((table >= -ROUNDING) & (table <= 1 + ROUNDING)).all(axis=1))
    sums = table.sum(axis=1)
    faulty = np.flatnonzero(~(finite & inside & (np.abs(sums - 1) <= TOLERANCE)))
    if not len(faulty):
        return
    row = int(faulty[0])
    if not finite[row]:
        raise ScoringError(
            f"{called.format(row)} is not a number (NaN or infinite)",
            hint="check the model's weights and precision",
        )
    values = ", ".join(f"{value:.4g}" for value in table[row])
    why = f"the sum is {sums[row]:.4g}, not 1" if inside[row] else "outside 0 to 1"
    raise ScoringError(f"{called.format(row)} is not probabilities ({values}): {why}", hint=SOFTMAX)


def check_classes(classes: Any, called: str = "classes=") -> tuple[str, ...]:
    """The names of a model's classes, in its order; a ScoringError unless 2 to 5 differ.

    They are a list, or a mapping from their numbers as a model's ``config.id2label`` is one.
    """
    if isinstance(classes, Mapping) and {*classes} == {*range(len(classes))}:
        classes = [classes[number] for number in range(len(classes))]
    is_list = isinstance(classes, Iterable) and not isinstance(classes, (str, Mapping))
    names = tuple(map(str, classes)) if is_list else ()
    if not 2 <= len({*map(plain_name, names)}) == len(names) <= MOST_CLASSES:
        raise ScoringError(
            f"{called}: {classes!r} are no 2 to {MOST_CLASSES} names that differ",
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
    """The rule of a model by the names of its classes.

    ``model`` is looked up among `labels.KNOWN_MODELS`; a user's ``label_map`` (see
    `check_label_map`) comes first. Raises a ScoringError for fewer than two or more than five
    classes, classes without a meaning, or a map of classes that the model lacks.
    """
    called = model or "(unnamed)"
    names = check_classes(classes, f"classes of model {called}")
    meanings = [meaning_of(name) for name in names]
    known = KNOWN_MODELS.get(model, ())
    if (mapping := check_label_map(label_map)) is not None:
        meanings, origin = _mapped(names, mapping, called), "--label-map"
    elif len(known) == len(names) and all(
        stated in (None, meaning) for stated, meaning in zip(meanings, known, strict=True)
    ):
        meanings, origin = list(known), "the table of well-known models"
    if unknown := [name for name, found in zip(names, meanings, strict=True) if found is None]:
        example = ",".join(f"{name}={'|'.join(LABELS)}" for name in unknown)
        raise ScoringError(
            f"model {called}: nothing says what {', '.join(unknown)} means",
            hint=f"say it: --label-map {example} (in Python label_map={{…}}, for every class)",
        )
    complete = tuple(meaning for meaning in meanings if meaning is not None)
    if not {NEGATIVE, POSITIVE} <= set(complete):
        raise ScoringError(
            f"model {called}: classes {', '.join(names)} lack {' or '.join(ENDS)}",
            hint="pass a sentiment model, or say what its classes mean with --label-map",
        )
    return LabelRule(names, complete, origin)


def rule_and_map(
    classes: Sequence[str], *, model: str = "", label_map: Mapping[Any, Any] | None = None
) -> tuple[LabelRule, dict[str, str] | None]:
    """The rule of a model, as `rule_for` has it, and the label map that makes it so.

    Equal rules have equal maps, by the classes' own names, whatever was written; a map that says
    what holds without it is None.
    """
    rule = rule_for(classes, model=model, label_map=label_map)
    if label_map is None:
        return rule, None
    with suppress(ScoringError):
        usual = rule_for(classes, model=model)
        if usual.meanings == rule.meanings:
            return usual, None
    meanings = zip(rule.classes, rule.meanings, strict=True)
    return rule, {name: LABELS[meaning] for name, meaning in meanings}


def numbers_of(name: str, classes: Sequence[str]) -> list[int]:
    """Numbers of the classes called so; where there are none, of the only one called alike."""
    exact = [n for n, other in enumerate(classes) if other == name]
    alike = [n for n, other in enumerate(classes) if plain_name(other) == plain_name(name)]
    return exact or (alike if len(alike) == 1 else [])


def _mapped(names: Sequence[str], label_map: Mapping[str, str], called: str) -> list[int | None]:
    labels: list[int | None] = [None] * len(names)
    for key, label in label_map.items():
        numbers = numbers_of(key, names)
        if not numbers and key.isdecimal() and int(key) < len(names):
            numbers = [int(key)]
        if not numbers:
            raise ScoringError(
                f"--label-map: {key} is no class of model {called}",
                hint=f"{did_you_mean(key, names)}name its classes, {', '.join(names)}, or their "
                "numbers from 0",
            )
        for number in numbers:
            if labels[number] is not None:
                raise ScoringError(
                    f"--label-map: says twice what class {names[number]} of model {called} means",
                    hint="give each class one label, by its name or its number",
                )
            labels[number] = LABELS.index(label)
    return labels
