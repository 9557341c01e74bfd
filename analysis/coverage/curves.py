"""What suites cover of a model, alone and together, and as they grow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from s2lct.analysis.coverage.criteria import Coverage, Marks, SectionCoverage
from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.plots import COLOURS, picture, style
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Curve:
    """One figure's growth with a suite: mean over shuffles at sizes, and where 95 % of them lie."""

    sizes: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Measured:
    """What one suite of so many cases covers: states by metric, and curves by figure.

    Its ``parts`` are its seeds and its expansions, where it has both, without curves.
    """

    suite: str
    cases: int
    states: Mapping[str, Coverage]
    curves: Mapping[str, Curve]
    parts: tuple[Measured, ...] = ()

    @property
    def values(self) -> dict[str, float]:
        """Every figure of every metric."""
        return {
            name: value for state in self.states.values() for name, value in state.values.items()
        }


class _Recorder:
    """Takes cases in their order and gives curves; holds a state for each shuffle and point."""

    def __init__(self, metric: Coverage, cases: int, shuffles: int, points: int, seed: int) -> None:
        self._metric = metric
        sizes = np.unique(np.ceil(np.linspace(0, cases, min(points, cases) + 1)[1:]).astype(int))
        self._sizes = tuple(sizes.tolist())
        needed = shuffles * len(sizes) * sum(bits.nbytes for bits in metric.state.values())
        if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2:
            raise AnalysisError(
                f"--curve: curves of {metric.name} need {needed / 1e9:,.1f} GB, more than half of "
                "this machine's memory",
                hint="pass --metric boundary, or leave out --curve",
            )
        rng = np.random.default_rng(seed)
        ranks = np.stack([rng.permutation(cases) for _ in range(shuffles)])
        self._points = np.searchsorted(sizes, ranks + 1)
        self._states = {
            part: np.zeros((shuffles, len(sizes), *bits.shape), dtype=bits.dtype)
            for part, bits in metric.state.items()
        }

    def add(self, case: int, marks: Marks) -> None:
        """Take what the case of that number in the suite covers."""
        for shuffle, point in enumerate(self._points[:, case]):
            for part, (where, bits) in marks.items():
                self._states[part][shuffle, point][where] |= bits

    def curves(self) -> dict[str, Curve]:
        """A curve for each figure of the metric."""
        for states in self._states.values():
            np.bitwise_or.accumulate(states, axis=1, out=states)
        state = self._metric.emptied()
        values = []
        for place in np.ndindex(len(self._points), len(self._sizes)):
            state.state = {part: states[place] for part, states in self._states.items()}
            values.append(list(state.values.values()))
        by_figure = np.array(values).T.reshape(-1, len(self._points), len(self._sizes))
        return {
            figure: Curve(
                self._sizes,
                tuple(rows.mean(axis=0).tolist()),
                *(tuple(np.quantile(rows, share, axis=0).tolist()) for share in (0.025, 0.975)),
            )
            for figure, rows in zip(state.values, by_figure, strict=True)
        }


def measure(
    name: str,
    texts: Sequence[Text],
    encoder: EncoderModel,
    metrics: Mapping[str, Coverage],
    shuffles: int = 10,
    points: int = 20,
    seed: int = 0,
    *,
    kinds: Sequence[str] = (),
) -> Measured:
    """Run a suite's texts once, for all metrics and their curves; 0 shuffles give none.

    The metrics, by name, have nothing covered and stay so. With the texts' ``kinds``, ``seed`` and
    ``expansion``, what is covered by each is told too.

    Raises:
        AnalysisError: the curves would not fit into memory.
    """
    both = sorted(set(kinds), reverse=True) if len(set(kinds)) > 1 else []
    states = {
        part: {metric: of.emptied() for metric, of in metrics.items()} for part in ("", *both)
    }
    recorders = {
        metric: _Recorder(of, len(texts), shuffles, points, seed)
        for metric, of in metrics.items()
        if shuffles
    }
    for number, one in enumerate(encoder.shown_activations(texts, name)):
        parts = ("", kinds[number]) if both else ("",)
        for metric, of in metrics.items():
            marks = of.marks(one)
            for part in parts:
                states[part][metric].add(marks)
            if shuffles:
                recorders[metric].add(number, marks)
    curves = {
        figure: curve
        for recorder in recorders.values()
        for figure, curve in recorder.curves().items()
    }
    apart = (
        Measured(f"{name}, {kind}s", list(kinds).count(kind), states[kind], {}) for kind in both
    )
    return Measured(name, len(texts), states[""], curves, tuple(apart))


