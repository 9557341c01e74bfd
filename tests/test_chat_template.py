"""Chat models as classifiers, against strings written by hand and read one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import SENTENCES, save_tiny_llama
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.labels import TASK
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.results.read import recompute
from s2lct.leaderboard.results.record import own_options

pytestmark = pytest.mark.usefixtures("own_cache")

PLAIN = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPACED = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
THINKING = (
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.role == 'assistant' %}<think></think>{% endif %}"
    "{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
DATED = "{{ bos_token }}{{ strftime_now('%d %b %Y') }}: {{ messages[0].content }} => "
# What each template makes of a question and a word, by hand.
BY_HAND: dict[str, Callable[[str, str], str]] = {
    PLAIN: lambda question, word: f"<s><|user|>{question}</s><|assistant|>{word}",
    SPACED: lambda question, word: f"<s>[INST] {question} [/INST] {word}",
    THINKING: lambda question, word: f"<|user|>{question}<|assistant|><think></think>{word}",
    DATED: lambda question, word: f"<s>26 Jul 2024: {question} => {word}",
}
WORDS = ("terrible indeed", "so-so", "good")


def said(model: Any, texts: list[str]) -> np.ndarray:
    rows = np.full((len(texts), len(model.classes)), np.nan)
    for numbers, batch in model.probabilities(texts):
        rows[numbers] = batch
    return rows


def reader(folder: Path) -> Callable[[list[str]], np.ndarray]:
    """Gives log-softmax over the log-likelihoods of strings, as they stand, token by token."""
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def likelihoods(strings: list[str]) -> np.ndarray:
        sums = []
        for string in strings:
            ids = tokenizer.encode(string, add_special_tokens=False).ids
            with torch.inference_mode():
                rows = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
            sums.append(sum(float(rows[place - 1, ids[place]]) for place in range(1, len(ids))))
        return np.asarray(torch.log_softmax(torch.tensor(sums, dtype=torch.float64), 0))

    return likelihoods


@pytest.mark.parametrize("template", BY_HAND, ids=["plain", "spaced", "thinking", "dated"])
def test_probabilities_are_those_of_the_strings_that_the_template_writes(
    template: str, tmp_path: Path
) -> None:
    folder = save_tiny_llama(tmp_path / "chat", chat_template=template)
    asks = LabelPrompt("Is it good? {text}", WORDS)
    model = LanguageModel(str(folder), asks)
    likelihoods, together = reader(folder), np.log(said(model, SENTENCES))
    strings = [
        [BY_HAND[template](f"Is it good? {text}", word) for word in WORDS] for text in SENTENCES
    ]
    assert np.abs(together - [likelihoods(of_text) for of_text in strings]).max() < 1e-3
    # A second BOS, and the question outside of the template, would say something else.
    doubled = [likelihoods([f"<s>{string}" for string in of_text]) for of_text in strings]
    assert np.abs(together - doubled).max() > 0.01
    plainly = said(model.asking(LabelPrompt(asks.prompt, WORDS, False)), SENTENCES)
    assert np.abs(together - np.log(plainly)).max() > 0.01


def test_the_fingerprint_covers_whether_and_which_template(tmp_path: Path) -> None:
    plain, spaced, none = (
        str(save_tiny_llama(tmp_path / str(number), chat_template=template))
        for number, template in enumerate((PLAIN, SPACED, None))
    )
    asks = LabelPrompt()
    outside = LabelPrompt(chat_template=False)
    models = [LanguageModel(folder, asks) for folder in (plain, spaced, none)]
    assert len({model.fingerprint for model in models}) == 3
    assert [model.asks.chat_template for model in models] == [True, True, False]
    # Without the template it is the same model.
    assert models[0].asking(outside).fingerprint == models[2].fingerprint
    assert models[0].asking(outside).asking(asks).fingerprint == models[0].fingerprint
    with pytest.raises(ScoringError, match="has no chat template"):
        LanguageModel(none, LabelPrompt(chat_template=True))


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('roles must alternate') }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{% if %}",
    ],
)
def test_a_template_that_fails_or_breaks_out_is_refused(template: str, tmp_path: Path) -> None:
    folder = str(save_tiny_llama(tmp_path / "chat", chat_template=template))
    with pytest.raises(ScoringError, match="its chat template cannot be used") as refused:
        LanguageModel(folder)
    assert "--chat-template none" in refused.value.hint
    assert LanguageModel(folder, LabelPrompt(chat_template=False)).classes


def test_the_command_asks_all_prompts_in_the_template_and_each_can_be_asked_again(
    suite_folder: Path, tmp_path: Path
) -> None:
    folder = save_tiny_llama(tmp_path / "chat", chat_template=PLAIN)
    arguments = ["score", str(folder), "--suite", str(suite_folder), "--llm", "--limit", "2"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "(3 prompts)" in " ".join(done.output.split())
    results = [recompute(path) for path in (tmp_path / "out").glob("*.json")]
    assert {one.model.options.prompt for one in results} == {*TASK.prompts}
    for one in results:
        options = one.model.options
        assert options.chat_template
        assert "chat template" in own_options(options)
        assert one.model.label_rule.endswith("in the chat template of its tokenizer")
    own = ["--prompt", "{text} So:", "--prompt", r"{text}\nThus:", "--chat-template", "none"]
    done = CliRunner().invoke(app, [*arguments, *own, "--out", str(tmp_path / "own")])
    assert done.exit_code == 0, done.output
    asked = [recompute(path).model.options for path in (tmp_path / "own").glob("*.json")]
    assert {one.prompt for one in asked} == {"{text} So:", "{text}\nThus:"}
    assert not any(one.chat_template for one in asked)


def test_a_chat_template_without_llm_is_refused(suite_folder: Path, tmp_path: Path) -> None:
    arguments = ["score", "vader", "--suite", str(suite_folder), "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*arguments, "--chat-template", "none"])
    assert done.exit_code == 1
    assert "--chat-template without --llm" in " ".join(done.output.split())
