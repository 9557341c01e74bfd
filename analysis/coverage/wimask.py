"""WIMASK: learn which words and pairs of words matter to a model, for MNCOVER.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), section 3.3, equations 8 to 15, and appendix A. Between the embeddings and the rest of
the frozen model stands a layer that lets only some words and pairs through; it is trained to leave
the model's own predictions as they are:

- The interaction mask M_A(u, v) of a pair of words of the vocabulary is a Bernoulli variable with a
  logit, drawn with the Gumbel-Softmax trick (Jang et al. 2017), straight through: 0 or 1 forward,
  the soft value's gradient backward.
- e'_i = e_i + ReLU(W · mean of e_j over the neighbours j ≠ i with M_A(x_i, x_j) = 1), where a word
  without neighbours adds nothing (equation 8; the appendix's equation 10 mixes otherwise).
- The word mask M_W(i) is drawn likewise, with a probability that a single layer computes from the
  word's own embedding e_i; what goes on is M_W(i) · e'_i.
- loss = cross entropy to the model's own prediction + β_i KL(M_W ‖ Bernoulli(1/2))
  + β_g KL(M_A ‖ Bernoulli(1/2)) + β_sparse |M_A|₁ (equations 9 and 15): sums over the words and
  pairs of a text, means over texts; every β is 0.001, as in the paper. |M_A|₁ is its expectation.

M_W(v) is 1 where the mean probability over v's occurrences in the training texts is above 1/2, and
M_A(u, v) where the pair's is.

The paper leaves open, and is read here, as follows. Special tokens are no words of the text: they
go through as they are, in no pair; their M_W is 1. A word meets itself in no pair that is learned,
and a word and itself always count, as in the authors' code. A pair that never occurred stays at
1/2, hence 0 (their code keeps 1/2 as well). Temperature 1, batches of 32.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import nn

from s2lct.analysis.coverage.encoder import Booleans, EncoderModel, Floats, Integers, ModelInput
from s2lct.analysis.result import Result
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes
from s2lct.progress import bar
from s2lct.tables import Table

VOCABULARY_SIZE = 5_000
BETA = 1e-3
BATCH_SIZE = 32
KEPT_ABOVE = 0.5
FIRST_WORD_LOGIT = 2.0
LOW_FIDELITY = 0.9
_METADATA_KEY = "s2lct masks"


@dataclass(frozen=True, repr=False)
class Masks(Result):
    """Which words and pairs of words matter to a model (section 3.2).

    Attributes:
        pieces: the vocabulary, V - 1 word pieces; all others share its last entry.
        words: M_W, boolean of shape (V,).
        pairs: M_A, boolean of shape (V, V); [i, j] is word i looking at word j.
        about: how they were made and how faithful they are, as plain JSON values.
    """

    pieces: tuple[str, ...]
    words: Booleans
    pairs: Booleans
    about: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """How far the masked model agrees with the model itself, and what the masks keep."""
        about, advice = self.about, ""
        if about["words_kept"] == about["words_seen"]:
            advice += "The masks keep every word of the texts: raise --lr or --epochs. "
        if about["fidelity"] < LOW_FIDELITY:
            advice += "The masked model often disagrees with the model: lower --lr, or add texts."
        rows = (
            ("held-out texts", f"{about['held_out']:,}"),
            ("fidelity", f"{about['fidelity']:.1%}"),
            ("fidelity of the untrained layer", f"{about['fidelity_untrained']:.1%}"),
            ("p(word)", "{least:.2f} to {greatest:.2f}".format(**about["word_probabilities"])),
            ("words kept", f"{about['words_kept']:,} of {len(self.words):,}"),
            ("seen pairs kept", f"{about['pairs_kept']:,} of {about['pairs_seen']:,}"),
        )
        return Table(("WIMASK", about.get("model", "")), rows, caption=advice)

    def to_dict(self) -> dict[str, Any]:
        """How the masks were made, and their figures."""
        return dict(self.about)

    def json(self) -> str:
        """How the masks were made, and their figures, as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Write them as safetensors, whole or not at all."""
        described = {"pieces": self.pieces, "about": dict(self.about)}
        # One entry: safetensors writes several in an order of its own each time.
        metadata = {_METADATA_KEY: json.dumps(described, ensure_ascii=False, sort_keys=True)}
        arrays = {"words": np.packbits(self.words), "pairs": np.packbits(self.pairs, axis=1)}
        write_bytes(path, save(arrays, metadata))

    @classmethod
    def load(cls, path: Path, encoder: EncoderModel | None = None) -> Masks:
        """Read masks, and check that they are the encoder's if one is given.

        Raises:
            AnalysisError: the file is missing, holds no masks, or those of another model.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads((file.metadata() or {})[_METADATA_KEY])
                pieces, about = tuple(map(str, described["pieces"])), described["about"]
                words, pairs = (
                    np.unpackbits(file.get_tensor(name), axis=-1, count=len(pieces) + 1)
                    for name in ("words", "pairs")
                )
            if pairs.shape != 2 * words.shape:
                raise ValueError("pairs are of another vocabulary")
            weights = about.get("weights_sha256")
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AnalysisError(
                f"masks {path}: cannot be read ({error!r})", hint="make one with `s2lct masks`"
            ) from error
        if encoder and weights not in (None, encoder.fingerprint):
            raise AnalysisError(
                f"--masks {path}: were learned for {about.get('model', 'another model')}",
                hint=f"learn them for {encoder.name}: s2lct masks CORPUS --model {encoder.name}",
            )
        return cls(pieces, words.astype(bool), pairs.astype(bool), about)


