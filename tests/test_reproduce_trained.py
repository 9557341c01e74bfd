"""What retraining and explanations of the S²LCT paper rest on, counted a second time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from test_reproduce_suite import MADE_UP, checklist, model, rows_of, said_by, written

from s2lct.analysis.commands.explain import explain
from s2lct.analysis.reproduce.commands import reproduce
from s2lct.analysis.reproduce.s2lct_retraining import MARK
from s2lct.analysis.retrain.records import Run
from s2lct.analysis.retrain.train import Retrainer
from s2lct.labels import LABELS
from s2lct.suite.cases import load_cases

__all__ = ["checklist", "model"]
pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]


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
    with pytest.warns(UserWarning, match="too few"):
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

    # Each case by its text: what the model says of it before, asked one by one.
    texts = {case.id: case for case in load_cases(suite_folder).cases}
    said = said_by(model, [case.text for case in texts.values()] + [t for _, t, _ in MADE_UP])
    passes = {text: {LABELS.index(one) for one in labels} for _, text, labels in MADE_UP}
    for found in runs.values():
        wrong = Counter[str]()
        for one in found.cases:
            if one.id in texts:
                case = texts[one.id]
                assert one.before == (said[case.text] not in case.passes)
            else:
                wrong[one.capability] += one.before
        fails = Counter(text for text, fit in passes.items() if said[text] not in fit)
        like_that = [t for test, t, _ in MADE_UP if test == "simple negations: not negative"]
        assert wrong["LC4" + MARK] == sum(fails[text] for text in like_that)

    rows = {(row["trained on"], row["tested on"]): row for row in rows_of(made, 1)}
    assert {name for name, _ in rows} == set(runs)
    for (name, to), row in rows.items():
        counted = [
            (one.before, one.after)
            for one in runs[name].cases
            if one.group in ("test", "unseen")
            and (
                one.capability.endswith(MARK) == to.endswith(MARK)
                if to.strip(MARK) == "all"
                else one.capability == to
            )
        ]
        assert row["cases"] == len(counted)
        assert row["fail-to-pass"] == counted.count((True, False))
        assert row["pass-to-fail"] == counted.count((False, True))
        assert row["fail before"] == sum(before for before, _ in counted)
        assert row["pass before"] == sum(not before for before, _ in counted)
        assert row["fail after"] == sum(after for _, after in counted)
        assert row["pass after"] == sum(not after for _, after in counted)
    # The first table has the other suite's same capability.
    first = [row for row in rows_of(made) if row["model"] == str(model)]
    pairs = {(row["trained on"], row["tested on"]) for row in first}
    assert pairs == {(a, b) for a, b in rows if {a, b} == {a.strip(MARK), a.strip(MARK) + MARK}} - {
        ("all", "all" + MARK),
        ("all" + MARK, "all"),
    }
    page = (tmp_path / "s2lct-retraining.md").read_text(encoding="utf-8")
    assert "Every training on every test" not in page  # too long, in its file alone
    assert (tmp_path / "s2lct-retraining-2.csv").exists()


def test_explanations_count_the_sets_that_explain_finds(
    suite_folder: Path, model: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "name": "s2lct-explanations",
        "model": (str(model),),
        "suite": str(suite_folder),
        "limit": 2,
    }
    made = reproduce(**options, out=tmp_path / "out")
    found = tmp_path / "explain.json"
    explain(model=str(model), suite=str(suite_folder), limit=2, out=found)
    by_capability: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(found.read_text(encoding="utf-8"))["explanations"]:
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
    assert made.made.verdict.startswith("Cannot be compared: the paper prints no result.")
    again = reproduce(**options, out=tmp_path / "again")
    assert written(again) == written(made)
