"""Predictions that a team made with a stack of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import S2lctWarning, ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.given import outcomes_of_predictions
from s2lct.leaderboard.results.read import read_result, recompute
from s2lct.leaderboard.scoring.score import score
from s2lct.leaderboard.submission.check import check
from s2lct.suite.cases import Case, SuiteCases, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
Rows = Sequence[Mapping[str, Any]]


@pytest.fixture(scope="module")
def suite(suite_folder: Path) -> SuiteCases:
    return load_cases(suite_folder)


def write(path: Path, rows: Rows) -> Path:
    """Rows as a file of the kind that its name says."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows(
                {
                    name: json.dumps(cell) if isinstance(cell, (list, dict)) else cell
                    for name, cell in row.items()
                }
                for row in rows
            )
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def read_predictions(path: Path, suite: SuiteCases, **options: Any) -> SimpleNamespace:
    found = outcomes_of_predictions(path, suite, "org/mine", **options)
    return SimpleNamespace(labels=found.said, suite=found.suite)


def right(case: Case) -> int:
    return min(case.passes)


def labelled(cases: Sequence[Case], by: str = "id") -> list[dict[str, Any]]:
    return [{by: getattr(case, by), "label": LABELS[right(case)]} for case in cases]


def s2lct(*arguments: str | Path, code: int = 0) -> str:
    done = runner.invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("by", ["id", "text"])
@pytest.mark.parametrize(
    "said",
    [
        lambda label: {"label": LABELS[label]},
        lambda label: {"label": label},
        lambda label: {"prediction": LABELS[label].upper()},
        lambda label: {"probabilities": [0.8 if n == label else 0.1 for n in range(3)]},
        lambda label: {"scores": {n: 0.8 if n == LABELS[label] else 0.1 for n in LABELS}},
        lambda label: {n: 0.8 if n == LABELS[label] else 0.1 for n in LABELS},
        lambda label: {"neg": 0.9 - 0.8 * (label / 2), "pos": 0.1 + 0.8 * (label / 2)},
    ],
    ids=["names", "numbers", "prediction", "list", "mapping", "columns", "two classes"],
)
def test_what_a_model_said_is_found_in_any_form(
    suite: SuiteCases,
    tmp_path: Path,
    ending: str,
    by: str,
    said: Callable[[int], dict[str, Any]],
) -> None:
    rows = [{by: getattr(case, by), **said(right(case))} for case in suite.asked]
    read = read_predictions(write(tmp_path / f"said.{ending}", rows[::-1]), suite)
    assert read.labels.tolist() == [right(case) for case in suite.asked]
    assert read.suite == suite


