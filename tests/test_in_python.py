"""``from s2lct import score, load_suite``: without `evaluate`, and light to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_models import save_tiny_classifier, tiny_classifier

import s2lct
from s2lct import load_suite, score, score_models
from s2lct.errors import OptionError, ScoringError
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.results.read import recompute
from s2lct.leaderboard.results.record import SelectionRecord

pytestmark = pytest.mark.usefixtures("own_cache")


def negative(texts: list[str]) -> list[str]:
    return ["negative"] * len(texts)


def python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_importing_is_light_and_so_is_reading_a_suite(suite_folder: Path) -> None:
    done = python(
        "import sys\n"
        "from s2lct import gate, load_suite, score\n"
        "heavy = {'torch', 'transformers', 'datasets', 'evaluate', 'numpy', 'pyarrow', 'scipy'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
        "suite = load_suite(sys.argv[1], limit=2)\n"
        "score(lambda texts: ['neutral'] * len(texts), suite)\n"
        "score('vader', suite, cache=False)\n"
        "heavy -= {'numpy', 'pyarrow', 'scipy'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n",
        suite_folder,
    )
    assert done.stdout.splitlines() == ["[]", "[]"], done.stderr


def test_figures_are_those_of_the_metric(suite_folder: Path) -> None:
    scores = score(negative, suite_folder)
    asked = scores.outcomes.suite.asked
    given: dict[str, Any] = {"references": [case.id for case in asked], "suite": suite_folder}
    given["predictions"] = negative([case.text for case in asked])
    computed = compute(**given)
    assert scores.outcomes.figures.nested() == computed
    assert scores.flat() == compute(**given, flat=True)
    assert scores.failure_rate == scores.overall.failure_rate == computed["overall"]["failure_rate"]
    for name, of in scores.capabilities.items():
        assert of.all is not None
        assert of.all.failure_rate == computed[name]["all"]["failure_rate"]
        assert of.pass_to_fail == computed[name]["pass_to_fail"]
    assert "negative on " in repr(scores)
    assert f"{100 * scores.failure_rate:.1f} %" in repr(scores)


def test_a_suite_is_read_once_and_scored_on_often(suite_folder: Path) -> None:
    suite = load_suite(suite_folder, capabilities="lc4", kind="seed", limit=2)
    assert [case.capability for case in suite.cases] == ["LC4"] * 2
    assert {case.kind for case in suite.cases} == {"seed"}
    asked: list[str] = []

    def counted(texts: list[str]) -> list[str]:
        asked.extend(texts)
        return negative(texts)

    assert set(score(counted, suite).capabilities) == {"LC4"}
    assert {case.text for case in suite.cases} <= set(asked)
    whole = load_suite(suite_folder)
    assert (
        score(negative, whole, capabilities=["LC4"], kind="seed", limit=2).capabilities
        == score(negative, suite).capabilities
    )
    with pytest.raises(ScoringError, match="has no capability LC77"):
        load_suite(suite_folder, capabilities=["LC77"])
    with pytest.raises(ScoringError, match="neither a folder here nor a data set"):
        load_suite("no-such-suite")


def test_a_score_is_written_as_the_command_writes_it(suite_folder: Path, tmp_path: Path) -> None:
    by_command = score_models(["vader"], suite=str(suite_folder), out=tmp_path / "command")
    path = score("vader", suite_folder).write(tmp_path / "script")
    assert path.name == by_command.files[0].name == "vader.json"
    date = {"date": ""}
    written, expected = recompute(path), by_command.results[0]
    assert written.model_copy(update=date) == expected.model_copy(update=date)
    chosen = score("vader", suite_folder, capabilities="lc4", limit=3).write(tmp_path / "script")
    assert recompute(chosen).selection == SelectionRecord(capabilities=("LC4",), limit=3)
    assert s2lct.gate(path, no_worse_than=by_command.files[0]).passed


def test_models_without_a_name_are_given_one(suite_folder: Path, tmp_path: Path) -> None:
    scores = score(negative, suite_folder, name="team/mine", limit=2)
    assert recompute(scores.write(tmp_path)).model.name == "team/mine"
    with pytest.raises(ScoringError, match="name='mine' of model vader"):
        score("vader", suite_folder, name="mine")


def test_the_command_is_a_function(suite_folder: Path, tmp_path: Path) -> None:
    written = score_models(["vader"], suite=str(suite_folder), limit=2, out=tmp_path)
    assert [one.partial for one in written.results] == [True]
    with pytest.raises(OptionError, match="--limit"):
        score_models(["vader"], suite=str(suite_folder), limit=0)
    with pytest.raises(OptionError, match="--predictions"):
        score_models(suite="dist/s2lct")


def test_models_in_memory_and_folders_answer_alike(suite_folder: Path, tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "model")
    tokenizer, model = tiny_classifier()
    suite = load_suite(suite_folder, limit=4)
    expected = score(str(folder), suite).flat()
    assert score((model, tokenizer), suite).flat() == expected
    assert score(model, suite, tokenizer=tokenizer).flat() == expected
    with pytest.raises(ScoringError, match="without its tokenizer"):
        score(model, suite)


TRAINING = """
import sys
sys.modules["evaluate"] = None  # whoever imports it fails
from pathlib import Path
from datasets import Dataset
from transformers import (
    AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
)
from s2lct import CapabilityCallback, load_suite, score

folder, suite_folder, out = sys.argv[1:]
suite = load_suite(suite_folder, limit=2)
tokenizer = AutoTokenizer.from_pretrained(folder)
data = Dataset.from_dict({"text": ["bad film", "good film"] * 2, "labels": [0, 2] * 2})
data = data.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=8))
trainer = Trainer(
    AutoModelForSequenceClassification.from_pretrained(folder),
    TrainingArguments(out, max_steps=1, eval_strategy="steps", eval_steps=1, report_to=[],
                      use_cpu=True),
    train_dataset=data, eval_dataset=data, processing_class=tokenizer,
)
CapabilityCallback(suite).attach(trainer)
trainer.train()
(logged,) = [one for one in trainer.state.log_history if "eval_s2lct/failure_rate" in one]
scores = score(trainer, suite)
again = score((trainer.model, tokenizer), suite)
assert scores.flat() == again.flat()
assert logged["eval_s2lct/failure_rate"] == scores.failure_rate
print(scores.write(Path(out) / "results"))
"""


def test_training_needs_no_evaluate(suite_folder: Path, tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "model")
    done = python(TRAINING, folder, suite_folder, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    written: Any = recompute(Path(done.stdout.splitlines()[-1]))
    assert written.model.name == "trainer"
    assert written.partial


def test_what_the_package_offers_is_listed() -> None:
    for name in ("score", "load_suite", "gate", "CapabilityCallback"):
        assert name in dir(s2lct)
        assert getattr(s2lct, name).__doc__
