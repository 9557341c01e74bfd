"""Coverage against the number of cases, and of suites alone and together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from s2lct.analysis.coverage.criteria import Coverage, Marks
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.memory import check_memory
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

SHUFFLES = 10
POINTS = 20
CONFIDENCE = 0.95
_MOST_SUITES_COMBINED = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """One figure's growth with a suite, averaged over shuffles of its cases.

    Attributes:
        sizes: numbers of cases, increasing; the last is the whole suite.
        mean: the figure at each size, mean over shuffles.
        low, high: between them lie 95 % of the shuffles.
    """

    sizes: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class CurveRecorder:
    """Takes a suite's cases in any order and gives the curves of its shuffles.

    What is held is a state for each shuffle (orders to average over) and point (sizes at which
    coverage is taken), whatever the number of cases.

    Raises:
        AnalysisError: the states would not fit into memory.
    """

    def __init__(
        self,
        metric: Coverage,
        cases: int,
        shuffles: int,
        points: int,
        seed: int,
    ) -> None:
        if min(cases, shuffles, points) < 1:
            raise AnalysisError(
                f"curves of {cases} cases, {shuffles} shuffles, {points} points",
                mend="pass 1 or more of each",
            )
        self._metric = metric
        sizes = np.unique(np.ceil(np.linspace(0, cases, min(points, cases) + 1)[1:]).astype(int))
        self.sizes = tuple(int(size) for size in sizes)
        check_memory(
            shuffles * len(sizes) * sum(bits.nbytes for bits in metric.state.values()),
            f"curves of {shuffles} shuffles and {len(sizes)} points",
            "fewer --shuffles or --points",
        )
        rng = np.random.default_rng(seed)
        ranks = np.stack([rng.permutation(cases) for _ in range(shuffles)])
        self._point = np.searchsorted(sizes, ranks + 1)
        self._states = {
            part: np.zeros((shuffles, len(sizes), *bits.shape), dtype=bits.dtype)
            for part, bits in metric.state.items()
        }

    def add(self, case: int, marks: Marks) -> None:
        """Take what the case of that number in the suite covers."""
        for shuffle, point in enumerate(self._point[:, case]):
            for part, (where, bits) in marks.items():
                self._states[part][shuffle, point][where] |= bits

    def curves(self) -> dict[str, Curve]:
        """A curve for each figure of the metric."""
        figures = tuple(self._metric.values)
        # Shape (figures, shuffles, points).
        values = np.empty((len(figures), len(self._point), len(self.sizes)))
        for shuffle in range(len(self._point)):
            so_far = self._metric.emptied()
            for point in range(len(self.sizes)):
                for part, states in self._states.items():
                    so_far.state[part] |= states[shuffle, point]
                values[:, shuffle, point] = list(so_far.values.values())
        tail = (1 - CONFIDENCE) / 2
        return {
            figure: Curve(
                self.sizes,
                tuple(np.mean(rows, axis=0).tolist()),
                tuple(np.quantile(rows, tail, axis=0).tolist()),
                tuple(np.quantile(rows, 1 - tail, axis=0).tolist()),
            )
            for figure, rows in zip(figures, values, strict=True)
        }


@dataclass(frozen=True)
class Measured:
    """What one suite covers.

    Attributes:
        suite: its name.
        cases: how many were run.
        states: by metric.
        curves: by figure.
    """

    suite: str
    cases: int
    states: Mapping[str, Coverage]
    curves: Mapping[str, Curve]

    @property
    def values(self) -> dict[str, float]:
        """Every figure of every metric."""
        return {
            name: value for state in self.states.values() for name, value in state.values.items()
        }


def measure(
    name: str,
    texts: Sequence[str],
    encoder: EncoderModel,
    metrics: Mapping[str, Coverage],
    *,
    shuffles: int = SHUFFLES,
    points: int = POINTS,
    seed: int = 0,
    advance: Advance = silently,
) -> Measured:
    """Run a suite's texts once, for all metrics and their curves.

    The metrics, by name, have nothing covered and stay so. For the curves see `CurveRecorder`; 0
    shuffles give none.
    """
    states = {metric: of.emptied() for metric, of in metrics.items()}
    for state in states.values():
        state.check_model(encoder)
    recorders = {
        metric: CurveRecorder(of, len(texts), shuffles, points, seed)
        for metric, of in metrics.items()
        if shuffles
    }
    for number, one in encoder.each(texts, advance):
        for metric, state in states.items():
            marks = state.marks(one)
            state.add(marks)
            if shuffles:
                recorders[metric].add(number, marks)
    curves = {
        figure: curve
        for recorder in recorders.values()
        for figure, curve in recorder.curves().items()
    }
    return Measured(name, len(texts), states, curves)


def together(measured: Sequence[Measured]) -> list[Measured]:
    """Each suite alone, then every union of two or more (of more than four: all in one)."""
    rows = list(measured)
    counts = range(2, len(rows) + 1)
    if len(rows) > _MOST_SUITES_COMBINED:
        counts = range(len(rows), len(rows) + 1)
    for count in counts:
        for chosen in itertools.combinations(measured, count):
            states = {metric: state.emptied() for metric, state in chosen[0].states.items()}
            for other in chosen:
                for metric, state in other.states.items():
                    states[metric].merge(state)
            names, cases = " + ".join(one.suite for one in chosen), sum(o.cases for o in chosen)
            rows.append(Measured(names, cases, states, {}))
    return rows
