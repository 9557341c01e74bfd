"""Seeds right on both sides: what a model that evades passes, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import edited_suite
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.labels import LABELS
from s2lct.leaderboard.models.classifier import Function
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results.comparison import compare_sides
from s2lct.leaderboard.results.read import Suites, read_result, read_scored
from s2lct.leaderboard.results.submission import check
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.figures import references
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.suite.cases import Case, SuiteCases, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
TWO_LABELS = ["LC4", "LC6", "LC11"]


@pytest.fixture(scope="module")
def suite(suite_folder: Path) -> SuiteCases:
    return load_cases(suite_folder)


def answering(suite: SuiteCases, answer: Callable[[Case], int | None], name: str) -> Outcomes:
    """A model that says of each case what ``answer`` says; neutral where that is None."""
    of_text = {case.text: answer(case) for case in suite.asked}
    return score(
        Function(
            lambda texts: [1 if of_text[t] is None else of_text[t] for t in texts], name, None
        ),
        suite,
    )


def always_neutral(suite: SuiteCases) -> Outcomes:
    return answering(suite, lambda _: 1, "org/evasive")


def right(suite: SuiteCases) -> Outcomes:
    """Answers every case and every counterpart rightly."""
    return answering(suite, lambda case: min(case.passes), "org/right")


def without(figures: dict[str, Any]) -> dict[str, Any]:
    """Figures without what is right on both sides."""
    return {
        name: {part: value for part, value in of.items() if part != "both_sides"}
        for name, of in figures.items()
    }


def test_a_model_that_always_says_neutral_passes_two_labels_and_is_right_on_no_both_sides(
    suite: SuiteCases,
) -> None:
    found = always_neutral(suite).figures.nested()
    with_pairs = {name for name, of in found.items() if "both_sides" in of} - {"overall"}
    assert with_pairs and with_pairs <= set(TWO_LABELS)
    for name in with_pairs:
        assert found[name]["all"]["failure_rate"] == 0
        assert found[name]["both_sides"]["share"] == 0
        assert found[name]["both_sides"]["pairs"] == sum(
            one.capability == name for one in suite.counterparts
        )
    assert found["overall"]["both_sides"]["share"] == 0
    assert right(suite).figures.overall.both_sides.share == 1
    known = references(suite.cases, suite.counterparts)
    told = {name: one.both_sides for name, one in known.items()}
    constant = [told[f"always-{label}"] for label in LABELS]
    assert constant == [0, 0, 0]
    assert told["random"] == pytest.approx(2 / 9)  # two labels pass, and then one


def test_counterparts_move_no_other_figure_and_a_suite_without_them_shows_none(
    suite_folder: Path, suite: SuiteCases, tmp_path: Path
) -> None:
    plain = load_cases(
        edited_suite(
            suite_folder,
            tmp_path / "plain",
            "1.0.1",
            lambda _, rows: [row for row in rows if row["kind"] != "counterpart"],
        )
    )
    vader = load_classifier("vader")
    asked, bare = (score(vader, of).figures.nested() for of in (suite, plain))
    assert "both_sides" in asked["overall"]
    assert without(asked) == bare
    result = read_result(write_result(score(vader, plain), tmp_path))
    assert result.overall.both_sides is None
    assert all(of.both_sides is None for of in result.capabilities.values())
    done = runner.invoke(app, ["report", str(tmp_path / "vader.json")])
    assert done.exit_code == 0, done.output
    assert "both" not in done.output


@given(data=st.data())
def test_the_share_is_of_seeds_that_pass_with_their_counterparts(
    suite_folder: Path, data: st.DataObject
) -> None:
    suite = load_cases(suite_folder).select(["LC4"])
    drawn = data.draw(
        st.lists(st.integers(0, 2), min_size=len(suite.asked), max_size=len(suite.asked))
    )
    said = {case.id: label for case, label in zip(suite.asked, drawn, strict=True)}
    outcomes = answering_ids(suite, said)
    passing = {case.id: said[case.id] in case.passes for case in suite.asked}
    pairs = [(one.seed_id, one.id) for one in suite.counterparts]
    expected = sum(passing[seed] and passing[other] for seed, other in pairs)
    of = outcomes.figures.nested()["LC4"]["both_sides"]
    assert (of["pairs"], of["right"]) == (len(pairs), expected)
    assert of["share"] == pytest.approx(expected / len(pairs))
    assert 0 <= of["ci"][0] <= of["share"] <= of["ci"][1] <= 1


def answering_ids(suite: SuiteCases, said: dict[str, int]) -> Outcomes:
    predictions = [LABELS[said[case.id]] for case in suite.asked]
    return score(Function(lambda _: predictions, "org/drawn", None), suite)


def test_pairs_of_one_family_count_as_one_where_they_fare_alike() -> None:
    def made(sentences: int) -> Outcomes:
        passes, opposite = frozenset({1, 2}), frozenset({0})
        seeds = [
            Case(
                f"s{n}", "LC4", "seed", f"s{n}", f"It isn't bad, {n}.", passes,
                sources=(f"films:{n % sentences}",),
            )
            for n in range(40)
        ]  # fmt: skip
        others = [
            Case(f"c{n}", "LC4", "counterpart", f"s{n}", f"It is bad, {n}.", opposite)
            for n in range(40)
        ]
        suite = SuiteCases("mine", "1.0.0", "0" * 64, tuple(seeds), counterparts=tuple(others))
        said = {case.id: 2 for case in seeds}
        said |= {one.id: 0 if n % sentences < sentences // 2 else 1 for n, one in enumerate(others)}
        return answering_ids(suite, said)

    few, many = (made(n).figures.nested()["LC4"]["both_sides"] for n in (4, 40))
    assert few["share"] == many["share"] == 0.5
    assert few["ci"][1] - few["ci"][0] > 1.5 * (many["ci"][1] - many["ci"][0])


def test_a_submission_answers_the_counterparts_too(suite: SuiteCases, tmp_path: Path) -> None:
    vader = score(load_classifier("vader"), suite)
    honest = check(write_result(vader, tmp_path), suite, rescore=True)
    assert honest.accepted and honest.rescored == len(suite.asked)
    lie = vader.labels.copy()
    lie[len(suite.cases) :] = (lie[len(suite.cases) :] + 1) % len(LABELS)
    lying = write_result(replace(vader, labels=lie), tmp_path)
    (reason,) = check(lying, suite, rescore=True).reasons
    assert "the model says something else" in reason


def test_a_comparison_shows_and_tests_both_sides(suite: SuiteCases, tmp_path: Path) -> None:
    paths = [write_result(of(suite), tmp_path) for of in (right, always_neutral)]
    one, other = (read_scored(path, Suites([suite])).outcomes for path in paths)
    sides = compare_sides(one, other)
    assert list(sides) == list(dict.fromkeys(c.capability for c in suite.counterparts))
    for name, compared in sides.items():
        assert compared.rates == (0, 1)
        pairs = sum(c.capability == name for c in suite.counterparts)
        assert (compared.cases, compared.second_only) == (pairs, pairs)
    done = runner.invoke(app, ["compare", *map(str, paths)])
    assert done.exit_code == 0 and "Right on both sides" in done.output, done.output