def together(measured: Sequence[Measured]) -> list[Measured]:
    """Each suite alone, with its parts, then the union of all."""
    rows = [row for one in measured for row in (one, *one.parts)]
    if len(measured) == 1:
        return rows
    states = {metric: state.emptied() for metric, state in measured[0].states.items()}
    for one in measured:
        for metric, state in states.items():
            state.merge(one.states[metric])
    names, cases = " + ".join(one.suite for one in measured), sum(one.cases for one in measured)
    return [*rows, Measured(names, cases, states, {})]


@dataclass(frozen=True)
class CoverageReport:
    """What `s2lct coverage` found of a model, by name and SHA-256 over tokenizer and weights."""

    model: str
    fingerprint: str
    reference: str  # name of the corpus that set bounds, and how many of its sentences did
    measured: Sequence[Measured]  # each suite

    @cached_property
    def rows(self) -> list[Measured]:
        """Of the table: each suite alone, then unions."""
        return together(self.measured)

    @property
    def title(self) -> str:
        """What the table shows, and of which neurons COVER and MNCOVER are shares."""
        title = f"Coverage of {self.model}, %"
        for state in self.measured[0].states.values():
            if isinstance(state, SectionCoverage) and state.convention == "paper":
                return f"{title} (COVER, MNCOVER: of all neurons of 128 places, as the paper)"
            if isinstance(state, SectionCoverage):
                return f"{title} (COVER, MNCOVER: of neurons that the reference reaches)"
        return title


def percent(value: float) -> str:
    """A share in percent: two decimals, more where they would say nothing."""
    return f"{100 * value:.2g}" if 0 < value < 0.001 else f"{100 * value:.2f}"


def drawing(title: str, panels: Mapping[str, Mapping[str, Curve]], columns: int = 3) -> Figure:
    """A plot a panel, in which each curve stands by its name."""
    with style():
        from matplotlib.figure import Figure

        columns = min(len(panels), columns)
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(4.4 * columns, 3.4 * rows), dpi=110, layout="constrained")
        for place, (name, curves) in enumerate(panels.items()):
            axes = figure.add_subplot(rows, columns, place + 1)
            for (label, curve), colour in zip(curves.items(), cycle(COLOURS)):
                sizes = (0, *curve.sizes)
                low, mean, high = (
                    [0, *(100 * value for value in line)]
                    for line in (curve.low, curve.mean, curve.high)
                )
                axes.plot(sizes, mean, color=colour, label=label)
                axes.fill_between(sizes, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.set_title(name, fontsize=11)
            axes.set_xlabel("cases")
            axes.set_ylabel("coverage, %")
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            if place == 0:
                axes.legend(frameon=False, fontsize=9)
        figure.suptitle(title, fontsize=12)
    return figure


def write_curves(report: CoverageReport, path: Path) -> None:
    """Draw each suite's curves, a plot a figure, as ``.png`` or ``.svg``."""
    panels = {
        figure: {one.suite: one.curves[figure] for one in report.measured}
        for figure in report.measured[0].values
    }
    title = f"{report.model}: coverage against the number of cases"
    with style():
        write_bytes(path, picture(drawing(title, panels), path.suffix[1:]))
