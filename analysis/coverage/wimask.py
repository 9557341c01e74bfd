"""WIMASK: masks of the words and pairs of words that matter to a model, learned for MNCOVER.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), section 3.3, equations 8 to 15, and appendix A. Between the embeddings and the rest of
the frozen model stands a layer that lets only some words and pairs through; it is trained to leave
the model's own predictions as they are:

- M_A(u, v) of each pair of words of the task vocabulary is a Bernoulli variable with a logit, drawn
  with the Gumbel-Softmax trick (Jang et al. 2017), straight through: 0 or 1 forward, the soft
  value's gradient backward.
- e'_i = e_i + ReLU(W · mean of e_j over the neighbours j ≠ i with M_A(x_i, x_j) = 1), where a word
  without neighbours adds nothing (eq. 8; the appendix's eq. 10 mixes otherwise).
- A single layer gives each word's own embedding e_i the probability that the word is let through;
  what goes on is M_W(i) · e'_i.
- loss = cross entropy to the model's own prediction + β_i KL(M_W ‖ Bernoulli(1/2))
  + β_g KL(M_A ‖ Bernoulli(1/2)) + β_sparse |M_A|₁, sums over the words and pairs of a text,
  means over texts; every β is 0.001, as the paper's. |M_A|₁ is taken at its expectation.

M_W(v) is 1 where the mean probability over v's occurrences in the training texts is above 1/2, and
M_A(u, v) where the pair's is.

The paper leaves open, and is read here, as follows. Special tokens are no words of the text: they
go through as they are, in no pair; their M_W is 1. A word meets itself in no pair that is learned,
and a word and itself always count, as in the authors' code. A pair that never occurred stays at
1/2, hence 0 (their code keeps 1/2 as well). Temperature 1, batches of 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from s2lct.analysis.coverage.encoder import EncoderModel, Floats, Text
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.errors import AnalysisError
from s2lct.identity import rng_for, shuffle_key
from s2lct.progress import bar

BETA = 1e-3
BATCH = 32
KEPT_ABOVE = 0.5
_FIRST_LOGIT = 2.0


class Masked(NamedTuple):
    """The probabilities that words and pairs of a batch are let through.

    Attributes:
        words: shape (texts, tokens); 0 where there is no word, but padding or a special token.
        pairs: shape (texts, tokens, tokens); 0 where either is no word or a word meets itself.
    """

    words: torch.Tensor
    pairs: torch.Tensor


class Bottleneck(nn.Module):
    """The layer between embeddings of a width and the encoder; V is ``entries``."""

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
        nn.init.constant_(self.word_layer.bias, _FIRST_LOGIT)

    def forward(
        self,
        embedded: torch.Tensor,
        entries: torch.Tensor,
        mask: torch.Tensor,
        draws: torch.Generator | None = None,
    ) -> tuple[torch.Tensor, Masked]:
        """M_W · e' of e, shape (texts, tokens, width), e itself where there is no word; and masks.

        Entries are of the vocabulary, the mask is 1 for words, 0 for padding and special tokens,
        both of shape (texts, tokens). Masks are drawn in training; without draws, what is more
        probable than not.
        """
        real, both = mask.bool(), word_pairs(mask)
        codes = entries[:, :, None] * self.entries + entries[:, None, :]
        logits = torch.zeros(codes.shape, dtype=embedded.dtype, device=embedded.device)
        logits = logits.masked_scatter(both, self.pair_logits(codes[both])[:, 0])
        adjacent = _drawn(logits, draws) * both
        degree = adjacent.sum(dim=2, keepdim=True).clamp(min=1)
        mixed = embedded + F.relu(self.neighbours(adjacent @ embedded / degree))
        word_logits = self.word_layer(embedded)[:, :, 0]
        let_through = torch.where(real, _drawn(word_logits, draws), 1.0)
        masked = Masked(word_logits.sigmoid() * real, logits.sigmoid() * both)
        return mixed * let_through[:, :, None], masked


def _drawn(logits: torch.Tensor, draws: torch.Generator | None) -> torch.Tensor:
    if draws is None:
        return (logits > 0).to(logits.dtype)
    # Drawn where the generator is, so that every device sees the same masks.
    uniform = torch.rand(logits.shape, generator=draws).clamp(1e-6, 1 - 1e-6)
    noise = (uniform.log() - (-uniform).log1p()).to(logits.device)
    soft = (logits + noise).sigmoid()
    return (soft > KEPT_ABOVE).to(soft.dtype) + soft - soft.detach()


def word_pairs(mask: torch.Tensor) -> torch.Tensor:
    """Pairs of different words, shape (texts, tokens, tokens), of a mask that is 1 for words."""
    real = mask.bool()
    same = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    return real[:, :, None] & real[:, None, :] & ~same


def kl_to_fair_coin(probabilities: torch.Tensor) -> torch.Tensor:
    """KL divergence of Bernoulli(p) from Bernoulli(1/2), element by element, in nats."""
    # At 0 and 1 the gradient is infinite.
    p = probabilities.clamp(1e-6, 1 - 1e-6)
    divergence: torch.Tensor = p * (2 * p).log() + (1 - p) * (2 * (1 - p)).log()
    return divergence


def loss_terms(
    logits: torch.Tensor, predicted: torch.Tensor, masked: Masked, mask: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The loss's four terms, not yet weighted, means over texts.

    ``predicted`` are the model's own class numbers, ``mask`` is 1 for words. ``words`` and
    ``pairs`` are sums of KL divergences over a text, ``sparse`` is the expected number of pairs.
    """
    texts = len(logits)
    return {
        "cross_entropy": F.cross_entropy(logits, predicted),
        "words": kl_to_fair_coin(masked.words[mask.bool()]).sum() / texts,
        "pairs": kl_to_fair_coin(masked.pairs[word_pairs(mask)]).sum() / texts,
        "sparse": masked.pairs.sum() / texts,
    }


