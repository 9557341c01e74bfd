"""WIMASK: its formulas, what it learns, and how it is stopped and resumed."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis import arrays
from s2lct.analysis.coverage import learn_masks as learning
from s2lct.analysis.coverage.bottleneck import (
    Bottleneck,
    Masked,
    MaskedModel,
    kl_to_fair_coin,
    loss_terms,
)
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.learn_masks import WimaskSettings, kept_words, learn_masks
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.cli.main import app
from s2lct.errors import AnalysisError

KEYWORD = "purple"
FILLERS = (
    *("the", "a", "film", "was", "shot", "in", "town", "by", "night"),
    *("with", "old", "trains", "and", "two", "quiet", "rivers"),
)
runner = CliRunner()


def tokenizer_of_the_encoder() -> Any:
    from transformers import AutoTokenizer

    from s2lct.builder.models.encoder import encoder_path

    return AutoTokenizer.from_pretrained(encoder_path())


def tiny(kind: str, **options: Any) -> Any:
    """A random classifier of an architecture: one layer, 16 dimensions."""
    import transformers

    shared = {
        "vocab_size": 30_522,
        "pad_token_id": 0,
        "num_labels": 2,
        "id2label": {0: "negative", 1: "positive"},
        "label2id": {"negative": 0, "positive": 1},
    }
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    }
    if kind == "DistilBert":
        sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}
    if kind == "DebertaV2":
        sizes |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    config = getattr(transformers, f"{kind}Config")(**shared | sizes | options)
    torch.manual_seed(0)
    return getattr(transformers, f"{kind}ForSequenceClassification")(config)


def sentences(count: int, seed: int = 0) -> list[str]:
    """Random filler words, half of the texts with the keyword among them."""
    rng = random.Random(seed)
    texts = []
    for number in range(count):
        words = rng.choices(FILLERS, k=rng.randint(3, 7))
        if number % 2:
            words.insert(rng.randrange(len(words) + 1), KEYWORD)
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module")
def keyword_model() -> EncoderModel:
    """A model that says positive of texts with the keyword, negative of all others."""
    tokenizer, model = tokenizer_of_the_encoder(), tiny("Bert")
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


SETTINGS = WimaskSettings(epochs=8, learning_rate=2e-2, beta_words=0.02, batch_size=16)


def vocabulary_of(encoder: EncoderModel, texts: list[str]) -> Vocabulary:
    return Vocabulary.of_texts(encoder, texts, 100)


@given(st.floats(1e-5, 1 - 1e-5))
def test_divergence_from_a_fair_coin(p: float) -> None:
    expected = p * math.log(p / 0.5) + (1 - p) * math.log((1 - p) / 0.5)
    found = float(kl_to_fair_coin(torch.tensor(p, dtype=torch.float64)))
    assert found == pytest.approx(expected, abs=1e-9)


def test_divergence_has_a_gradient_where_a_probability_has_reached_its_end() -> None:
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    kl_to_fair_coin(p).sum().backward()
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()


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
    words, bias = layer.word_layer.weight.detach().numpy()[0], layer.word_layer.bias.item()
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
            if layer.mixing == "eq10":
                mixed += eq10(layer, embedded[row], text, i)
            elif neighbours:
                mixed += np.maximum(weight @ np.mean(neighbours, axis=0), 0)
            seen = embedded[row, i] if layer.words_from == "embedding" else mixed
            p = sigmoid(float(words @ seen) + bias)
            kl_words += kl(p)
            out[i] = mixed if p > 0.5 else 0
        let_through.append(out)
    return let_through, kl_words, kl_pairs, kept_pairs


def eq10(layer: Bottleneck, embedded: Any, text: list[int], i: int) -> Any:
    """ReLU of row i of D^-1/2 M D^-1/2 E, where M has ones on its diagonal."""
    size, logits = len(text), layer.pair_logits.weight.detach().numpy()[:, 0]
    adjacent = [
        [float(a == b or logits[text[a] * layer.entries + text[b]] > 0) for b in range(size)]
        for a in range(size)
    ]
    row = np.zeros(embedded.shape[1])
    for j in range(size):
        to = sum(adjacent[a][j] for a in range(size))
        row += adjacent[i][j] / math.sqrt(sum(adjacent[i]) * to) * embedded[j]
    return np.maximum(row, 0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mixing", ["eq8", "eq10"])
@pytest.mark.parametrize("words_from", ["embedding", "mixed"])
def test_bottleneck_and_loss_follow_the_equations(seed: int, mixing: Any, words_from: Any) -> None:
    torch.manual_seed(seed)
    layer = Bottleneck(6, 5, mixing=mixing, words_from=words_from).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    entries = [[0, 3, 3, 5], [2], [4, 1, 0]]
    padded = torch.zeros(3, 4, dtype=torch.int64)
    mask = torch.zeros(3, 4, dtype=torch.int64)
    for row, text in enumerate(entries):
        padded[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    embedded = torch.randn(3, 4, 5, dtype=torch.float64)  # padding holds junk
    found, masked = layer(embedded, padded, mask)
    expected, kl_words, kl_pairs, kept_pairs = naive_bottleneck(layer, embedded.numpy(), entries)
    for row, text in enumerate(entries):
        np.testing.assert_allclose(found[row, : len(text)].detach(), expected[row], atol=1e-12)
    logits, predicted = torch.randn(3, 2, dtype=torch.float64), torch.tensor([0, 1, 1])
    with torch.no_grad():
        terms = loss_terms(logits, predicted, masked, mask)
    shares = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(axis=1, keepdims=True)
    entropy = -np.mean([math.log(shares[row, c]) for row, c in enumerate(predicted.tolist())])
    assert float(terms["cross_entropy"]) == pytest.approx(entropy)
    assert float(terms["words"]) == pytest.approx(kl_words / 3)
    assert float(terms["pairs"]) == pytest.approx(kl_pairs / 3)
    assert float(terms["sparse"]) == pytest.approx(kept_pairs / 3)
    settings = WimaskSettings(beta_words=0.5, beta_pairs=0.25, beta_sparse=0.125)
    weighted = entropy + (0.5 * kl_words + 0.25 * kl_pairs + 0.125 * kept_pairs) / 3
    assert float(settings.total_loss(terms)) == pytest.approx(weighted)


def test_masks_of_a_vocabulary_stand_in_for_the_word_layer() -> None:
    torch.manual_seed(0)
    layer = Bottleneck(4, 3)
    entries, mask = torch.tensor([[0, 1, 2, 1]]), torch.ones(1, 4, dtype=torch.int64)
    kept = torch.tensor([True, False, True, False])
    found, _ = layer(torch.randn(1, 4, 3), entries, mask, word_mask=kept)
    assert found[0].abs().sum(dim=1).bool().tolist() == [True, False, True, False]


def test_what_is_no_word_goes_through_as_it_is() -> None:
    torch.manual_seed(0)
    layer = Bottleneck(4, 3)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, mean=-1)
    embedded = torch.randn(1, 3, 3)
    found, _ = layer(embedded, torch.tensor([[3, 1, 2]]), torch.tensor([[0, 1, 0]]))
    torch.testing.assert_close(found[0, [0, 2]], embedded[0, [0, 2]])


def test_drawn_masks_are_zero_or_one_as_often_as_their_probability_says() -> None:
    layer = Bottleneck(2, 3)
    logits = torch.full((20_000,), math.log(0.8 / 0.2), requires_grad=True)
    drawn = layer._drawn(logits, torch.Generator().manual_seed(0))
    assert set(drawn.detach().round(decimals=6).unique().tolist()) == {0.0, 1.0}
    assert float(drawn.detach().mean()) == pytest.approx(0.8, abs=0.01)
    drawn.sum().backward()
    assert logits.grad is not None
    assert (logits.grad > 0).all()


def test_the_keyword_that_decides_is_kept_above_all_other_words(
    keyword_model: EncoderModel,
) -> None:
    texts = sentences(400, seed=77)
    vocabulary = vocabulary_of(keyword_model, texts)
    learned = learn_masks(keyword_model, texts, sentences(100, seed=78), vocabulary, SETTINGS)
    probability = dict(zip(vocabulary.pieces, learned.words.tolist(), strict=False))
    fillers = [probability[word] for word in FILLERS]
    assert probability[KEYWORD] > 0.9
    assert probability[KEYWORD] > max(fillers)
    assert learned.masks.about["fidelity"] >= 0.97
    assert learned.masks.about["fidelity_of_masks"] >= 0.97
    entry = vocabulary.pieces.index(KEYWORD)
    assert learned.masks.words[entry]
    # A pair that never stood in one text cannot have been learned.
    never = vocabulary.size - 1
    assert learned.words[never] == 0.0
    assert learned.masks.pairs[never].nonzero()[0].tolist() == [never]
    assert learned.pairs[entry, entry] == 0.5
    about = learned.masks.about
    assert about["pairs_kept"] == int((learned.pairs > 0.5).sum())
    spread = [about["word_probabilities"][name] for name in ("least", "mean", "greatest")]
    assert 0 < spread[0] < spread[1] < spread[2] == pytest.approx(probability[KEYWORD])
    # Next to nothing is masked before the first step, so fidelity alone says little.
    assert about["fidelity_untrained"] == 1.0


@given(
    st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.9, 1.0]), min_size=1, max_size=12),
    st.floats(0, 1),
)
def test_the_most_probable_words_are_kept(probabilities: list[float], most: float) -> None:
    words = np.array(probabilities, dtype=np.float32)
    kept = kept_words(words, most)
    assert kept.sum() == min(int(most * len(words)), int((words > 0.5).sum()))
    assert (words[kept] > 0.5).all()
    if kept.any() and not kept.all():
        assert words[~kept].max() <= words[kept].min()


def test_a_smaller_share_keeps_fewer_words_and_trains_nothing_anew(
    keyword_model: EncoderModel, tmp_path: Path
) -> None:
    texts = sentences(32)
    vocabulary = vocabulary_of(keyword_model, texts)
    settings = WimaskSettings(epochs=1, learning_rate=1e-2)
    steps: list[int] = []
    low, high = (
        learn_masks(
            keyword_model,
            texts,
            texts,
            vocabulary,
            settings,
            most_words=most_words,
            checkpoint=tmp_path / "training",
            advance=lambda done, terms: steps.append(len(terms)),
        )
        for most_words in (1.0, 0.25)
    )
    np.testing.assert_array_equal(low.words, high.words)
    assert [bool(terms) for terms in steps] == [True, False]  # trained once, then resumed
    assert high.masks.words.sum() == vocabulary.size // 4 < low.masks.words.sum()


def test_special_tokens_are_no_words(keyword_model: EncoderModel) -> None:
    texts = sentences(16)
    vocabulary = vocabulary_of(keyword_model, texts)
    learned = learn_masks(keyword_model, texts, texts, vocabulary, WimaskSettings(epochs=1))
    for piece in ("[CLS]", "[SEP]"):
        entry = vocabulary.pieces.index(piece)
        assert learned.words[entry] == 1.0
        assert (learned.pairs[entry] == 0.5).all()
        assert (learned.pairs[:, entry] == 0.5).all()


def test_the_model_is_left_as_it_was(keyword_model: EncoderModel) -> None:
    before = {name: value.clone() for name, value in keyword_model.model.state_dict().items()}
    hooks = len(keyword_model.base.embeddings._forward_hooks)
    texts = sentences(16)
    vocabulary = vocabulary_of(keyword_model, texts)
    learn_masks(keyword_model, texts, texts, vocabulary, WimaskSettings(epochs=1))
    after = keyword_model.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.requires_grad for parameter in keyword_model.model.parameters())
    assert len(keyword_model.base.embeddings._forward_hooks) == hooks


@pytest.mark.parametrize("kind", ["Roberta", "DistilBert", "DebertaV2"])
def test_other_encoders_can_be_masked(kind: str) -> None:
    encoder = EncoderModel(tokenizer_of_the_encoder(), tiny(kind), kind)
    texts = sentences(12)
    settings = WimaskSettings(epochs=1, learning_rate=1e-2, batch_size=4)
    learned = learn_masks(encoder, texts, texts, vocabulary_of(encoder, texts), settings)
    words = learned.words[2:-1]  # without [CLS], [SEP] and the entry for the rest
    assert ((words > 0) & (words < 1)).all()
    assert learned.masks.about["pairs_seen"]


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "DistilBert", "DebertaV2"])
def test_a_masked_word_says_nothing_to_the_model(kind: str) -> None:
    encoder = EncoderModel(tokenizer_of_the_encoder(), tiny(kind, initializer_range=0.5), kind)
    vocabulary = Vocabulary.of_texts(encoder, ["old film"])
    model = MaskedModel(encoder, vocabulary, Bottleneck(vocabulary.size, 16))
    ids = torch.tensor([encoder.token_ids(text) for text in ("old film", "old trains")])
    mask, nothing = torch.ones_like(ids), torch.zeros(vocabulary.size)
    with torch.no_grad():
        first, second = model.masked_logits(ids, mask, word_mask=nothing)[0]
        assert not torch.equal(*model.logits(ids, mask))
    torch.testing.assert_close(first, second)


def learned_twice(
    encoder: EncoderModel, seeds: tuple[int, int]
) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    texts = sentences(24)
    found = []
    for seed in seeds:
        settings = WimaskSettings(epochs=2, learning_rate=1e-2, batch_size=8, seed=seed)
        learned = learn_masks(encoder, texts, texts, vocabulary_of(encoder, texts), settings)
        found.append((learned.words, learned.pairs))
    return tuple(found)


def test_a_seed_decides_everything(keyword_model: EncoderModel) -> None:
    (words, pairs), (same_words, same_pairs) = learned_twice(keyword_model, (3, 3))
    np.testing.assert_array_equal(words, same_words)
    np.testing.assert_array_equal(pairs, same_pairs)
    (words, _), (other_words, _) = learned_twice(keyword_model, (3, 4))
    assert not np.array_equal(words, other_words)


class KilledError(Exception):
    pass


def killed_after(steps: int) -> Callable[[int, dict[str, float]], None]:
    done = 0

    def advance(more: int, terms: dict[str, float]) -> None:
        nonlocal done
        done += more
        if done >= steps:
            raise KilledError

    return advance


@pytest.mark.parametrize("steps", [4, 7, 8])
def test_a_killed_training_goes_on_to_the_same_bytes(
    keyword_model: EncoderModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(learning, "STEPS_A_CHECKPOINT", 2)
    texts = sentences(32)
    vocabulary = vocabulary_of(keyword_model, texts)
    settings = WimaskSettings(epochs=2, learning_rate=1e-2, batch_size=8)

    def train(name: str, advance: Any = lambda done, terms: None) -> None:
        learned = learn_masks(
            keyword_model,
            texts,
            texts,
            vocabulary,
            settings,
            checkpoint=tmp_path / f"{name}.training",
            advance=advance,
        )
        learned.masks.save(tmp_path / f"{name}.masks")

    train("whole")
    with pytest.raises(KilledError):
        train("killed", killed_after(steps))
    told: list[int] = []
    train("killed", lambda done, terms: told.append(done))
    assert told[0] >= steps - 1  # it did go on, not start again
    assert sum(told) == 8
    for suffix in ("training", "masks"):
        whole, killed = (tmp_path / f"{name}.{suffix}" for name in ("whole", "killed"))
        assert whole.read_bytes() == killed.read_bytes()


def test_a_checkpoint_of_another_training_is_refused(
    keyword_model: EncoderModel, tmp_path: Path
) -> None:
    texts = sentences(8)
    vocabulary = vocabulary_of(keyword_model, texts)
    path = tmp_path / "training"
    learn_masks(keyword_model, texts, texts, vocabulary, WimaskSettings(epochs=1), checkpoint=path)
    with pytest.raises(AnalysisError, match="other settings") as told:
        learn_masks(
            keyword_model, texts, texts, vocabulary, WimaskSettings(epochs=2), checkpoint=path
        )
    assert "--restart" in told.value.hint
    with pytest.raises(AnalysisError, match="other texts"):
        learn_masks(
            keyword_model, texts[1:], texts, vocabulary, WimaskSettings(epochs=1), checkpoint=path
        )
    path.write_bytes(b"no safetensors")
    with pytest.raises(AnalysisError, match="is no checkpoint of masks"):
        learn_masks(
            keyword_model, texts, texts, vocabulary, WimaskSettings(epochs=1), checkpoint=path
        )


def test_a_vocabulary_larger_than_memory_is_refused_with_the_number(
    keyword_model: EncoderModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "machine_memory", lambda: 24 * 10**2)  # half of it: 10 x 10
    texts = sentences(20)
    vocabulary = vocabulary_of(keyword_model, texts)
    assert vocabulary.size > 10
    with pytest.raises(AnalysisError, match=rf"{vocabulary.size} × {vocabulary.size}") as told:
        learn_masks(keyword_model, texts, texts, vocabulary)
    assert "--vocab 9 or less" in told.value.hint
    small = Vocabulary.of_texts(keyword_model, texts, 9)
    learn_masks(keyword_model, texts, texts, small, WimaskSettings(epochs=1))


def test_nothing_to_learn_from_is_told(keyword_model: EncoderModel) -> None:
    with pytest.raises(AnalysisError, match="0 texts to learn masks from"):
        learn_masks(keyword_model, [], ["a film"], Vocabulary(("a",)))


def test_padding_changes_no_mask() -> None:
    torch.manual_seed(1)
    layer = Bottleneck(5, 4)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    embedded = torch.randn(1, 3, 4)
    entries, mask = torch.tensor([[1, 2, 3]]), torch.ones(1, 3, dtype=torch.int64)
    alone: Masked = layer(embedded, entries, mask)[1]
    longer = torch.cat([embedded, torch.randn(1, 2, 4)], dim=1)
    padded: Masked = layer(
        longer, torch.tensor([[1, 2, 3, 4, 4]]), torch.tensor([[1, 1, 1, 0, 0]])
    )[1]
    torch.testing.assert_close(padded.words[:, :3], alone.words)
    torch.testing.assert_close(padded.pairs[:, :3, :3], alone.pairs)
    assert not padded.words[:, 3:].any()
    assert not padded.pairs[:, 3:].any()


@pytest.fixture
def keyword_corpus(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for text in dict.fromkeys(sentences(120)):
            writer.writerow([text, "positive" if KEYWORD in text else "negative"])
    return path


@pytest.fixture(scope="module")
def keyword_folder(keyword_model: EncoderModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "keyword"
    keyword_model.model.save_pretrained(folder)
    keyword_model.tokenizer.save_pretrained(folder)
    return folder


def test_the_command_writes_masks_and_what_they_are(
    keyword_corpus: Path, keyword_folder: Path, tmp_path: Path
) -> None:
    arguments = ["masks", f"csv:{keyword_corpus}", "--model", str(keyword_folder)]
    arguments += ["--epochs", "2", "--lr", "0.02", "--vocab", "50", "--batch-size", "16"]
    results = [
        runner.invoke(app, [*arguments, "--out", str(tmp_path / name)]) for name in ("a", "b")
    ]
    assert results[0].exit_code == 0, results[0].output
    assert "fidelity" in results[0].output
    first, second = (tmp_path / name / "masks.safetensors" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    masks = Masks.load(first)
    report = json.loads((tmp_path / "a" / "masks.json").read_text(encoding="utf-8"))
    assert report["words"][KEYWORD] == max(
        value for word, value in report["words"].items() if word in {KEYWORD, *FILLERS}
    )
    assert masks.about["fidelity"] == report["fidelity"]
    assert masks.about["words_kept"] == int(masks.words.sum())
    assert masks.about["settings"]["learning_rate"] == 0.02
    assert masks.about["corpus"]["texts"] < 120  # a part was held out
    settings = masks.about["settings"]
    assert (settings["convention"], settings["words_from"]) == ("paper", "embedding")
    assert np.diag(masks.pairs).all()


def test_the_own_convention_takes_words_from_neighbours_and_masks_that_keep_all_are_told(
    keyword_corpus: Path, keyword_folder: Path, tmp_path: Path
) -> None:
    arguments = ["masks", f"csv:{keyword_corpus}", "--model", str(keyword_folder)]
    arguments += ["--epochs", "1", "--lr", "1e-7", "--vocab", "5", "--convention", "reached"]
    done = runner.invoke(app, [*arguments, "--out", str(tmp_path / "masks")])
    assert done.exit_code == 0, done.output
    masks = Masks.load(tmp_path / "masks" / "masks.safetensors")
    assert masks.about["settings"]["words_from"] == "mixed"
    assert not np.diag(masks.pairs).all()
    assert masks.about["words_kept"] == masks.about["words_seen"] == int(masks.words.sum())
    assert "keeps every word" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--lr", "nan"], "'--lr': nan: Input should be"),
        (["--model", "vader"], "model vader: is no encoder"),
    ],
)
def test_bad_options_are_told(
    keyword_corpus: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    result = runner.invoke(
        app,
        [
            *("masks", f"csv:{keyword_corpus}", "--model", "embedded-2class"),
            *("--out", str(tmp_path / "out")),
            *options,
        ],
    )
    assert result.exit_code in (1, 2)
    assert problem in result.output
    assert not (tmp_path / "out").exists()
