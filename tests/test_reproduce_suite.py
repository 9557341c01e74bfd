"""Tables and figures of the S²LCT paper, against second, naive implementations."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.reproduce import s2lct_tables
from s2lct.analysis.reproduce.commands import reproduce
from s2lct.analysis.reproduce.runner import PaperTable, of_families
from s2lct.analysis.reproduce.s2lct_tables import MARK
from s2lct.analysis.retrain import Retrainer, Training
from s2lct.analysis.study import Key, KeyItem
from s2lct.cli.main import app
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, load_suite

pytestmark = pytest.mark.usefixtures("own_cache")
THINGS = ("film", "plot", "song", "cast", "joke", "scene", "score", "script")
MADE_UP = [
    (test, f"{start} {thing}{end}", expected)
    for thing in THINGS
    for test, start, end, expected in (
        ("neutral words in context", "We saw this", ".", ["neutral"]),
        ("Sentiment-laden words in context", "I like that", ".", ["positive"]),
        ("Sentiment-laden words in context", "I dislike that", ".", ["negative"]),
        ("simple negations: not negative", "This is no bad", ".", ["positive", "neutral"]),
        ("used to, but now", "I used to hate this", ", but now I like it.", ["positive"]),
        ("Q & A: no", "Do I think it is a dull", "? No", ["positive", "neutral"]),
        ("Q & A: no", "Do I think it is a fine", "? No", ["negative"]),
        ("a test of nobody's", "Nobody asks of the", ".", ["neutral"]),
    )
]
BESIDE = {
    "LC1": "neutral words in context",
    "LC2": "Sentiment-laden words in context",
    "LC3": "used to, but now",
    "LC4": "simple negations: not negative",
}


@pytest.fixture(scope="session")
def checklist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checklist") / "cases.jsonl"
    rows = (
        {"test": test, "capability": "Made up", "texts": [text], "expected": expected}
        for test, text, expected in MADE_UP
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "one")


def rows_of(made: list[PaperTable]) -> list[dict[str, Any]]:
    (table,) = made
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def labels_by(folder: Path, texts: Sequence[str]) -> dict[str, int]:
    """The likeliest label of each text, asked one by one."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return {
            text: int(network(**tokenizer(text, return_tensors="pt")).logits[0].argmax())
            for text in texts
        }


def percent(outcomes: Sequence[bool]) -> float | None:
    return 100 * sum(outcomes) / len(outcomes) if outcomes else None


