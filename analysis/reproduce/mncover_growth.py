"""Figure 4 of MNCOVER: coverage against the number of texts, filtered at thresholds and not.

Training sentences go through the transformations of experiment 4, each for itself. A text is
dropped if it adds less than a threshold. The paper's unit cannot be coverage itself, of which no
text can add 0.1 and few 0.001; so growth is taken both ways: as coverage, and as a share of what is
covered already.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.augment.transformations import NAMES, Transformation, load_transformations
from s2lct.analysis.coverage.criteria import Coverage, Marks
from s2lct.analysis.coverage.curves import Curve, drawing
from s2lct.analysis.coverage.encoder import Text
from s2lct.analysis.kept import kept
from s2lct.analysis.plots import picture, style
from s2lct.analysis.reproduce.mncover_tables import MNCOVER, Neurons, neurons_of
from s2lct.analysis.reproduce.runner import Cell, Inputs, PaperTable, Reproduction, described
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.identity import fingerprint_of, rng_for

PRINTED: dict[float, float] = described("mncover-figure4")["printed"]
THRESHOLDS = tuple(PRINTED)
MIDDLE = THRESHOLDS[2]
UNITS = ("coverage", "share")
_POINTS = 40


@dataclass(frozen=True, slots=True)
class Growth:
    """What a filter keeps of texts in their order: coverage after each text that stays.

    ``threshold`` is None where nothing is dropped.
    """

    unit: str
    threshold: float | None
    values: list[float]


@dataclass(frozen=True, slots=True)
class Grown:
    """A transformation's texts gone through, filtered in every way and not."""

    transformation: str
    texts: int
    growths: list[Growth]


def grow(metric: Coverage, marks: Iterable[Marks]) -> list[Growth]:
    """Go through texts by their marks: unfiltered, then filtered by each unit and threshold.

    Coverage starts empty; the metric stays as it is.
    """
    ways: list[tuple[str, float | None]] = [("coverage", None), *product(UNITS, THRESHOLDS)]
    states = [metric.emptied() for _ in ways]
    values: list[list[float]] = [[] for _ in ways]
    reached = [0.0] * len(ways)
    for one in marks:
        for number, (unit, threshold) in enumerate(ways):
            growth = states[number].growth(one)
            if threshold is not None:
                known = reached[number] if unit == "share" else 1.0
                if growth <= 0 or growth < threshold * known:
                    continue
            states[number].add(one)
            reached[number] += growth
            values[number].append(reached[number])
    return [
        Growth(unit, threshold, kept_values)
        for (unit, threshold), kept_values in zip(ways, values, strict=True)
    ]


def changed_texts(transformation: Transformation, texts: Sequence[Text], seed: int) -> list[str]:
    """What a transformation makes of texts, without those that it leaves as they are.

    Raises:
        AnalysisError: they are pairs.
    """
    made: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise AnalysisError(
                "mncover-figure4: transformations change single texts, and these are pairs",
                hint="pass a --reference of single texts",
            )
        rng = rng_for(seed, "growth", transformation.name, text)
        changed = transformation.apply(text, rng)
        if changed is not None and changed != text:
            made.append(changed)
    return list(dict.fromkeys(made))


def figure4(inputs: Inputs) -> Reproduction:
    """Figure 4; ``limit`` is the most training sentences."""
    inputs.need("model", "reference")
    transformations, skipped = load_transformations(NAMES)
    for name, why in skipped.items():
        warnings.warn(f"{name} is left out: {why}", S2lctWarning, stacklevel=2)
    tables, verdicts = [], []
    pictures: dict[str, bytes] = {}
    for number, model in enumerate(inputs.model, 1):
        neurons = neurons_of(model, inputs)
        sentences = neurons.reference[: inputs.limit]
        found = []
        for one in transformations:
            texts = changed_texts(one, sentences, inputs.seed)
            if texts:
                found.append(grown(neurons, one.name, texts))
        tables.append(
            PaperTable.of(
                inputs.name,
                rows_of(found),
                model=model,
                masks=neurons.about_masks,
                sentences=len(sentences),
                transformations=len(found),
            )
        )
        verdicts.append(f"{model}: {verdict_of(found)}")
        pictures[f"mncover-figure4{f'-{number}' if number > 1 else ''}.png"] = drawn(model, found)
    return Reproduction(tables, "\n\n".join(verdicts), pictures)


