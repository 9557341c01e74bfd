"""Language models that answer in words, against transformers' own `generate`, a text at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_chat_template import PLAIN
from tiny_models import SENTENCES, save_tiny_llama
from tiny_sayer import save_tiny_sayer
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.labels import LABELS, TASK
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.generating_model import GeneratingModel
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.text_model import TextModel
from s2lct.leaderboard.results.read import read_scored, recompute
from s2lct.leaderboard.results.record import own_options
from s2lct.leaderboard.scoring.score import score
from s2lct.leaderboard.submission import rescoring
from s2lct.suite.cases import load_cases

pytestmark = pytest.mark.usefixtures("own_cache")
PROMPT = "Review: {text} Sentiment:"
runner = CliRunner()


def answers(model: GeneratingModel, texts: list[str]) -> list[TextAnswer]:
    found: dict[int, TextAnswer] = {}
    model.answer(texts, found.__setitem__)
    return [found[number] for number in range(len(texts))]


def alone(folder: Path, string: str, most: int) -> tuple[str, str]:
    """What a model writes behind a string as it stands, and why it ended."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer(string, add_special_tokens=False, return_tensors="pt")["input_ids"]
    ends = [tokenizer.eos_token_id, model.generation_config.eos_token_id]
    new = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=most,
        do_sample=False,
        repetition_penalty=1.0,
        eos_token_id=ends,
    )[0, ids.shape[1] :].tolist()
    ended = not {*ends}.isdisjoint(new)
    return tokenizer.decode(new, skip_special_tokens=True), "stop" if ended else "length"


@pytest.mark.parametrize("template", [None, PLAIN])
def test_it_writes_what_transformers_writes_to_one_text_at_a_time(
    template: str | None, tmp_path: Path
) -> None:
    folder = save_tiny_llama(tmp_path / "llama", seed=5, chat_template=template)
    # What a model's own file suggests is no part of a greedy answer.
    file = folder / "generation_config.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"do_sample": True, "repetition_penalty": 3.0}))
    model = GeneratingModel(str(folder), LabelPrompt(PROMPT, most_tokens=40), dtype="float32")
    assert isinstance(model, TextModel)
    texts = [*SENTENCES, *(f"{one} {one}" for one in SENTENCES)]
    framed = "<s><|user|>{}</s><|assistant|>" if template else "<s>{}"
    expected = [alone(folder, framed.format(PROMPT.replace("{text}", t)), 40) for t in texts]
    found = answers(model, texts)
    assert [(one.text, one.finish) for one in found] == expected
    assert len({one.text for one in found}) > 6
    # Neither order nor company changes an answer.
    assert answers(model, texts[::-1]) == found[::-1]
    assert [answers(model, [text])[0] for text in texts[:8]] == found[:8]


def test_an_answer_ends_where_the_model_ends_it(tmp_path: Path) -> None:
    asked = [PROMPT.replace("{text}", text) for text in SENTENCES]
    folder = save_tiny_sayer(tmp_path / "sayer", LABELS, asked)
    model = GeneratingModel(str(folder), LabelPrompt(PROMPT, most_tokens=2))
    whole = answers(model, SENTENCES)
    assert {one.finish for one in whole} == {"stop"}
    assert {one.text for one in whole} <= set(LABELS)
    assert {one.completion_tokens for one in whole} == {2}  # the label and the end
    cut = answers(model.asking(LabelPrompt(PROMPT, most_tokens=1)), SENTENCES)
    assert [(one.text, one.finish) for one in cut] == [(one.text, "length") for one in whole]


