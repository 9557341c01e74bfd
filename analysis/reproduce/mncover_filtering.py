"""Tables 1 and 6 of MNCOVER: do the tests that raise coverage fail more often than the others?

In their order, the cases of a test stay that raise coverage at all. The increments that they
brought are cut at their ten deciles; at each, those stay whose increment is as large. Beside the
failure rates of these ten subsets, the last of which is a single case (and ties), stands what
chance gives: subsets of the same sizes, nested alike, of cases drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from scipy import stats

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, Floats, Text
from s2lct.analysis.coverage.suites import given, holds_pairs, read_pairs
from s2lct.analysis.kept import kept
from s2lct.analysis.reproduce.mncover_tables import (
    COVER,
    METRICS,
    MNCOVER,
    Neurons,
    neurons_of,
)
from s2lct.analysis.reproduce.runner import Cell, Inputs, PaperTable, Reproduction, described
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.suite.checklist import read_checklist

SHUFFLES = 200
DECILES = tuple(tenth / 10 for tenth in range(1, 11))
NAMES = {COVER: "COVER", MNCOVER: "MNCOVER"}
Printed = Mapping[str, Any]
"""What the paper prints of a test, see ``tables.yaml``."""


@dataclass(frozen=True, slots=True)
class TriedTest:
    """A test's name, its cases that are tried with what passes, and how many it has."""

    name: str
    cases: tuple[tuple[Text, frozenset[str]], ...]
    whole: int


