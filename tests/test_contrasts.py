"""Contrasts are in a suite and in what is exported, and in no failure rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import edited_suite

from s2lct.errors import ScoringError
from s2lct.leaderboard.integrations.metric import S2lct, compute
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import load_cases
from s2lct.suite.export import export_suite, families, lines_of
from s2lct.suite.read import read_suite

pytestmark = pytest.mark.usefixtures("own_cache")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> list[Row]:
    """Rows of LC4, each of whose seeds has a contrast."""
    found = read_suite(suite_folder).rows["LC4"]
    assert {row["kind"] for row in found} == {"seed", "expansion", "counterpart"}
    return found


def test_contrasts_are_no_cases_and_the_fingerprint_covers_them(
    suite_folder: Path, tmp_path: Path
) -> None:
    plain = edited_suite(
        suite_folder,
        tmp_path / "plain",
        "1.0.1",
        lambda _, rows: [row for row in rows if row["kind"] != "counterpart"],
    )
    both, without = load_cases(suite_folder), load_cases(plain)
    assert both.cases == without.cases
    assert both.fingerprint != without.fingerprint
    with pytest.raises(ScoringError, match="seed or expansion"):
        both.select(kind="counterpart")


def test_predictions_for_contrasts_count_in_no_failure_rate(
    suite_folder: Path, rows: list[Row]
) -> None:
    def rates(figures: Any) -> dict[str, Any]:
        return {
            name: {part: value for part, value in of.items() if part != "both_sides"}
            for name, of in figures.items()
        }

    expected = rates(
        score(load_classifier("vader"), load_cases(suite_folder).select(["LC4"])).figures.nested()
    )
    cases = load_cases(rows)
    labels = score(load_classifier("vader"), cases).labels.tolist()
    predicted = dict(zip((case.id for case in cases.cases), labels, strict=False))
    ids = [row["id"] for row in rows]
    for wrong in range(3):
        predictions = [predicted.get(id, wrong) for id in ids]
        found = compute(predictions=predictions, references=rows)
        assert rates(found) == expected
        assert found["LC4"]["both_sides"]["pairs"] == len(rows) - len(predicted)
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
        compute(predictions=[0] * len(alone), references=alone, suite=suite_folder)


def test_an_export_has_contrasts_and_checklists_tests_have_none(
    suite_folder: Path, tmp_path: Path
) -> None:
    every = sum(map(len, read_suite(suite_folder).rows.values()))
    assert export_suite(suite_folder, tmp_path / "all.jsonl", "jsonl") == every
    export_suite(suite_folder, tmp_path / "tests.json", "checklist")
    tests = json.loads((tmp_path / "tests.json").read_text())["tests"]
    exported = [id for test in tests for group in test["ids"] for id in group]
    assert sorted(exported) == sorted(case.id for case in load_cases(suite_folder).cases)


def test_inspecting_a_suite_shows_each_contrast_behind_its_seed(suite_folder: Path) -> None:
    for family in families(suite_folder, ["LC4"], 2)["LC4"]:
        assert [row["kind"] for row in family[:2]] == ["seed", "counterpart"]
        shown = [str(line) for line in lines_of(family)]
        assert family[1]["text"] in shown[1]
        for line, row in zip(shown, family, strict=True):
            assert all(f"[{word['word']}]" in line for word in row["inserted"])