def test_table_3_counts_what_models_fail_beside_the_papers_figures(
    suite_folder: Path, checklist: Path, model: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"suite": str(suite_folder), "checklist": (checklist,)}
    made = reproduce("s2lct-table3", model=(str(model),), **options, out=tmp_path)
    cases = load_suite(suite_folder).cases
    labels = labels_by(model, [case.text for case in cases] + [text for _, text, _ in MADE_UP])
    rows = [row for row in rows_of(made) if row["model"] == str(model)]
    assert {row["capability"] for row in rows} == {case.capability for case in cases} | {"all"}
    for row in rows:
        name = row["capability"]
        fails = {
            case.id: labels[case.text] not in case.passes
            for case in cases
            if name in (case.capability, "all")
        }
        of_kind = {
            kind: [case for case in cases if case.id in fails and case.kind == kind]
            for kind in ("seed", "expansion")
        }
        for kind, found in of_kind.items():
            assert row[f"{kind}s"] == len(found)
            assert row[f"{kind}s fail %"] == percent([fails[case.id] for case in found])
        turned = [(fails[case.id], fails[case.seed_id]) for case in of_kind["expansion"]]
        assert row["pass-to-fail"] == turned.count((True, False))
        assert row["fail-to-pass"] == turned.count((False, True))
        if name in BESIDE:
            outcomes = [
                LABELS[labels[text]] not in expected
                for test, text, expected in MADE_UP
                if test == BESIDE[name]
            ]
            assert row["CheckList cases"] == len(outcomes)
            assert row["CheckList fails %"] == percent(outcomes)
        if name in ("LC5", "LC6", "LC7", "LC8", "LC9"):
            assert row["CheckList cases"] is None  # the file has no such test
    # What turns a fact around in the same test belongs to another capability.
    assert {r["CheckList cases"] for r in rows if r["capability"] in ("LC10", "LC11")} == {8}

    printed = {(row["capability"], row["model"]): row for row in rows_of(made)}
    assert printed["LC9", "paper: BERT"]["pass-to-fail"] == 43
    assert printed["LC8", "paper: RoBERTa"]["expansions fail %"] == 31.21
    assert printed["LC3", "paper: DistilBERT"]["expansions"] is None
    # Sums of the sheet of facts that was taken down from the drafts.
    of_all = printed["all", "paper: BERT"]
    assert (of_all["seeds"], of_all["expansions"], of_all["pass-to-fail"]) == (495, 12_592, 391)
    with (tmp_path / "s2lct-table3.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows_of(made))


@given(st.data())
def test_a_limit_takes_whole_families_and_no_expansion_without_its_seed(data: Any) -> None:
    cases = [
        Case(f"{name}{seed}-{place}", name, "expansion" if place else "seed", f"{name}{seed}-0",
             f"{name} {seed} {place}", frozenset({0}))
        for name in ("LC1", "LC2")
        for seed in range(data.draw(st.integers(1, 5)))
        for place in range(data.draw(st.integers(1, 5)))
    ]  # fmt: skip
    shuffled = data.draw(st.permutations(cases))
    most = data.draw(st.integers(2, 12))
    kept = of_families(shuffled, most, data.draw(st.integers(0, 3)))
    ids = {case.id for case in kept}
    assert [case.id for case in shuffled if case.id in ids] == [case.id for case in kept]
    for name in ("LC1", "LC2"):
        own = [case for case in kept if case.capability == name]
        assert len(own) == min(most, sum(case.capability == name for case in cases))
        assert all(case.seed_id in ids for case in own)
        cut = {
            case.seed_id
            for case in cases
            if case.capability == name and case.seed_id in ids and case.id not in ids
        }
        assert len(cut) <= 1


def table_2(tmp_path: Path, ratings: dict[str, list[tuple[int, int]]]) -> dict[str, dict[str, str]]:
    """The table of items named FAMILY-KIND, that pass as positive, by each annotator's ratings."""
    items = {}
    for number, name in enumerate(ratings):
        family, _, kind = name.partition("-")
        items[name] = KeyItem(
            set=1,
            case=f"case{number}",
            kind="seed" if kind == "seed" else "expansion",
            seed_id=family,
            family=list(ratings).index(f"{family}-seed"),
            capability="LC2",
            text=f"Film {number}.",
            passes=("positive",),
        )
    key = TypeAdapter(Key).dump_json(Key("made-up", "s", "", items))
    (tmp_path / "key.json").write_bytes(key)
    paths = []
    for annotator in range(max(map(len, ratings.values()))):
        answers = [
            f"{name},{given[annotator][0]},{given[annotator][1]}\n"
            for name, given in ratings.items()
            if annotator < len(given)
        ]
        paths.append(tmp_path / f"annotator-{annotator}.csv")
        paths[-1].write_text("id,relevance,sentiment\n" + "".join(answers))
    options = [part for path in paths for part in ("--annotations", str(path))]
    options += ["--key", str(tmp_path / "key.json"), "--out", str(tmp_path / "out")]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["reproduce", "s2lct-table2", *options])
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "s2lct-table2.csv").open(encoding="utf-8", newline="") as file:
        return {row["test cases"]: row for row in csv.DictReader(file)}


