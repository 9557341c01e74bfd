"""Models that are loaded: classifiers, language models in and out of templates, their identity."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import (
    SENTENCES,
    save_tiny_classifier,
    save_tiny_gpt2,
    save_tiny_llama,
    trained_tokenizer,
)
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import S2lctWarning, ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.models import built_in
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.network import SequenceClassifier, model_fingerprint
from s2lct.leaderboard.results.read_results import read_scored, recompute
from s2lct.suite.cases import load_suite
from s2lct.suite.prompts import PROMPTS

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
# What each template makes of a question and a word, by hand; "" is no template.
BY_HAND: dict[str, Callable[[str, str], str]] = {
    "": lambda question, word: f"<s>{question} {word}",
    PLAIN: lambda question, word: f"<s><|user|>{question}</s><|assistant|>{word}",
    SPACED: lambda question, word: f"<s>[INST] {question} [/INST] {word}",
    THINKING: lambda question, word: f"<|user|>{question}<|assistant|><think></think>{word}",
    DATED: lambda question, word: f"<s>26 Jul 2024: {question} => {word}",
}
# Words of several tokens, of different numbers of tokens, and with common beginnings.
UNEVEN = ("terrible indeed", "terribly so-so, neither good nor bad", "ok")
QUESTION = "Review: {text} Sentiment:"
runner = CliRunner()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models with random weights; the Llama's tokenizer pads, the GPT-2's cannot."""
    made = tmp_path_factory.mktemp("models")
    return {
        "llama": save_tiny_llama(made / "llama"),
        "gpt2": save_tiny_gpt2(made / "gpt2", seed=1),
        "classifier": save_tiny_classifier(made / "tiny"),
    }


def predicted(model: Any, texts: list[str]) -> np.ndarray:
    rows = np.full((len(texts), len(model.classes)), np.nan)
    for numbers, batch in model.probabilities(texts):
        rows[numbers] = batch
    return rows


def likelihoods(folder: Path, strings: list[str]) -> np.ndarray:
    """Log-softmax over the log-likelihoods of strings, as they stand, token by token."""
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    sums = []
    for string in strings:
        ids = tokenizer.encode(string, add_special_tokens=False).ids
        with torch.inference_mode():
            rows = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        sums.append(sum(float(rows[place - 1, ids[place]]) for place in range(1, len(ids))))
    return np.asarray(torch.log_softmax(torch.tensor(sums, dtype=torch.float64), 0))


@pytest.mark.parametrize("template", BY_HAND, ids=["none", "plain", "spaced", "thinking", "dated"])
def test_probabilities_are_those_of_whole_strings(template: str, tmp_path: Path) -> None:
    words = UNEVEN if template else ("bad", "good")
    folder = save_tiny_llama(tmp_path / "model", chat_template=template or None)
    model = LanguageModel(str(folder), LabelPrompt("Is it good? {text}", words))
    assert len(model.classes) == len(words)
    found = np.log(predicted(model, SENTENCES))
    expected = [
        likelihoods(folder, [BY_HAND[template](f"Is it good? {text}", word) for word in words])
        for text in SENTENCES
    ]
    assert np.abs(found - expected).max() < 1e-3
    assert np.std(expected, axis=0).max() > 0.1  # it does not say the same of everything
    if template:
        plainly = model.with_prompt(LabelPrompt("Is it good? {text}", words, False))
        assert np.abs(found - np.log(predicted(plainly, SENTENCES))).max() > 0.01


