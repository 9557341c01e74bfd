"""Tables 1 and 6 of MNCOVER: do the tests that raise coverage fail more often than the others?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from s2lct.analysis.coverage.criteria import Coverage, Marks
from s2lct.analysis.coverage.encoder import Activations
from s2lct.analysis.progress import Advance
from s2lct.analysis.reproduce import mncover_figures as paper
from s2lct.analysis.reproduce.case_tests import Judge, TriedCase, TriedTest, are_pairs, read_tests
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.deciles import Passed, rows_of
from s2lct.analysis.reproduce.filtering_report import beside, paper_form, verdict
from s2lct.analysis.reproduce.neurons import COUNTED, Neurons, neurons_of
from s2lct.analysis.reproduce.paper_table import PaperTable
from s2lct.analysis.reproduce.suite_inputs import needed_models
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars


def pass_through(
    neurons: Neurons,
    test: TriedTest,
    start: Mapping[str, Coverage],
    judge: Judge,
    advance: Advance,
) -> Passed:
    """Go through a test's cases in order, each of which adds to coverage what it brings.

    A case without an increment leaves coverage as it is, so that only cases that stay count.
    """
    states = {name: metric.emptied().merge(metric) for name, metric in start.items()}
    brought = {name: [0.0] * len(test.cases) for name in states}
    failed: list[bool] = []
    flat = [(number, text) for number, case in enumerate(test.cases) for text in case.texts]

    def seen(one: Activations) -> tuple[npt.NDArray[np.float32], dict[str, Marks]]:
        return one.logits, {name: state.marks(one) for name, state in states.items()}

    logits: list[npt.NDArray[np.float32]] = []
    found = neurons.encoder.activations([text for _, text in flat])
    for (number, _), (said, marks) in zip(flat, map(seen, found), strict=True):
        for name, state in states.items():
            brought[name][number] += state.growth(marks[name])
            state.add(marks[name])
        logits.append(said)
        case: TriedCase = test.cases[number]
        if len(logits) == len(case.texts):
            failed.append(judge.fails(case, np.stack(logits)))
            logits = []
            advance(1)
    return Passed(test.name, test.whole, failed, brought)


def table1(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Table 1: CheckList's tests of sentiment, filtered by coverage."""
    return _tables(options, steps, bars, "Table 1", paper.TABLE_1, paper.MOST_TESTS, pairs=False)


def table6(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Table 6: tests of pairs of texts, filtered by coverage."""
    return _tables(
        options, steps, bars, "Table 6", paper.TABLE_6, paper.MOST_PAIR_TESTS, pairs=True
    )


def _tables(
    options: ReproduceOptions,
    steps: Checkpoints,
    bars: Bars,
    title: str,
    printed: Mapping[str, paper.Row],
    limit: int,
    *,
    pairs: bool,
) -> Reproduction:
    models = needed_models(options)
    tests = read_tests(options.checklist, options.limit or limit)
    if are_pairs(tests) != pairs:
        raise AnalysisError(
            f"{options.name}: the tests are of {'single texts' if pairs else 'pairs'}",
            hint=f"run mncover-table{1 if pairs else 6}, or pass other --checklist files",
        )
    tables: list[PaperTable] = []
    verdicts: list[str] = []
    adapter = TypeAdapter(Passed)
    for model in models:
        neurons = neurons_of(model, options, steps, bars)
        judge = Judge(neurons.encoder, pairs=pairs)
        empty = options.start == "empty"
        start = neurons.metrics if empty else neurons.trained()
        bar = bars(model, sum(len(test.cases) for test in tests))
        rows: list[Passed] = []
        for test in tests:
            name = f"{neurons.encoder.fingerprint[:12]}-{fingerprint_of(test.name)[:12]}"
            if (kept := steps.kept(name, adapter)) is None:
                kept = steps.keep(name, adapter, pass_through(neurons, test, start, judge, bar))
            else:
                bar(len(test.cases))
            rows.append(kept)
        shown = rows_of(rows, seed=options.seed)
        notes = (COUNTED, neurons.about_masks, _started(options, neurons))
        tables += [paper_form(title, model, shown, printed, notes), beside(title, model, shown)]
        verdicts.append(f"{model}: {verdict(shown)}")
    return Reproduction(tables, "\n\n".join(verdicts))


def _started(options: ReproduceOptions, neurons: Neurons) -> str:
    number = f"{len(neurons.reference):,}"
    if options.start == "empty":
        return f"Coverage starts empty; ranges come from {number} texts of the training set."
    return f"Coverage starts from what {number} texts of the training set cover, ranges too."