def vocabulary_of(
    encoder: EncoderModel, texts: Iterable[ModelInput], most: int = VOCABULARY_SIZE
) -> tuple[str, ...]:
    """The commonest word pieces, special tokens included; of equals the lower id first."""
    counts = Counter(token for text in texts for token in encoder.token_ids(text))
    ranked = sorted(counts, key=lambda token: (-counts[token], token))[:most]
    return tuple(encoder.tokenizer.convert_ids_to_tokens(ranked))


def entries_of_tokens(pieces: Sequence[str], tokenizer: Any) -> Integers:
    """The vocabulary entry of each token id, shape (tokenizer's length,)."""
    entries = np.full(len(tokenizer), len(pieces), dtype=np.int64)
    ids = tokenizer.get_vocab()
    for entry, piece in enumerate(pieces):
        if piece in ids:
            entries[ids[piece]] = entry
    return entries


class Masked(NamedTuple):
    """A masked batch.

    Attributes:
        embedded: M_W · e', and e itself where there is no word, shape (texts, tokens, width).
        words: probabilities that words are let through, shape (texts, tokens).
        penalty: the loss's KL and sparsity terms, not yet weighted by β, a mean over texts.
    """

    embedded: torch.Tensor
    words: torch.Tensor
    penalty: torch.Tensor


class Bottleneck(nn.Module):
    """The layer between the embeddings, of a width, and the encoder; V is ``entries``."""

    def __init__(self, entries: int, width: int) -> None:
        super().__init__()
        self.entries = entries
        # A logit a pair, as a table with sparse gradients: a step touches its pairs alone.
        self.pair_logits = nn.Embedding(entries * entries, 1, sparse=True)
        nn.init.zeros_(self.pair_logits.weight)
        # At first next to nothing is mixed in and most words pass: training starts from the model's
        # predictions and takes away, instead of searching for them in noise.
        self.neighbours = nn.Linear(width, width, bias=False)
        nn.init.normal_(self.neighbours.weight, std=1e-3)
        self.word_layer = nn.Linear(width, 1)
        nn.init.normal_(self.word_layer.weight, std=1e-3)
        nn.init.constant_(self.word_layer.bias, FIRST_WORD_LOGIT)

    def forward(
        self,
        embedded: torch.Tensor,
        entries: torch.Tensor,
        is_word: torch.Tensor,
        generator: torch.Generator | None = None,
    ) -> Masked:
        """Mask e, shape (texts, tokens, width); what is no word is padding or a special token.

        The generator draws the masks; without one, what is more probable than not is kept.
        """
        same = torch.eye(is_word.shape[1], dtype=torch.bool, device=is_word.device)
        is_pair = is_word[:, :, None] & is_word[:, None, :] & ~same
        codes = entries[:, :, None] * self.entries + entries[:, None, :]
        pair_logits = torch.zeros(codes.shape, dtype=embedded.dtype, device=embedded.device)
        pair_logits = pair_logits.masked_scatter(is_pair, self.pair_logits(codes[is_pair])[:, 0])
        adjacent = sampled_mask(pair_logits, generator) * is_pair
        degree = adjacent.sum(dim=2, keepdim=True).clamp(min=1)
        mixed = embedded + F.relu(self.neighbours(adjacent @ embedded / degree))
        word_logits = self.word_layer(embedded)[:, :, 0]
        word_mask = torch.where(is_word, sampled_mask(word_logits, generator), 1.0)
        words, pairs = word_logits.sigmoid(), pair_logits.sigmoid()[is_pair]
        penalty = kl_to_fair_coin(words[is_word]) + kl_to_fair_coin(pairs) + pairs.sum()
        return Masked(mixed * word_mask[:, :, None], words, penalty / len(embedded))