def grown(neurons: Neurons, name: str, texts: Sequence[str]) -> Grown:
    """Coverage of a transformation's texts; kept."""
    metric, encoder = neurons.metrics[MNCOVER], neurons.encoder

    def made() -> Grown:
        marks = map(metric.marks, encoder.shown_activations(texts, name))
        return Grown(name, len(texts), grow(metric, marks))

    decides = [str(encoder.device), neurons.reference, neurons.masks.digest, list(texts)]
    about = ["growth", name, fingerprint_of(decides)]
    return kept(encoder.fingerprint, about, TypeAdapter(Grown), made)


def smaller(found: Sequence[Grown]) -> Mapping[tuple[str, float | None], tuple[float, float]]:
    """By unit and threshold: mean share of texts dropped, and of coverage that is left."""
    shares: dict[tuple[str, float | None], list[tuple[float, float]]] = {}
    for one in found:
        whole = one.growths[0].values[-1]
        for growth in one.growths:
            left = growth.values[-1] / whole if growth.values else 0.0
            dropped = 1 - len(growth.values) / one.texts
            shares.setdefault((growth.unit, growth.threshold), []).append((dropped, left))
    means = {key: np.mean(values, axis=0).tolist() for key, values in shares.items()}
    return {key: (dropped, left) for key, (dropped, left) in means.items()}


def rows_of(found: Sequence[Grown]) -> list[list[Cell]]:
    """How many texts each threshold drops, and how much coverage it leaves, in percent."""
    means = smaller(found)
    return [
        [
            f"{threshold:g}",
            *(100 * value for unit in UNITS for value in means[unit, threshold]),
            figure,
        ]
        for threshold, figure in PRINTED.items()
    ]


def verdict_of(found: Sequence[Grown]) -> str:
    """Which unit, if any, gives the paper's reductions."""
    means = smaller(found)
    told = []
    for unit in UNITS:
        ours = [100 * means[unit, threshold][0] for threshold in THRESHOLDS]
        off = np.mean(np.abs(np.array(ours) - list(PRINTED.values())))
        values = ", ".join(f"{value:.1f}" for value in ours)
        told.append(f"growth as {unit} drops {values} % ({off:.0f} points from the paper's)")
    dropped, left = means["coverage", MIDDLE]
    return (
        f"{'; '.join(told)}. At {MIDDLE:g} of coverage, {100 * dropped:.1f} % fewer texts leave "
        f"{100 * left:.1f} % of it. The paper's unit is not said, so its reductions cannot be "
        "compared further."
    )


def drawn(model: str, found: Sequence[Grown]) -> bytes:
    """Mean curves over transformations: a panel a unit."""
    panels: dict[str, dict[str, Curve]] = {f"threshold of {unit}": {} for unit in UNITS}
    for unit, threshold in product(UNITS, (None, *THRESHOLDS)):
        numbers, values = mean_curve(
            [
                growth.values
                for one in found
                for growth in one.growths
                if growth.threshold == threshold and (threshold is None or growth.unit == unit)
            ]
        )
        label = "all texts" if threshold is None else f"≥ {threshold:g}"
        curve = Curve(tuple(numbers[1:]), *[tuple(values[1:])] * 3)  # type: ignore[arg-type]
        panels[f"threshold of {unit}"][label] = curve
    with style():
        return picture(drawing(f"{model}: MNCOVER of changed training sentences", panels), "png")


def mean_curve(curves: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Means of curves of different lengths, at equal shares of each: numbers of texts, coverage."""
    shares = np.linspace(0, 1, _POINTS)
    whole = [np.concatenate([[0.0], curve]) for curve in curves]
    numbers = [shares * (len(curve) - 1) for curve in whole]
    values = [
        np.interp(at, np.arange(len(curve)), curve)
        for at, curve in zip(numbers, whole, strict=True)
    ]
    return np.mean(numbers, axis=0).tolist(), np.mean(values, axis=0).tolist()
