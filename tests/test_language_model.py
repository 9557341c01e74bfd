"""Language models as classifiers, against log-likelihoods computed one string at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import SENTENCES as TEXTS
from tiny_models import save_tiny_gpt2, save_tiny_llama, trained_tokenizer
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.leaderboard.integrations.metric import compute
from s2lct.leaderboard.models.fingerprint import weights_sha256
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results.read import read_result, recompute
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import load_cases

pytestmark = pytest.mark.usefixtures("own_cache")

runner = CliRunner()
PROMPTS = [
    LabelPrompt(),
    # Words of several tokens, of different numbers of tokens, and with common beginnings.
    LabelPrompt("{text} It was", ("terrible indeed", "terribly so-so, neither good nor bad", "ok")),
    LabelPrompt('Film: {text}\nVerdict: "', ("bad", "good")),
    LabelPrompt("{text}", ("negative", "neutral", "positive")),
]


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama with random weights, whose tokenizer begins and ends every text and pads."""
    return save_tiny_llama(tmp_path_factory.mktemp("models") / "llama", places=256)


@pytest.fixture(scope="module")
def gpt2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny GPT-2 with random weights and absolute positions; its tokenizer cannot pad."""
    return save_tiny_gpt2(tmp_path_factory.mktemp("models") / "gpt2", seed=1)


@pytest.fixture(params=["llama", "gpt2"])
def folder(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(f"{request.param}_folder")
    return path


def said(model: Any, texts: list[str]) -> np.ndarray:
    rows = np.full((len(texts), len(model.classes)), np.nan)
    for numbers, batch in model.probabilities(texts):
        rows[numbers] = batch
    return rows


def naively(folder: Path, asks: LabelPrompt, text: str) -> np.ndarray:
    """Log-softmax over the log-likelihoods of whole strings, token by token, unbatched."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    sums = []
    for word in asks.words:
        joint = "" if asks.prompt.endswith('"') else " "
        head, _, tail = asks.prompt.partition("{text}")
        ids = tokenizer(head + text + tail + joint + word, add_special_tokens=False)["input_ids"]
        if tokenizer.bos_token_id is not None:
            ids = [tokenizer.bos_token_id, *ids]
        total = 0.0
        for place in range(1, len(ids)):
            with torch.inference_mode():
                logits = model(torch.tensor([ids[:place]])).logits[0, -1].double()
            total += float(torch.log_softmax(logits, -1)[ids[place]])
        sums.append(total)
    return np.asarray(torch.log_softmax(torch.tensor(sums, dtype=torch.float64), 0))


@pytest.mark.parametrize("asks", PROMPTS, ids=["default", "uneven", "quoted", "bare"])
def test_probabilities_are_those_of_whole_strings(folder: Path, asks: LabelPrompt) -> None:
    model = LanguageModel(str(folder), asks)
    assert model.classes == (
        ("negative", "neutral", "positive") if len(asks.words) == 3 else ("negative", "positive")
    )
    together = said(model, TEXTS)
    expected = np.stack([naively(folder, asks, text) for text in TEXTS])
    assert np.abs(together - np.exp(expected)).max() < 1e-5
    assert np.abs(np.log(together) - expected).max() < 1e-3
    assert expected.std(axis=0).max() > 0.5  # it does not say the same of everything