def test_answers_are_kept_by_question_and_length_not_by_words(tmp_path: Path) -> None:
    folder = str(save_tiny_llama(tmp_path / "llama", chat_template=PLAIN))
    model = GeneratingModel(folder, LabelPrompt(PROMPT, most_tokens=8))
    same = model.asking(LabelPrompt(PROMPT, ("bad", "so-so", "good"), most_tokens=8))
    assert same.fingerprint == model.fingerprint
    others = [
        LabelPrompt(PROMPT, most_tokens=9),
        LabelPrompt("{text} So:", most_tokens=8),
        LabelPrompt(PROMPT, chat_template=False, most_tokens=8),
    ]
    assert len({model.fingerprint, *(model.asking(one).fingerprint for one in others)}) == 4
    with pytest.raises(ScoringError, match="capital letters"):
        model.asking(LabelPrompt(PROMPT, ("Good", "good"), most_tokens=8))
    with pytest.raises(ScoringError, match="its answer up to 600"):
        answers(model.asking(LabelPrompt(PROMPT, most_tokens=600)), ["A film."])


@pytest.fixture
def sayer(suite_folder: Path, tmp_path: Path) -> Path:
    """Ends its answers."""
    cases = load_cases(suite_folder).cases
    asked = [prompt.replace("{text}", case.text) for case in cases for prompt in TASK.prompts]
    return save_tiny_sayer(tmp_path / "sayer", LABELS, asked)


def test_the_command_counts_answers_in_words_and_they_can_be_asked_for_again(
    sayer: Path, suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = ["score", str(sayer), "--suite", str(suite_folder), "--llm", "--generate"]
    command += ["--limit", "3", "--max-tokens", "7", "--out", str(out)]
    done = runner.invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "(3 prompts)" in " ".join(done.output.split())
    paths = sorted(out.glob("*.json"))
    results = [recompute(path) for path in paths]
    assert {one.model.options.prompt for one in results} == {*TASK.prompts}
    # Kept answers are read, and give the same files.
    before = {path: path.with_suffix(".parquet").read_bytes() for path in paths}
    monkeypatch.setattr(GeneratingModel, "written", lambda *_: pytest.fail("asked again"))
    assert runner.invoke(app, command).exit_code == 0
    monkeypatch.undo()
    assert {path: path.with_suffix(".parquet").read_bytes() for path in paths} == before
    for path, result in zip(paths, results, strict=True):
        told, outcomes = result.model, read_scored(path).outcomes
        options = told.options
        assert (options.generate, options.max_tokens, told.endpoint) == (True, 7, None)
        assert told.rescorable and told.weights_sha256 and told.parameters
        assert "answers in words of at most 7 tokens" in own_options(options)
        assert set(outcomes.labels.tolist()) <= {0, 1, 2}
        monkeypatch.setattr(rescoring, "_fetched_model", lambda *_: sayer)
        verdict = rescoring.ask_again(result, outcomes.cases, outcomes.labels)
        assert verdict == rescoring.AskedAgain((), len(outcomes.cases))
        wrong = outcomes.labels.copy()
        wrong[0] = 3
        (fault,) = rescoring.ask_again(result, outcomes.cases, wrong).faults
        assert "the model says something else of 1 case" in fault
        monkeypatch.undo()


def test_answers_without_an_end_are_counted_as_unreadable(
    suite_folder: Path, tmp_path: Path
) -> None:
    folder = save_tiny_llama(tmp_path / "llama")
    suite = load_cases(suite_folder).select(limit=2)
    outcomes = score(GeneratingModel(str(folder), LabelPrompt(most_tokens=3)), suite)
    assert outcomes.failed.all() and set(outcomes.labels.tolist()) == {4}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--generate"], "--generate without --llm"),
        (["--generate", "--base-url", "http://h/v1"], "leave it out"),
        (["--llm", "--max-tokens", "9"], "--max-tokens without --base-url"),
        (["--llm", "--generate", "--concurrency", "2"], "--concurrency without --base-url"),
        (["--llm", "--generate", "--label-map", "0=negative"], "no label map"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], problem: str, sayer: Path, suite_folder: Path, tmp_path: Path
) -> None:
    arguments: list[Any] = ["score", str(sayer), "--suite", str(suite_folder)]
    done = runner.invoke(app, [*arguments, "--out", str(tmp_path / "out"), *options])
    assert done.exit_code == 1
    assert problem in " ".join(done.output.split())