@dataclass(frozen=True, slots=True)
class Passed:
    """A test gone through: which cases fail, and how much coverage each brought, by metric."""

    name: str
    whole: int
    failed: list[bool]
    increments: dict[str, list[float]]

    @property
    def rate(self) -> float:
        """The share of the cases tried that fail."""
        return float(np.mean(self.failed))


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a metric leaves of a test at the ten deciles, and what chance leaves.

    Attributes:
        kept: cases that raised coverage at all.
        sizes: of the ten subsets.
        rates: their failure rates.
        control: mean over shuffles of the greatest and of the mean rate of subsets as large.
    """

    kept: int
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    control: tuple[float, float]

    @property
    def figures(self) -> tuple[float, float]:
        """The greatest and the mean of the ten rates."""
        return max(self.rates), float(np.mean(self.rates))


def read_tests(paths: Iterable[Path], limit: int) -> list[TriedTest]:
    """The tests of files of CheckList's cases, each with its first ``limit`` cases, in their order.

    Raises:
        AnalysisError: a file cannot be read.
    """
    found: dict[str, list[tuple[Text, frozenset[str]]]] = {}
    for path in paths:
        if holds_pairs(path):
            for pair in read_pairs(path):
                expected = frozenset(name.casefold() for name in pair.expected)
                found.setdefault(pair.capability, []).append((given(pair), expected))
        else:
            for case in read_checklist(path):
                found.setdefault(case.test, []).append((case.text, frozenset(case.passes)))
    return [TriedTest(name, tuple(cases[:limit]), len(cases)) for name, cases in found.items()]


def pass_through(encoder: EncoderModel, test: TriedTest, start: Mapping[str, Coverage]) -> Passed:
    """Go through a test's cases in order, each of which adds to coverage what it brings.

    A case without an increment leaves coverage as it is, so that only cases that stay count. A
    model of sentiment is read by its label rule; of pairs, the class itself is the label.

    Raises:
        AnalysisError: a case expects a class that the model lacks.
    """
    texts = [text for text, _ in test.cases]
    states = {name: metric.emptied().merge(metric) for name, metric in start.items()}
    increments: dict[str, list[float]] = {name: [] for name in states}
    logits: list[Floats] = []
    for one in encoder.shown_activations(texts, test.name):
        for name, state in states.items():
            marks = state.marks(one)
            increments[name].append(state.growth(marks))
            state.add(marks)
        logits.append(one.logits.astype(np.float64))
    rows = np.exp(np.stack(logits) - np.max(logits, axis=1, keepdims=True))
    if isinstance(texts[0], str):
        rule = rule_for(encoder.classes, model=encoder.name)
        names: tuple[str, ...] = LABELS
        labels = rule.labels(rows / rows.sum(axis=1, keepdims=True)).tolist()
    else:
        names, labels = tuple(map(str.casefold, encoder.classes)), rows.argmax(axis=1).tolist()
    for text, expected in test.cases:
        if not expected or expected - {*names}:
            raise AnalysisError(
                f"case {text!r} expects {', '.join(sorted(expected)) or 'nothing'}; there is "
                f"{', '.join(names)}",
                hint="name the model's classes in expected",
            )
    failed = [
        names[label] not in expected
        for (_, expected), label in zip(test.cases, labels, strict=True)
    ]
    return Passed(test.name, test.whole, failed, increments)


def filtered(
    increments: Sequence[float], failed: Sequence[bool], *, name: str = "", seed: int = 0
) -> Filtered | None:
    """Subsets at the deciles of the increments above 0; None where no case raised coverage.

    The name is the test's: each has shuffles of its own.
    """
    brought, fails = np.array(increments), np.array(failed, dtype=bool)
    raising = brought[brought > 0]
    if not len(raising):
        return None
    subsets = [brought >= bound for bound in np.quantile(raising, DECILES)]
    sizes = [int(subset.sum()) for subset in subsets]
    rates = [float(fails[subset].mean()) for subset in subsets]
    rng = np.random.default_rng([seed, *name.encode()])
    last = np.array(sizes) - 1
    by_chance = np.array(
        [rng.permutation(fails).cumsum()[last] / (last + 1) for _ in range(SHUFFLES)]
    )
    control = float(by_chance.max(axis=1).mean()), float(by_chance.mean())
    return Filtered(len(raising), tuple(sizes), tuple(rates), control)


Shown = Sequence[tuple[Passed, Mapping[str, Filtered | None]]]


def left_of(passed: Sequence[Passed], *, seed: int = 0) -> Shown:
    """Each test with what each metric leaves of it."""
    return [
        (
            one,
            {
                metric: filtered(brought, one.failed, name=one.name, seed=seed)
                for metric, brought in one.increments.items()
            },
        )
        for one in passed
    ]


def table1(inputs: Inputs) -> Reproduction:
    """CheckList's tests of sentiment, filtered by coverage."""
    return _filtered(inputs, pairs=False)


def table6(inputs: Inputs) -> Reproduction:
    """Tests of pairs of texts, filtered by coverage."""
    return _filtered(inputs, pairs=True)


def _filtered(inputs: Inputs, *, pairs: bool) -> Reproduction:
    inputs.need("model", "checklist", "reference")
    about = described(inputs.name)
    tests = read_tests(inputs.checklist, inputs.limit or about["cases"])
    if any(isinstance(text, str) == pairs for test in tests for text, _ in test.cases):
        raise AnalysisError(
            f"{inputs.name}: --checklist holds {'single texts' if pairs else 'pairs'}",
            hint=f"run mncover-table{1 if pairs else 6}, or pass other --checklist files",
        )
    tables, verdicts = [], []
    for model in inputs.model:
        neurons = neurons_of(model, inputs)
        shown = left_of([_kept_pass(neurons, test) for test in tests], seed=inputs.seed)
        tables.append(
            PaperTable.of(
                inputs.name,
                rows_of(shown, about["printed"]),
                number=6 if pairs else 1,
                model=model,
                shuffles=SHUFFLES,
                masks=neurons.about_masks,
                reference=len(neurons.reference),
            )
        )
        verdicts.append(f"{model}: {verdict(shown)}")
    return Reproduction(tables, "\n\n".join(verdicts))