@given(st.data())
def test_every_case_gets_the_label_of_its_own_row(
    suite_folder: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    suite = load_cases(suite_folder)
    labels = data.draw(
        st.lists(st.integers(0, 2), min_size=len(suite.asked), max_size=len(suite.asked))
    )
    pairs = list(zip(suite.asked, labels, strict=True))
    rows = [
        {"id": case.id, "label": LABELS[label]} for case, label in data.draw(st.permutations(pairs))
    ]
    path = write(tmp_path_factory.mktemp("said") / "said.jsonl", rows)
    assert read_predictions(path, suite).labels.tolist() == labels


def test_predictions_score_as_the_model_that_made_them(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    outcomes = score(load_classifier("vader"), suite)
    rows = [
        {"id": case.id, "label": LABELS[label]}
        for case, label in zip(outcomes.asked, outcomes.said, strict=True)
    ]
    path = write(tmp_path / "said.csv", rows)
    out = tmp_path / "results"
    s2lct("score", "vader", "--suite", suite_folder, "--out", out)
    told = s2lct(
        *("score", "--predictions", path, "--name", "team/model"),
        *("--suite", suite_folder, "--out", out),
    )
    assert "team/model: given predictions (said.csv); they cannot be scored again" in told
    (mine,) = out.glob("team*.json")
    one, other = read_result(out / "vader.json"), read_result(mine)
    assert other.overall == one.overall
    assert other.capabilities == one.capabilities
    assert recompute(mine) == other
    assert other.model.name == "team/model"
    assert other.model.predictions is not None
    assert other.model.predictions.file == "said.csv"
    assert not other.model.rescorable
    assert one.model.rescorable
    (read,) = collect(out).suites
    assert [one.model.name for one in read.models] == ["vader"]  # nobody can check the other
    verdict = check(mine, suite)
    assert not verdict.accepted
    assert any("nobody can score again" in reason for reason in verdict.reasons)


def test_counterparts_may_be_absent(suite: SuiteCases, suite_folder: Path, tmp_path: Path) -> None:
    assert suite.counterparts
    whole = write(tmp_path / "whole.csv", labelled(suite.asked))
    cases = write(tmp_path / "cases.csv", labelled(suite.cases))
    some = write(tmp_path / "some.csv", labelled(suite.asked[:-1]))
    shared = ("--suite", suite_folder, "--out", tmp_path / "r")
    for path in (whole, cases):
        s2lct("score", "--predictions", path, *shared)
    by_name = {
        path.name.split("--")[0]: read_result(path) for path in (tmp_path / "r").glob("*.json")
    }
    assert by_name["whole"].overall.both_sides is not None
    assert by_name["whole"].overall.both_sides.share == 1
    assert by_name["cases"].overall.both_sides is None
    assert by_name["cases"].overall.failure_rate == by_name["whole"].overall.failure_rate == 0
    with pytest.warns(S2lctWarning, match=r"lacks 1 of the \d+ counterparts"):
        assert read_predictions(some, suite).suite.counterparts == ()


def test_missing_cases_are_told_with_the_mend(suite: SuiteCases, tmp_path: Path) -> None:
    path = write(tmp_path / "said.csv", labelled(suite.cases[5:]))
    with pytest.raises(ScoringError) as error:
        read_predictions(path, suite)
    assert f"lacks 5 of the {len(suite.cases):,} cases" in error.value.problem
    for case in suite.cases[:3]:
        assert case.id in error.value.problem
    assert suite.cases[3].id not in error.value.problem
    assert "--limit" in error.value.hint


def test_a_part_of_the_suite_needs_only_that_part(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    part = suite.select(["LC4"])
    path = write(tmp_path / "said.csv", labelled(part.cases))
    told = s2lct(
        *("score", "--predictions", path, "--suite", suite_folder, "--capability", "LC4"),
        *("--out", tmp_path / "r"),
    )
    assert f"partial: {len(part.cases)} cases" in told


def test_unknown_rows_are_counted_and_left_out(suite: SuiteCases, tmp_path: Path) -> None:
    rows = [*labelled(suite.asked), *({"id": f"x{n}", "label": "bogus"} for n in range(4))]
    with pytest.warns(S2lctWarning, match=r"4 ids are of no case .*x0, x1, x2, …"):
        read = read_predictions(write(tmp_path / "said.csv", rows), suite)
    assert read.labels.tolist() == [right(case) for case in suite.asked]
    with pytest.raises(ScoringError, match="none of its 4 rows") as error:
        read_predictions(write(tmp_path / "none.csv", rows[-4:]), suite)
    assert "s2lct export" in error.value.hint


def test_a_case_may_stand_there_twice_with_one_answer(suite: SuiteCases, tmp_path: Path) -> None:
    rows = labelled(suite.asked)
    same = read_predictions(write(tmp_path / "same.csv", [*rows, rows[0]]), suite)
    assert same.labels.tolist() == [right(case) for case in suite.asked]
    other = {**rows[0], "label": next(label for label in LABELS if label != rows[0]["label"])}
    with pytest.raises(ScoringError) as error:
        read_predictions(write(tmp_path / "other.csv", [*rows, other]), suite)
    assert f"row 2 and other.csv, row {len(rows) + 2:,}" in error.value.problem
    assert "two different answers" in error.value.problem


def test_the_suites_own_labels_are_not_taken_for_predictions(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    exported = tmp_path / "cases.csv"
    s2lct("export", suite_folder, "--format", "csv", "--out", exported)
    with pytest.raises(ScoringError, match="the suite's own"):
        read_predictions(exported, suite)
    with exported.open(encoding="utf-8", newline="") as file:
        rows = [row | {"prediction": "neutral"} for row in csv.DictReader(file)]
    read = read_predictions(write(tmp_path / "predicted.csv", rows), suite)
    assert set(read.labels.tolist()) == {1}
    assert read.suite == suite


def test_label_maps_say_what_classes_mean(suite: SuiteCases, tmp_path: Path) -> None:
    names = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    meant = {name: LABELS[number] for number, name in names.items()}
    rows = [{"id": case.id, "label": names[right(case)]} for case in suite.asked]
    path = write(tmp_path / "said.csv", rows)
    with pytest.raises(ScoringError, match=r"^said\.csv, row 2: 'LABEL_\d' is no label"):
        read_predictions(path, suite)
    read = read_predictions(path, suite, label_map=meant)
    assert read.labels.tolist() == [right(case) for case in suite.asked]
    shares = [
        {"id": case.id} | {names[n]: float(n == right(case)) for n in range(3)}
        for case in suite.asked
    ]
    read = read_predictions(write(tmp_path / "shares.csv", shares), suite, label_map=meant)
    assert read.labels.tolist() == [right(case) for case in suite.asked]


def test_codes_of_two_classes_are_not_read_as_those_of_three(
    suite_folder: Path, suite: SuiteCases, tmp_path: Path
) -> None:
    codes = [{"id": case.id, "label": min(1, right(case))} for case in suite.asked]
    path = write(tmp_path / "codes.csv", codes)
    told = ["score", "--predictions", path, "--suite", suite_folder, "--out", tmp_path / "r"]
    assert "--label-map 0=negative,1=positive" in s2lct(*told, code=1)
    assert not [*(tmp_path / "r").glob("*")]
    s2lct(*told, "--label-map", "0=negative,1=positive")
    s2lct(*told, "--label-map", "0=negative,1=neutral,2=positive")


def test_a_text_of_another_case_than_its_id_is_named(suite: SuiteCases, tmp_path: Path) -> None:
    texts = [
        {"text": case.text} | one
        for case, one in zip(suite.asked, labelled(suite.asked), strict=True)
    ]
    read_predictions(write(tmp_path / "right.csv", texts), suite)
    shifted = [one | {"text": texts[n - 1]["text"]} for n, one in enumerate(texts)]
    with pytest.raises(ScoringError) as error:
        read_predictions(write(tmp_path / "shifted.csv", shifted), suite)
    assert "shifted.csv, row 2" in error.value.problem
    assert suite.asked[0].id in error.value.problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"label": ""}, "row 3: label is empty"),
        ({"label": "sarcastic"}, "row 3: 'sarcastic' is no label"),
    ],
)
def test_a_row_that_is_no_prediction_is_named(
    suite: SuiteCases, tmp_path: Path, change: dict[str, str], problem: str
) -> None:
    rows = labelled(suite.asked)
    rows[1] |= change
    with pytest.raises(ScoringError, match=problem):
        read_predictions(write(tmp_path / "said.csv", rows), suite)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"negative": 0.5, "neutral": 0.1, "positive": 0.1}, "row 3 names .* with 0.7 in sum"),
        ({"negative": "half", "neutral": 0.1, "positive": 0.1}, "row 3: negative is 'half'"),
    ],
)
def test_a_row_of_no_probabilities_is_named(
    suite: SuiteCases, tmp_path: Path, row: dict[str, Any], problem: str
) -> None:
    rows = [{"id": case.id, "negative": 1, "neutral": 0, "positive": 0} for case in suite.asked]
    rows[1] |= row
    with pytest.raises(ScoringError, match=problem):
        read_predictions(write(tmp_path / "said.csv", rows), suite)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "its first row names no columns"),
        ("id,label\n", "holds no row"),
        ("id,id\n1,2\n", "one of them twice"),
        ("name,label\na,positive\n", "neither a column id nor text"),
        ("id,colour\na,red\n", "says nothing of what the model answered"),
        ("id,label\na,positive,b\n", "row 2: has 3 cells, the header 2"),
    ],
)
def test_a_file_of_something_else_is_refused(
    suite: SuiteCases, tmp_path: Path, content: str, problem: str
) -> None:
    path = tmp_path / "said.csv"
    path.write_text(content)
    if problem.startswith("says"):
        path.write_text(content.replace("a,red", f"{suite.cases[0].id},red"))
    with pytest.raises(ScoringError, match=problem) as error:
        read_predictions(path, suite)
    assert "said.csv" in error.value.problem
    assert error.value.hint


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["vader", "--predictions", "FILE"], "--predictions together with the model vader"),
        ([], "no model to score"),
        (["vader", "--name", "x"], "--name without --predictions"),
        (["--predictions", "FILE", "--llm"], "--predictions together with --llm"),
        (["--predictions", "FILE", "--name", "vader"], "'vader' is a model that comes with s2lct"),
        (["--predictions", "FILE", "--name", "random"], "what an answer is called"),
        (["--predictions", "FILE", "--name", "my model"], "'my model' is no name"),
    ],
)
def test_what_excludes_each_other_is_told(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    path = write(tmp_path / "said.csv", labelled(suite.cases))
    given = [str(path) if one == "FILE" else one for one in arguments]
    code = 1 if arguments else 2
    told = s2lct("score", *given, "--suite", suite_folder, "--out", tmp_path / "r", code=code)
    assert problem in told
    assert "→" in told


def test_the_help_says_what_to_predict() -> None:
    assert "s2lct export SUITE --format csv" in s2lct("score", "--help").replace("│ │ ", "")
