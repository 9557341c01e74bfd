"""Tables 1 and 6 and Figure 4 of MNCOVER: what stays where texts must raise coverage.

Tables 1 and 6: do the cases that raise coverage fail more often than the others? In their order,
the cases of a test stay that raise coverage at all. The increments that they brought are cut at
their ten deciles; at each, those stay whose increment is as large. Beside the failure rates of
these ten subsets, the last of which is a single case (and ties), stands what chance gives: subsets
of the same sizes, nested alike, of cases drawn at random.

Figure 4: training sentences go through the transformations of experiment 4, each for itself. A text
is dropped if it adds less than a threshold. The paper's unit cannot be coverage itself, of which no
text can add 0.1 and few 0.001; so growth is taken both ways: as coverage, and as a share of what is
covered already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.augment import TRANSFORMATIONS
from s2lct.analysis.coverage.criteria import Coverage, Marks
from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.coverage.measure import read_pairs
from s2lct.analysis.kept import kept
from s2lct.analysis.reproduce.mncover_tables import (
    METRICS,
    MNCOVER,
    Neurons,
    Rows,
    by_model,
)
from s2lct.analysis.reproduce.runner import Cell, Inputs, PaperTable, described
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of, rng_for
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.suite.other_suites import read_checklist

SHUFFLES = 200
DECILES = tuple(tenth / 10 for tenth in range(1, 11))
PRINTED: dict[float, float] = described("mncover-figure4")["printed"]
UNITS = ("coverage", "share")
FILTERS = tuple(product(UNITS, PRINTED))
"""What a text has to add, by unit: coverage, or a share of what is covered already."""


class TriedTest(NamedTuple):
    """A test's name, its cases that are tried with what passes, and how many it has."""

    name: str
    cases: list[tuple[Text, frozenset[str]]]
    whole: int


class Passed(NamedTuple):
    """A test gone through: which cases fail, and how much coverage each brought, by metric."""

    name: str
    whole: int
    failed: list[bool]
    increments: dict[str, list[float]]


class Filtered(NamedTuple):
    """What a metric leaves of a test at the ten deciles, and what chance leaves.

    Attributes:
        kept: cases that raised coverage at all.
        sizes: of the ten subsets.
        figures: the greatest and the mean of their failure rates.
        control: likewise of subsets as large, means over shuffles.
    """

    kept: int
    sizes: list[int]
    figures: tuple[float, float]
    control: tuple[float, float]


