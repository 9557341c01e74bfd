"""Consistency: what a model that evades passes, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.integrations.metric import S2lct, compute
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.model import Function
from s2lct.leaderboard.results.comparison import compare, paired_contrasts
from s2lct.leaderboard.results.read_results import Suites, read_scored
from s2lct.leaderboard.results.submission import check
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.figures import references
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.suite.cases import Case, SuiteCases, load_suite
from s2lct.suite.read import read_suite

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
Row = dict[str, Any]
TWO_LABELS, ONE_LABEL = ["LC4", "LC6", "LC11"], ["LC3", "LC5", "LC7", "LC8", "LC9", "LC10"]


@pytest.fixture(scope="module")
def suite(suite_folder: Path) -> SuiteCases:
    return load_suite(suite_folder)


def answering(suite: SuiteCases, answer: Callable[[Case], int | None], name: str) -> Outcomes:
    """A model that says of each case what ``answer`` says; neutral where that is None."""
    of_text = {case.text: answer(case) for case in suite.with_contrasts}
    return score(
        Function(
            lambda texts: [1 if of_text[t] is None else of_text[t] for t in texts], name, LABELS
        ),
        suite,
    )


def always_neutral(suite: SuiteCases) -> Outcomes:
    return answering(suite, lambda _: 1, "org/evasive")


def right(suite: SuiteCases) -> Outcomes:
    """Answers every case and every contrast rightly."""
    return answering(suite, lambda case: min(case.passes), "org/right")


def test_a_model_that_always_says_neutral_passes_two_labels_and_is_not_consistent(
    suite: SuiteCases,
) -> None:
    found = always_neutral(suite).figures.nested()
    with_pairs = {name for name, of in found.items() if "consistency" in of} - {"overall"}
    assert with_pairs >= {*TWO_LABELS, *ONE_LABEL}
    for name in with_pairs:
        assert found[name]["all"]["failure_rate"] == 0 or name not in TWO_LABELS
        assert found[name]["consistency"]["share"] == 0
        assert found[name]["consistency"]["pairs"] == sum(
            one.capability == name for one in suite.contrasts
        )
    assert found["overall"]["consistency"]["macro"] == 0
    assert right(suite).figures.overall.consistency.macro == 1
    known = references(suite.cases, suite.contrasts)
    told = {name: one.consistency.macro for name, one in known.items()}
    constant = [told[f"always-{label}"] for label in LABELS]
    assert constant == [0, 0, 0]
    two = suite.select(["LC4"])
    of_two = references(two.cases, two.contrasts)["random"]
    assert of_two.consistency.macro == pytest.approx(2 / 9)  # two labels pass, and then one
    assert 1 / 9 < told["random"] < 2 / 9


def test_an_expansion_has_the_contrast_of_its_seed_with_the_same_words(suite_folder: Path) -> None:
    rows = {row["id"]: row for some in read_suite(suite_folder).rows.values() for row in some}
    contrasts = {row["seed_id"]: row for row in rows.values() if row["kind"] == "contrast"}
    expansions = [row for row in rows.values() if row["kind"] == "expansion"]
    found = [(row, contrasts[row["id"]]) for row in expansions if row["id"] in contrasts]
    assert found
    for expansion, contrast in found:
        assert not {*expansion["labels"]} & {*contrast["labels"]}
        if contrast["capability"] != "LC5":  # whose contrast is of another sentence
            inserted = [[w["word"] for w in row["inserted"]] for row in (expansion, contrast)]
            assert inserted[0] and inserted[0] == inserted[1]


@given(data=st.data())
def test_the_share_is_of_seeds_that_pass_with_their_contrasts(
    suite_folder: Path, data: st.DataObject
) -> None:
    suite = load_suite(suite_folder).select(["LC4"])
    drawn = data.draw(
        st.lists(
            st.integers(0, 2),
            min_size=len(suite.with_contrasts),
            max_size=len(suite.with_contrasts),
        )
    )
    said = {case.id: label for case, label in zip(suite.with_contrasts, drawn, strict=True)}
    outcomes = answering_ids(suite, said)
    passing = {case.id: said[case.id] in case.passes for case in suite.with_contrasts}
    pairs = [(one.seed_id, one.id) for one in suite.contrasts]
    expected = sum(passing[seed] and passing[other] for seed, other in pairs)
    of = outcomes.figures.nested()["LC4"]["consistency"]
    assert (of["pairs"], of["right"]) == (len(pairs), expected)
    assert of["share"] == pytest.approx(expected / len(pairs))
    assert 0 <= of["ci"][0] <= of["share"] <= of["ci"][1] <= 1


def answering_ids(suite: SuiteCases, said: dict[str, int]) -> Outcomes:
    predictions = [LABELS[said[case.id]] for case in suite.with_contrasts]
    return score(Function(lambda _: predictions, "org/drawn", None), suite)


def test_a_submission_answers_the_contrasts_too(suite: SuiteCases, tmp_path: Path) -> None:
    vader = score(load_model("vader"), suite)
    honest = check(write_result(vader, tmp_path), suite, rescore=True)
    assert honest.accepted and honest.rescored == len(suite.with_contrasts)
    lie = vader.labels.copy()
    lie[len(suite.cases) :] = (lie[len(suite.cases) :] + 1) % len(LABELS)
    lying = write_result(replace(vader, labels=lie, probabilities=None), tmp_path)
    (reason,) = check(lying, suite, rescore=True).reasons
    assert "the model says something else" in reason


def test_a_comparison_shows_and_tests_consistency(suite: SuiteCases, tmp_path: Path) -> None:
    paths = [write_result(of(suite), tmp_path) for of in (right, always_neutral)]
    one, other = (read_scored(path, Suites([suite])).outcomes for path in paths)
    found = compare(*paired_contrasts(one, other))
    assert list(found) == ["mean", *dict.fromkeys(c.capability for c in suite.contrasts)]
    for name, compared in found.items():
        assert compared.rates == (0, 1)
        pairs = sum(name in ("mean", c.capability) for c in suite.contrasts)
        assert (compared.case_count, compared.second_only) == (pairs, pairs)
    done = runner.invoke(app, ["compare", *map(str, paths)])
    told = " ".join(done.output.split())
    assert (
        done.exit_code == 0 and "org/evasive, consistency: better in the mean, better on" in told
    ), done.output


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> list[Row]:
    """Rows of LC4, each of whose seeds has a contrast."""
    found = read_suite(suite_folder).rows["LC4"]
    assert {row["kind"] for row in found} == {"seed", "expansion", "contrast"}
    return found


def test_predictions_for_contrasts_count_in_no_failure_rate(
    suite_folder: Path, rows: list[Row]
) -> None:
    def rates(figures: Any) -> dict[str, Any]:
        return {
            name: {part: value for part, value in of.items() if part != "consistency"}
            for name, of in figures.items()
        }

    expected = rates(
        score(load_model("vader"), load_suite(suite_folder).select(["LC4"])).figures.nested()
    )
    cases = load_suite(rows)
    labels = score(load_model("vader"), cases).labels.tolist()
    names = [LABELS[label] for label in labels]
    predicted = dict(zip((case.id for case in cases.cases), names, strict=False))
    ids = [row["id"] for row in rows]
    for wrong in LABELS:
        predictions = [predicted.get(id, wrong) for id in ids]
        found = compute(predictions=predictions, references=rows)
        assert rates(found) == expected
        assert found["LC4"]["consistency"]["pairs"] == len(rows) - len(predicted)
        assert compute(predictions=predictions, references=ids, suite=suite_folder) == found
        added = S2lct()
        for prediction, row in zip(predictions, rows, strict=True):
            added.add(prediction=prediction, reference=row)
        assert added.compute() == found
    fewer = list(predicted)
    given = [predicted[id] for id in fewer]
    assert compute(predictions=given, references=fewer, suite=suite_folder) == expected
    alone = [id for id in ids if id not in predicted]
    with pytest.raises(ScoringError):
        compute(predictions=["negative"] * len(alone), references=alone, suite=suite_folder)
