"""WIMASK: learn which words and pairs of words matter to a model, for MNCOVER.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), section 3.3, equations 8 to 15, and appendix A. A layer between the embeddings and the
rest of the frozen model lets only some words and pairs of words through. It is trained to leave the
model's own predictions as they are:

- The interaction mask M_A(u, v) of a pair of words of the vocabulary is a Bernoulli variable with a
  learned logit. It is drawn with the straight-through Gumbel-Softmax trick (Jang et al. 2017): the
  forward pass uses 0 or 1, the backward pass the gradient of the soft value.
- e'_i = e_i + ReLU(W · mean of e_j over the neighbours j ≠ i with M_A(x_i, x_j) = 1), where a word
  without neighbours adds nothing (equation 8; the appendix's equation 10 mixes otherwise).
- The word mask M_W(i) is drawn in the same way, with a probability that a single layer computes
  from the word's own embedding e_i. The model's next layer gets M_W(i) · e'_i.
- loss = cross entropy to the model's own prediction + β_i KL(M_W ‖ Bernoulli(1/2))
  + β_g KL(M_A ‖ Bernoulli(1/2)) + β_sparse |M_A|₁ (equations 9 and 15): sums over the words and
  pairs of a text, means over texts; every β is 0.001, as in the paper. |M_A|₁ is its expectation.

M_W(v) is 1 if the mean probability over v's occurrences in the training texts is above 1/2.
M_A(u, v) is 1 if the pair's probability is above 1/2.

The paper leaves the following open. Here, special tokens are not words: they pass unchanged, belong
to no pair, and have M_W = 1. The pair of a word and itself is not learned and always counts, as in
the authors' code. A pair that never occurs in the texts keeps its probability of 1/2, so its mask
is 0 (the authors' code keeps 1/2 as well). The temperature is 1, a batch has 32 texts.
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
"""Weight of the loss's KL and sparsity terms."""
BATCH_SIZE = 32
MASK_THRESHOLD = 0.5
"""A mask is 1 where its probability is above this."""
INITIAL_WORD_LOGIT = 2.0
LOW_FIDELITY = 0.9
"""A fidelity below this makes the table advise other settings."""
_METADATA_KEY = "s2lct masks"


