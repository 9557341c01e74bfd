"""CheckList's invariance and directional tests: what a model says of a text against the original.

They need probabilities, and pass or fail by what the model itself says of the original. So they
are in no result file, whose outcomes follow from labels alone; a table of their own has them.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from s2lct.errors import AnalysisError, S2lctWarning, ScoringError
from s2lct.files import is_folder, write_text
from s2lct.labels import TASK
from s2lct.leaderboard.answers import label_rules as rules
from s2lct.leaderboard.answers.label_rules import Array, LabelRule
from s2lct.leaderboard.models.classifier import Classifier, Function
from s2lct.leaderboard.models.text_model import TextModel
from s2lct.leaderboard.scoring.ask import Advance, probabilities_of
from s2lct.leaderboard.scoring.statistics import Rate, evidence, rates_of
from s2lct.plain_text import spreadsheet_cell
from s2lct.suite.cases import SuiteCases, load_cases
from s2lct.suite.checklist import RelativeCase, holds_cases, read_relative_cases
from s2lct.suite.checklist_release import id_of_test
from s2lct.suite.expectations import Expectation, expectation_of
from s2lct.suite.other_suites import CHECKLIST

_PASSED, _FAILED, _SKIPPED = "passed", "failed", "skipped"
_COLUMNS = ("test", "capability", "type", "case", "outcome", "original")


@dataclass(frozen=True)
class RelativeTest:
    """A test: name, what CheckList calls its capability and type, cases, what it expects."""

    name: str
    capability: str
    type: str
    cases: tuple[RelativeCase, ...]
    expectation: Expectation

    @property
    def id(self) -> str:
        """What it is called beside the capabilities of a suite."""
        return id_of_test(self.name)

    @property
    def texts(self) -> list[str]:
        """All texts, each once."""
        return list(dict.fromkeys(text for case in self.cases for text in case.texts))


@dataclass(frozen=True)
class RelativeScore:
    """What a model does on a test: of each case whether it passes, None where it is skipped."""

    test: RelativeTest
    passed: tuple[bool | None, ...]

    @property
    def skipped(self) -> int:
        """How many cases cannot be judged."""
        return sum(one is None for one in self.passed)

    @property
    def rate(self) -> Rate | None:
        """The failure rate of the cases that are judged, with its interval; None without any."""
        judged = np.array([not one for one in self.passed if one is not None], dtype=bool)
        if not len(judged):
            return None
        told = evidence(judged[None].astype(np.float64), np.ones(len(judged)))
        return rates_of(judged[None], told)[0]


@dataclass(frozen=True)
class RelativeScores:
    """A model's scores on the tests, and the file that has them case by case."""

    model: str
    scores: tuple[RelativeScore, ...]
    file: Path


def relative_tests(
    suite: str,
    capabilities: Sequence[str] = (),
    kind: str | None = None,
    limit: int | None = None,
) -> tuple[RelativeTest, ...]:
    """The invariance and directional tests of a suite; none of a suite that is not CheckList's.

    Tests whose expectation is in words that nobody knows are left out with a warning.

    Args:
        suite: as for `cases.load_cases`.
        capabilities: only tests called so; empty for all.
        kind: any but None stands for cases of a result, and there is no test.
        limit: most cases of a test; None for all.

    Raises:
        ScoringError: the file cannot be read.
    """
    form, _, path = suite.partition(":")
    if kind is not None or form != CHECKLIST or is_folder(Path(suite)):
        return ()
    try:
        cases = read_relative_cases(Path(path))
    except AnalysisError as error:
        raise ScoringError(error.problem, hint=error.hint) from error
    of_test: dict[tuple[str, str, str, str], list[RelativeCase]] = {}
    for case in cases:
        of = (case.test, case.capability, case.type, case.expectation)
        of_test.setdefault(of, []).append(case)
    asked = {name.casefold() for name in capabilities}
    tests: list[RelativeTest] = []
    for (name, capability, type_, words), found in of_test.items():
        if asked and id_of_test(name).casefold() not in asked:
            continue
        if (expectation := expectation_of(words)) is None:
            warnings.warn(
                f"{path}: the test {name!r} is left out: nothing is known of what it expects "
                f"({words[:80]!r})",
                S2lctWarning,
                stacklevel=2,
            )
            continue
        tests.append(RelativeTest(name, capability, type_, tuple(found[:limit]), expectation))
    return tuple(tests)


def cases_beside(
    suite: str,
    tests: Sequence[RelativeTest],
    capabilities: Sequence[str] = (),
    kind: str | None = None,
    limit: int | None = None,
) -> SuiteCases | None:
    """The cases of a suite that its result is of; None where only its tests are asked for.

    Args:
        suite: as for `cases.load_cases`.
        tests: its `relative_tests`.
        capabilities: of the suite, or names of these tests.
        kind: see `SuiteCases.select`.
        limit: likewise.

    Raises:
        ScoringError: there is no such suite, or nothing is left of it.
    """
    if tests and not holds_cases(Path(suite.partition(":")[2])):
        return None
    ids = {test.id.casefold() for test in tests}
    rest = [name for name in capabilities if name.casefold() not in ids]
    if capabilities and not rest:
        return None
    return load_cases(suite).select(rest or None, kind, limit)


