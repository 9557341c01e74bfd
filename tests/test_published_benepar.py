"""A model in the layout that benepar publishes: tiny, random, but loaded by the real code."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import nltk
import nltk.downloader
import pytest
import torch

from s2lct.builder.language.grammar import read_tree
from s2lct.builder.models import load_parser
from s2lct.builder.records import Token
from s2lct.errors import ModelError

pytestmark = pytest.mark.shipped_models

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


@pytest.fixture(params=["t5", "bert"])
def model_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    from benepar import nkutil
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (
        AutoConfig,
        BertConfig,
        BertTokenizerFast,
        PreTrainedTokenizerFast,
        T5Config,
    )

    from s2lct.builder.models.benepar_parser import PublishedChartParser

    words = ["[PAD]", "</s>", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "is", "long", "."]
    vocabulary = {word: number for number, word in enumerate(words)}
    if request.param == "t5":
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
    else:
        path = tmp_path / "vocab.txt"
        path.write_text("\n".join(words))
        tokenizer = BertTokenizerFast(vocab=str(path), model_max_length=32)
        config = BertConfig(
            vocab_size=len(words),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
    folder = tmp_path / "benepar_tiny"
    tokenizer.save_pretrained(folder)
    config.benepar = {
        "tag_vocab": TAGS,
        "label_vocab": LABELS,
        "char_vocab": {},
        "hparams": HPARAMS,
    }
    config.save_pretrained(folder)
    assert AutoConfig.from_pretrained(folder).benepar["hparams"]["d_model"] == 32
    torch.manual_seed(0)
    parser = PublishedChartParser(
        TAGS, LABELS, {}, nkutil.HParams(**HPARAMS, force_root_constituent=True), str(folder)
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


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no benepar model"):
        load_parser(str(tmp_path))


def test_a_model_that_is_not_here_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_out(*_: object, **__: object) -> NoReturn:
        raise AssertionError("nothing goes out unless it is named")

    monkeypatch.setattr(nltk, "download", goes_out)
    monkeypatch.setattr(nltk.downloader.Downloader, "download", goes_out)
    with pytest.raises(ModelError, match="--parser benepar_zz9") as error:
        load_parser("benepar_zz9")
    assert "benepar.download('benepar_zz9')" in error.value.hint