@dataclass(frozen=True, repr=False)
class Masks(Result):
    """The masks of the words and pairs of words that matter to a model (section 3.2).

    Attributes:
        pieces: the vocabulary, V - 1 word pieces; all others share its last entry.
        words: M_W, shape (V,).
        pairs: M_A, shape (V, V); [i, j] is about the attention that word i gives word j.
        about: the settings of the training, the fidelity and other figures, as JSON values.
    """

    pieces: tuple[str, ...]
    words: Booleans
    pairs: Booleans
    about: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """The fidelity of the masked model, and the numbers of words and pairs that masks keep."""
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
        """The settings that the masks were learned with, and their figures."""
        return dict(self.about)

    def json(self) -> str:
        """The settings that the masks were learned with, and their figures, as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Write the masks as a safetensors file; a failed write leaves no partial file."""
        description = {"pieces": self.pieces, "about": dict(self.about)}
        # One entry: safetensors writes several in an order of its own each time.
        metadata = {_METADATA_KEY: json.dumps(description, ensure_ascii=False, sort_keys=True)}
        arrays = {"words": np.packbits(self.words), "pairs": np.packbits(self.pairs, axis=1)}
        write_bytes(path, save(arrays, metadata))

    @classmethod
    def load(cls, path: Path, encoder: EncoderModel | None = None) -> Masks:
        """Read masks from a file; with an encoder, check that they were learned for it.

        Raises:
            AnalysisError: the file is missing, holds no masks, or holds another model's masks.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                description = json.loads((file.metadata() or {})[_METADATA_KEY])
                pieces, about = tuple(map(str, description["pieces"])), description["about"]
                words, pairs = (
                    np.unpackbits(file.get_tensor(name), axis=-1, count=len(pieces) + 1)
                    for name in ("words", "pairs")
                )
            if pairs.shape != 2 * words.shape:
                raise ValueError("pairs are of another vocabulary")
            weights_sha256 = about.get("weights_sha256")
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AnalysisError(
                f"masks {path}: cannot be read ({error!r})", hint="make one with `s2lct masks`"
            ) from error
        if encoder and weights_sha256 not in (None, encoder.fingerprint):
            raise AnalysisError(
                f"--masks {path}: were learned for {about.get('model', 'another model')}",
                hint=f"learn them for {encoder.name}: s2lct masks CORPUS --model {encoder.name}",
            )
        return cls(pieces, words.astype(bool), pairs.astype(bool), about)


def vocabulary_of(
    encoder: EncoderModel, texts: Iterable[ModelInput], size: int = VOCABULARY_SIZE
) -> tuple[str, ...]:
    """The commonest word pieces of texts, special tokens included; ties are broken by lower id."""
    counts = Counter(token for text in texts for token in encoder.token_ids(text))
    ranked = sorted(counts, key=lambda token: (-counts[token], token))[:size]
    return tuple(encoder.tokenizer.convert_ids_to_tokens(ranked))


def entries_of_tokens(pieces: Sequence[str], tokenizer: Any) -> Integers:
    """The index in the vocabulary V of each token id, shape (token ids of the tokenizer,)."""
    entries = np.full(len(tokenizer), len(pieces), dtype=np.int64)
    ids = tokenizer.get_vocab()
    for entry, piece in enumerate(pieces):
        if piece in ids:
            entries[ids[piece]] = entry
    return entries


class MaskedBatch(NamedTuple):
    """The bottleneck's outputs for a batch.

    Attributes:
        embeddings: M_W · e' of words, e of other tokens, shape (texts, tokens, width).
        word_probabilities: the probability that M_W is 1, shape (texts, tokens).
        penalty: the mean over texts of the loss's KL and sparsity terms, not yet weighted by β.
    """

    embeddings: torch.Tensor
    word_probabilities: torch.Tensor
    penalty: torch.Tensor


class Bottleneck(nn.Module):
    """The masking layer between the embeddings and the encoder.

    The vocabulary has ``entries`` entries, V in the paper; embeddings have ``width`` dimensions.
    """

    def __init__(self, entries: int, width: int) -> None:
        super().__init__()
        self.entries = entries
        # One logit for each pair; with sparse gradients a step updates only the pairs of its batch.
        self.pair_logits = nn.Embedding(entries * entries, 1, sparse=True)
        nn.init.zeros_(self.pair_logits.weight)
        # At first hardly anything of the neighbours is added and most words pass. So training
        # starts from the model's own predictions and removes words, instead of starting from noise.
        self.neighbours = nn.Linear(width, width, bias=False)
        nn.init.normal_(self.neighbours.weight, std=1e-3)
        self.word_layer = nn.Linear(width, 1)
        nn.init.normal_(self.word_layer.weight, std=1e-3)
        nn.init.constant_(self.word_layer.bias, INITIAL_WORD_LOGIT)

    def forward(
        self,
        embeddings: torch.Tensor,
        entries: torch.Tensor,
        is_word: torch.Tensor,
        generator: torch.Generator | None = None,
    ) -> MaskedBatch:
        """Mask embeddings e, shape (texts, tokens, width).

        Padding and special tokens are no words. The generator draws the masks; without one, a mask
        is 1 where its probability is above 1/2.
        """
        is_diagonal = torch.eye(is_word.shape[1], dtype=torch.bool, device=is_word.device)
        is_pair = is_word[:, :, None] & is_word[:, None, :] & ~is_diagonal
        pair_ids = entries[:, :, None] * self.entries + entries[:, None, :]
        pair_logits = torch.zeros(pair_ids.shape, dtype=embeddings.dtype, device=embeddings.device)
        pair_logits = pair_logits.masked_scatter(is_pair, self.pair_logits(pair_ids[is_pair])[:, 0])
        pair_mask = sample_mask(pair_logits, generator) * is_pair
        n_neighbours = pair_mask.sum(dim=2, keepdim=True).clamp(min=1)
        neighbour_means = pair_mask @ embeddings / n_neighbours
        mixed = embeddings + F.relu(self.neighbours(neighbour_means))
        word_logits = self.word_layer(embeddings)[:, :, 0]
        word_mask = torch.where(is_word, sample_mask(word_logits, generator), 1.0)
        p_word, p_pair = word_logits.sigmoid(), pair_logits.sigmoid()[is_pair]
        penalty = kl_to_fair_coin(p_word[is_word]) + kl_to_fair_coin(p_pair) + p_pair.sum()
        return MaskedBatch(mixed * word_mask[:, :, None], p_word, penalty / len(embeddings))


def sample_mask(logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Draw a straight-through mask of 0 and 1; without a generator, take the likelier values."""
    if generator is None:
        return (logits > 0).to(logits.dtype)
    # Drawn on the generator's device, so that every device gets the same masks.
    uniform = torch.rand(logits.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
    soft = (logits + uniform.logit().to(logits.device)).sigmoid()
    return (soft > MASK_THRESHOLD).to(soft.dtype) + soft - soft.detach()


def kl_to_fair_coin(probabilities: torch.Tensor) -> torch.Tensor:
    """The sum of the KL divergences of Bernoulli(p) from Bernoulli(1/2), in nats."""
    p = probabilities.clamp(1e-6, 1 - 1e-6)  # at 0 and 1 the gradient is infinite
    entropy = torch.special.entr(p) + torch.special.entr(1 - p)
    return torch.sum(math.log(2) - entropy)


class Batch(NamedTuple):
    """A batch of texts, with the classes that the model without masks predicts.

    Attributes:
        inputs: the tokenizer's output.
        entries: indices in the vocabulary V, shape (texts, tokens).
        is_word: False for padding and special tokens, shape (texts, tokens).
        predicted_classes: shape (texts,).
    """

    inputs: Any
    entries: torch.Tensor
    is_word: torch.Tensor
    predicted_classes: torch.Tensor


class MaskedModel:
    """A model with the bottleneck between its embeddings and its first layer.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(self, encoder: EncoderModel, pieces: Sequence[str]) -> None:
        self.encoder = encoder
        tokenizer, width = encoder.tokenizer, int(encoder.model.config.hidden_size)
        self.bottleneck = Bottleneck(len(pieces) + 1, width).to(encoder.device)
        entry_of_token = torch.from_numpy(entries_of_tokens(pieces, tokenizer))
        self._entry_of_token = entry_of_token.to(encoder.device)
        special_ids = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
        self._special_ids = torch.tensor(special_ids, device=encoder.device)
        self._embeddings: Any = getattr(encoder.model.base_model, "embeddings", None)
        if self._embeddings is None:
            raise AnalysisError(
                f"model {encoder.name}: has no module of embeddings before its layers",
                hint="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
            )

    @torch.no_grad()
    def batches(self, texts: Sequence[ModelInput]) -> list[Batch]:
        """Batches of texts of similar length, with the model's predictions."""
        batches = []
        by_length = sorted(texts, key=lambda text: len(self.encoder.token_ids(text)))
        for start in range(0, len(by_length), BATCH_SIZE):
            inputs = self.encoder.tokenize(by_length[start : start + BATCH_SIZE])
            ids = inputs["input_ids"]
            is_word = inputs["attention_mask"].bool() & ~torch.isin(ids, self._special_ids)
            predicted_classes = self.encoder.model(**inputs).logits.argmax(1)
            batches.append(Batch(inputs, self._entry_of_token[ids], is_word, predicted_classes))
        return batches

    def masked_logits(
        self, batch: Batch, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, MaskedBatch]:
        """Logits of the masked model, shape (texts, classes), and the bottleneck's outputs."""
        masked_batches: list[MaskedBatch] = []

        def mask_embeddings(module: Any, inputs: Any, embeddings: torch.Tensor) -> torch.Tensor:
            masked: MaskedBatch = self.bottleneck(
                embeddings, batch.entries, batch.is_word, generator
            )
            masked_batches.append(masked)
            return masked.embeddings

        handle = self._embeddings.register_forward_hook(mask_embeddings)
        try:
            return self.encoder.model(**batch.inputs).logits, masked_batches[0]
        finally:
            handle.remove()

    @torch.no_grad()
    def fidelity(self, batches: Sequence[Batch]) -> float:
        """The share of texts for which the masked model predicts the same class as the model."""
        agreements = [
            self.masked_logits(batch)[0].argmax(1) == batch.predicted_classes for batch in batches
        ]
        return float(torch.cat(agreements).double().mean())

    @torch.no_grad()
    def word_probabilities(self, batches: Sequence[Batch]) -> Floats:
        """The mean probability of M_W over each word's occurrences, shape (V,).

        It is 1 for special tokens and 0 for words that do not occur.
        """
        size = self.bottleneck.entries
        sums, counts = torch.zeros(size, dtype=torch.float64), torch.zeros(size)
        for batch in batches:
            entries = batch.entries[batch.is_word].cpu()
            probabilities = self.masked_logits(batch)[1].word_probabilities[batch.is_word]
            sums += torch.bincount(entries, probabilities.double().cpu(), minlength=size)
            counts += torch.bincount(entries, minlength=size)
        means = sums / counts.clamp(min=1)
        special_entries = self._entry_of_token[self._special_ids].cpu()
        means[special_entries[special_entries < size - 1]] = 1.0
        return means.float().numpy()

    def train(
        self, batches: Sequence[Batch], epochs: int, learning_rate: float, random_seed: int
    ) -> None:
        """Train the bottleneck to leave the model's predictions as they are."""
        layer = self.bottleneck
        dense_parameters = [*layer.neighbours.parameters(), *layer.word_layer.parameters()]
        optimizers = [
            torch.optim.Adam(dense_parameters, lr=learning_rate),
            torch.optim.SparseAdam([layer.pair_logits.weight], lr=learning_rate),
        ]
        generator = torch.Generator().manual_seed(random_seed)
        advance = bar("steps", epochs * len(batches))
        for _ in range(epochs):
            for index in torch.randperm(len(batches), generator=generator).tolist():
                batch = batches[index]
                logits, masked = self.masked_logits(batch, generator)
                cross_entropy = F.cross_entropy(logits, batch.predicted_classes)
                loss = cross_entropy + BETA * masked.penalty
                for optimizer in optimizers:
                    optimizer.zero_grad()
                loss.backward(inputs=list(layer.parameters()))  # the model is frozen
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
    random_seed: int = 0,
    about: Mapping[str, Any] | None = None,
) -> Masks:
    """Learn the masks of a model, whose weights stay as they are, and measure their fidelity.

    The masks' ``about`` has the given entries and these figures, among others:

    - ``fidelity``: the share of held-out texts for which the masked model predicts the same class
      as the model (Table 5).
    - ``fidelity_untrained``: the fidelity of the layer before its first training step. A fidelity
      that is as high may mean that nothing was masked.
    - ``words``: probabilities, 1 for special tokens and 0 for words that never occur.

    Args:
        encoder: the model.
        texts: the texts to learn from.
        held_out: the texts to measure the fidelity on.
        epochs: passes over the texts.
        learning_rate: of Adam; the default is the paper's.
        random_seed: seed of the initial weights, the order of batches and the drawn masks.
        about: further entries for the masks' ``about``.

    Raises:
        AnalysisError: there are no texts, or the model has no module of embeddings.
    """
    if not texts or not held_out:
        raise AnalysisError(
            f"{len(texts)} texts to learn masks from and {len(held_out)} to test them on",
            hint="give a corpus of some hundred sentences at least",
        )
    pieces = vocabulary_of(encoder, texts)
    torch.manual_seed(random_seed)
    model = MaskedModel(encoder, pieces)
    batches, held_out_batches = model.batches(texts), model.batches(held_out)
    fidelity_untrained = model.fidelity(held_out_batches)
    model.train(batches, epochs, learning_rate, random_seed)
    word_probabilities = model.word_probabilities(batches)
    size = len(pieces) + 1
    pair_logits = model.bottleneck.pair_logits.weight.detach().view(size, size)
    pair_probabilities = pair_logits.sigmoid().cpu().numpy()
    word_mask = word_probabilities > MASK_THRESHOLD
    pair_mask = pair_probabilities > MASK_THRESHOLD
    learned = word_probabilities[(word_probabilities > 0) & (word_probabilities < 1)]
    spread = (learned.min(), learned.mean(), learned.max()) if len(learned) else (1.0, 1.0, 1.0)
    ranked_entries = np.argsort(-word_probabilities, kind="stable").tolist()
    figures = {
        "held_out": len(held_out),
        "fidelity": model.fidelity(held_out_batches),
        "fidelity_untrained": fidelity_untrained,
        "words_kept": int(word_mask.sum()),
        "words_seen": int((word_probabilities > 0).sum()),
        "word_probabilities": {
            name: float(value)
            for name, value in zip(("least", "mean", "greatest"), spread, strict=True)
        },
        "pairs_kept": int(pair_mask.sum()),
        "pairs_seen": int((pair_probabilities != MASK_THRESHOLD).sum()),
        "words": {
            (*pieces, "")[entry]: round(float(word_probabilities[entry]), 6)
            for entry in ranked_entries
        },
    }
    np.fill_diagonal(pair_mask, True)
    return Masks(pieces, word_mask, pair_mask, {**(about or {}), **figures})
