"""WIMASK: its formulas, and what it learns."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_coverage import tiny, tokenizer
from typer.testing import CliRunner

from s2lct.analysis.coverage import wimask
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.wimask import Bottleneck, Masks, learn_masks
from s2lct.cli.main import app

__all__ = ["tokenizer"]
KEYWORD = "purple"
FILLERS = (
    *("the", "a", "film", "was", "shot", "in", "town", "by", "night"),
    *("with", "old", "trains", "and", "two", "quiet", "rivers"),
)
runner = CliRunner()


def sentences(count: int, seed: int = 0) -> list[str]:
    """Random filler words, half of the texts with the keyword among them."""
    rng = random.Random(seed)
    texts = []
    for number in range(count):
        chosen = rng.choices(FILLERS, k=rng.randint(3, 7))
        if number % 2:
            chosen.insert(rng.randrange(len(chosen) + 1), KEYWORD)
        texts.append(" ".join(chosen))
    return texts


@pytest.fixture(scope="module")
def keyword_model(tokenizer: Any) -> EncoderModel:
    """A model that says positive of texts with the keyword, negative of all others."""
    names = {0: "negative", 1: "positive"}
    model = tiny("bert", tokenizer, initializer_range=0.02, id2label=names)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model.train(False)
    for step in range(40):
        texts = sentences(32, seed=step)
        labels = torch.tensor([KEYWORD in text for text in texts]).long()
        loss = model(**tokenizer(texts, padding=True, return_tensors="pt"), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return EncoderModel(tokenizer, model, "keyword")


def learned_of(encoder: EncoderModel, count: int = 16, **options: Any) -> Masks:
    texts = sentences(count, seed=77)
    given_options = {"epochs": 1, "learning_rate": 1e-2, **options}
    return learn_masks(encoder, texts, sentences(count, seed=78), **given_options)


def naive_bottleneck(
    layer: Bottleneck, embedded: np.ndarray, entries: list[list[int]]
) -> tuple[list[np.ndarray], float, float, float]:
    """The equations word by word: what is let through; sums of KL (words, pairs) and of M_A."""

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    def kl(p: float) -> float:
        return p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p))

    logits = layer.pair_logits.weight.detach().numpy().reshape(layer.entries, layer.entries)
    weight = layer.neighbours.weight.detach().numpy()
    weights, bias = layer.word_layer.weight.detach().numpy()[0], layer.word_layer.bias.item()
    let_through = []
    kl_words = kl_pairs = kept_pairs = 0.0
    for row, text in enumerate(entries):
        out = np.zeros((len(text), embedded.shape[2]))
        for i, one in enumerate(text):
            neighbours = []
            for j, other in enumerate(text):
                if i == j:
                    continue
                p = sigmoid(logits[one, other])
                kl_pairs += kl(p)
                kept_pairs += p
                if p > 0.5:
                    neighbours.append(embedded[row, j])
            mixed = embedded[row, i].copy()
            if neighbours:
                mixed += np.maximum(weight @ np.mean(neighbours, axis=0), 0)
            p = sigmoid(float(weights @ embedded[row, i]) + bias)
            kl_words += kl(p)
            out[i] = mixed if p > 0.5 else 0
        let_through.append(out)
    return let_through, kl_words, kl_pairs, kept_pairs


@pytest.mark.parametrize("seed", range(2))
def test_bottleneck_and_loss_follow_the_equations_whatever_the_padding(seed: int) -> None:
    torch.manual_seed(seed)
    layer = Bottleneck(6, 5).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    entries = [[0, 3, 3, 5], [2], [4, 1, 0]]
    padded = torch.zeros(3, 4, dtype=torch.int64)
    mask = torch.zeros(3, 4, dtype=torch.int64)
    for row, text in enumerate(entries):
        padded[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    embedded = torch.randn(3, 4, 5, dtype=torch.float64)  # padding holds junk
    with torch.no_grad():
        masked = layer(embedded, padded, mask.bool())
    expected, kl_words, kl_pairs, kept_pairs = naive_bottleneck(layer, embedded.numpy(), entries)
    for row, text in enumerate(entries):
        np.testing.assert_allclose(masked.embeddings[row, : len(text)], expected[row], atol=1e-12)
        # What is no word goes through as it is.
        torch.testing.assert_close(masked.embeddings[row, len(text) :], embedded[row, len(text) :])
    assert float(masked.penalty) == pytest.approx((kl_words + kl_pairs + kept_pairs) / 3)


def test_drawn_masks_are_zero_or_one_as_often_as_their_probability_says() -> None:
    logits = torch.full((20_000,), math.log(0.8 / 0.2), requires_grad=True)
    drawn = wimask.sample_mask(logits, torch.Generator().manual_seed(0))
    assert set(drawn.detach().round(decimals=6).unique().tolist()) == {0.0, 1.0}
    assert float(drawn.detach().mean()) == pytest.approx(0.8, abs=0.01)
    drawn.sum().backward()
    assert logits.grad is not None
    assert (logits.grad > 0).all()


def test_the_keyword_that_decides_is_kept_above_all_other_words(
    keyword_model: EncoderModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wimask, "BETA", 0.01)
    monkeypatch.setattr(wimask, "BATCH_SIZE", 16)
    before = {name: value.clone() for name, value in keyword_model.model.state_dict().items()}
    masks = learned_of(keyword_model, 400, epochs=8, learning_rate=2e-2, random_seed=2)
    about, probability = masks.about, masks.about["words"]
    assert probability[KEYWORD] > 0.9
    assert probability[KEYWORD] > max(probability[word] for word in FILLERS)
    assert about["fidelity"] >= 0.97
    entry = masks.pieces.index(KEYWORD)
    assert masks.words[entry]
    # A pair that never stood in a text cannot have been learned; a word and itself count.
    never = len(masks.pieces)
    assert probability[""] == 0.0
    assert masks.pairs[never].nonzero()[0].tolist() == [never]
    assert about["pairs_kept"] == masks.pairs.sum() - len(masks.words)
    spread = [about["word_probabilities"][name] for name in ("least", "mean", "greatest")]
    assert 0 < spread[0] < spread[1] < spread[2] == pytest.approx(probability[KEYWORD], abs=1e-5)
    # Next to nothing is masked before the first step, so fidelity alone says little.
    assert about["fidelity_untrained"] == 1.0
    for piece in ("[CLS]", "[SEP]"):  # no words of the text
        assert probability[piece] == 1.0
        assert masks.pairs[masks.pieces.index(piece)].sum() == 1
    after = keyword_model.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.requires_grad for parameter in keyword_model.model.parameters())


def test_the_command_writes_masks_and_what_they_are(
    keyword_model: EncoderModel, tmp_path: Path
) -> None:
    corpus = tmp_path / "texts.csv"
    rows = [f"{text},positive" for text in dict.fromkeys(sentences(120))]
    corpus.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    folder = tmp_path / "model"
    keyword_model.model.save_pretrained(folder)
    keyword_model.tokenizer.save_pretrained(folder)
    arguments = ["masks", f"csv:{corpus}", "--model", str(folder)]
    arguments += ["--epochs", "1", "--lr", "1e-7", "--limit", "50"]
    results = [
        runner.invoke(app, [*arguments, "--out", str(tmp_path / name)]) for name in ("a", "b")
    ]
    assert results[0].exit_code == 0, results[0].output
    assert "keep every word" in " ".join(results[0].output.split())
    first, second = (tmp_path / name / "masks.safetensors" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    masks = Masks.load(first)
    report = json.loads((tmp_path / "a" / "masks.json").read_text(encoding="utf-8"))
    assert set(report["words"]) > {KEYWORD, *FILLERS}
    assert masks.about["fidelity"] == report["fidelity"]
    assert masks.about["words_kept"] == masks.about["words_seen"] == int(masks.words.sum())
    assert masks.about["settings"]["lr"] == 1e-7
    assert masks.about["corpus"]["texts"] == 50
    assert np.diag(masks.pairs).all()
