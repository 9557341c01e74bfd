"""Scoring: label rules, models, the metric, result files and the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged_suites import loaded
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.models.load import as_classifier, load_classifier
from s2lct.leaderboard.results.read import read_result, recompute
from s2lct.leaderboard.scoring.score import score
from s2lct.leaderboard.site.report import marked
from s2lct.suite.cases import Case, SuiteCases, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner()


@pytest.fixture(scope="session")
def classifier_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT classifier with random weights and the embedded encoder's tokenizer."""
    return save_tiny_classifier(
        tmp_path_factory.mktemp("models") / "tiny", hidden_size=32, intermediate_size=64
    )


def with_labels(folder: Path, to: Path, **labels: Any) -> Path:
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    config.update(labels)
    (to / "config.json").write_text(json.dumps(config))
    return to


class Fixed:
    """A classifier that says what it is told, and counts what it is asked."""

    name, revision, fingerprint = "fixed", "", "f" * 64
    classes: tuple[str, ...] = ("NEGATIVE", "POSITIVE")

    def __init__(self, positive: float) -> None:
        self.positive = positive
        self.asked = 0

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray]]:
        for number in range(len(texts)):
            self.asked += 1
            yield [number], np.array([[1 - self.positive, self.positive]])


CASES = SuiteCases(
    "mine",
    "1.0.0",
    "0" * 64,
    (
        Case("a", "LC4", "seed", "a", "This isn't bad.", frozenset({1, 2})),
        Case("b", "LC4", "expansion", "a", "This isn't also bad.", frozenset({1, 2}), ("also",)),
        Case("c", "LC9", "seed", "c", "Is it bad? Yes.", frozenset({0})),
    ),
)


BANDED = [(0.2, 0), (1 / 3, 0), (0.34, 1), (0.66, 1), (2 / 3, 2), (0.9, 2)]
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


def test_a_rule_says_what_probabilities_mean() -> None:
    binary = rule_for(["NEGATIVE", "POSITIVE"])
    rows = np.array([[1 - positive, positive] for positive, _ in BANDED])
    assert binary.labels(rows).tolist() == [label for _, label in BANDED]
    folded = rule_for(STARS).labels(np.array([[0.3, 0.3, 0.4, 0, 0], [0, 0.1, 0.4, 0.3, 0.2]]))
    assert folded.tolist() == [0, 2]
    known = rule_for(["LABEL_0", "LABEL_1"], model="textattack/bert-base-uncased-SST-2")
    mapped = rule_for(["LABEL_0", "LABEL_1"], label_map={"0": "positive", "LABEL_1": "negative"})
    assert (known.meanings, mapped.meanings) == ((0, 2), (2, 0)) and "--label-map" in str(mapped)
    with pytest.raises(ScoringError) as refused:
        rule_for(["LABEL_0", "LABEL_1"], model="somebody/model")
    assert "--label-map LABEL_0=" in refused.value.hint
    for classes in (["a", "b", "c", "d", "e", "f"], ["only"], ["neutral", "positive"]):
        with pytest.raises(ScoringError):
            rule_for(classes)


def test_the_word_lists_score_a_suite(suite_folder: Path) -> None:
    suite = load_cases(suite_folder)
    for name in ("vader", "textblob", "afinn"):
        outcomes = score(load_classifier(name), suite)
        assert 0 < outcomes.failed.mean() < 1
        assert set(outcomes.labels.tolist()) == {0, 1, 2}


def test_a_local_classifier_scores_from_the_command_line(
    classifier_folder: Path, suite_folder: Path, tmp_path: Path
) -> None:
    done = runner.invoke(
        app,
        ["score", str(classifier_folder), "--suite", str(suite_folder), "--out", str(tmp_path)],
    )
    assert done.exit_code == 0, done.output
    (file,) = tmp_path.glob("*.json")
    result = recompute(file)
    assert len(result.model.weights_sha256) == 64
    assert result.suite.version == "1.0.0"
    assert "negative → negative" in result.model.label_rule


def test_a_suite_that_is_none_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="s2lct build --out DIR"):
        load_cases(tmp_path)
    with pytest.raises(ScoringError, match="has no capability LC77"):
        CASES.select(["LC77"])
    with pytest.raises(ScoringError, match="no case is left"):
        CASES.select(["LC9"], kind="expansion")