def score_relative(
    model: Classifier | Function | TextModel,
    tests: Sequence[RelativeTest],
    *,
    label_map: Mapping[str, str] | None = None,
    neutral_band: tuple[float, float] = rules.NEUTRAL_BAND,
    cache: Path | None = None,
    bar: Callable[[str, int], Advance] | None = None,
) -> tuple[RelativeScore, ...]:
    """Score a model on tests; none, with a warning, where it gives labels without probabilities.

    Args:
        model: asked every text of the tests once.
        tests: see `relative_tests`.
        label_map: see `labels.check_label_map`.
        neutral_band: see `LabelRule`.
        cache: see `ask.probabilities_of`.
        bar: makes what is told how many texts were done.

    Raises:
        ScoringError: the model's classes or outputs cannot be used.
    """
    if not tests:
        return ()
    if isinstance(model, (Function, TextModel)):
        _warn_of_labels(model.name, tests)
        return ()
    texts = list(dict.fromkeys(text for test in tests for text in test.texts))
    rule = rules.rule_for(
        model.classes, model=model.name, label_map=label_map, neutral_band=neutral_band
    )
    advance = bar(f"{model.name}, relative tests", len(texts)) if bar else None
    table = probabilities_of(model, texts, cache, advance)
    return scores_of(model.name, tests, rule, dict(zip(texts, table, strict=True)))


def scores_of(
    model: str, tests: Sequence[RelativeTest], rule: LabelRule | None, said: Mapping[str, Array]
) -> tuple[RelativeScore, ...]:
    """Scores from what a model said of texts: probabilities of the rule's classes.

    Without a rule, or where they are all 0 and 1, there are labels alone: then there are no scores,
    and a warning; likewise for a test of which a text is missing.
    """
    if not tests:
        return ()
    if rule is None or _are_labels(said):
        _warn_of_labels(model, tests)
        return ()
    texts = list(said)
    number_of = {text: number for number, text in enumerate(texts)}
    table = np.array([said[text] for text in texts]).reshape(len(texts), len(rule.classes))
    labels, spread = rule.labels(table), label_probabilities(rule, table)
    scores: list[RelativeScore] = []
    for test in tests:
        if missing := sum(text not in number_of for text in test.texts):
            warnings.warn(
                f"{model}: the test {test.name!r} is left out: {missing:,} of its "
                f"{len(test.texts):,} texts have no probabilities",
                S2lctWarning,
                stacklevel=2,
            )
            continue
        passed = []
        for case in test.cases:
            numbers = [number_of[text] for text in case.texts]
            passed.append(test.expectation.judged(spread[numbers], labels[numbers]))
        scores.append(RelativeScore(test, tuple(passed)))
    return tuple(scores)


def label_probabilities(rule: LabelRule, probabilities: Array) -> Array:
    """Probabilities of the three labels, shape (texts, 3), of those of a model's classes.

    A model without a neutral class gets one as CheckList's authors gave theirs: within the neutral
    band the probability of neutral rises from 0.5 at its ends to 1 in its middle, and the rest is
    that of the nearer end; outside it is 0.
    """
    folded = rule.folded(probabilities)
    if rule.has_neutral:
        return folded
    (low, high), task = rule.neutral_band, rule.task
    positive = folded[:, task.high]
    middle, width = (low + high) / 2, high - low
    within = (low < positive) & (positive < high)
    if not within.any():
        return folded
    neutral = 1 - np.abs(positive[within] - middle) / width
    spread = folded.copy()
    spread[within] = 0
    spread[within, task.middle] = neutral
    upper = positive[within] >= middle
    spread[within, task.high] = np.where(upper, 1 - neutral, 0)
    spread[within, task.low] = np.where(upper, 0, 1 - neutral)
    return spread


def write_scores(scores: Sequence[RelativeScore], path: Path) -> None:
    """Write what became of each case as CSV, a row a case, whole or not at all."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    told = {True: _PASSED, False: _FAILED, None: _SKIPPED}
    for score in scores:
        test = score.test
        for number, (case, passed) in enumerate(zip(test.cases, score.passed, strict=True)):
            row = (test.name, test.capability, test.type, number, told[passed], case.texts[0])
            writer.writerow(map(spreadsheet_cell, row))
    write_text(path, file.getvalue())


def _are_labels(said: Mapping[str, Array]) -> bool:
    return all(bool(np.isin(row, (0.0, 1.0)).all()) for row in said.values())


def _warn_of_labels(model: str, tests: Sequence[RelativeTest]) -> None:
    warnings.warn(
        f"{model}: {len(tests)} invariance and directional tests are left out: they need "
        f"probabilities, and the model gives labels alone ({', '.join(TASK.labels)})",
        S2lctWarning,
        stacklevel=3,
    )
