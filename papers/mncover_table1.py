"""Tables 1 and 6 of MNCOVER: do cases that raise coverage fail more often than others?

The cases of a test are tried in order; coverage starts from the coverage of the training set. Ten
subsets are made of the cases that raise coverage: for each decile of their increments, the cases
with an increment at least as large. The last subset is the case with the largest increment, and
ties. The failure rates of the subsets are compared with those of random nested subsets of the same
sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np

from s2lct.analysis.coverage.criteria import Criterion
from s2lct.analysis.coverage.encoder import EncoderModel, ModelInput
from s2lct.analysis.coverage.measure import PAIRS_PREFIX, read_pairs
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.suite.other_suites import read_checklist

SHUFFLES = 200
DECILES = np.arange(1, 11) / 10
# The paper's figures of each test: failure rate; maximum/mean over thresholds by COVER and by
# MNCOVER; reductions of the test's size. In percent, of BERT-base on SST-2 and on QQP.
PRINTED = """
change names | 5.14 | 100/16.86 | 100/16.86 | 62.84, 62.84
add negative phrases | 6.8 | 100/19.16 | 99.34/19.16 | 75.4, 75.99
protected: race | 68 | 100/73.02 | 99.37/72.13 | 44.33, 43.54
used to, but now | 29.87 | 53.3/46.27 | 53.3/46.75 | 84.61, 84.61
protected: sexual | 86.83 | 100/87.31 | 100/88.99 | 83.83, 86.83
change locations | 8.69 | 21.43/8.31 | 21.43/8.31 | 86.47, 86.93
change neutral words with BERT | 9.8 | 20/13.04 | 20.84/13.39 | 73.4, 73.88
contractions | 2.9 | 5.52/3.94 | 8.22/4.34 | 34.8, 34.8
2 typos | 11.6 | 18/11.14 | 16/10.87 | 10, 10
change numbers | 3.2 | 7.14/3.94 | 7.14/3.29 | 87.7, 88.44
typos | 6.6 | 10/6.45 | 10/6.24 | 10, 10
neutral words in context | 96.73 | 100/96.91 | 100/96.82 | 21.33, 28.5
protected: religion | 96.83 | 100/93.42 | 100/98.02 | 89.67, 89.67
add random urls and handles | 15.4 | 14.63/9.17 | 17.86/11.56 | 87.6, 87.6
simple negations: not neutral is still neutral | 97.93 | 100/98.49 | 100/98.34 | 45.67, 46.03
simple negations: not negative | 10.4 | 12/9.56 | 12.42/9.9 | 80.11, 80.37
my opinion is what matters | 41.53 | 42.49/36.79 | 43.14/36.79 | 84.16, 84.32
punctuation | 5.4 | 6.8/5.37 | 6.8/6.26 | 10, 9.11
Q & A: yes | 0.4 | 1.33/0.5 | 1.71/0.49 | 82.33, 83.14
Q & A: no | 85.2 | 86.33/76.42 | 86.22/77.16 | 82.34, 83.12
simple negations: negative | 6.13 | 7.33/5.63 | 7.12/5.7 | 78.63, 78.71
reducers | 0.13 | 0.27/0.1 | 1.03/0.1 | 67, 66.77
intensifiers | 1.33 | 1.05/0.31 | 1.83/1.01 | 66.65, 66.96
"""
PRINTED_OF_PAIRS = """
Change first name in one of the questions | 63 | 100/59.4 | 100/64.49 | 98.2, 98.2
add one typo | 19.4 | 28.57/23.17 | 29.41/23.52 | 88, 88
Product of paraphrases(q1) * paraphrases(q2) | 95 | 100/100 | 100/100 | 99, 99
Replace synonyms in real pairs | 8.37 | 13.33/7.89 | 12.5/8.81 | 73.31, 73.31
Symmetry: f(a, b) = f(b, a) | 6 | 8.33/4.83 | 10/4.61 | 82, 82
Testing implications | 15.07 | 15.25/7.9 | 15.25/7.46 | 99.29, 99.29
same adjectives, different people v3 | 100 | 100/100 | 100/100 | 81.82, 81.82
same adjectives, different people | 100 | 100/100 | 100/100 | 81.48, 81.48
Change same location in both questions | 5 | 0/0 | 0/0 | 96.6, 96.6
"""
PRINTED_MEANS = ("", "Δ +13.51/+1.10", "Δ +13.78/+1.55", "62.99, 63.57")
PRINTED_MEANS_OF_PAIRS = ("", "Δ +5.96/-0.96", "Δ +6.15/-0.33", "88.86, 88.86")
PAPER_CASES, PAPER_PAIRS = 1_500, 200
"""The numbers of cases of a test, and of pairs, that the paper tries; it takes the first ones."""
COLUMNS = (
    *("test", "n", "D"),
    *(
        f"{metric} {figure}"
        for metric in ("COVER", "MNCOVER")
        for figure in (
            *("max", "mean", "max by chance", "mean by chance"),
            *("kept at 0", "smaller", "of whole"),
        )
    ),
    *("paper D", "paper COVER", "paper MNCOVER", "paper smaller"),
)


class CheckListTest(NamedTuple):
    """A test: its name, its tried cases with their passing classes, and its number of all cases."""

    name: str
    cases: list[tuple[ModelInput, frozenset[str]]]
    size: int


class TriedTest(NamedTuple):
    """Whether each case of a test fails, and the increment of coverage by each, by metric."""

    failed: list[bool]
    increments: dict[str, list[float]]


def main(
    model: common.Models,
    checklist: common.CheckLists,
    reference: common.ReferenceCorpus,
    reference_cases: common.ReferenceCases = None,
    masks: common.MasksFile = None,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Print Table 1 of MNCOVER: failure rates of tests and of their subsets.

    With a reference of pairs of texts (pairs:FILE) and tests of pairs, print Table 6.
    """
    is_pairs = reference.startswith(PAIRS_PREFIX)
    tests = read_tests(checklist, limit or (PAPER_PAIRS if is_pairs else PAPER_CASES))
    for name in model:
        measured = common.measured_model(name, reference, reference_cases, masks, seed, device)
        title = f"Table {6 if is_pairs else 1} of MNCOVER with {name}: failure rates, %"
        print_filtered(title, measured, tests, is_pairs, seed)


