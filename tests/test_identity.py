"""What is another thing has another name: corpora, sentences, suites, models, results."""

from __future__ import annotations

import csv
import json
import random
import shutil
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from damaged_suites import described, former_row, loaded, write_former_suite
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier, tiny_classifier
from typer.testing import CliRunner

from s2lct.builder.corpus.collect import with_distinct_names
from s2lct.builder.corpus.read import read_corpus
from s2lct.cli.main import app
from s2lct.errors import S2lctWarning, ScoringError
from s2lct.leaderboard.results.read_results import newest_result, read_result, read_scored
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import Case, families_of, load_suite
from s2lct.suite.former_names import former_fingerprints
from s2lct.suite.read import read_suite
from s2lct.suite.tables import rows_fingerprint


def csv_corpus(path: Path, *rows: tuple[str, ...], header: str = "text,label") -> str:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return f"csv:{path}"


# Corpora and their sentences


def test_corpora_of_one_name_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    specs = [
        csv_corpus(tmp_path / folder / "data.csv", (f"A {word} film.", "positive"))
        for folder, word in (("a", "good"), ("b", "fine"), ("c", "good"))
    ]
    first, other, copy = map(read_corpus, specs)
    named = with_distinct_names([first, other, copy])
    assert len({corpus.name for corpus in named}) == 2
    assert named[0].name == named[2].name != named[1].name
    assert all(corpus.name.startswith("csv:data.csv#") for corpus in named)
    assert [corpus.sentences[0].corpus for corpus in named] == [corpus.name for corpus in named]
    assert with_distinct_names([first]) == [first]


def test_a_row_without_an_id_has_none_of_another_row(tmp_path: Path) -> None:
    rows = [("Good film.", "positive", ""), ("Bad film.", "negative", "1"), ("So.", "neutral", " ")]
    corpus = read_corpus(csv_corpus(tmp_path / "x.csv", *rows, header="text,label,id"))
    assert [sentence.id for sentence in corpus.sentences] == ["row-1", "1", "row-3"]
    path = tmp_path / "x.jsonl"
    lines = (
        {"text": text, "label": label} | ({"id": id} if id else {}) for text, label, id in rows
    )
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_corpus(f"jsonl:{path}").sentences[0].id == "row-1"


def test_sentences_of_one_number_and_other_texts_are_families_apart() -> None:
    case = Case("a", "LC4", "seed", "a", "A.", frozenset({0}), sources=("csv:data.csv:1",))
    texts = (("One.",), ("Two.",), ("One.",), ())
    cases = [replace(case, source_texts=of_case) for of_case in texts]
    assert families_of(cases).tolist() == [0, 1, 0, 2]


# Suites


class Rows(list[dict[str, Any]]):
    def __repr__(self) -> str:
        return f"{len(self)} rows"


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> Rows:
    return Rows(read_suite(suite_folder).all_rows)


@given(seed=st.integers(0, 10_000))
def test_no_order_of_rows_makes_another_suite(rows: Rows, seed: int) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))
    assert rows_fingerprint(shuffled) == rows_fingerprint(rows)


def test_every_form_of_a_suite_has_its_fingerprint(
    suite_folder: Path, rows: Rows, tmp_path: Path
) -> None:
    true = load_suite(suite_folder).fingerprint
    assert true == rows_fingerprint(rows) == described(suite_folder)["fingerprint"]
    every = loaded(suite_folder)["all"]["test"]
    every.to_json(tmp_path / "rows.jsonl")
    every.to_parquet(tmp_path / "rows.parquet")
    forms = [
        loaded(suite_folder),
        every,
        list(every.shuffle(seed=1)),
        every.to_pandas().to_dict("records"),
        list(map(json.loads, (tmp_path / "rows.jsonl").open())),
        pq.read_table(tmp_path / "rows.parquet").to_pylist(),
        every.remove_columns(["score", "annotations", "masked_text", "production", "origin"]),
        [row | {"template": row["template"] or None} for row in rows],
    ]
    assert [load_suite(form).fingerprint for form in forms] == [true] * len(forms)


def test_a_suite_with_former_names_is_read_in_todays_names_and_has_todays_fingerprint(
    suite_folder: Path, rows: Rows, tmp_path: Path
) -> None:
    former_rows = [former_row(row) for row in rows]
    for fingerprint in former_fingerprints(rows):
        older = tmp_path / fingerprint
        write_former_suite(suite_folder, older, fingerprint)
        assert read_suite(older).rows == read_suite(suite_folder).rows
        assert load_suite(older).fingerprint == load_suite(suite_folder).fingerprint
        assert read_suite(older).described["counts"] == described(suite_folder)["counts"]
    assert load_suite(former_rows) == load_suite(list(rows))


CHANGES: dict[str, Any] = {
    "id": "other",
    "capability": "LC99",
    "kind": "other",
    "seed_id": "other",
    "text": "Another text.",
    "labels": [0, 1, 2],
    "label": 7,
    "template": "{P}, but another.",
    "sources.corpus": "other",
    "sources.id": "other",
    "sources.text": "Another sentence.",
    "inserted.word": "other",
    "inserted.start": 99,
    "inserted.end": 99,
}
NO_CHANGES: dict[str, Any] = {
    "score": -9.0,
    "annotations": [],
    "production": None,
    "masked_text": "x",
    "sources.score": 0.1,
}


