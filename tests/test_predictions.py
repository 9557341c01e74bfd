"""Predictions made elsewhere: in memory in any form, and in files that a team gives."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import S2lctWarning, ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.answers.predictions import read_predictions
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.results.predictions_file import outcomes_of_predictions
from s2lct.leaderboard.results.read_results import read_result, recompute
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import Case, SuiteCases, load_suite

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
THREE = ("negative", "neutral", "positive")
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
UNNAMED = {"LABEL_0": "positive", "LABEL_1": "neutral", "LABEL_2": "negative"}
nan = float("nan")
Rows = Sequence[Mapping[str, Any]]


def labels(predictions: Any, **options: Any) -> list[int]:
    return read_predictions(predictions, len(predictions), **options).labels.tolist()


def answer(probabilities: Any, names: Any, most: int | None = None) -> list[dict[str, Any]]:
    """What a pipeline with ``top_k=most`` says."""
    said = [{"label": n, "score": p} for n, p in zip(names, probabilities, strict=True)]
    return sorted(said, key=lambda one: -one["score"])[:most]


@st.composite
def of_models(draw: st.DrawFn) -> tuple[tuple[str, ...], list[list[float]]]:
    """A model's classes, and probabilities that it gave; none of them ties."""
    names = draw(st.sampled_from([("neg", "pos"), THREE, THREE[::-1], STARS]))
    weights = st.lists(
        st.integers(1, 10_000), min_size=len(names), max_size=len(names), unique=True
    )
    drawn = draw(st.lists(weights, min_size=1, max_size=6))
    return names, [[weight / sum(row) for weight in row] for row in drawn]


@given(of_models(), st.integers(1, 5), st.booleans())
def test_what_a_row_leaves_out_never_changes_its_label(
    model: tuple[tuple[str, ...], list[list[float]]], most: int, named: bool
) -> None:
    names, probabilities = model
    whole = rule_for(names).labels(np.array(probabilities)).tolist()
    said = [answer(row, names, most) for row in probabilities]
    try:
        found = labels(said, classes=names if named else None)
    except ScoringError:
        assert most < len(names)
        return
    assert found == whole


BANDED = [(0.2, 0), (1 / 3, 0), (0.34, 1), (0.66, 1), (2 / 3, 2), (0.9, 2)]


def test_a_rule_says_what_probabilities_mean() -> None:
    binary = rule_for(["NEGATIVE", "POSITIVE"])
    rows = np.array([[1 - positive, positive] for positive, _ in BANDED])
    assert binary.labels(rows).tolist() == [label for _, label in BANDED]
    folded = rule_for(STARS).labels(np.array([[0.3, 0.3, 0.4, 0, 0], [0, 0.1, 0.4, 0.3, 0.2]]))
    assert folded.tolist() == [0, 2]
    # Of equal ones the first wins, whatever the last bits, and an end of the band is none of it.
    ties = np.array([[0.5, 0.25, 0.25], [0.4, 0.4, 0.2], [0.1, 0.45, 0.45], [1 / 3, 1 / 3, 1 / 3]])
    for bits in (*np.eye(3), -np.eye(3)[0]):
        found = rule_for(["negative", "neutral", "positive"]).labels(ties + 1e-7 * bits)
        assert found.tolist() == [0, 0, 1, 0]
        assert binary.labels(rows + 1e-7 * bits[:2]).tolist() == [label for _, label in BANDED]
    known = rule_for(["LABEL_0", "LABEL_1"], model="textattack/bert-base-uncased-SST-2")
    mapped = rule_for(["LABEL_0", "LABEL_1"], label_map={"0": "positive", "LABEL_1": "negative"})
    assert (known.meanings, mapped.meanings) == ((0, 2), (2, 0)) and "--label-map" in str(mapped)
    with pytest.raises(ScoringError) as refused:
        rule_for(["LABEL_0", "LABEL_1"], model="somebody/model")
    assert "--label-map LABEL_0=" in refused.value.hint
    for classes in (["a", "b", "c", "d", "e", "f"], ["only"], ["neutral", "positive"]):
        with pytest.raises(ScoringError):
            rule_for(classes)