def print_filtered(
    title: str,
    measured: common.MeasuredModel,
    tests: Sequence[CheckListTest],
    is_pairs: bool,
    random_seed: int,
) -> None:
    """Print failure rates of tests and of their subsets, beside the paper's figures."""
    lines = (PRINTED_OF_PAIRS if is_pairs else PRINTED).strip().splitlines()
    printed = {test: figures for test, *figures in (line.split(" | ") for line in lines)}
    encoder = measured.encoder
    rows: list[list[common.Cell]] = []
    for test in tests:
        cases = [[text, sorted(passes)] for text, passes in test.cases]
        tried = common.cached(
            encoder.fingerprint,
            __file__,
            ["tried", *measured.inputs, test.name, cases],
            TriedTest,
            lambda: try_test(encoder, test, measured.criteria_after_training_set),  # noqa: B023
        )
        row: list[common.Cell] = [test.name, len(tried.failed), 100 * float(np.mean(tried.failed))]
        for increments in tried.increments.values():
            row += metric_cells(
                increments, tried.failed, test.size, [random_seed, *test.name.encode()]
            )
        rows.append([*row, *printed.get(test.name.removesuffix("."), [None] * 4)])
    means: list[common.Cell] = ["mean of rows", None]
    for column in list(zip(*rows, strict=True))[2:-4]:
        figures = [cell for cell in column if isinstance(cell, float)]
        means.append(float(np.mean(figures)) if figures else None)
    printed_means = PRINTED_MEANS_OF_PAIRS if is_pairs else PRINTED_MEANS
    notes = [
        "D is the failure rate of the cases tried; max and mean are over the ten deciles of the "
        "increments; smaller is the subset at the first decile, of the cases tried and of the "
        "whole test. By chance: random subsets of the same sizes, nested alike, means of "
        f"{SHUFFLES} shuffles; the maximum, too, is the greatest of ten rates. The last row "
        "averages rows: its max is the mean of the rows' maxima, which no one suite has, and of "
        "the paper the differences from D.",
        *measured.notes,
        f"Coverage starts from what {len(measured.reference.texts):,} texts of the training set "
        "cover; these set the ranges, too.",
    ]
    common.print_table(title, COLUMNS, [*rows, [*means, *printed_means]], notes)