def changed(row: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    row = deepcopy(row)
    column, _, part = place.partition(".")
    target = row[column][0] if part else row
    target[part or column] = value
    return row


@given(data=st.data(), place=st.sampled_from([*CHANGES, *NO_CHANGES]))
def test_what_a_figure_depends_on_changes_the_fingerprint_and_nothing_else_does(
    rows: Rows, data: st.DataObject, place: str
) -> None:
    whole = [n for n, row in enumerate(rows) if row[place.partition(".")[0]] or "." not in place]
    number = data.draw(st.sampled_from(whole))
    other = changed(rows[number], place, (CHANGES | NO_CHANGES)[place])
    same = rows_fingerprint([*rows[:number], other, *rows[number + 1 :]]) == rows_fingerprint(rows)
    assert same == (place in NO_CHANGES)
    assert rows_fingerprint(rows[:number] + rows[number + 1 :]) != rows_fingerprint(rows)


# Models and their results


def test_models_in_memory_of_one_name_have_results_apart(
    suite_folder: Path, tmp_path: Path
) -> None:
    suite = load_suite(suite_folder)

    def always(label: str) -> Any:
        def model(texts: list[str]) -> list[str]:
            return [label] * len(texts)

        return model

    models = [always("negative"), always("positive")]
    models += [tiny_classifier(seed=seed)[::-1] for seed in range(2)]
    paths = [write_result(score(model, suite), tmp_path) for model in models]
    assert len(set(paths)) == len(models)
    assert [write_result(score(model, suite), tmp_path) for model in models] == paths
    records = [read_result(path).model for path in paths]
    assert {record.name for record in records} == {"model"}
    assert all(bool(one.weights_sha256) != bool(one.answers_sha256) for one in records)
    (board,) = collect(tmp_path, [suite]).suites
    assert len(board.standings) == len(models)


def test_every_model_may_be_given_a_name(suite_folder: Path, tmp_path: Path) -> None:
    def vader(texts: list[str]) -> list[str]:
        return ["neutral"] * len(texts)

    named = score("vader", suite_folder, name="team/model", limit=1).model
    assert (named.name, named.revision) == ("team/model", "")
    assert named.weights_sha256 == score("vader", suite_folder, limit=1).model.weights_sha256
    assert score(vader, suite_folder, name="mine", limit=1).model.name == "mine"
    for model, name in ((vader, None), (vader, "afinn"), ("vader", "textblob")):
        with pytest.raises(ScoringError, match="comes with s2lct"):
            score(model, suite_folder, name=name, limit=1)
    folder = save_tiny_classifier(tmp_path / "model")
    command = ["score", "--suite", str(suite_folder), "--limit", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*command, str(folder), "--name", "team/model"])
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.glob("*.json")
    assert path.name.startswith("team--model--")
    assert str(tmp_path) not in path.read_text()
    for wrong in (["vader", "afinn", "--name", "x"], ["vader", "--name", "afinn"],
                  ["vader", "--name", "a b"]):  # fmt: skip
        done = CliRunner().invoke(app, [*command, *wrong])
        assert done.exit_code and "--name" in done.output


def test_gate_takes_the_newest_result_of_a_model_and_names_the_older(
    suite_folder: Path, tmp_path: Path
) -> None:
    out, asked = tmp_path / "results", ("--suite", str(suite_folder))
    for seed in range(3):
        folder = save_tiny_classifier(tmp_path / "model", seed=seed)
        done = CliRunner().invoke(app, ["score", str(folder), *asked, "--out", str(out)])
        assert done.exit_code == 0, done.output
    first, second, third = sorted(out.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    gate = ["gate", str(out), "--max", "mean=100", "--format", "json"]
    done = CliRunner().invoke(app, gate)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["result"] == str(third)
    said = " ".join(done.stderr.split())
    assert "newest" in said and all(path.name in said.replace(" ", "") for path in (first, second))
    # What was scored last counts, whatever the zone of its clock.
    told = json.loads(third.read_text())
    third.write_text(json.dumps(told | {"date": "2020-01-01T23:00:00-12:00"}))
    first.write_text(json.dumps(json.loads(first.read_text()) | {"date": "2020-01-02T12:00:00Z"}))
    second.unlink()
    with pytest.warns(S2lctWarning, match=third.name):
        assert newest_result(out) == first
    # Asked otherwise, it is no older result of the same model.
    other = json.loads(first.read_text())
    first.write_text(json.dumps(other | {"model": other["model"] | {"dtype": "bfloat16"}}))
    with pytest.raises(ScoringError, match="several models"):
        newest_result(out)
    CliRunner().invoke(app, ["score", "vader", *asked, "--out", str(out)])
    done = CliRunner().invoke(app, gate)
    assert done.exit_code == 2 and "several models" in done.output


def test_results_on_the_installed_suite_are_read_like_others(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(suite_folder, tmp_path / "cache" / "s2lct")
    path = write_result(score("vader", "s2lct"), tmp_path)
    assert read_result(path).suite.name == "s2lct"
    assert read_scored(path).outcomes.suite.cases == load_suite(suite_folder).cases
