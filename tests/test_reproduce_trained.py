"""What retraining and explanations of the S²LCT paper rest on, counted a second time."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from test_reproduce_suite import checklist, labels_by, model, rows_of

from s2lct.analysis.commands.models import explain
from s2lct.analysis.reproduce import s2lct_tables
from s2lct.analysis.reproduce.commands import reproduce
from s2lct.analysis.reproduce.s2lct_tables import MARK
from s2lct.analysis.retrain import Retrainer, Run
from s2lct.suite import cases as suite_cases
from s2lct.suite.cases import load_cases

__all__ = ["checklist", "model"]
pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]


@pytest.fixture(autouse=True)
def few_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train and explain on two capabilities of a suite alone, which is quick."""
    for module in (s2lct_tables, suite_cases):
        monkeypatch.setattr(
            module, "load_cases", lambda suite: load_cases(suite).select(["LC2", "LC4"])
        )


def test_retraining_tells_what_turned_on_either_suite(
    suite_folder: Path,
    checklist: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: dict[str, Run] = {}
    train = Retrainer.run

    def run(self: Retrainer, name: str, *given: Any, **named: Any) -> Run:
        runs[name] = train(self, name, *given, **named)
        return runs[name]

    monkeypatch.setattr(Retrainer, "run", run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have too few cases
        made = reproduce(
            name="s2lct-retraining",
            model=(str(model),),
            suite=str(suite_folder),
            checklist=(checklist,),
            limit=8,
            seeds=1,
            out=tmp_path,
        )
    assert {"all", "all*"} < runs.keys()

    # What the model predicts of each case before, asked one by one.
    cases = {case.id: case for case in load_cases(suite_folder).cases}
    predicted = labels_by(model, [case.text for case in cases.values()])
    outcomes = [one for run in runs.values() for one in run.outcomes if one.id in cases]
    assert outcomes
    for one in outcomes:
        assert one.before == (predicted[cases[one.id].text] not in cases[one.id].passes)

    # The table has the other suite's same capability.
    rows = {
        (row["trained on"], row["tested on"]): row
        for row in rows_of(made)
        if row["model"] == str(model)
    }
    assert rows
    for (name, to), row in rows.items():
        assert {name, to} == {name.strip(MARK), name.strip(MARK) + MARK}
        counted = [
            (one.before, one.after)
            for one in runs[name].outcomes
            if one.capability == to
            or (to.strip(MARK) == "all" and one.capability.endswith(MARK) == to.endswith(MARK))
        ]
        assert row["cases"] == len(counted)
        assert row["fail-to-pass"] == counted.count((True, False))
        assert row["pass-to-fail"] == counted.count((False, True))
        assert row["fail before"] == sum(before for before, _ in counted)
        assert row["pass before"] == sum(not before for before, _ in counted)
        assert row["fail after"] == sum(after for _, after in counted)
        assert row["pass after"] == sum(not after for _, after in counted)


def test_explanations_count_the_sets_that_explain_finds(suite_folder: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"suite": str(suite_folder), "limit": 2}
    made = reproduce(name="s2lct-explanations", model=("vader",), **options, out=tmp_path / "out")
    explain(model="vader", **options, out=tmp_path / "explain.json")
    by_capability: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads((tmp_path / "explain.json").read_text("utf-8"))["explanations"]:
        by_capability.setdefault(one["capability"], []).append(one)
    rows = {row["capability"]: row for row in rows_of(made)}
    assert set(rows) == set(by_capability)
    for name, explained in by_capability.items():
        kept = [[word for word in one["words"] if word["kept"]] for one in explained]
        row = rows[name]
        assert row["failures"] == len(explained) <= 2
        assert row["words kept"] == pytest.approx(fmean(map(len, kept)))
        assert row["words in all"] == pytest.approx(fmean(len(one["words"]) for one in explained))
        parts = [{word["part"] for word in words} for words in kept]
        assert row["on the template"] == sum("template" in of for of in parts)
        assert row["on the sentence alone"] == sum(of == {"source"} for of in parts)
        assert row["on nothing"] == sum(not of for of in parts)
        assert row["mean P"] == pytest.approx(fmean(one["probability"] for one in explained))