BAD_ROWS: list[Any] = [
    True, None, 0.5, nan, 7, -1, "good-ish", b"positive", [], {}, [[0.5, 0.5]], ["positive"],
    [True, False], [0.5, "0.5"], [0.1, 0.2, nan], [-0.1, 0.3, 0.8], [9.0, 5.0, 3.0],
    [0.1, 0.1, 0.1], [0.5, 0.5, 0.5, -0.5], {"label": "positive"}, {"label": None, "score": 0.9},
    {"label": "positive", "score": "0.9"}, {"label": "positive", "score": 17},
    [{"label": "positive", "score": 0.9}, {"label": "positive", "score": 0.1}],
    [{"label": "positive", "score": 0.9}, {"label": "negative", "score": 0.9}],
    {"negative": 0.5, "positive": 0.9}, {"negative": 0.5}, object(), {0.1, 0.9},
]  # fmt: skip
GOOD_ROWS: list[Any] = [
    0,
    "negative",
    [0.8, 0.1, 0.1],
    answer([0.8, 0.1, 0.1], THREE),
    {"negative": 0.8, "neutral": 0.1, "positive": 0.1},
]


@pytest.mark.parametrize("bad", BAD_ROWS, ids=lambda bad: re.sub(" at 0x[0-9a-f]+", "", repr(bad)))
def test_a_row_that_means_nothing_is_refused_by_its_number(bad: Any) -> None:
    for good in GOOD_ROWS:
        assert labels([good, good], classes=THREE) == [0, 0]
        with pytest.raises(ScoringError, match=r"predictions\[[01]\]") as refused:
            labels([good, bad], classes=THREE)
        assert refused.value.hint
    with pytest.raises(ScoringError):
        labels([bad])