def test_the_metric_takes_rows_or_ids(suite_folder: Path) -> None:
    configs = loaded(suite_folder)
    rows = configs["LC4"]["test"]
    outcomes = score(load_classifier("vader"), load_cases(suite_folder).select(["LC4"]))
    by_model = outcomes.figures.nested()
    ids = [case.id for case in outcomes.suite.asked]
    said = dict(zip(ids, outcomes.labels.tolist(), strict=True))
    labels = [said[id] for id in rows["id"]]
    assert compute(predictions=labels, references=rows) == by_model
    by_ids = compute(predictions=np.array(labels), references=rows["id"], suite=suite_folder)
    assert by_ids == by_model
    flat = compute(predictions=labels, references=rows, flat=True)
    assert flat["LC4/seed/failure_rate"] == by_model["LC4"]["seed"]["failure_rate"]
    assert all(isinstance(value, (int, float)) for value in flat.values())


@pytest.mark.parametrize(
    "given",
    [{"references": ["feedbeef"]}, {"references": [{"text": "A film."}]}],
)
def test_the_metric_refuses_what_does_not_fit(given: dict[str, Any], suite_folder: Path) -> None:
    with pytest.raises(ScoringError):
        compute(predictions=[0], suite=suite_folder, **given)


def test_a_trainer_logs_failure_rates(
    classifier_folder: Path, suite_folder: Path, tmp_path: Path
) -> None:
    import datasets
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    from s2lct.leaderboard import CapabilityCallback

    tokenizer = AutoTokenizer.from_pretrained(classifier_folder)
    data = datasets.Dataset.from_dict({"text": ["bad film", "good film"] * 4, "labels": [0, 2] * 4})
    data = data.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=8))
    trainer = Trainer(
        AutoModelForSequenceClassification.from_pretrained(classifier_folder),
        TrainingArguments(
            str(tmp_path),
            max_steps=2,
            eval_strategy="steps",
            eval_steps=1,
            report_to=[],
            use_cpu=True,
        ),
        train_dataset=data,
        eval_dataset=data,
        processing_class=tokenizer,
        callbacks=[CapabilityCallback(suite_folder, capabilities=["LC4", "LC9"], limit=4)],
    )
    trainer.train()
    logged = [
        entry for entry in trainer.state.log_history if "eval_s2lct/LC9/failure_rate" in entry
    ]
    assert [entry["step"] for entry in logged] == [1, 2]
    assert 0 <= logged[-1]["eval_s2lct/failure_rate"] <= 1
    CapabilityCallback(suite_folder, capabilities="lc9", limit=4).attach(trainer)
    heard: list[dict[str, float]] = []

    class Logger(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            heard.append(dict(logs))

    trainer.add_callback(Logger())
    trainer.evaluate()
    assert any("eval_s2lct/LC9/failure_rate" in logs for logs in heard)
    chosen = load_cases(suite_folder).select(["LC4"], limit=4)
    rates = score(as_classifier(trainer), chosen).figures.nested()
    assert rates["overall"]["failure_rate"] == logged[-1]["eval_s2lct/LC4/failure_rate"]
    share = rates["LC4"]["both_sides"]["share"]
    assert share == logged[-1]["eval_s2lct/LC4/both_sides"] == logged[-1]["eval_s2lct/both_sides"]
    assert "eval_s2lct/LC9/both_sides" not in logged[-1]  # it has no counterpart


def test_the_html_report_shows_text_as_text(tmp_path: Path) -> None:
    from s2lct.leaderboard.results.read import Scored
    from s2lct.leaderboard.results.write import write_result
    from s2lct.leaderboard.site.report import html_report

    evil = "<script>alert(1)</script> isn't bad"
    cases = tuple(
        Case(name, "LC4", kind, "a", text, frozenset({0}), words)
        for name, kind, text, words in (
            ("a", "seed", evil, ()),
            ("b", "expansion", f"also {evil}", ("also",)),
        )
    )
    outcomes = score(Fixed(0.9), SuiteCases("<b>mine</b>", "1.0.0", "0" * 64, cases))
    result = read_result(write_result(outcomes, tmp_path))
    page = html_report([Scored(result, outcomes)])
    assert "<script>" not in page
    assert "<b>mine</b>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page  # it needs no network


def test_inserted_words_are_marked_as_whole_words() -> None:
    case = Case("b", "LC4", "expansion", "a", "An undo is so & also do-able.", frozenset(), ("so",))
    assert str(marked(case)) == "An undo is <mark>so</mark> &amp; also do-able."