def read_tests(paths: Sequence[Path], limit: int | None) -> list[CheckListTest]:
    """The tests of files of CheckList's cases or of pairs, each with its first ``limit`` cases."""
    cases: dict[str, list[tuple[ModelInput, frozenset[str]]]] = {}
    for path in paths:
        pairs = read_pairs(path)
        for pair in pairs:
            passes = frozenset(name.casefold() for name in pair.expected)
            cases.setdefault(pair.test, []).append((pair.texts, passes))
        for case in [] if pairs else read_checklist(path):
            cases.setdefault(case.test, []).append((case.text, frozenset(case.passes)))
    return [
        CheckListTest(name, test_cases[:limit], len(test_cases))
        for name, test_cases in cases.items()
    ]


def try_test(
    encoder: EncoderModel, test: CheckListTest, start: Mapping[str, Criterion]
) -> TriedTest:
    """Try a test's cases in order; each adds its flags to the coverage so far.

    The label of a single text is read by the model's label rule; for a pair, the predicted class
    is the label.
    """
    texts = [text for text, _ in test.cases]
    states = {name: criterion.copy() for name, criterion in start.items()}
    increments: dict[str, list[float]] = {name: [] for name in states}
    logits = []
    for activations in encoder.activations(texts, test.name):
        for name, state in states.items():
            flags = state.flags_of(activations)
            increments[name].append(state.growth(flags))
            state.add(flags)
        logits.append(activations.logits.astype(np.float64))
    if isinstance(texts[0], str):
        exponentials = np.exp(np.stack(logits) - np.max(logits, axis=1, keepdims=True))
        rule = rule_for(encoder.classes, model=encoder.name)
        names: tuple[str, ...] = LABELS
        labels = rule.labels(exponentials / exponentials.sum(axis=1, keepdims=True)).tolist()
    else:
        names = tuple(map(str.casefold, encoder.classes))
        labels = np.argmax(logits, axis=1).tolist()
    for text, passes in test.cases:
        if not passes or passes - {*names}:
            raise AnalysisError(
                f"case {text!r} expects {', '.join(sorted(passes)) or 'nothing'}; the model's "
                f"classes are {', '.join(names)}",
                hint="name the model's classes in expected",
            )
    failed = [
        names[label] not in passes for label, (_, passes) in zip(labels, test.cases, strict=True)
    ]
    return TriedTest(failed, increments)


def metric_cells(
    increments: Sequence[float], failed: Sequence[bool], n_cases: int, random_seed: Sequence[int]
) -> list[common.Cell]:
    """The table cells of a metric for a test, from the increment and failure of each tried case.

    The cells are, in percent but for the count:

    - the maximum and mean failure rate over the subsets at the ten deciles,
    - the same two figures of random subsets,
    - the number of cases that raise coverage,
    - the reduction in size from the tried cases to the first subset, and from all ``n_cases``.
    """
    increment_array, failed_array = np.array(increments), np.array(failed)
    positive = increment_array[increment_array > 0]
    if not len(positive):
        return [*[None] * 4, 0, None, None]
    subsets = [increment_array >= bound for bound in np.quantile(positive, DECILES)]
    sizes = np.array([int(subset.sum()) for subset in subsets])
    rates = np.array([failed_array[subset].mean() for subset in subsets])
    rng = np.random.default_rng(random_seed)
    by_chance = np.array(
        [rng.permutation(failed_array).cumsum()[sizes - 1] / sizes for _ in range(SHUFFLES)]
    )
    figures = (rates.max(), rates.mean(), by_chance.max(axis=1).mean(), by_chance.mean())
    reductions = [100 * float(1 - sizes[0] / size) for size in (len(increments), n_cases)]
    return [*(100 * float(figure) for figure in figures), len(positive), *reductions]


if __name__ == "__main__":
    common.run(main)