def sampled_mask(logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """A mask of 0 and 1 drawn straight through, or without a generator the likelier value."""
    if generator is None:
        return (logits > 0).to(logits.dtype)
    # Drawn where the generator is, so that every device sees the same masks.
    uniform = torch.rand(logits.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
    soft = (logits + uniform.logit().to(logits.device)).sigmoid()
    return (soft > KEPT_ABOVE).to(soft.dtype) + soft - soft.detach()


def kl_to_fair_coin(probabilities: torch.Tensor) -> torch.Tensor:
    """The sum of the KL divergences of Bernoulli(p) from Bernoulli(1/2), in nats."""
    p = probabilities.clamp(1e-6, 1 - 1e-6)  # at 0 and 1 the gradient is infinite
    entropy = torch.special.entr(p) + torch.special.entr(1 - p)
    return torch.sum(math.log(2) - entropy)


class Batch(NamedTuple):
    """The model's inputs for some texts, and the classes that it predicts by itself.

    ``entries`` of the vocabulary and ``is_word``, False for padding and special tokens, have the
    shape (texts, tokens).
    """

    inputs: Any
    entries: torch.Tensor
    is_word: torch.Tensor
    predicted: torch.Tensor


class MaskedModel:
    """A model with the bottleneck behind its embeddings.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(self, encoder: EncoderModel, pieces: Sequence[str]) -> None:
        self.encoder = encoder
        tokenizer, width = encoder.tokenizer, int(encoder.model.config.hidden_size)
        self.bottleneck = Bottleneck(len(pieces) + 1, width).to(encoder.device)
        self._entries = torch.from_numpy(entries_of_tokens(pieces, tokenizer)).to(encoder.device)
        special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
        self._special = torch.tensor(special, device=encoder.device)
        self._embeddings: Any = getattr(encoder.model.base_model, "embeddings", None)
        if self._embeddings is None:
            raise AnalysisError(
                f"model {encoder.name}: has no module of embeddings before its layers",
                hint="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
            )

    @torch.no_grad()
    def batches(self, texts: Sequence[ModelInput]) -> list[Batch]:
        """Texts of like length together, with the model's predictions."""
        batches = []
        order = sorted(texts, key=lambda text: len(self.encoder.token_ids(text)))
        for start in range(0, len(order), BATCH_SIZE):
            inputs = self.encoder.tokenize(order[start : start + BATCH_SIZE])
            ids = inputs["input_ids"]
            is_word = inputs["attention_mask"].bool() & ~torch.isin(ids, self._special)
            predicted = self.encoder.model(**inputs).logits.argmax(1)
            batches.append(Batch(inputs, self._entries[ids], is_word, predicted))
        return batches

    def masked_logits(
        self, batch: Batch, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, Masked]:
        """Logits behind the bottleneck, shape (texts, classes), and what was masked."""
        results: list[Masked] = []

        def hook(module: Any, inputs: Any, embedded: torch.Tensor) -> torch.Tensor:
            results.append(self.bottleneck(embedded, batch.entries, batch.is_word, generator))
            return results[-1].embedded

        handle = self._embeddings.register_forward_hook(hook)
        try:
            return self.encoder.model(**batch.inputs).logits, results[0]
        finally:
            handle.remove()

    @torch.no_grad()
    def fidelity(self, batches: Sequence[Batch]) -> float:
        """The share of texts for which the masked model predicts what the model predicts."""
        agree = [self.masked_logits(batch)[0].argmax(1) == batch.predicted for batch in batches]
        return float(torch.cat(agree).double().mean())

    @torch.no_grad()
    def word_probabilities(self, batches: Sequence[Batch]) -> Floats:
        """Mean probability over each word's occurrences, 1 of special tokens, shape (V,)."""
        size = self.bottleneck.entries
        sums, counts = torch.zeros(size, dtype=torch.float64), torch.zeros(size)
        for batch in batches:
            entries = batch.entries[batch.is_word].cpu()
            words = self.masked_logits(batch)[1].words[batch.is_word].double().cpu()
            sums += torch.bincount(entries, words, minlength=size)
            counts += torch.bincount(entries, minlength=size)
        means = sums / counts.clamp(min=1)
        special = self._entries[self._special].cpu()
        means[special[special < size - 1]] = 1.0
        return means.float().numpy()

    def train(self, batches: Sequence[Batch], epochs: int, learning_rate: float, seed: int) -> None:
        """Train the bottleneck to leave the model's predictions as they are."""
        layer = self.bottleneck
        dense = [*layer.neighbours.parameters(), *layer.word_layer.parameters()]
        optimizers = [
            torch.optim.Adam(dense, lr=learning_rate),
            torch.optim.SparseAdam([layer.pair_logits.weight], lr=learning_rate),
        ]
        generator = torch.Generator().manual_seed(seed)
        advance = bar("steps", epochs * len(batches))
        for _ in range(epochs):
            for number in torch.randperm(len(batches), generator=generator).tolist():
                logits, masked = self.masked_logits(batches[number], generator)
                cross_entropy = F.cross_entropy(logits, batches[number].predicted)
                loss = cross_entropy + BETA * masked.penalty
                for optimizer in optimizers:
                    optimizer.zero_grad()
                loss.backward(inputs=list(layer.parameters()))  # the model's own stay as they are
                for optimizer in optimizers:
                    optimizer.step()
                advance(1, f"cross entropy {cross_entropy.item():.3f}")


def learn_masks(
    encoder: EncoderModel,
    texts: Sequence[ModelInput],
    held_out: Sequence[ModelInput],
    *,
    epochs: int = 10,
    learning_rate: float = 1e-5,
    seed: int = 0,
    about: Mapping[str, Any] | None = None,
) -> Masks:
    """Learn the masks of a model, whose weights stay as they are, and measure their fidelity.

    ``about`` of the masks has what is passed, and ``fidelity``, the share of held-out texts for
    which the masked model predicts what the model predicts (Table 5); ``fidelity_untrained`` is
    that of the layer before its first step: where it is as high, nothing was masked. ``words`` are
    probabilities, 1 for special tokens and 0 for words that never occur.

    Args:
        encoder: the model.
        texts: to learn from.
        held_out: texts to measure the fidelity on.
        epochs: passes over the texts.
        learning_rate: the paper's by default.
        seed: of weights, order and draws.
        about: what else to record.

    Raises:
        AnalysisError: there are no texts, or the model has no module of embeddings.
    """
    if not texts or not held_out:
        raise AnalysisError(
            f"{len(texts)} texts to learn masks from and {len(held_out)} to test them on",
            hint="give a corpus of some hundred sentences at least",
        )
    pieces = vocabulary_of(encoder, texts)
    torch.manual_seed(seed)
    model = MaskedModel(encoder, pieces)
    batches, tests = model.batches(texts), model.batches(held_out)
    untrained = model.fidelity(tests)
    model.train(batches, epochs, learning_rate, seed)
    words = model.word_probabilities(batches)
    size = len(pieces) + 1
    pairs = model.bottleneck.pair_logits.weight.detach().view(size, size).sigmoid().cpu().numpy()
    word_mask, pair_mask = words > KEPT_ABOVE, pairs > KEPT_ABOVE
    learned = words[(words > 0) & (words < 1)]
    spread = (learned.min(), learned.mean(), learned.max()) if len(learned) else (1.0, 1.0, 1.0)
    ranked = np.argsort(-words, kind="stable").tolist()
    figures = {
        "held_out": len(held_out),
        "fidelity": model.fidelity(tests),
        "fidelity_untrained": untrained,
        "words_kept": int(word_mask.sum()),
        "words_seen": int((words > 0).sum()),
        "word_probabilities": {
            name: float(value)
            for name, value in zip(("least", "mean", "greatest"), spread, strict=True)
        },
        "pairs_kept": int(pair_mask.sum()),
        "pairs_seen": int((pairs != KEPT_ABOVE).sum()),
        "words": {(*pieces, "")[entry]: round(float(words[entry]), 6) for entry in ranked},
    }
    np.fill_diagonal(pair_mask, True)
    return Masks(pieces, word_mask, pair_mask, {**(about or {}), **figures})