@pytest.mark.parametrize(
    "predictions",
    [
        GOOD_ROWS[:3],
        torch.full((3, 3, 1), 1 / 3),
        torch.tensor([0.0, 1.0, 2.0]),
        np.array([[1.0, 2.0, 3.0]] * 3),
        np.ma.masked_equal([0, 1, 2], 1),
        {"a": 1, "b": 2, "c": 0},
        None,
        [0, 1],
    ],
    ids=repr,
)
def test_what_is_no_list_of_predictions_is_refused(predictions: Any) -> None:
    with pytest.raises(ScoringError):
        read_predictions(predictions, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_tensors_of_any_precision_are_probabilities(dtype: torch.dtype) -> None:
    logits = torch.tensor([[9.0, 5, 3], [1, 3, 2], [0.1, 0.3, 0.9]], requires_grad=True)
    said = torch.softmax(logits, -1).to(dtype)
    for rows in (said, list(said), torch.tensor([0, 1, 2])):
        assert labels(rows, classes=THREE) == [0, 1, 2]


def test_numbers_and_columns_are_those_of_the_classes() -> None:
    turned = THREE[::-1]
    assert labels([0, 1, 2], classes=turned) == [2, 1, 0]
    assert labels([0, 1, 2], classes={2: "neu", 0: "pos", 1: "neg"}) == [2, 0, 1]
    with pytest.raises(ScoringError, match="classes="):
        labels([0, 1], classes={"neg": 0, "pos": 1})  # label2id
    assert labels([0, 1], label_map={1: "pos", 0: "Negative"}) == [0, 2]
    assert labels([[0.7, 0.2, 0.1]], classes=turned) == [2]
    assert labels([[0.7, 0.2, 0.1]], label_map="0=positive,1=neutral,2=negative") == [2]
    # FinBERT's classes are positive, negative, neutral: an order that nobody names is unknown.
    for unclear in ([[0.7, 0.2, 0.1]], [[0.7, 0.3]], np.eye(5), [0, 1, 2], [1], np.arange(3)):
        for options in ({}, {"label_map": UNNAMED}):
            with pytest.raises(ScoringError, match=r"predictions\[0\]"):
                labels(unclear, **options)
        with pytest.raises(ScoringError, match=r"classes=\[…\]"):
            labels(unclear)


# Files


@pytest.fixture(scope="module")
def suite(suite_folder: Path) -> SuiteCases:
    return load_suite(suite_folder)


def write(path: Path, rows: Rows) -> Path:
    """Rows as a file of the kind that its name says."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            for row in rows:
                packed = {n: json.dumps(c) for n, c in row.items() if isinstance(c, (list, dict))}
                writer.writerow({**row, **packed})
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def read(path: Path, suite: SuiteCases, label_map: Any = None) -> list[int]:
    return outcomes_of_predictions(path, suite, "org/mine", label_map).labels.tolist()


def right(case: Case) -> int:
    return min(case.passes)


def labelled(cases: Sequence[Case], by: str = "id") -> list[dict[str, Any]]:
    return [{by: getattr(case, by), "label": LABELS[right(case)]} for case in cases]


def s2lct(*arguments: str | Path, code: int = 0) -> str:
    done = runner.invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("by", "predicted"),
    [
        ("text", lambda label: {"label": LABELS[label]}),
        ("id", lambda label: {"label": label}),
        ("id", lambda label: {"prediction": LABELS[label].upper()}),
        ("id", lambda label: {"probabilities": [0.8 if n == label else 0.1 for n in range(3)]}),
        ("id", lambda label: {"scores": {n: 0.8 if n == LABELS[label] else 0.1 for n in LABELS}}),
        ("text", lambda label: {n: 0.8 if n == LABELS[label] else 0.1 for n in LABELS}),
        ("id", lambda label: {"neg": 0.9 - 0.8 * (label / 2), "pos": 0.1 + 0.8 * (label / 2)}),
    ],
    ids=["names", "numbers", "prediction", "list", "mapping", "columns", "two classes"],
)
def test_predictions_are_found_in_any_form_and_order(
    suite: SuiteCases,
    tmp_path: Path,
    ending: str,
    by: str,
    predicted: Callable[[int], dict[str, Any]],
) -> None:
    rows = [{by: getattr(case, by), **predicted(right(case))} for case in suite.with_contrasts]
    path = write(tmp_path / f"mine.{ending}", rows[::-1])
    label_map = None
    if "probabilities" in rows[0]:
        with pytest.raises(ScoringError, match=rf"mine\.{ending}.* of which class"):
            read(path, suite)
        label_map = "0=negative,1=neutral,2=positive"
    assert read(path, suite, label_map) == [right(case) for case in suite.with_contrasts]


def test_predictions_score_as_the_model_that_made_them(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    outcomes, out = score(load_model("vader"), suite), tmp_path / "results"
    rows = [
        {"id": case.id, "label": LABELS[label]}
        for case, label in zip(outcomes.suite.with_contrasts, outcomes.labels, strict=True)
    ]
    s2lct("score", "vader", "--suite", suite_folder, "--out", out)
    given = ("--predictions", write(tmp_path / "mine.csv", rows), "--name", "team/model")
    s2lct("score", *given, "--suite", suite_folder, "--out", out)
    (mine,) = out.glob("team*.json")
    one, other = read_result(out / "vader.json"), recompute(mine)
    assert (other.overall, other.capabilities) == (one.overall, one.capabilities)
    assert other.model.name == "team/model" and not other.model.rescorable
    assert other.model.predictions and other.model.predictions.file == "mine.csv"
    # Without contrasts there is no consistency, and the rates are the same.
    s2lct(
        *("score", "--predictions", write(tmp_path / "cases.csv", rows[: len(suite.cases)])),
        *("--suite", suite_folder, "--out", out),
    )
    (part,) = out.glob("cases*.json")
    found = read_result(part)
    assert found.overall == one.overall.model_copy(update={"consistency": None})
    assert found.partial and str(found.selection) == "without contrasts"
    few = write(tmp_path / "few.csv", rows[:-1])
    told = s2lct("score", "--predictions", few, "--suite", suite_folder, "--out", out)
    assert f"few.csv: lacks 1 of the {len(suite.contrasts)} contrasts" in told
    (part,) = out.glob("few*.json")
    assert read_result(part).overall == found.overall


def test_rows_must_cover_the_cases_once(suite: SuiteCases, tmp_path: Path) -> None:
    rows = labelled(suite.with_contrasts)
    with pytest.raises(ScoringError) as error:
        read(write(tmp_path / "few.csv", labelled(suite.cases[5:])), suite)
    assert suite.cases[0].id in error.value.problem and "--limit" in error.value.hint
    more = [*rows, rows[0], *({"id": f"x{n}", "label": "bogus"} for n in range(4))]
    with pytest.warns(S2lctWarning, match="4 rows"):
        found = read(write(tmp_path / "more.csv", more), suite)
    assert found == [right(case) for case in suite.with_contrasts]
    other = {**rows[0], "label": next(label for label in LABELS if label != rows[0]["label"])}
    with pytest.raises(ScoringError, match=rf"row 2 and twice\.csv, row {len(rows) + 2:,}"):
        read(write(tmp_path / "twice.csv", [*rows, other]), suite)
    texts = [
        {"text": case.text} | row for case, row in zip(suite.with_contrasts, rows, strict=True)
    ]
    read(write(tmp_path / "right.csv", texts), suite)
    shifted = [one | {"text": texts[n - 1]["text"]} for n, one in enumerate(texts)]
    with pytest.raises(ScoringError, match=r"shifted\.csv, row 2"):
        read(write(tmp_path / "shifted.csv", shifted), suite)


def test_the_suites_own_labels_are_not_taken_for_predictions(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    exported = tmp_path / "cases.csv"
    s2lct("export", suite_folder, "--format", "csv", "--out", exported)
    with pytest.raises(ScoringError, match=r"cases\.csv"):
        read(exported, suite)
    with exported.open(encoding="utf-8", newline="") as file:
        rows = [row | {"prediction": "neutral"} for row in csv.DictReader(file)]
    assert set(read(write(tmp_path / "predicted.csv", rows), suite)) == {1}


@pytest.mark.parametrize(
    ("columns", "read_from"),
    [
        ({"label": "gold", "pred": "said"}, "pred"),
        ({"label": "gold", "prediction": "said"}, "prediction"),
        ({"prediction": "said", "good": "0.9", "bad": "0.1"}, "prediction"),
        ({"label": "gold", "negative": "1", "neutral": "0", "positive": "0"},
         "negative, neutral, positive"),
        ({"label": "said", "confidence": "0.5"}, "label"),
        ({"label": "said", "model": "mine"}, "label"),
        ({"label": "gold", "guess": "said"}, None),
        ({"label": "gold", "yhat": "1"}, None),
        ({"label": "said", "gold": "gold"}, None),
        ({"label": "gold", "mine": "4 stars"}, None),
        ({"prediction": "said", "predicted": "gold"}, None),
        ({"probabilities": "[1, 0, 0]", "scores": "[0, 0, 1]"}, None),
        ({"guess": "said"}, None),
    ],
    ids=str,
)  # fmt: skip
def test_one_order_says_which_column_is_the_prediction(
    suite: SuiteCases, tmp_path: Path, columns: dict[str, str], read_from: str | None
) -> None:
    rows = [
        {"id": case.id, "text": case.text}
        | {
            name: {"gold": LABELS[right(case)], "said": "negative"}.get(cell, cell)
            for name, cell in columns.items()
        }
        for case in suite.with_contrasts
    ]
    path = write(tmp_path / "mine.csv", rows)
    if read_from is None:
        with pytest.raises(ScoringError, match=r"mine\.csv") as refused:
            read(path, suite)
        assert refused.value.hint
        return
    outcomes = outcomes_of_predictions(path, suite, "org/mine")
    assert set(outcomes.labels.tolist()) == {0}
    assert outcomes.model.label_rule.startswith(f"column{'s' * (', ' in read_from)} {read_from}: ")


def test_what_is_read_is_said_in_a_line(
    suite: SuiteCases, suite_folder: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "mine.csv", labelled(suite.with_contrasts))
    told = s2lct(
        *("score", "--predictions", path, "--suite", suite_folder, "--out", tmp_path / "results")
    )
    assert "mine: predictions of mine.csv, column label: label names." in told