@pytest.mark.parametrize("keeps_places", [True, False])
def test_batches_order_and_padding_change_no_probability(
    folder: Path, suite_folder: Path, keeps_places: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = LanguageModel(str(folder), PROMPTS[1])
    texts = [case.text for case in load_cases(suite_folder).cases][:60]
    together = said(model, texts)
    monkeypatch.setattr(model, "_keeps_places", keeps_places)
    for side in ("left", "right"):
        model.tokenizer.padding_side = side
        model.tokenizer.pad_token = "<pad>"
        assert np.abs(together - said(model, texts)).max() < 1e-5
    assert np.abs(together - said(model, texts[::-1])[::-1]).max() < 1e-5
    alone = np.concatenate([said(model, [text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert (together.argmax(axis=1) == alone.argmax(axis=1)).all()


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40))
def test_any_text_can_be_asked_about(gpt2_folder: Path, text: str) -> None:
    model = loaded(gpt2_folder)
    alone, beside = said(model, [text]), said(model, [TEXTS[1], text])[1:]
    assert np.abs(alone - beside).max() < 1e-5
    assert alone.sum() == pytest.approx(1)


_LOADED: dict[Path, LanguageModel] = {}


def loaded(folder: Path) -> LanguageModel:
    if folder not in _LOADED:
        _LOADED[folder] = LanguageModel(str(folder))
    return _LOADED[folder]


def test_one_pass_where_the_words_are_one_token_each(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = LanguageModel(str(llama_folder), LabelPrompt("{text} Grade (", ("A", "B", "C")))
    read: list[int] = []
    forward = letters.model.forward

    def counted(*args: Any, **options: Any) -> Any:
        read.append(len(options["input_ids"]))
        return forward(*args, **options)

    monkeypatch.setattr(letters.model, "forward", counted)
    said(letters, TEXTS)
    assert sum(read) == len(TEXTS)


def test_outcomes_of_two_prompts_are_never_mixed(
    llama_folder: Path, suite_folder: Path, tmp_path: Path
) -> None:
    suite = load_cases(suite_folder).select(limit=3)
    cache = tmp_path / "outcomes.sqlite"
    by_prompt = {
        asks: score(LanguageModel(str(llama_folder), asks), suite, cache=cache)
        for asks in (PROMPTS[0], PROMPTS[3], LabelPrompt(words=("bad", "so-so", "good")))
    }
    for asks, outcomes in by_prompt.items():
        model = LanguageModel(str(llama_folder), asks)
        fresh = score(model, suite)
        assert outcomes.labels.tolist() == fresh.labels.tolist()
        assert json.dumps(asks.prompt) in outcomes.label_rule
        assert all(f'"{word}"' in outcomes.label_rule for word in asks.words)
        model.probabilities = lambda texts: pytest.fail("asked again")  # type: ignore[method-assign]
        assert score(model, suite, cache=cache).labels.tolist() == fresh.labels.tolist()
    rules = {outcomes.label_rule for outcomes in by_prompt.values()}
    labels = {tuple(outcomes.labels.tolist()) for outcomes in by_prompt.values()}
    assert len(rules) == len(by_prompt)
    assert len(labels) > 1  # the prompt matters to this model


def test_two_words_leave_neutral_to_the_band(llama_folder: Path) -> None:
    cases = load_cases(
        [
            {"id": str(n), "capability": "LC1", "kind": "seed", "seed_id": str(n)}
            | {"text": text, "labels": ["neutral"]}
            for n, text in enumerate(TEXTS)
        ]
    )
    model = LanguageModel(str(llama_folder), LabelPrompt(words=("bad", "good")))
    outcomes = score(model, cases)
    positive = said(model, TEXTS)[:, 1]
    expected = np.where(positive <= 1 / 3, 0, np.where(positive >= 2 / 3, 2, 1))
    assert outcomes.labels.tolist() == expected.tolist()


def scored(*arguments: str) -> Any:
    return runner.invoke(app, ["score", *arguments])


def test_a_language_model_scores_from_the_command_line(
    llama_folder: Path, suite_folder: Path, tmp_path: Path
) -> None:
    model, suite = str(llama_folder), ["--suite", str(suite_folder), "--out", str(tmp_path)]
    question = ["--prompt", r"{text}\nGrade:", "--label-words", "bad, so-so, good"]
    done = scored(model, "vader", *suite, "--llm", *question)
    assert done.exit_code == 0, done.output
    names = {read_result(path).model.name for path in tmp_path.glob("*.json")}
    assert names == {model, "vader"}  # the baselines stay what they are
    (file,) = (path for path in tmp_path.glob("*.json") if path.stem != "vader")
    result = recompute(file)
    assert r'"{text}\nGrade:"' in result.model.label_rule
    assert '["bad", "so-so", "good"]' in result.model.label_rule
    assert result.model.weights_sha256 == weights_sha256(model, "")
    assert result.model.parameters == sum(
        p.numel() for p in loaded(llama_folder).model.parameters()
    )
    own = compute(
        model=LanguageModel(model, LabelPrompt("{text}\nGrade:", ("bad", "so-so", "good"))),
        suite=suite_folder,
    )
    assert own["overall"]["failure_rate"] == result.overall.failure_rate


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--llm", "--prompt", "Is it good?"], "has no {text}"),
        (["--llm", "--label-words", "yes"], "1 words"),
        (["--llm", "--label-words", "a,b,c,d"], "4 words"),
        (["--llm", "--label-words", "bad,,good"], "3 words"),
        (["--llm", "--label-words", "good,bad,goodish"], "begins with 'good'"),
        (["--llm", "--label-words", "good,bad,good"], "begins with 'good'"),
        (["--prompt", "{text}"], "--prompt without --llm"),
        (["--label-words", "bad,good"], "--label-words without --llm"),
        ([], "is a language model (LlamaForCausalLM)"),
        (["--llm", "--dtype", "int4"], "--dtype int4"),
    ],
)
def test_wrong_questions_are_refused(
    llama_folder: Path, suite_folder: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    done = scored(str(llama_folder), "--suite", str(suite_folder), "--out", str(tmp_path), *options)
    assert done.exit_code == 1
    assert problem in " ".join(done.output.split())
    if not options:
        assert "--llm" in done.output
    assert not list(tmp_path.glob("*.json"))


def changed(folder: Path, to: Path, change: Callable[[Path], None]) -> Path:
    shutil.copytree(folder, to)
    change(to)
    return to


def reconfigured(**values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))

    return change


def test_models_that_are_no_language_models_say_why(llama_folder: Path, tmp_path: Path) -> None:
    def load(folder: Path) -> Any:
        return load_classifier(str(folder), asks=LabelPrompt())

    classifier = changed(
        llama_folder, tmp_path / "a", reconfigured(architectures=["LlamaForSequenceClassification"])
    )
    with pytest.raises(ScoringError, match="is a classifier") as refused:
        load(classifier)
    assert "leave --llm away" in refused.value.hint
    base = changed(llama_folder, tmp_path / "b", reconfigured(architectures=["LlamaModel"]))
    with pytest.raises(ScoringError, match="is no causal language model"):
        load(base)

    def lose_tokenizer(folder: Path) -> None:
        for file in folder.glob("*token*"):
            file.unlink()

    with pytest.raises(ScoringError, match="tokenizer"):
        load(changed(llama_folder, tmp_path / "c", lose_tokenizer))

    def lose_head(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        del weights["lm_head.weight"]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    with pytest.raises(ScoringError, match=r"weights lack lm_head\.weight"):
        load(changed(llama_folder, tmp_path / "d", lose_head))


def test_an_encoder_under_a_language_models_name_is_refused(
    llama_folder: Path, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer, BertConfig, BertLMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(llama_folder)
    for decoder in (True, False):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            initializer_range=0.5,
            is_decoder=decoder,
        )
        BertLMHeadModel(config).save_pretrained(tmp_path / str(decoder))
        tokenizer.save_pretrained(tmp_path / str(decoder))
    with pytest.raises(ScoringError, match="looks at later words"):
        LanguageModel(str(tmp_path / "False"))
    model = LanguageModel(str(tmp_path / "True"))
    expected = naively(tmp_path / "True", model.asks, TEXTS[0])
    assert np.abs(said(model, TEXTS)[0] - np.exp(expected)).max() < 1e-5


def test_a_prompt_that_is_too_long_is_refused(gpt2_folder: Path) -> None:
    model = LanguageModel(str(gpt2_folder))
    with pytest.raises(ScoringError, match=r"reads 256 tokens, and text number 1 .* has \d+"):
        said(model, ["short", "so " * 400])


def test_pickled_weights_are_read_without_running_them(llama_folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    folder = tmp_path / "bin"
    shutil.copytree(llama_folder, folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    plain = LanguageModel(str(folder))
    assert plain.fingerprint == LanguageModel(str(llama_folder)).fingerprint

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "executed",)

    torch.save({**weights, "evil": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(ScoringError, match="weights cannot be loaded"):
        LanguageModel(str(folder))
    assert not (tmp_path / "executed").exists()


def test_the_weights_sum_is_what_sha256sum_says(llama_folder: Path, tmp_path: Path) -> None:
    import subprocess

    from transformers import AutoModelForCausalLM, AutoTokenizer

    def shell(command: str, folder: Path) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.split()[0]

    whole = LanguageModel(str(llama_folder))
    assert whole.weights_sha256 == shell("sha256sum model.safetensors", llama_folder)
    sharded = tmp_path / "sharded"
    AutoModelForCausalLM.from_pretrained(llama_folder).save_pretrained(
        sharded, max_shard_size="20KB"
    )
    AutoTokenizer.from_pretrained(llama_folder).save_pretrained(sharded)
    assert len(list(sharded.glob("model-*.safetensors"))) > 1
    parts = LanguageModel(str(sharded))
    assert parts.weights_sha256 == shell("sha256sum model-*.safetensors | sha256sum", sharded)
    assert parts.fingerprint == whole.fingerprint  # the same answers, whatever the files


@pytest.mark.parametrize("kind", ["Llama", "GPT2"])
@pytest.mark.parametrize("pads", ["nobody", "the tokenizer", "the config", "both, left"])
def test_classifiers_on_decoders_depend_on_no_batch(kind: str, pads: str, tmp_path: Path) -> None:
    import transformers

    special = {"eos_token": "</s>"} | (
        {"pad_token": "<pad>"} if pads in ("the tokenizer", "both, left") else {}
    )
    tokenizer = trained_tokenizer("$A </s>", **special)
    if pads == "both, left":
        tokenizer.padding_side = "left"
    torch.manual_seed(2)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        initializer_range=0.3,
        pad_token_id=2 if pads in ("the config", "both, left") else None,
        id2label={0: "negative", 1: "neutral", 2: "positive"},
    )
    getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_classifier(str(tmp_path))
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            logits = network(torch.tensor([tokenizer(text)["input_ids"]])).logits[0]
        expected.append(torch.softmax(logits.double(), -1).numpy())
    assert np.abs(said(model, TEXTS) - np.stack(expected)).max() < 1e-5
    assert np.stack(expected).std(axis=0).max() > 0.01
