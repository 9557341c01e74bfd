"""Counterparts: every reader of rows leaves them out of failure rates and of what it trains on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import Rows, edited_suite

from s2lct.errors import ScoringError
from s2lct.leaderboard.integrations.evaluate_metric import S2lct
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import load_cases
from s2lct.suite.export import export_suite
from s2lct.suite.inspect import families, lines_of
from s2lct.suite.read import read_suite

pytestmark = pytest.mark.usefixtures("own_cache")


def _without(rows: Rows) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] != "counterpart"]


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> list[dict[str, Any]]:
    """Rows of LC4, each of whose seeds has a counterpart."""
    found = read_suite(suite_folder).rows["LC4"]
    assert {row["kind"] for row in found} == {"seed", "expansion", "counterpart"}
    return found


def test_counterparts_are_no_cases_and_the_fingerprint_covers_them(
    suite_folder: Path, tmp_path: Path
) -> None:
    plain = edited_suite(suite_folder, tmp_path / "plain", "1.0.1", lambda _, rows: _without(rows))
    both = load_cases(suite_folder), load_cases(plain)
    assert both[0].cases == both[1].cases
    assert both[0].fingerprint != both[1].fingerprint
    with pytest.raises(ScoringError, match="pass seed or expansion"):
        both[0].select(kind="counterpart")


def _rates(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {part: value for part, value in of.items() if part != "both_sides"}
        for name, of in figures.items()
    }


def test_predictions_may_come_for_counterparts_too_and_count_in_no_failure_rate(
    suite_folder: Path, rows: list[dict[str, Any]]
) -> None:
    expected = _rates(compute(model="vader", suite=suite_folder, capabilities=["LC4"]))
    cases = load_cases(rows)
    answers = dict(
        zip(
            (case.id for case in cases.cases),
            score(load_classifier("vader"), cases).labels.tolist(),
            strict=True,
        )
    )
    for wrong in range(3):
        said = [answers.get(row["id"], wrong) for row in rows]
        ids = [row["id"] for row in rows]
        found = compute(predictions=said, references=rows)
        assert _rates(found) == expected
        assert found["LC4"]["both_sides"]["pairs"] == len(rows) - len(_without(rows))
        assert compute(predictions=said, references=ids, suite=suite_folder) == found
        added = S2lct()
        for prediction, row in zip(said, rows, strict=True):
            added.add(prediction=prediction, reference=row)
        assert added.compute() == found
    fewer = [row["id"] for row in _without(rows)]
    assert (
        compute(predictions=[answers[id] for id in fewer], references=fewer, suite=suite_folder)
        == expected
    )


def test_predictions_are_told_by_their_place_among_all_references(
    suite_folder: Path, rows: list[dict[str, Any]]
) -> None:
    with pytest.raises(ScoringError, match=f"{len(rows) - 1} predictions for {len(rows)} ref"):
        compute(predictions=[0] * (len(rows) - 1), references=rows)
    last = len(rows) - 1
    with pytest.raises(ScoringError, match=rf"predictions\[{last}\]"):
        compute(predictions=[0] * last + [True], references=rows)
    place = next(n for n, row in enumerate(rows) if row["kind"] == "counterpart")
    with pytest.raises(ScoringError, match=rf"predictions\[{place}\]"):
        compute(predictions=[0] * place + [7] + [0] * (last - place), references=rows)


def test_counterparts_alone_are_nothing_to_score(
    suite_folder: Path, rows: list[dict[str, Any]]
) -> None:
    alone = [row for row in rows if row["kind"] == "counterpart"]
    with pytest.raises(ScoringError, match="counterparts alone"):
        compute(
            predictions=[0] * len(alone),
            references=[row["id"] for row in alone],
            suite=suite_folder,
        )
    with pytest.raises(ScoringError, match="is not in the suite"):
        compute(predictions=[0] * len(alone), references=alone)


def test_an_export_has_counterparts_and_checklists_tests_have_none(
    suite_folder: Path, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    every = sum(map(len, read_suite(suite_folder).rows.values()))
    assert export_suite(suite_folder, tmp_path / "all.jsonl", "jsonl") == every
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == every
    export_suite(suite_folder, tmp_path / "tests.json", "checklist")
    tests = json.loads((tmp_path / "tests.json").read_text())["tests"]
    exported = [id for test in tests for group in test["ids"] for id in group]
    assert sorted(exported) == sorted(case.id for case in load_cases(suite_folder).cases)


def test_inspecting_a_suite_shows_each_counterpart_behind_its_seed(suite_folder: Path) -> None:
    for family in families(suite_folder, ["LC4"], 2)["LC4"]:
        seed, counterpart, *_ = family
        assert (seed["kind"], counterpart["kind"]) == ("seed", "counterpart")
        shown = [str(line) for line in lines_of(family)]
        assert len(shown) == len(family)
        assert shown[1].startswith(f"  ↔ {counterpart['text']}  (")
        for line, row in zip(shown, family, strict=True):
            marked = [word["word"] for word in row["inserted"]]
            assert [one.strip("[]") for one in re.findall(r"\[[^]]+\]", line)] == marked