class Batch(NamedTuple):
    """What a model is given of some texts; entries and words as in `Bottleneck.forward`."""

    inputs: Any
    entries: torch.Tensor
    words: torch.Tensor


class MaskedModel:
    """A model with the bottleneck behind its embeddings.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(self, encoder: EncoderModel, vocabulary: Vocabulary) -> None:
        self.encoder = encoder
        tokenizer, device = encoder.tokenizer, encoder.device
        width = int(encoder.model.config.hidden_size)
        self.bottleneck = Bottleneck(vocabulary.size, width).to(device)
        self._table = torch.from_numpy(vocabulary.table(tokenizer)).to(device)
        special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
        self._special = torch.tensor(special, device=device)
        self.special_entries = self._table[self._special].cpu()
        self._embeddings: Any = getattr(encoder.model.base_model, "embeddings", None)
        if self._embeddings is None:
            raise AnalysisError(
                f"model {encoder.name}: has no module of embeddings before its layers",
                hint="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
            )

    def batches(self, texts: Sequence[Text]) -> list[Batch]:
        """Texts of like length together; equally long ones in their order."""
        order = sorted(texts, key=lambda text: len(self.encoder.token_ids(text)))
        found = []
        for start in range(0, len(order), BATCH):
            inputs = self.encoder.encoded(order[start : start + BATCH])
            ids = inputs["input_ids"]
            words = inputs["attention_mask"] * ~torch.isin(ids, self._special)
            found.append(Batch(inputs, self._table[ids], words))
        return found

    @torch.no_grad()
    def predictions(self, batch: Batch) -> torch.Tensor:
        """The number of the model's own likeliest class, shape (texts,)."""
        classes: torch.Tensor = self.encoder.model(**batch.inputs).logits.argmax(1)
        return classes

    def masked_logits(
        self, batch: Batch, draws: torch.Generator | None = None
    ) -> tuple[torch.Tensor, Masked]:
        """Logits behind the bottleneck, shape (texts, classes), and the masks' probabilities."""
        seen: list[Masked] = []

        def hook(module: Any, inputs: Any, embedded: torch.Tensor) -> torch.Tensor:
            through, masked = self.bottleneck(embedded, batch.entries, batch.words, draws)
            seen.append(masked)
            return through  # type: ignore[no-any-return]

        handle = self._embeddings.register_forward_hook(hook)
        try:
            return self.encoder.model(**batch.inputs).logits, seen[0]
        finally:
            handle.remove()

    @torch.no_grad()
    def fidelity(self, batches: Sequence[Batch]) -> float:
        """The share of texts for which the masked model predicts what the model predicts."""
        agree = torch.cat(
            [self.masked_logits(b)[0].argmax(1) == self.predictions(b) for b in batches]
        )
        return float(agree.double().mean())

    @torch.no_grad()
    def word_probabilities(self, batches: Sequence[Batch]) -> Floats:
        """Mean probability over each word's occurrences in the texts, shape (V,)."""
        size = self.bottleneck.entries
        sums, counts = torch.zeros(size, dtype=torch.float64), torch.zeros(size)
        for batch in batches:
            _, masked = self.masked_logits(batch)
            real = batch.words.bool()
            entries = batch.entries[real].cpu()
            sums.index_add_(0, entries, masked.words[real].double().cpu())
            counts.index_add_(0, entries, torch.ones(len(entries)))
        means = sums / counts.clamp(min=1)
        means[self.special_entries[self.special_entries < size - 1]] = 1.0
        return means.float().numpy()


