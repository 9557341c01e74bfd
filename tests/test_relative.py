"""CheckList's invariance and directional tests: expectations, probabilities, the command."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import S2lctWarning
from s2lct.leaderboard.answers.label_rules import Array, LabelRule, rule_for
from s2lct.leaderboard.models.classifier import Function
from s2lct.leaderboard.results.read import read_result
from s2lct.leaderboard.scoring.relative import (
    label_probabilities,
    relative_tests,
    score_relative,
)
from s2lct.suite.checklist import read_relative_cases
from s2lct.suite.expectations import (
    CONFIDENCE_NOT_DOWN,
    CONFIDENCE_NOT_UP,
    INVARIANCE,
    SENTIMENT_NOT_DOWN,
    SENTIMENT_NOT_UP,
    Expectation,
    expectation_of,
)

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
NEGATIVE, NEUTRAL, POSITIVE = range(3)


class Saying:
    """A model that says of a text what a table has for it."""

    name, revision, fingerprint = "saying", "", ""

    def __init__(self, said: Mapping[str, Sequence[float]], classes: tuple[str, ...]) -> None:
        self.said, self.classes = said, classes

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        yield list(range(len(texts))), np.array([self.said[text] for text in texts], dtype=float)


def row(test: str, type_: str, words: str, *texts: str) -> dict[str, Any]:
    return {
        "test": test, "capability": "Of mine", "type": type_, "case": 0, "texts": texts,
        "expectation": words,
    }  # fmt: skip


def write(path: Path, *rows: Mapping[str, Any]) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return f"checklist:{path}"


@pytest.mark.parametrize(
    ("words", "first", "other", "passes"),
    [
        # The same label passes whatever its probability; another one where little moves.
        (INVARIANCE, (0.9, 0.1, 0.0), (0.5, 0.3, 0.2), True),
        (INVARIANCE, (0.46, 0.44, 0.1), (0.37, 0.53, 0.1), True),
        (INVARIANCE, (0.5, 0.4, 0.1), (0.4, 0.5, 0.1), True),
        (INVARIANCE, (0.5, 0.4, 0.1), (0.39, 0.51, 0.1), False),
        # The confidence in the first label may fall by the tolerance.
        (CONFIDENCE_NOT_DOWN, (0.1, 0.1, 0.8), (0.1, 0.2, 0.7), True),
        (CONFIDENCE_NOT_DOWN, (0.1, 0.1, 0.8), (0.1, 0.21, 0.69), False),
        (CONFIDENCE_NOT_DOWN, (0.1, 0.1, 0.8), (0.0, 0.0, 1.0), True),
        (CONFIDENCE_NOT_DOWN, (0.1, 0.8, 0.1), (0.9, 0.0, 0.1), None),
        (CONFIDENCE_NOT_UP, (0.7, 0.2, 0.1), (0.8, 0.1, 0.1), True),
        (CONFIDENCE_NOT_UP, (0.7, 0.2, 0.1), (0.81, 0.1, 0.09), False),
        (CONFIDENCE_NOT_UP, (0.7, 0.2, 0.1), (0.0, 0.0, 1.0), True),
        (CONFIDENCE_NOT_UP, (0.9, 0.05, 0.05), (1.0, 0.0, 0.0), None),
        (CONFIDENCE_NOT_UP, (0.1, 0.8, 0.1), (0.0, 1.0, 0.0), None),
        # Of sentiment, what positive gains and negative loses count together.
        (SENTIMENT_NOT_DOWN, (0.2, 0.2, 0.6), (0.25, 0.2, 0.55), True),
        (SENTIMENT_NOT_DOWN, (0.2, 0.2, 0.6), (0.26, 0.2, 0.54), False),
        (SENTIMENT_NOT_DOWN, (0.2, 0.6, 0.2), (0.4, 0.2, 0.4), True),
        (SENTIMENT_NOT_UP, (0.6, 0.2, 0.2), (0.55, 0.2, 0.25), True),
        (SENTIMENT_NOT_UP, (0.6, 0.2, 0.2), (0.54, 0.2, 0.26), False),
        (SENTIMENT_NOT_UP, (0.1, 0.8, 0.1), (0.9, 0.1, 0.0), True),
    ],
)
def test_expectations_are_checklists(
    words: str, first: Sequence[float], other: Sequence[float], passes: bool | None
) -> None:
    expectation = expectation_of(words)
    assert expectation is not None
    probabilities = np.array([first, other])
    labels = probabilities.argmax(axis=1)
    assert expectation.judged(probabilities, labels) is passes
    # A case passes only where every text does.
    third = np.array([first, first, other])
    assert expectation.judged(third, third.argmax(axis=1)) is passes


def test_a_confidence_too_low_to_fall_is_skipped() -> None:
    expectation = Expectation("confidence_down", 0.4)
    assert (
        expectation.judged(np.array([[0.4, 0.3, 0.3], [0.0, 0.5, 0.5]]), np.array([0, 1])) is None
    )


@given(st.sampled_from([0.0, 0.05, 0.1, 0.25, 1.0]))
def test_the_tolerance_is_read_from_the_words(tolerance: float) -> None:
    for words in (
        INVARIANCE, CONFIDENCE_NOT_DOWN, CONFIDENCE_NOT_UP, SENTIMENT_NOT_DOWN, SENTIMENT_NOT_UP
    ):  # fmt: skip
        found = expectation_of(words.replace("0.1", str(tolerance)))
        assert found is not None
        assert found.tolerance == tolerance


@given(st.text(max_size=60))
def test_other_words_are_no_expectation(words: str) -> None:
    assert expectation_of(words) is None
    assert expectation_of("passes when the label is the same") is None
    assert expectation_of(SENTIMENT_NOT_UP.replace("<=", ">=")) is None


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda ends: (min(ends), max(ends))),
)
def test_two_classes_become_three_probabilities_of_the_same_label(
    positive: list[float], band: tuple[float, float]
) -> None:
    rule = LabelRule(("neg", "pos"), (NEGATIVE, POSITIVE), band)
    table = np.array([[1 - p, p] for p in positive])
    spread = label_probabilities(rule, table)
    assert np.allclose(spread.sum(axis=1), 1)
    assert ((spread >= 0) & (spread <= 1)).all()
    within = rule.labels(table) == NEUTRAL
    assert (spread[within, NEUTRAL] >= 0.5).all()
    assert (spread[~within, NEUTRAL] == 0).all()


def test_the_middle_of_the_band_is_surely_neutral() -> None:
    rule = rule_for(("negative", "positive"))
    table = np.array([[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
    expected = [[0, 1, 0], [0, 0.7, 0.3], [0.1, 0, 0.9]]
    assert np.allclose(label_probabilities(rule, table), expected)


def test_a_model_is_scored_test_by_test(tmp_path: Path) -> None:
    suite = write(
        tmp_path / "mine.jsonl",
        row("typos", "INV", INVARIANCE, "a", "a1", "a2"),
        row("typos", "INV", INVARIANCE, "b", "b1"),
        row("intensifiers", "DIR", CONFIDENCE_NOT_DOWN, "c", "c1"),
        row("intensifiers", "DIR", CONFIDENCE_NOT_DOWN, "d", "d1"),
    )
    said = {
        "a": (0.8, 0.1, 0.1), "a1": (0.7, 0.2, 0.1), "a2": (0.1, 0.2, 0.7),
        "b": (0.8, 0.1, 0.1), "b1": (0.8, 0.1, 0.1),
        "c": (0.1, 0.1, 0.8), "c1": (0.1, 0.5, 0.4),
        "d": (0.1, 0.8, 0.1), "d1": (0.8, 0.1, 0.1),
    }  # fmt: skip
    tests = relative_tests(suite)
    model = Saying(said, ("negative", "neutral", "positive"))
    typos, intensifiers = score_relative(model, tests)
    assert typos.passed == (False, True)
    assert intensifiers.passed == (False, None)
    assert (typos.rate and typos.rate.failure_rate, typos.skipped) == (0.5, 0)
    assert (intensifiers.rate and intensifiers.rate.cases, intensifiers.skipped) == (1, 1)
    (first,) = relative_tests(suite, ["TYPOS"], limit=1)
    assert [case.texts[0] for case in first.cases] == ["a"]
    assert relative_tests(suite, kind="seed") == ()
    assert relative_tests(str(tmp_path)) == ()


def test_labels_alone_are_told_and_left_out(tmp_path: Path) -> None:
    tests = relative_tests(write(tmp_path / "m.jsonl", row("t", "INV", INVARIANCE, "a", "a1")))
    sure = Saying({"a": (1, 0, 0), "a1": (0, 0, 1)}, ("negative", "neutral", "positive"))
    for model in (sure, Function(lambda texts: [0] * len(texts), "constant")):
        with pytest.warns(S2lctWarning, match="1 invariance and directional tests are left out"):
            assert score_relative(model, tests) == ()


def test_a_test_that_expects_something_unknown_is_left_out(tmp_path: Path) -> None:
    suite = write(
        tmp_path / "m.jsonl",
        row("known", "INV", INVARIANCE, "a", "a1"),
        row("strange", "DIR", "the moon rises", "a", "a1"),
    )
    with pytest.warns(S2lctWarning, match="'strange' is left out"):
        assert [test.name for test in relative_tests(suite)] == ["known"]


def s2lct(*arguments: str | Path, code: int = 0) -> str:
    done = runner.invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


CASES = [
    {"test": "single positive words", "capability": "Vocabulary", "texts": ["lovely"],
     "expected": ["positive"]},
    row("typos", "INV", INVARIANCE, "The tram is lovely.", "The tram is lovley."),
    row("intensifiers", "DIR", CONFIDENCE_NOT_DOWN, "A lovely tram.", "A very lovely tram."),
]  # fmt: skip


def test_the_command_shows_them_beside_the_result(tmp_path: Path) -> None:
    suite = write(tmp_path / "mixed.jsonl", *CASES)
    out = tmp_path / "out"
    told = s2lct("score", "embedded-3class", "vader", "--suite", suite, "--out", out)
    assert "vader: 2 invariance and directional tests are left out" in told
    assert "typos INV 1" in told
    result = read_result(out / "embedded-3class.json")
    assert list(result.capabilities) == ["single-positive-words"]
    assert result.overall.cases == 1
    with (out / "embedded-3class.relative.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(one["test"], one["type"]) for one in rows] == [
        ("typos", "INV"),
        ("intensifiers", "DIR"),
    ]
    assert {one["outcome"] for one in rows} <= {"passed", "failed", "skipped"}
    assert not list(out.glob("vader*.csv"))
    part = s2lct(
        "score", "embedded-3class", "--suite", suite, "--capability", "typos", "--out", out
    )
    assert "typos INV 1" in part
    assert "intensifiers" not in part
    seeds = s2lct("score", "vader", "--suite", suite, "--kind", "seed", "--out", out)
    assert "left out" not in seeds
    unknown = s2lct("score", "vader", "--suite", suite, "--capability", "x", "--out", out, code=1)
    assert "has no capability x" in unknown


def test_a_file_without_minimum_functionality_has_no_result(tmp_path: Path) -> None:
    suite = write(tmp_path / "relative.jsonl", *CASES[1:])
    out = tmp_path / "out"
    assert "typos" in s2lct("score", "embedded-3class", "--suite", suite, "--out", out)
    assert [path.name for path in out.iterdir()] == ["embedded-3class.relative.csv"]
    said = tmp_path / "said.jsonl"
    said.write_text('{"text": "The tram is lovely.", "label": "positive"}\n')
    told = s2lct("score", "--predictions", said, "--suite", suite, "--out", out, code=1)
    assert "nothing is asked for that a result can hold" in told


def test_given_probabilities_are_enough(tmp_path: Path) -> None:
    suite = write(tmp_path / "mixed.jsonl", *CASES)
    shares = {"negative": 0.1, "neutral": 0.2, "positive": 0.7}
    texts = [text for case in CASES for text in case["texts"]]
    said = tmp_path / "said.jsonl"
    said.write_text("".join(json.dumps({"text": text, **shares}) + "\n" for text in texts))
    out = tmp_path / "out"
    told = s2lct("score", "--predictions", said, "--suite", suite, "--out", out)
    assert "typos INV 1 0.0" in told
    assert "intensifiers DIR 1 0.0" in told
    said.write_text("".join(json.dumps({"text": text, **shares}) + "\n" for text in texts[:3]))
    told = s2lct("score", "--predictions", said, "--suite", suite, "--out", out)
    assert "'intensifiers' is left out: 2 of its 2 texts have no probabilities" in told
    said.write_text('{"text": "lovely", "label": "positive"}\n')
    told = s2lct("score", "--predictions", said, "--suite", suite, "--out", out)
    assert "2 invariance and directional tests are left out" in told


@pytest.mark.shared_data
def test_every_expectation_of_the_release_is_known(shared_folder: Path) -> None:
    path = shared_folder / "data" / "checklist" / "sentiment_inv_dir.jsonl.gz"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tests = relative_tests(f"checklist:{path}")
    assert len(tests) == 18
    assert sum(len(test.cases) for test in tests) == len(read_relative_cases(path)) == 17_508
    assert {test.expectation.tolerance for test in tests} == {0.1}
    skipping = {test.name for test in tests if test.expectation.skips_neutral}
    assert skipping == {"intensifiers", "reducers", '"used to" should reduce'}