def test_table_2_averages_annotators_before_it_labels(tmp_path: Path) -> None:
    ratings = {
        "a-seed": [(5, 5), (5, 4)],  # positive
        "a-more": [(3, 2), (4, 4)],  # neutral together: the label differs
        "b-seed": [(5, 3), (4, 5)],  # 4: positive
        "b-more": [(5, 3), (5, 4)],  # 3.5: positive
        "c-seed": [(1, 1), (2, 2)],  # negative
        "c-more": [(5, 5)],
    }
    rows = table_2(tmp_path, ratings)
    differ = [rows[kind]["labels that differ"] for kind in ("seed", "expanded", "all")]
    assert differ == ["1", "1", "2"]
    means = {name: np.mean([(r - 1) / 4 for r, _ in given]) for name, given in ratings.items()}
    expanded = [value for name, value in means.items() if name.endswith("more")]
    apart = [means[f"{family}-more"] - means[f"{family}-seed"] for family in "abc"]
    for name, column, value in (
        ("seed", "label consistency", 2 / 3),
        ("all", "label consistency", 4 / 6),
        ("expanded less seed", "label consistency", (-1 + 0 + 1) / 3),
        ("all", "relevancy", np.mean(list(means.values()))),
        ("expanded", "relevancy", np.mean(expanded)),
        ("expanded less seed", "relevancy", np.mean(apart)),
    ):
        assert float(rows[name][column]) == pytest.approx(value)


# Diversity, coverage.


def test_diversity_sets_as_many_cases_beside_each_other(
    suite_folder: Path, checklist: Path, corpus_path: Path, tmp_path: Path
) -> None:
    made = reproduce(
        name="s2lct-diversity",
        suite=str(suite_folder),
        checklist=(checklist,),
        reference=f"csv:{corpus_path}",
        out=tmp_path / "out",
    )
    rows = {(row["cases of"], row["source"]): row for row in rows_of(made)}
    cases = load_suite(suite_folder).cases
    for group in ("all", "seeds", "LC2"):
        of = [case for case in cases if group in ("all", f"{case.kind}s", case.capability)]
        assert rows[group, "S²LCT"]["cases"] == len(of)
    for (group, _), row in rows.items():
        assert 0 < row["cases"] <= rows[group, "S²LCT"]["cases"]
        assert row["from"] <= row["self-BLEU"] <= row["to"]
    assert ("LC9", "S²LCT") not in rows  # nothing stands beside it in the file


def test_coverage_grows_with_the_cases(
    suite_folder: Path, checklist: Path, corpus_path: Path, model: Path, tmp_path: Path
) -> None:
    made = reproduce(
        name="s2lct-coverage",
        model=(str(model),),
        suite=str(suite_folder),
        checklist=(checklist,),
        reference=f"csv:{corpus_path}",
        out=tmp_path / "out",
    )
    for name in ("S²LCT", "CheckList", "random sentences"):
        rows = [row for row in rows_of(made) if row["cases of"] == name]
        values = [row["BoundCov %"] for row in rows]
        assert 0 < values[-1] <= 100
        assert values == sorted(values)
        assert rows[-1]["cases"] == rows_of(made)[-1]["cases"]


def test_retraining_tells_what_turned_on_either_suite(
    suite_folder: Path,
    checklist: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainings: dict[str, Training] = {}
    train = Retrainer.train

    def kept(self: Retrainer, name: str, trained_on: Sequence[str]) -> Training:
        trainings[name] = train(self, name, trained_on)
        return trainings[name]

    monkeypatch.setattr(Retrainer, "train", kept)
    # Two capabilities alone, which is quick.
    monkeypatch.setattr(
        s2lct_tables, "load_suite", lambda suite: load_suite(suite).select(["LC2", "LC10"])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have too few cases
        made = reproduce(
            name="s2lct-retraining",
            model=(str(model),),
            suite=str(suite_folder),
            checklist=(checklist,),
            limit=8,
            out=tmp_path,
        )
    assert set(trainings) == {"LC2", "LC10", "LC2*", "LC10*"}

    # The table has the other suite's same capability.
    rows = {
        (row["trained on"], row["tested on"]): row
        for row in rows_of(made)
        if row["model"] == str(model)
    }
    assert rows
    for (name, to), row in rows.items():
        assert {name, to} == {name.strip(MARK), name.strip(MARK) + MARK}
        of = trainings[name].changes[to]
        assert row["cases"] == of.cases
        assert (row["fail-to-pass"], row["pass-to-fail"]) == (of.fail_to_pass, of.pass_to_fail)
        assert (row["fail before"], row["fail after"]) == (of.failures_before, of.failures_after)
        assert row["fail before"] + row["pass before"] == of.cases
        assert row["fail after"] + row["pass after"] == of.cases