def read_tests(paths: Iterable[Path], limit: int) -> list[TriedTest]:
    """The tests of files of CheckList's cases, each with its first ``limit`` cases, in their order.

    Raises:
        AnalysisError: a file cannot be read.
    """
    found: dict[str, list[tuple[Text, frozenset[str]]]] = {}
    for path in paths:
        pairs = read_pairs(path)
        for pair in pairs:
            expected = frozenset(name.casefold() for name in pair.expected)
            found.setdefault(pair.test, []).append((pair.texts, expected))
        for case in [] if pairs else read_checklist(path):
            found.setdefault(case.test, []).append((case.text, frozenset(case.passes)))
    return [TriedTest(name, cases[:limit], len(cases)) for name, cases in found.items()]


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
    logits = []
    for computed in encoder.shown_activations(texts, test.name):
        for name, state in states.items():
            marks = state.marks(computed)
            increments[name].append(state.growth(marks))
            state.add(marks)
        logits.append(computed.logits.astype(np.float64))
    if isinstance(texts[0], str):
        rows = np.exp(np.stack(logits) - np.max(logits, axis=1, keepdims=True))
        rule = rule_for(encoder.classes, model=encoder.name)
        names: tuple[str, ...] = LABELS
        labels = rule.labels(rows / rows.sum(axis=1, keepdims=True)).tolist()
    else:
        names = tuple(map(str.casefold, encoder.classes))
        labels = np.argmax(logits, axis=1).tolist()
    for text, expected in test.cases:
        if not expected or expected - {*names}:
            raise AnalysisError(
                f"case {text!r} expects {', '.join(sorted(expected)) or 'nothing'}; there is "
                f"{', '.join(names)}",
                hint="name the model's classes in expected",
            )
    failed = [
        names[label] not in expected
        for label, (_, expected) in zip(labels, test.cases, strict=True)
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
    return Filtered(len(raising), sizes, (max(rates), float(np.mean(rates))), control)


def tables1_and_6(inputs: Inputs) -> list[PaperTable]:
    """CheckList's tests of sentiment, and of pairs of texts, filtered by coverage."""
    inputs.need("model", "checklist", "reference")
    table = described(inputs.name)
    tests = read_tests(inputs.checklist, inputs.limit or table["cases"])

    def make(neurons: Neurons) -> tuple[Rows, dict[str, Any]]:
        def passed(test: TriedTest) -> Passed:
            cases = [[text, sorted(expected)] for text, expected in test.cases]
            decides = fingerprint_of([neurons.decides, test.name, test.whole, cases])
            return kept(
                neurons.encoder.fingerprint,
                ["passed", decides],
                TypeAdapter(Passed),
                lambda: pass_through(neurons.encoder, test, neurons.trained),
            )

        about = {"shuffles": SHUFFLES, "reference": len(neurons.reference.texts)}
        rows = [row_of(passed(test), table["printed"], inputs.seed) for test in tests]
        means: list[Cell] = ["mean of rows", None]
        for column in list(zip(*rows, strict=True))[2:-4]:
            values = [cell for cell in column if isinstance(cell, float)]
            means.append(float(np.mean(values)) if values else None)
        return [*rows, [*means, None, *table["printed_means"]]], about

    return by_model(inputs, make)


def row_of(test: Passed, printed: Mapping[str, Mapping[str, Any]], seed: int = 0) -> list[Cell]:
    """A row as the paper prints it, in percent, with chance and the paper's figures beside it."""
    n = len(test.failed)
    row: list[Cell] = [test.name, n, 100 * float(np.mean(test.failed))]
    for brought in test.increments.values():
        found = filtered(brought, test.failed, name=test.name, seed=seed)
        if found is None:
            row += [None] * 4 + [0, None, None]
            continue
        row += [100 * figure for figure in (*found.figures, *found.control)]
        row += [found.kept, *(100 * (1 - found.sizes[0] / whole) for whole in (n, test.whole))]
    paper = printed.get(test.name.removesuffix("."))
    if paper is None:
        return [*row, *[None] * 4]
    pairs = ["/".join(f"{figure:g}" for figure in paper[name]) for name in METRICS]
    return [*row, paper["whole"], *pairs, ", ".join(f"{share:g}" for share in paper["smaller"])]


def reductions(metric: Coverage, marks: Iterable[Marks]) -> list[tuple[float, float]]:
    """The share of texts that each of `FILTERS` drops, and the share of coverage that it leaves.

    Texts come in their order, by what they cover; coverage starts empty.
    """
    whole, texts = metric.emptied(), 0
    states = [metric.emptied() for _ in FILTERS]
    reached, stay = [0.0] * len(FILTERS), [0] * len(FILTERS)
    for of_text in marks:
        whole.add(of_text)
        texts += 1
        for number, (unit, threshold) in enumerate(FILTERS):
            growth = states[number].growth(of_text)
            if growth > 0 and growth >= threshold * (reached[number] if unit == "share" else 1):
                states[number].add(of_text)
                reached[number] += growth
                stay[number] += 1
    return [(1 - n / texts, left / whole.value) for n, left in zip(stay, reached, strict=True)]


def figure4(inputs: Inputs) -> list[PaperTable]:
    """What Figure 4's thresholds drop; ``limit`` is the most training sentences."""

    def make(neurons: Neurons) -> tuple[Rows, dict[str, Any]]:
        metric, encoder = neurons.metrics[MNCOVER], neurons.encoder
        sentences = neurons.reference.texts[: inputs.limit]

        def of_texts(name: str, texts: Sequence[str]) -> list[tuple[float, float]]:
            about = ["reductions", name, fingerprint_of([neurons.decides, texts])]
            marks = map(metric.marks, encoder.shown_activations(texts, name))
            adapter = TypeAdapter(list[tuple[float, float]])
            return kept(encoder.fingerprint, about, adapter, lambda: reductions(metric, marks))

        changed = {name: changed_texts(name, sentences, inputs.seed) for name in TRANSFORMATIONS}
        found = [of_texts(name, texts) for name, texts in changed.items() if texts]
        means = 100 * np.mean(found, axis=0).reshape(len(UNITS), len(PRINTED), 2)
        rows: Rows = [
            [f"{threshold:g}", *means[:, number].ravel().tolist(), figure]
            for number, (threshold, figure) in enumerate(PRINTED.items())
        ]
        about = {"sentences": len(sentences), "transformations": len(found)}
        return rows, about

    return by_model(inputs, make)


def changed_texts(transformation: str, texts: Sequence[Text], seed: int) -> list[str]:
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
        rng = rng_for(seed, "growth", transformation, text)
        changed = TRANSFORMATIONS[transformation](text, rng)
        if changed is not None and changed != text:
            made.append(changed)
    return list(dict.fromkeys(made))
