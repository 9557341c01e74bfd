"""The metric refuses what it cannot know, and never guesses from other rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier, tiny_classifier

from s2lct import score
from s2lct.dataset_script.metric.s2lct import S2lct
from s2lct.errors import ScoringError
from s2lct.labels import check_label_map
from s2lct.leaderboard.answers.label_rules import LabelRule, rule_for
from s2lct.leaderboard.answers.predictions import labels_of_predictions
from s2lct.leaderboard.integrations.callback import CapabilityCallback
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.models.load import load_classifier
from s2lct.suite.read import load_suite

pytestmark = pytest.mark.usefixtures("own_cache")

THREE = ("negative", "neutral", "positive")
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
UNNAMED = {"LABEL_0": "positive", "LABEL_1": "neutral", "LABEL_2": "negative"}
nan = float("nan")


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> Dataset:
    return load_suite(suite_folder)["LC4"]["test"]


def labels(predictions: Any, **options: Any) -> list[int]:
    return labels_of_predictions(predictions, len(predictions), **options)[0].tolist()


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


@given(of_models(), st.integers(1, 5))
def test_what_a_row_leaves_out_never_changes_its_label(
    model: tuple[tuple[str, ...], list[list[float]]], most: int
) -> None:
    names, probabilities = model
    whole = rule_for(names).labels(np.array(probabilities)).tolist()
    said = [answer(row, names, most) for row in probabilities]
    alone: list[int] = []
    for row, label in zip(said, whole, strict=True):
        try:
            alone += labels([row], classes=names)
        except ScoringError as error:
            assert "top_k=None" in error.hint and len(names) == 5
            return
        assert alone[-1] == label
        if len(names) == 3:
            assert label == THREE.index(row[0]["label"])
    assert labels(said, classes=names) == alone


@given(of_models(), st.integers(1, 5))
def test_without_classes_a_row_means_the_same_or_is_refused(
    model: tuple[tuple[str, ...], list[list[float]]], most: int
) -> None:
    names, probabilities = model
    whole = rule_for(names).labels(np.array(probabilities)).tolist()
    try:
        said = labels([answer(row, names, most) for row in probabilities])
    except ScoringError as error:
        assert most < len(names) and "top_k=None" in error.hint
        return
    assert said == whole


def test_the_best_class_alone_is_refused_where_nobody_names_the_classes(rows: Dataset) -> None:
    said = [{"label": "positive", "score": 0.45}] * len(rows)
    with pytest.raises(ScoringError, match=r"predictions\[0\]") as refused:
        compute(predictions=said, references=rows)
    assert "classes=" in refused.value.hint and "top_k=None" in refused.value.hint
    by_name = compute(predictions=["positive"] * len(rows), references=rows)
    assert compute(predictions=said, references=rows, classes=THREE) == by_name
    mapped = [{"label": "LABEL_0", "score": 0.45}] * len(rows)
    assert compute(predictions=mapped, references=rows, label_map=UNNAMED) == by_name


BAD_ROWS: list[Any] = [
    True,
    np.True_,
    None,
    0.5,
    nan,
    7,
    -1,
    "good-ish",
    b"positive",
    [],
    {},
    [[0.5, 0.5]],
    ["positive"],
    [True, False],
    [0.5, "0.5"],
    [0.5, None],
    [0.1, 0.2, nan],
    [-0.1, 0.3, 0.8],
    [2.1, -3.0, 0.4],
    [9.0, 5.0, 3.0],
    [0.1, 0.1, 0.1],
    [0.5, 0.5, 0.5, -0.5],
    {"label": "positive"},
    {"label": None, "score": 0.9},
    {"label": "positive", "score": "0.9"},
    {"label": "positive", "score": nan},
    {"label": "positive", "score": -0.9},
    {"label": "positive", "score": 17},
    [{"label": "positive", "score": 0.9}, {"label": "positive", "score": 0.1}],
    [{"label": "positive", "score": 0.9}, {"label": "negative", "score": 0.9}],
    [{"label": "positive", "score": 0.9}, 3],
    {"negative": 0.5, "positive": 0.9},
    {"negative": 0.5, "positive": True},
    {"negative": 0.5},
    object(),
    {0.1, 0.9},
]
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
        with pytest.raises(ScoringError, match=r"predictions\[[01]\]") as refused:
            labels([good, bad])
        assert refused.value.hint
    with pytest.raises(ScoringError):
        labels([bad])


@pytest.mark.parametrize("first", GOOD_ROWS, ids=repr)
@pytest.mark.parametrize("second", GOOD_ROWS, ids=repr)
def test_forms_are_not_mixed(first: Any, second: Any) -> None:
    same = isinstance(first, dict) + isinstance(second, dict) == 1 and all(
        isinstance(row, dict) or isinstance(row[0], dict)
        for row in (first, second)
        if not isinstance(row, (int, str))
    )
    if first is second or (same and not {type(first), type(second)} & {int, str}):
        assert labels([first, second]) == [0, 0]
        return
    with pytest.raises(
        ScoringError, match=r"predictions\[1\] is a.*, predictions\[0\] is a|scores"
    ):
        labels([first, second])


@pytest.mark.parametrize(
    "predictions",
    [
        torch.randn(3, 3, generator=torch.Generator().manual_seed(0)),
        torch.full((3, 3, 1), 1 / 3),
        torch.ones(3, 1),
        torch.tensor([0.0, 1.0, 2.0]),
        torch.tensor([True, False, True]),
        np.array([0.0, 1.0, 2.0]),
        np.array([[1.0, 2.0, 3.0]] * 3),
        np.ma.masked_equal([0, 1, 2], 1),
        np.array(1),
        {"a": 1, "b": 2, "c": 0},
        {0, 1, 2},
        "neg",
        None,
        7,
    ],
    ids=repr,
)
def test_what_is_no_list_of_predictions_is_refused(predictions: Any) -> None:
    with pytest.raises(ScoringError):
        labels_of_predictions(predictions, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_tensors_of_any_precision_are_probabilities(dtype: torch.dtype) -> None:
    logits = torch.tensor([[9.0, 5, 3], [1, 3, 2], [0.1, 0.3, 0.9]], requires_grad=True)
    said = torch.softmax(logits, -1).to(dtype)
    assert labels_of_predictions(said, 3)[0].tolist() == [0, 1, 2]
    assert labels(list(said)) == [0, 1, 2]
    assert labels(torch.tensor([0, 1, 2])) == [0, 1, 2]


def test_numbers_and_columns_are_those_of_the_classes() -> None:
    turned = THREE[::-1]
    assert labels([0, 1, 2], classes=turned) == [2, 1, 0]
    assert labels([0, 1], label_map={1: 2, 0: "Negative"}) == [0, 2]
    assert labels([[0.7, 0.2, 0.1]], classes=turned) == [2]
    with pytest.raises(ScoringError, match="which is which"):
        labels([[0.7, 0.2, 0.1]], label_map=UNNAMED)
    with pytest.raises(ScoringError, match="which class"):
        labels([0, 1, 2], label_map=UNNAMED)
    with pytest.raises(ScoringError, match="0 and 1"):
        assert labels([0, 1]) == [0, 1]


@pytest.mark.parametrize(
    "band", [(0.7, 0.3), (nan, 0.5), (0.3, nan), (-0.1, 0.5), (0.5, 1.1), (0.5,), "12", None, 0.5]
)
def test_a_neutral_band_that_is_none_is_refused(band: Any, rows: Dataset) -> None:
    for use in (
        lambda: labels([[0.5, 0.5]], neutral_band=band),
        lambda: LabelRule(("neg", "pos"), (0, 2), band),
        lambda: compute(predictions=[0] * len(rows), references=rows, neutral_band=band),
    ):
        with pytest.raises(ScoringError, match="neutral band"):
            use()


@pytest.mark.parametrize(
    "given",
    [
        "LABEL_0=bad",
        "LABEL_0",
        "",
        "0=negative,0=positive",
        "=negative",
        {},
        {"LABEL_0": 3},
        {"LABEL_0": True},
        {0: "negative", "0": "positive"},
        ["negative", "positive"],
    ],
)
def test_a_faulty_label_map_is_refused_before_any_model(given: Any) -> None:
    with pytest.raises(ScoringError):
        check_label_map(given)
    if isinstance(given, str):
        with pytest.raises(ScoringError, match="--label-map"):
            check_label_map(given)


def test_a_label_map_takes_ids_and_names_in_any_case() -> None:
    assert check_label_map({0: "Negative", "a": 2}) == {"0": "negative", "a": "positive"}
    assert check_label_map("0=NEGATIVE, 1 = positive") == {"0": "negative", "1": "positive"}
    assert rule_for(["LABEL_0", "LABEL_1"], label_map={0: 2, "label_1": 0}).meanings == (2, 0)
    with pytest.raises(ScoringError, match="LABEL_7 is no class"):
        rule_for(["LABEL_0", "LABEL_1"], label_map={"LABEL_0": 0, "LABEL_1": 2, "LABEL_7": 2})
    with pytest.raises(ScoringError, match="twice"):
        rule_for(["LABEL_0", "LABEL_1"], label_map={"LABEL_0": 0, 0: 2, 1: 2})


def test_a_model_that_names_its_classes_is_believed_over_the_table() -> None:
    known = "distilbert-base-uncased-finetuned-sst-2-english"
    assert rule_for(["POSITIVE", "NEGATIVE"], model=known).meanings == (2, 0)


@pytest.mark.parametrize("references", ["label", "labels", "text", "none", "string", "number"])
def test_references_that_are_no_rows_say_what_to_pass(references: str, rows: Dataset) -> None:
    labelled = rows.add_column("label", [0] * len(rows)) if "label" not in rows.features else rows
    given = {"none": [], "string": "LC4", "number": 3}.get(references)
    if given is None:
        given = labelled[references]
    with pytest.raises(ScoringError, match="reference") as refused:
        compute(predictions=[0] * len(rows), references=given)
    assert "pass" in refused.value.hint


def test_nothing_to_score_is_no_perfect_score(suite_folder: Path, rows: Dataset) -> None:
    for arguments in (
        {"predictions": [], "references": []},
        {"predictions": [], "references": rows},
        {"model": "vader", "suite": []},
        {"model": "vader", "suite": suite_folder, "limit": 0},
        {"model": "vader", "suite": suite_folder, "capabilities": []},
        {"model": "vader", "suite": suite_folder, "kind": "seeds"},
        {"model": "vader", "suite": suite_folder, "references": rows},
        {"predictions": [0] * len(rows), "references": rows, "capabilities": ["LC4"]},
        {"predictions": [0, 0], "references": [rows[0]["id"]] * 2, "suite": suite_folder},
    ):
        with pytest.raises(ScoringError):
            compute(**arguments)  # type: ignore[arg-type]


def test_added_predictions_are_never_dropped(rows: Dataset) -> None:
    metric = S2lct()
    half = len(rows) // 2
    metric.add_batch(predictions=[2] * half, references=rows.select(range(half)))
    with pytest.raises(ScoringError, match="were added"):
        metric.compute(model="vader", suite=rows)
    rest = rows.select(range(half, len(rows)))
    both = metric.compute(predictions=[2] * len(rest), references=rest)
    assert both == compute(predictions=[2] * len(rows), references=rows)


def test_capabilities_are_named_in_any_case(suite_folder: Path) -> None:
    expected = compute(model="vader", suite=suite_folder, capabilities=["LC4"])
    assert compute(model="vader", suite=suite_folder, capabilities="lc4") == expected


def test_models_in_memory_pipelines_and_label_maps_agree(rows: Dataset, tmp_path: Path) -> None:
    from transformers import pipeline

    tokenizer, model = tiny_classifier(list(UNNAMED))
    tokenizer_again, named = tiny_classifier(["positive", "neutral", "negative"])
    expected = compute(model=named, tokenizer=tokenizer_again, suite=rows)
    pipe = pipeline("text-classification", model=model, tokenizer=tokenizer, device=-1)
    assert compute(model=(model, tokenizer), suite=rows, label_map=UNNAMED) == expected
    assert compute(model=pipe, suite=rows, label_map=UNNAMED) == expected
    assert model.training  # it goes on training
    model.eval()
    best = pipe(list(rows["text"]))
    assert compute(predictions=best, references=rows, label_map=UNNAMED) == expected
    assert compute(model=lambda texts: pipe(texts), suite=rows, label_map=UNNAMED) == expected
    for faulty in (
        {"model": model},
        {"model": pipe},
        {"model": pipe, "label_map": UNNAMED | {"LABEL_3": "neutral"}},
        {"model": pipe, "label_map": UNNAMED, "classes": THREE},
        {"model": "vader", "tokenizer": tokenizer},
        {"model": (tokenizer, model)},
    ):
        with pytest.raises(ScoringError) as refused:
            compute(suite=rows, **faulty)  # type: ignore[arg-type]
        assert refused.value.hint


@pytest.mark.parametrize(
    ("name", "near"), [("vadr", "vader"), ("VADER", "vader"), ("embedded-3clas", "embedded-3class")]
)
def test_a_misspelt_model_gets_the_nearest_name(
    name: str, near: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", asked)
    with pytest.raises(ScoringError) as refused:
        load_classifier(name)
    assert f"pass {near}" in refused.value.hint


def trained(
    folder: Path, suite: Path, tmp_path: Path, label_map: Any = None, **arguments: Any
) -> Any:
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        Trainer,
        TrainingArguments,
    )

    tokenizer = AutoTokenizer.from_pretrained(folder)
    data = Dataset.from_dict({"text": ["bad film", "good film"] * 4, "labels": [0, 2] * 4})
    data = data.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=8))
    trainer = Trainer(
        AutoModelForSequenceClassification.from_pretrained(folder),
        TrainingArguments(
            str(tmp_path / "out"),
            max_steps=3,
            learning_rate=0.05,
            eval_strategy="steps",
            save_strategy="steps",
            eval_steps=1,
            save_steps=1,
            load_best_model_at_end=True,
            report_to=[],
            use_cpu=True,
            **({"metric_for_best_model": "eval_s2lct/failure_rate"} | arguments),
        ),
        train_dataset=data,
        eval_dataset=data,
        processing_class=tokenizer,
        callbacks=[CapabilityCallback(suite, capabilities=["lc4", "LC9"], label_map=label_map)],
    )
    trainer.train()
    return trainer


def test_a_trainer_keeps_the_model_that_fails_least(suite_folder: Path, tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "tiny")
    trainer = trained(folder, suite_folder, tmp_path, greater_is_better=False)
    logged = [entry for entry in trainer.state.log_history if "eval_s2lct/failure_rate" in entry]
    rates = [entry["eval_s2lct/failure_rate"] for entry in logged]
    assert len(rates) == 3 and trainer.state.best_metric == min(rates)
    kept = compute(model=trainer, suite=suite_folder, capabilities=["LC4", "LC9"])
    assert kept["overall"]["failure_rate"] == min(rates)
    assert {name for name in logged[0] if "s2lct" in name} == {
        "eval_s2lct/failure_rate",
        "eval_s2lct/LC4/failure_rate",
        "eval_s2lct/LC9/failure_rate",
        "eval_s2lct/both_sides",
        "eval_s2lct/LC4/both_sides",
    }
    with pytest.raises(ScoringError, match="fails most"):
        trained(folder, suite_folder, tmp_path, greater_is_better=True)
    with pytest.raises(ScoringError, match="least often right on both sides"):
        trained(
            folder,
            suite_folder,
            tmp_path,
            metric_for_best_model="eval_s2lct/both_sides",
            greater_is_better=False,
        )


def test_a_trainer_with_unnamed_classes_is_refused_before_training(
    suite_folder: Path, tmp_path: Path
) -> None:
    folder = save_tiny_classifier(tmp_path / "tiny", list(UNNAMED))
    with pytest.raises(ScoringError, match="nothing says what LABEL_0"):
        trained(folder, suite_folder, tmp_path, greater_is_better=False)
    assert not list((tmp_path / "out").glob("checkpoint-*"))
    trainer = trained(folder, suite_folder, tmp_path, UNNAMED, greater_is_better=False)
    chosen: dict[str, Any] = {"suite": suite_folder, "capabilities": ["LC4", "LC9"]}
    kept = compute(model=trainer, **chosen)
    assert kept == score(trainer, **chosen) == compute(model=trainer, label_map=UNNAMED, **chosen)
