"""The metric refuses what it cannot know, and never guesses from other rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from damaged_suites import loaded
from datasets import Dataset
from tiny_models import save_tiny_classifier, tiny_classifier

from s2lct import score
from s2lct.dataset_script.s2lct import S2lct
from s2lct.errors import ScoringError
from s2lct.leaderboard.integrations.callback import CapabilityCallback
from s2lct.leaderboard.integrations.metric import compute

pytestmark = pytest.mark.usefixtures("own_cache")

THREE = ("negative", "neutral", "positive")
UNNAMED = {"LABEL_0": "positive", "LABEL_1": "neutral", "LABEL_2": "negative"}


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> Dataset:
    return loaded(suite_folder)["LC4"]["test"]


@pytest.mark.parametrize("references", ["label", "text", [], "LC4", 3])
def test_references_that_are_no_rows_say_what_to_pass(references: Any, rows: Dataset) -> None:
    given = rows[references] if references in ("label", "text") else references
    with pytest.raises(ScoringError, match="reference") as refused:
        compute(predictions=[0] * len(rows), references=given)
    assert "pass" in refused.value.hint


def test_nothing_to_score_is_no_perfect_score(suite_folder: Path, rows: Dataset) -> None:
    for arguments in (
        {"predictions": [], "references": []},
        {"predictions": [], "references": rows},
        {"predictions": ["negative"] * 2, "references": [rows[0]["id"]] * 2, "suite": suite_folder},
    ):
        with pytest.raises(ScoringError):
            compute(**arguments)  # type: ignore[arg-type]


def test_added_predictions_are_never_dropped(rows: Dataset) -> None:
    metric = S2lct()
    half = len(rows) // 2
    metric.add_batch(predictions=["positive"] * half, references=rows.select(range(half)))
    rest = rows.select(range(half, len(rows)))
    both = metric.compute(predictions=["positive"] * len(rest), references=rest)
    assert both == compute(predictions=["positive"] * len(rows), references=rows)


def test_predictions_belong_to_the_rows_in_their_order(suite_folder: Path) -> None:
    rows = [row for name in ("LC9", "LC4") for row in loaded(suite_folder)[name]["test"]]
    said = [row["labels"][0] if row["capability"] == "LC9" else 0 for row in rows]
    found = compute(predictions=said, references=rows, classes=THREE, flat=True)
    assert found["LC9/seed/failure_rate"] == 0 < found["LC4/seed/failure_rate"]
    backwards = compute(predictions=said[::-1], references=rows[::-1], classes=THREE, flat=True)
    assert backwards["LC9/seed/failure_rate"] == 0


def test_numbers_and_columns_need_the_order_of_the_classes(rows: Dataset) -> None:
    """FinBERT's order is positive, negative, neutral; read as ours it fails 9 of 10 cases."""
    finbert = ("positive", "negative", "neutral")
    right = [row["label"] for row in rows]
    said = [finbert.index(THREE[label]) for label in right]
    probabilities = [[float(number == place) for place in range(3)] for number in said]
    expected = compute(predictions=[THREE[label] for label in right], references=rows)
    for predictions in (said, probabilities):
        assert compute(predictions=predictions, references=rows, classes=finbert) == expected
        by_text = dict(zip(rows["text"], predictions, strict=True))
        said_of: Any = lambda texts, by_text=by_text: [by_text[text] for text in texts]  # noqa: E731
        assert score(said_of, rows, classes=finbert).figures.nested() == expected
        for unclear in (
            lambda p=predictions: compute(predictions=p, references=rows),
            lambda said_of=said_of: score(said_of, rows),
        ):
            with pytest.raises(ScoringError, match="nothing says") as refused:
                unclear()
            assert "classes=[…]" in refused.value.hint


def test_models_in_memory_pipelines_and_label_maps_agree(rows: Dataset, tmp_path: Path) -> None:
    from transformers import pipeline

    tokenizer, model = tiny_classifier(list(UNNAMED))
    tokenizer_again, named = tiny_classifier(["positive", "neutral", "negative"])
    expected = score(named, rows, tokenizer=tokenizer_again).flat()
    pipe = pipeline("text-classification", model=model, tokenizer=tokenizer, device=-1)
    assert score((model, tokenizer), rows, label_map=UNNAMED).flat() == expected
    assert score(pipe, rows, label_map=UNNAMED).flat() == expected
    assert model.training  # it goes on training
    model.eval()
    every = pipe(list(rows["text"]), top_k=None)
    assert compute(predictions=every, references=rows, label_map=UNNAMED, flat=True) == expected
    assert score(lambda texts: pipe(texts, top_k=None), rows, label_map=UNNAMED).flat() == expected
    for faulty in (
        {"model": model},
        {"model": pipe},
        {"model": pipe, "label_map": UNNAMED | {"LABEL_3": "neutral"}},
        {"model": pipe, "label_map": UNNAMED, "classes": THREE},
        {"model": "vader", "tokenizer": tokenizer},
        {"model": (tokenizer, model)},
    ):
        with pytest.raises(ScoringError) as refused:
            score(suite=rows, **faulty)  # type: ignore[arg-type]
        assert refused.value.hint


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
    kept = score(trainer, suite_folder, capabilities=["LC4", "LC9"])
    assert kept.failure_rate == min(rates)
    assert {name for name in logged[0] if "s2lct" in name} == {
        "eval_s2lct/failure_rate",
        "eval_s2lct/LC4/failure_rate",
        "eval_s2lct/LC9/failure_rate",
        "eval_s2lct/micro/failure_rate",
        "eval_s2lct/micro/consistency",
        "eval_s2lct/consistency",
        "eval_s2lct/LC4/consistency",
        "eval_s2lct/LC9/consistency",
    }
    heard: list[dict[str, float]] = []
    trainer.log = lambda logs, *_: heard.append(logs)
    CapabilityCallback(suite_folder, capabilities="lc9", limit=4).attach(trainer)
    trainer.evaluate()
    assert any("eval_s2lct/LC9/failure_rate" in logs for logs in heard)
    with pytest.raises(ScoringError, match="greater_is_better"):
        trained(folder, suite_folder, tmp_path, greater_is_better=True)
    with pytest.raises(ScoringError, match="greater_is_better"):
        trained(
            folder,
            suite_folder,
            tmp_path,
            metric_for_best_model="eval_s2lct/consistency",
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
    scores = score(trainer, suite_folder, capabilities=["LC4", "LC9"])
    logged = [one for one in trainer.state.log_history if "eval_s2lct/failure_rate" in one]
    assert scores.failure_rate == min(one["eval_s2lct/failure_rate"] for one in logged)
