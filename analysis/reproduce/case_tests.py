"""The tests that filtering goes through: CheckList's, of sentiment or of pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.coverage.suites import given, holds_pairs, read_pairs
from s2lct.analysis.reproduce.expectations import Expectation, expectation_of, label_probabilities
from s2lct.errors import AnalysisError
from s2lct.leaderboard.answers.label_rules import LabelRule, rule_for
from s2lct.suite.checklist import holds_cases, read_checklist, read_relative_cases


@dataclass(frozen=True, slots=True)
class TriedCase:
    """Texts, the original first, and the labels of the first that pass, or what they are held to.

    A case of several texts is one unit: it is kept, or dropped, with all of them.
    """

    texts: tuple[Text, ...]
    expected: frozenset[str] | Expectation


@dataclass(frozen=True, slots=True)
class TriedTest:
    """A test's name, the cases that are tried, and how many it has."""

    name: str
    cases: tuple[TriedCase, ...]
    whole: int


def read_tests(paths: Iterable[Path], limit: int) -> list[TriedTest]:
    """The tests of files of CheckList's cases, each with its first ``limit`` cases, in their order.

    Raises:
        AnalysisError: there is no file, or one that cannot be read, holds no case, or expects in
            words that nobody knows.
    """
    found: dict[str, list[TriedCase]] = {}
    for path in paths:
        for name, case in _cases(path):
            found.setdefault(name, []).append(case)
    if not found:
        raise AnalysisError(
            "--checklist: no case is given", hint="pass a file of CheckList's cases as JSON lines"
        )
    return [TriedTest(name, tuple(own[:limit]), len(own)) for name, own in found.items()]


def _cases(path: Path) -> Iterator[tuple[str, TriedCase]]:
    if holds_pairs(path):
        for pair in read_pairs(path):
            yield pair.capability, TriedCase((given(pair),), frozenset(pair.expected))
        return
    relative = read_relative_cases(path)
    if not relative or holds_cases(path):
        for case in read_checklist(path):
            yield case.test, TriedCase((case.text,), frozenset(case.passes))
    for one in relative:
        if (expectation := expectation_of(one.expectation)) is None:
            raise AnalysisError(
                f"{path}: test {one.test!r} expects {one.expectation[:80]!r}, which is not known",
                hint="leave the test out, or word it as CheckList's released tests are",
            )
        yield one.test, TriedCase(one.texts, expectation)


class Judge:
    """Says which cases a model fails, by its logits.

    A model of sentiment is read by its label rule; of pairs, the class itself is the label.
    """

    def __init__(self, encoder: EncoderModel, *, pairs: bool) -> None:
        self._rule: LabelRule | None = None
        self._names = tuple(name.casefold() for name in encoder.classes)
        if not pairs:
            self._rule = rule_for(encoder.classes, model=encoder.name)
            self._names = tuple(self._rule.task.labels)

    def fails(self, case: TriedCase, logits: npt.NDArray[np.float32]) -> bool:
        """Whether a case fails, by the logits of its texts, shape (texts, classes).

        A case that its expectation cannot judge counts as passed, as in the paper, whose rates are
        shares of all cases of a test.

        Raises:
            AnalysisError: it expects a class that the model lacks, or nothing.
        """
        raw = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        probabilities = raw / raw.sum(axis=1, keepdims=True)
        labels = probabilities.argmax(axis=1)
        if self._rule is not None:
            labels = self._rule.labels(probabilities)
            probabilities = label_probabilities(self._rule, probabilities)
        if isinstance(case.expected, Expectation):
            return case.expected.judged(probabilities, labels) is False
        expected = {name.casefold() for name in case.expected}
        if not expected or expected - {*self._names}:
            told = ", ".join(sorted(case.expected)) or "nothing"
            raise AnalysisError(
                f"case {case.texts[0]!r} expects {told}; there is {', '.join(self._names)}",
                hint="name the model's classes in expected",
            )
        return self._names[labels[0]] not in expected


def are_pairs(tests: Sequence[TriedTest]) -> bool:
    """Whether the texts are pairs.

    Raises:
        AnalysisError: some are, and some are not.
    """
    kinds = {isinstance(text, str) for test in tests for case in test.cases for text in case.texts}
    if len(kinds) > 1:
        raise AnalysisError(
            "--checklist: files of single texts and of pairs", hint="give them to runs of their own"
        )
    return kinds == {False}