@pytest.mark.parametrize("name", ["llama", "gpt2", "classifier"])
def test_batches_order_and_padding_change_no_probability(
    name: str, folders: dict[str, Path], suite_folder: Path
) -> None:
    folder = str(folders[name])
    if name == "classifier":
        model: Any = SequenceClassifier(folder)
    else:
        model = LanguageModel(folder, LabelPrompt("{text} So", ("terrible indeed", "ok", "good")))
    texts = [case.text for case in load_suite(suite_folder).cases][:60]
    together = predicted(model, texts)
    assert np.abs(together - predicted(model, texts[::-1])[::-1]).max() < 1e-5
    alone = np.concatenate([predicted(model, [text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert len({tuple(row) for row in together.tolist()}) > 10  # not the same of everything
    model.tokenizer.padding_side, model.tokenizer.pad_token = "left", "<pad>"
    assert name == "classifier" or np.abs(together - predicted(model, texts)).max() < 1e-5


@pytest.mark.parametrize("pads", ["nobody", "the tokenizer", "the config"])
def test_classifiers_on_decoders_depend_on_no_batch(pads: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, LlamaConfig, LlamaForSequenceClassification

    special = {"pad_token": "<pad>"} if pads == "the tokenizer" else {}
    tokenizer = trained_tokenizer("$A </s>", eos_token="</s>", **special)
    torch.manual_seed(2)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        initializer_range=0.3,
        pad_token_id=2 if pads == "the config" else None,
        id2label=dict(enumerate(LABELS)),
    )
    network = LlamaForSequenceClassification(config).eval()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    # A decoder's own kind of tokenizer may end no text, whatever was saved.
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    expected = []
    for text in SENTENCES:
        with torch.inference_mode():
            logits = network(torch.tensor([tokenizer(text)["input_ids"]])).logits[0]
        expected.append(torch.softmax(logits.double(), -1).numpy())
    found = predicted(load_model(str(tmp_path)), SENTENCES)
    assert np.abs(found - np.stack(expected)).max() < 1e-5


def changed(folder: Path, file: str, **changes: object) -> Path:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


CHANGES: dict[str, dict[str, Any]] = {
    "config.json": {
        "num_attention_heads": 4,
        "hidden_act": "relu",
        "id2label": {"0": "bad", "1": "so-so", "2": "good"},
    },
    "tokenizer_config.json": {"model_max_length": 50, "truncation_side": "left"},
}


def test_a_fingerprint_covers_all_that_decides_and_nothing_else(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folders["classifier"]
    expected = SequenceClassifier(str(folder))
    again = SequenceClassifier(str(shutil.copytree(folder, tmp_path / "again")))
    list(again.probabilities(["A text that the tokenizer may cut."]))
    assert again.fingerprint == expected.fingerprint
    assert model_fingerprint(again.tokenizer, again.model) == expected.fingerprint
    for file, changes in CHANGES.items():
        for name, value in changes.items():
            copy = shutil.copytree(folder, tmp_path / name)
            other = SequenceClassifier(str(changed(copy, file, **{name: value})))
            assert other.weights_sha256 == expected.weights_sha256, name
            assert other.fingerprint != expected.fingerprint, name
    templates = (PLAIN, SPACED, None)
    chats = [
        LanguageModel(str(save_tiny_llama(tmp_path / str(n), chat_template=template)))
        for n, template in enumerate(templates)
    ]
    asks = [
        LabelPrompt(prompt, words)
        for prompt in ("{text} It was", "{text} It is")
        for words in (("bad", "fine", "good"), ("bad", "okay", "good"))
    ]
    found = {chat.with_prompt(one).fingerprint for chat in chats for one in asks}
    assert len(found) == len(templates) * len(asks)
    built = {load_model(name).fingerprint for name in built_in.WORD_LISTS}
    monkeypatch.setattr(built_in, "version", lambda _: "9.9.9")
    built |= {load_model(name).fingerprint for name in built_in.WORD_LISTS}
    assert len(built) == 2 * len(built_in.WORD_LISTS)


@pytest.mark.parametrize("name", ["classifier", "llama"])
def test_pickled_weights_are_read_without_running_them(
    name: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    asks = LabelPrompt() if name == "llama" else None
    folder = shutil.copytree(folders[name], tmp_path / "bin")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    expected = load_model(str(folders[name]), prompt=asks).fingerprint
    assert load_model(str(folder), prompt=asks).fingerprint == expected

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "executed",)

    torch.save({**weights, "evil": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(ScoringError):
        load_model(str(folder), prompt=asks)
    assert not (tmp_path / "executed").exists()


def test_models_that_cannot_be_scored_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    voiceless = shutil.copytree(folders["classifier"], tmp_path / "voiceless")
    for file in [*voiceless.glob("*token*"), voiceless / "vocab.txt"]:
        file.unlink(missing_ok=True)
    headless = shutil.copytree(folders["llama"], tmp_path / "headless")
    weights = load_file(headless / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, headless / "model.safetensors", {"format": "pt"})
    asks = LabelPrompt()
    refused: list[tuple[object, LabelPrompt | None, str]] = [
        (folders["llama"], None, "--llm"),
        (folders["classifier"], asks, "--llm"),
        (voiceless, None, "tokenizer"),
        (headless, asks, ""),
        ("nobody/nothing-here", None, "vader"),
    ]
    for name, question, hint in refused:
        with pytest.raises(ScoringError) as error:
            load_model(str(name), prompt=question)
        assert str(name) in error.value.problem and hint in error.value.hint


@pytest.mark.parametrize(
    "template",
    ["{{ raise_exception('no') }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% if %}"],
)
def test_a_template_that_fails_or_breaks_out_is_refused(template: str, tmp_path: Path) -> None:
    folder = str(save_tiny_llama(tmp_path / "chat", chat_template=template))
    with pytest.raises(ScoringError) as refused:
        LanguageModel(folder)
    assert "chat_template=False" in refused.value.hint
    assert LanguageModel(folder, LabelPrompt(chat_template=False)).classes


def scored(*arguments: object) -> Any:
    return runner.invoke(app, ["score", *map(str, arguments)])


def test_the_command_asks_all_prompts_and_each_can_be_asked_again(
    suite_folder: Path, tmp_path: Path
) -> None:
    folder, out = save_tiny_llama(tmp_path / "llama"), tmp_path / "out"
    command = [folder, "vader", "--suite", suite_folder, "--llm", "--limit", 2, "--out", out]
    done = scored(*command)
    assert done.exit_code == 0, done.output
    paths = [path for path in out.glob("*.json") if not path.name.startswith("vader")]
    assert {recompute(path).model.options.prompt for path in paths} == {*PROMPTS}
    for path in paths:
        model, outcomes = recompute(path).model, read_scored(path).outcomes
        assert model.rescorable and model.weights_sha256 and model.parameters
        assert set(outcomes.labels.tolist()) <= {0, 1, 2}
    before = {path: path.with_suffix(".parquet").read_bytes() for path in paths}
    assert scored(*command).exit_code == 0
    assert {path: path.with_suffix(".parquet").read_bytes() for path in paths} == before


def test_label_words_are_those_of_the_label_map(
    folders: dict[str, Path], suite_folder: Path, tmp_path: Path
) -> None:
    options = ["--suite", suite_folder, "--limit", 1, "--out", tmp_path, "--llm"]
    options += ["--prompt", r"{text}\nGrade:"]
    done = scored(folders["llama"], *options, "--label-map", "bad=negative,good=positive")
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.glob("*.json")
    model = recompute(path).model
    assert model.options.label_words == ("bad", "good")
    assert r'"{text}\nGrade:"' in model.label_rule and model.options.label_map is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--prompt", "{text}"], "--llm"),
        (["--llm", "--max-tokens", "9"], "--base-url"),
        (["--llm", "--base-url", "http://h/v1"], "--base-url"),
        (["--llm", "--label-map", "0=negative"], "--label-map"),
        (["--llm", "--label-map", "a=negative,b=positive,c=positive"], "--label-map"),
        (["vader", "--name", "mine"], "--name"),
        (["--predictions", __file__], "--predictions"),
        (["--dtype", "int4"], "--dtype"),
        (["--device", "meta"], "--device"),
    ],
)
def test_options_without_effect_or_sense_are_refused(
    options: list[str], named: str, folders: dict[str, Path], suite_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = scored(folders["classifier"], "--suite", suite_folder, "--out", out, *options)
    assert done.exit_code and named in done.output
    assert not list(out.glob("*"))


def test_a_hub_that_cannot_be_reached_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unreachable(*of: Any, **how: Any) -> None:
        asked.append(of)
        raise ConnectionError("no network")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    with pytest.raises(ScoringError, match=r"model no/such: .*no network"):
        load_model("no/such")
    assert len(asked) == 1


# Models whose parts do not fit together


def with_more_weights(folder: Path, **tensors: torch.Tensor) -> Path:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file(load_file(path) | tensors, path, metadata={"format": "pt"})
    return folder


REFUSED: dict[str, Any] = {
    "fewer layers than the weights": ({"num_hidden_layers": 1}, {}, "leaves out, bert"),
    "more layers than the weights": ({"num_hidden_layers": 3}, {}, "its weights lack bert.encoder"),
    "a head of another size": ({"id2label": {"0": "negative", "1": "positive"}}, {}, "its weights"),
    "a vocabulary of another size": ({"vocab_size": 100}, {}, "its weights cannot be loaded"),
    "labels in another order": (
        {"label2id": {"positive": 0, "neutral": 1, "negative": 2}},
        {},
        "label2id 'positive'",
    ),
    "labels with the ends swapped in capitals": (
        {"label2id": {"NEGATIVE": 2, "Neutral": 1, "POSITIVE": 0}},
        {},
        "id2label calls class",
    ),
    "other words in another order": (
        {"id2label": {"0": "NEG", "1": "NEU", "2": "POS"}, "label2id": {"positive": 0}},
        {},
        "label2id 'positive'",
    ),
    "names without a meaning, swapped": (
        {"id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0, "b": 2, "c": 1}},
        {},
        "label2id 'b'",
    ),
    "a length of 3": ({}, {"model_max_length": 3}, "reads 3 tokens .*tokenizer_config"),
    "a length of 0": ({}, {"model_max_length": 0}, "reads 0 tokens"),
    "two positions": ({"max_position_embeddings": 2}, {}, "cannot be loaded"),
    "a class without a number": ({"id2label": {"1": "negative", "2": "positive"}}, {}, "model"),
}  # fmt: skip


SOUND: dict[str, Any] = {
    "a length in floats": ({}, {"model_max_length": 1e30}),
    "no end of positions": ({"max_position_embeddings": 128}, {"model_max_length": -1}),
    "labels in other spellings": ({"label2id": {"NEGATIVE": 0, "Neutral": 1, "POSITIVE": 2}}, {}),
    "labels as they come": ({"label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}}, {}),
    "numbers as text": ({"label2id": {"negative": "0", "neutral": "1", "positive": "2"}}, {}),
}


@pytest.mark.parametrize("settings", [*REFUSED, *SOUND])
def test_a_model_whose_parts_contradict_each_other_is_refused_and_no_other(
    settings: str, tmp_path: Path
) -> None:
    config, tokenizer, *reason = {**REFUSED, **SOUND}[settings]
    folder = save_tiny_classifier(tmp_path / "model")
    changed(folder, "config.json", **config)
    changed(folder, "tokenizer_config.json", **tokenizer)
    if reason:
        with pytest.raises(ScoringError, match=reason[0]):
            load_model(str(folder))
        return
    model = load_model(str(folder))
    assert isinstance(model, SequenceClassifier) and model.max_tokens in (128, 512)
    assert sum(len(numbers) for numbers, _ in model.probabilities(SENTENCES)) == len(SENTENCES)


def test_weights_that_are_not_used_are_told(tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "model")
    with_more_weights(folder, **{"bert.embeddings.position_ids": torch.zeros(1, 128)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(str(folder))
    with_more_weights(folder, **{"classifier.dense.weight": torch.zeros(2, 2)})
    with pytest.warns(S2lctWarning, match=r"not used \(classifier\.dense\.weight\)"):
        load_model(str(folder))


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "model", vocab_size=1_000)
    with pytest.raises(ScoringError, match="30,522 pieces, and the model knows 1,000"):
        load_model(str(folder))
    llama = save_tiny_llama(tmp_path / "llama")
    save_tiny_classifier(tmp_path / "other")
    for path in (tmp_path / "other").glob("token*"):
        shutil.copy(path, llama)
    with pytest.raises(ScoringError, match="30,522 pieces, and the model knows 3"):
        LanguageModel(str(llama), LabelPrompt(chat_template=False))


def test_a_piece_that_was_added_to_the_tokenizer_alone_is_refused(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = save_tiny_classifier(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["zzyzx"])
    tokenizer.save_pretrained(folder)
    model = load_model(str(folder))
    assert list(model.probabilities(["A film."]))
    with pytest.raises(ScoringError, match="a piece of number 30,522"):
        list(model.probabilities(["A film of zzyzx."]))


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"num_attention_heads": -1}),
        ("config.json", {"label2id": "x"}),
        ("tokenizer_config.json", {"unk_token": None}),
        ("tokenizer_config.json", {"chat_template": {"a": 1}}),
        ("tokenizer_config.json", {"model_max_length": []}),
    ],
)
def test_a_model_that_breaks_in_any_way_is_one_error_or_scored(
    file: str, changes: dict[str, object], tmp_path: Path
) -> None:
    asks = LabelPrompt(chat_template=False)
    for folder, question in (
        (save_tiny_classifier(tmp_path / "classifier"), None),
        (save_tiny_llama(tmp_path / "llama"), asks),
    ):
        changed(folder, file, **changes)
        try:
            model = load_model(str(folder), prompt=question)
            assert list(model.probabilities([*SENTENCES, "字"]))
        except ScoringError as error:
            assert str(folder) in str(error)


def test_a_padding_token_that_was_added_later_is_never_read(tmp_path: Path) -> None:
    asks = LabelPrompt(chat_template=False)
    folder = save_tiny_llama(tmp_path / "llama")
    expected = [row for _, row in LanguageModel(str(folder), asks).probabilities(SENTENCES)]
    changed(folder, "tokenizer_config.json", pad_token="[PAD]")
    found = [row for _, row in LanguageModel(str(folder), asks).probabilities(SENTENCES)]
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


def test_texts_that_are_cut_are_told(tmp_path: Path) -> None:
    folder = save_tiny_classifier(tmp_path / "model")
    changed(folder, "tokenizer_config.json", model_max_length=20)
    model = load_model(str(folder))
    texts = ["A dull film.", "film " * 18, "film " * 19, "film " * 40]
    with pytest.warns(S2lctWarning, match="2 of 4 texts are cut after 20 tokens"):
        assert sum(len(numbers) for numbers, _ in model.probabilities(texts)) == 4


@pytest.mark.parametrize(
    "field", ["attn_implementation", "_attn_implementation", "experts_implementation"]
)
@pytest.mark.parametrize("kernel", ["org/kernel", {"": "org/kernel"}, "flash_attention_2"])
def test_no_code_that_a_configuration_names_is_fetched(
    field: str, kernel: object, tmp_path: Path
) -> None:
    folder = save_tiny_classifier(tmp_path / "model")
    plain = load_model(str(folder)).fingerprint
    changed(folder, "config.json", **{field: kernel})
    assert load_model(str(folder)).fingerprint == plain