def _kept_pass(neurons: Neurons, test: TriedTest) -> Passed:
    decides = [str(neurons.encoder.device), neurons.reference, neurons.masks.digest]
    cases = [[text, sorted(expected)] for text, expected in test.cases]
    return kept(
        neurons.encoder.fingerprint,
        ["passed", fingerprint_of([decides, test.name, test.whole, cases])],
        TypeAdapter(Passed),
        lambda: pass_through(neurons.encoder, test, neurons.trained()),
    )


def rows_of(shown: Shown, printed: Mapping[str, Printed]) -> list[list[Cell]]:
    """The table as the paper prints it, chance and the paper's own figures beside it."""
    rows: list[list[Cell]] = []
    for one, by_metric in shown:
        n = len(one.failed)
        cells: list[Cell] = [one.name, n, 100 * one.rate]
        for left in by_metric.values():
            if left is None:
                cells += [None] * 4 + [0, None, None]
                continue
            cells += [100 * figure for figure in (*left.figures, *left.control)]
            cells += [left.kept, *(100 * (1 - left.sizes[0] / whole) for whole in (n, one.whole))]
        rows.append([*cells, *_printed(printed.get(one.name.removesuffix(".")))])
    means: list[Cell] = ["mean of rows", None]
    for number in range(2, len(rows[0]) - 4):
        column = [cells[number] for cells in rows]
        values = [cell for cell in column if isinstance(cell, float)]
        means.append(float(np.mean(values)) if values else None)
    return [*rows, [*means, None, *_printed_means(list(printed.values()))]]


def _printed(row: Printed | None) -> list[Cell]:
    if row is None:
        return [None] * 4
    pairs = ["/".join(f"{figure:g}" for figure in row[name]) for name in METRICS]
    return [row["whole"], *pairs, ", ".join(f"{share:g}" for share in row["smaller"])]


def _printed_means(rows: Sequence[Printed]) -> list[Cell]:
    whole = np.array([row["whole"] for row in rows])[:, None]
    deltas = [np.mean(np.array([row[name] for row in rows]) - whole, axis=0) for name in METRICS]
    smaller = np.mean([row["smaller"] for row in rows], axis=0)
    told = [f"Δ {greatest:+.2f}/{mean:+.2f}" for greatest, mean in deltas]
    return [*told, f"{smaller[0]:.2f}, {smaller[1]:.2f}"]


def _above_control(left_of: Sequence[Filtered]) -> list[list[float]]:
    """Of each test, in points, by how much the greatest and the mean rate are above chance."""
    return [[100 * (left.figures[n] - left.control[n]) for left in left_of] for n in (0, 1)]


def _reach(values: Sequence[float]) -> float:
    """Half of the 95 % t-interval of a mean; nan of fewer than two values."""
    if len(values) < 2:
        return float("nan")
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


def _told(values: Sequence[float]) -> str | None:
    return f"{np.mean(values):+.2f} ± {_reach(values):.2f}" if values else None


def verdict(shown: Shown) -> str:
    """Whether the paper's finding comes back, and whether it is more than chance."""
    told: list[str] = []
    for metric, name in NAMES.items():
        pairs = [(one, left) for one, by in shown if (left := by[metric]) is not None]
        if len(pairs) < 2:
            told.append(f"{name} keeps cases of fewer than two tests: nothing to compare.")
            continue
        delta = [100 * np.mean([left.figures[n] - one.rate for one, left in pairs]) for n in (0, 1)]
        by_chance = _above_control([left for _, left in pairs])
        above = [
            what
            for what, values in zip(("max", "mean"), by_chance, strict=True)
            if np.mean(values) - _reach(values) > 0
        ]
        chance = (
            f"the {' and the '.join(above)} above what chance gives"
            if above
            else "neither above what as many cases drawn at random give"
        )
        told.append(
            f"{name}: Δ max {delta[0]:+.2f}, Δ mean {delta[1]:+.2f} points; {chance} (max "
            f"{_told(by_chance[0])}, mean {_told(by_chance[1])})."
        )
    return " ".join(told)
