"""`evaluate`'s evaluator and evaluation suite with transformers 5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from evaluate import EvaluationSuite, TextClassificationEvaluator
from tiny_models import save_tiny_classifier
from transformers import (
    AutoTokenizer,
    BertForSequenceClassification,
    Pipeline,
    pipeline,
)

from s2lct.errors import ScoringError
from s2lct.leaderboard.integrations.evaluator import CapabilityEvaluator, CapabilitySuite
from s2lct.leaderboard.integrations.metric import compute
from s2lct.suite.read import load_suite

CLASSES = ("negative", "neutral", "positive")
TIMES = {"total_time_in_seconds", "samples_per_second", "latency_in_seconds"}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(
        tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=512
    )


@pytest.fixture(scope="module")
def classifier(model_folder: Path) -> Pipeline:
    return pipeline("text-classification", model=str(model_folder), device=-1)


@pytest.fixture(scope="module")
def rows(suite_folder: Path) -> Dataset:
    return load_suite(suite_folder)["all"]["test"]


def told(classifier: Pipeline, rows: Dataset) -> dict[str, Any]:
    """The metric's figures for the labels that win."""
    best = [
        max(said, key=lambda one: one["score"])["label"]
        for said in classifier(list(rows["text"]), top_k=None)
    ]
    return compute(predictions=best, references=list(rows))


def without_times(figures: dict[str, Any]) -> dict[str, Any]:
    assert figures.keys() >= TIMES
    return {name: value for name, value in figures.items() if name not in TIMES}


def test_evaluates_own_evaluator_still_needs_this(classifier: Pipeline, rows: Dataset) -> None:
    """Where this fails, `evaluate` was mended and our preparation can go."""
    with pytest.raises(AttributeError, match="TFPreTrainedModel"):
        TextClassificationEvaluator().prepare_pipeline(classifier)


def test_pipelines_models_folders_and_functions_give_the_metrics_figures(
    classifier: Pipeline, model_folder: Path, rows: Dataset
) -> None:
    expected = told(classifier, rows)
    judge = CapabilityEvaluator()
    assert without_times(judge.compute(classifier, data=rows)) == expected
    assert without_times(judge.compute(str(model_folder), data=rows, device=-1)) == expected
    model = BertForSequenceClassification.from_pretrained(model_folder)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    assert (
        without_times(judge.compute(model, data=rows, tokenizer=tokenizer, device=-1)) == expected
    )
    said = judge.compute(
        lambda texts: [one[0]["label"] for one in classifier(texts, top_k=None)], data=rows
    )
    assert without_times(said) == expected
    probabilities = [
        {one["label"]: one["score"] for one in said}
        for said in classifier(list(rows["text"]), top_k=None)
    ]
    table = [[said[name] for name in CLASSES] for said in probabilities]
    assert without_times(judge.compute(lambda _: table, data=rows)) == expected


def test_folders_are_data_and_figures_can_be_flat(
    classifier: Pipeline, suite_folder: Path, rows: Dataset
) -> None:
    figures = CapabilityEvaluator(flat=True).compute(classifier, data=str(suite_folder))
    assert figures["overall/failure_rate"] == told(classifier, rows)["overall"]["failure_rate"]
    assert figures["LC7/seed/cases"] == sum(
        row["capability"] == "LC7" and row["kind"] == "seed" for row in rows
    )


def test_a_label_mapping_says_what_labels_mean(rows: Dataset) -> None:
    def unnamed(texts: list[str]) -> list[dict[str, Any]]:
        return [{"label": f"LABEL_{len(text) % 2}", "score": 0.9} for text in texts]

    named = ["positive" if len(text) % 2 else "negative" for text in rows["text"]]
    expected = compute(predictions=named, references=list(rows))
    judge = CapabilityEvaluator()
    for mapping in ({"LABEL_0": 0, "LABEL_1": 2}, {"LABEL_0": "negative", "LABEL_1": "positive"}):
        figures = judge.compute(unnamed, data=rows, label_mapping=mapping)
        assert without_times(figures) == expected
    with pytest.raises(ScoringError, match="LABEL_1"):
        judge.compute(unnamed, data=rows, label_mapping={"LABEL_0": 0, "LABEL_2": 2})
    with pytest.raises(ScoringError, match="LABEL_0"):
        judge.compute(unnamed, data=rows)


def test_the_evaluation_suite_runs_a_task_a_capability(
    classifier: Pipeline, suite_folder: Path, rows: Dataset
) -> None:
    expected = told(classifier, rows)
    results = CapabilitySuite(suite_folder).run(classifier)
    files = json.loads((suite_folder / "suite.json").read_text())["files"]
    assert [result["task_name"] for result in results] == sorted(
        files, key=lambda name: int(name[2:])
    )
    for result in results:
        name = result["task_name"]
        assert result[name] == expected[name]
    chosen = CapabilitySuite(rows, ["LC9", "LC4"]).run(lambda texts: ["negative"] * len(texts))
    assert [result["task_name"] for result in chosen] == ["LC9", "LC4"]
    assert chosen[1]["LC4"]["seed"]["failure_rate"] == 1
    with pytest.raises(ScoringError, match="LC99"):
        CapabilitySuite(rows, ["LC99"])


def test_a_script_with_a_suite_loads_as_evaluate_loads_them(
    classifier: Pipeline, suite_folder: Path, tmp_path: Path
) -> None:
    script = tmp_path / "mine" / "mine.py"
    script.parent.mkdir()
    script.write_text(
        "from s2lct.leaderboard.integrations.evaluator import CapabilitySuite\n\n\n"
        "class Suite(CapabilitySuite):\n"
        "    def __init__(self, name):\n"
        f"        super().__init__({str(suite_folder)!r}, ['LC4'])\n"
    )
    suite = EvaluationSuite.load(str(script.parent))
    assert [result["task_name"] for result in suite.run(classifier)] == ["LC4"]


@pytest.mark.parametrize(
    ("model", "named"), [(7, "int"), (None, "NoneType"), ("nowhere/at-all", "nowhere/at-all")]
)
def test_what_is_no_model_is_refused(rows: Dataset, model: Any, named: str) -> None:
    with pytest.raises(ScoringError, match=named):
        CapabilityEvaluator().compute(model, data=rows)


def test_other_pipelines_strategies_and_data_are_refused(
    model_folder: Path, classifier: Pipeline, rows: Dataset
) -> None:
    other = pipeline("feature-extraction", model=str(model_folder), device=-1)
    with pytest.raises(ScoringError, match="feature-extraction"):
        CapabilityEvaluator().compute(other, data=rows)
    with pytest.raises(ScoringError, match="independent"):
        CapabilityEvaluator().compute(classifier, data=rows, strategy="bootstrap")
    with pytest.raises(ScoringError, match="no-such-suite"):
        CapabilityEvaluator().compute(classifier, data="no-such-suite")
    with pytest.raises(ScoringError, match="not a row of a suite"):
        CapabilityEvaluator().compute(classifier, data=rows.remove_columns("seed_id"))