def learn_masks(
    encoder: EncoderModel,
    texts: Sequence[Text],
    held_out: Sequence[Text],
    *,
    epochs: int = 10,
    learning_rate: float = 1e-5,
    seed: int = 0,
) -> Masks:
    """Learn the masks of a model, whose weights stay as they are, and measure their fidelity.

    About them stand the probabilities of words, 1 for special tokens and 0 for words that never
    occur, the least, mean and greatest of the others, and how many words and pairs are ``…_kept``
    and ``…_seen``. The ``fidelity`` is the share of held-out texts for which the masked model
    predicts what the model predicts (the paper's Table 5), ``fidelity_untrained`` that of the layer
    before its first step: nothing was masked where that is as high.

    Args:
        encoder: the model.
        texts: to learn from.
        held_out: texts to measure the fidelity on.
        epochs: passes over the texts.
        learning_rate: the paper's by default.
        seed: of weights, order and draws.

    Raises:
        AnalysisError: there are no texts, or the model has no embeddings to stand behind.
    """
    if not texts or not held_out:
        raise AnalysisError(
            f"{len(texts)} texts to learn masks from and {len(held_out)} to test them on",
            hint="give a corpus of some hundred sentences at least",
        )
    vocabulary = Vocabulary.of_texts(encoder, texts)
    torch.manual_seed(seed)
    model = MaskedModel(encoder, vocabulary)
    tests, size = model.batches(held_out), vocabulary.size
    untrained = model.fidelity(tests)
    keys = {n: shuffle_key(seed, "text", "0", str(n)) for n in range(len(texts))}
    batches = model.batches([texts[n] for n in sorted(keys, key=keys.__getitem__)])
    _train(model, batches, epochs, learning_rate, seed)
    words = model.word_probabilities(batches)
    logits = model.bottleneck.pair_logits.weight.detach().view(size, size)
    pairs = logits.sigmoid().cpu().numpy()
    word_mask, pair_mask = words > KEPT_ABOVE, pairs > KEPT_ABOVE
    learned = words[(words > 0) & (words < 1)]
    ranked = np.argsort(-words, kind="stable").tolist()
    names = (*vocabulary.pieces, "")
    about = {
        "held_out": len(held_out),
        "fidelity": model.fidelity(tests),
        "fidelity_untrained": untrained,
        "words_kept": int(word_mask.sum()),
        "words_seen": int((words > 0).sum()),
        "word_probabilities": {
            name: float(of(learned)) if len(learned) else 1.0
            for name, of in (("least", np.min), ("mean", np.mean), ("greatest", np.max))
        },
        "pairs_kept": int(pair_mask.sum()),
        "pairs_seen": int((pairs != KEPT_ABOVE).sum()),
        "words": {names[n]: round(float(words[n]), 6) for n in ranked},
    }
    np.fill_diagonal(pair_mask, True)
    return Masks(vocabulary, word_mask, pair_mask, about)


def _train(
    model: MaskedModel, batches: Sequence[Batch], epochs: int, learning_rate: float, seed: int
) -> None:
    """Train the bottleneck to leave the model's predictions as they are."""
    layer = model.bottleneck
    dense = [*layer.neighbours.parameters(), *layer.word_layer.parameters()]
    optimizers = [
        torch.optim.Adam(dense, lr=learning_rate),
        torch.optim.SparseAdam([layer.pair_logits.weight], lr=learning_rate),
    ]
    predicted = [model.predictions(batch) for batch in batches]
    step = 0
    shown = bar("steps", epochs * len(batches))
    for epoch in range(epochs):
        order = list(zip(batches, predicted, strict=True))
        rng_for(seed, "batches", str(epoch)).shuffle(order)
        for batch, wanted in order:
            drawn = rng_for(seed, "step", str(step)).getrandbits(62)
            logits, masked = model.masked_logits(batch, torch.Generator().manual_seed(drawn))
            terms = loss_terms(logits, wanted, masked, batch.words)
            loss = terms["cross_entropy"] + BETA * (
                terms["words"] + terms["pairs"] + terms["sparse"]
            )
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward(inputs=list(layer.parameters()))  # the model's own stay as they are
            for optimizer in optimizers:
                optimizer.step()
            step += 1
            shown(1, f"cross entropy {terms['cross_entropy'].item():.3f}")
