"""WIMASK's bottleneck, which learns the words and the pairs of words that matter to a model.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), section 3.3, equations 8 to 15, and appendix A. Between the embeddings and the rest of
the frozen model it lets only some words and pairs through; it is trained to leave the model's own
predictions as they are:

- M_A(u, v) of each pair of words of the task vocabulary is a Bernoulli variable with a logit, drawn
  with the Gumbel-Softmax trick (Jang et al. 2017), straight through: 0 or 1 forward, the soft
  value's gradient backward.
- e'_i = e_i + ReLU(W · mean of e_j over the neighbours j ≠ i with M_A(x_i, x_j) = 1), where a word
  without neighbours adds nothing (mixing ``eq8``, the main text's). Appendix A's equation 10 says
  otherwise: ReLU of row i of D^(-1/2) M D^(-1/2) E without W, where each word is its own neighbour
  (mixing ``eq10``).
- A single layer gives each word's own embedding e_i the probability that the word is let through
  (``embedding``, the paper's; ``mixed`` takes e'_i); what goes on is M_W(i) · e'_i.
- loss = cross entropy to the model's own prediction + β_i KL(M_W ‖ Bernoulli(1/2))
  + β_g KL(M_A ‖ Bernoulli(1/2)) + β_sparse |M_A|₁, sums over the words and pairs of a text,
  means over texts. |M_A|₁ is taken at its expectation.

The paper leaves open, and is read here, as follows. Special tokens are no words of the text: they
go through as they are, in no pair; their M_W is 1. A word meets itself in no pair that is learned.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.masks import Vocabulary
from s2lct.errors import AnalysisError

Mixing = Literal["eq8", "eq10"]
WordsFrom = Literal["embedding", "mixed"]
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

    def __init__(
        self,
        entries: int,
        width: int,
        temperature: float = 1.0,
        *,
        mixing: Mixing = "eq8",
        words_from: WordsFrom = "embedding",
    ) -> None:
        super().__init__()
        self.entries, self.temperature = entries, temperature
        self.mixing, self.words_from = mixing, words_from
        # One logit a pair, as a table with sparse gradients: a step touches its own pairs alone.
        self.pair_logits = nn.Embedding(entries * entries, 1, sparse=True)
        nn.init.zeros_(self.pair_logits.weight)
        # At first next to nothing is mixed in and most words pass: training starts from the model's
        # own answers and takes away, instead of searching for them in noise.
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
        *,
        draws: torch.Generator | None = None,
        word_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Masked]:
        """M_W · e' of e, shape (texts, tokens, width), e itself where there is no word; and masks.

        Entries are of the vocabulary, the mask is 1 for words, 0 for padding and special tokens,
        both of shape (texts, tokens). Masks are drawn in training; without draws, what is more
        probable than not. A word mask, shape (V,), stands in place of the word layer's own.
        """
        real, both = mask.bool(), word_pairs(mask)
        codes = entries[:, :, None] * self.entries + entries[:, None, :]
        logits = torch.zeros(codes.shape, dtype=embedded.dtype, device=embedded.device)
        logits = logits.masked_scatter(both, self.pair_logits(codes[both])[:, 0])
        pair_mask = self._drawn(logits, draws) * both
        mixed = embedded + self._from_neighbours(embedded, pair_mask, real)
        seen = embedded if self.words_from == "embedding" else mixed
        word_logits = self.word_layer(seen)[:, :, 0]
        if word_mask is None:
            let_through = self._drawn(word_logits, draws)
        else:
            let_through = word_mask.to(embedded.dtype)[entries]
        let_through = torch.where(real, let_through, 1.0)
        masked = Masked(word_logits.sigmoid() * real, logits.sigmoid() * both)
        return mixed * let_through[:, :, None], masked

    def _from_neighbours(
        self, embedded: torch.Tensor, pair_mask: torch.Tensor, real: torch.Tensor
    ) -> torch.Tensor:
        if self.mixing == "eq8":
            degree = pair_mask.sum(dim=2, keepdim=True).clamp(min=1)
            return F.relu(self.neighbours(pair_mask @ embedded / degree))
        adjacent = pair_mask + torch.diag_embed(real.to(embedded.dtype))
        # Rows and columns have degrees of their own: M_A need not be symmetric.
        rows = adjacent.sum(dim=2, keepdim=True).clamp(min=1).rsqrt()
        columns = adjacent.sum(dim=1, keepdim=True).clamp(min=1).rsqrt()
        return F.relu((rows * adjacent * columns) @ embedded)

    def _drawn(self, logits: torch.Tensor, draws: torch.Generator | None) -> torch.Tensor:
        if draws is None:
            return (logits > 0).to(logits.dtype)
        # Drawn where the generator is, so that every device sees the same masks.
        uniform = torch.rand(logits.shape, generator=draws).clamp(1e-6, 1 - 1e-6)
        noise = (uniform.log() - (-uniform).log1p()).to(logits.device)
        soft = ((logits + noise) / self.temperature).sigmoid()
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


class MaskedModel:
    """A model with the bottleneck behind its embeddings.

    Attributes:
        pairs: whether texts are pairs, which a model may tell apart.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(
        self,
        encoder: EncoderModel,
        vocabulary: Vocabulary,
        bottleneck: Bottleneck,
        *,
        pairs: bool = False,
    ) -> None:
        self.pairs = pairs
        self.encoder, self.bottleneck = encoder, bottleneck.to(encoder.device)
        tokenizer = encoder.tokenizer
        self._table = torch.from_numpy(vocabulary.table(tokenizer)).to(encoder.device)
        special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
        self.special = torch.tensor(special, device=encoder.device)
        self._embeddings: Any = getattr(encoder.base, "embeddings", None)
        if self._embeddings is None:
            raise AnalysisError(
                f"model {encoder.name}: has no module of embeddings before its layers",
                hint="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
            )

    def logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What the model itself says, shape (texts, classes)."""
        types = self.encoder.pair_types(ids) if self.pairs else {}
        found: torch.Tensor = self.encoder.model(input_ids=ids, attention_mask=mask, **types).logits
        return found

    def masked_logits(
        self, ids: torch.Tensor, mask: torch.Tensor, **options: Any
    ) -> tuple[torch.Tensor, Masked]:
        """What it says behind the bottleneck, and the masks' probabilities.

        For the options see `Bottleneck.forward`.
        """
        seen: list[Masked] = []

        def hook(module: Any, inputs: Any, embedded: torch.Tensor) -> torch.Tensor:
            words = self.words_of(ids, mask)
            through, masked = self.bottleneck(embedded, self.entries_of(ids), words, **options)
            seen.append(masked)
            return through  # type: ignore[no-any-return]

        handle = self._embeddings.register_forward_hook(hook)
        try:
            return self.logits(ids, mask), seen[0]
        finally:
            handle.remove()

    def entries_of(self, ids: torch.Tensor) -> torch.Tensor:
        """Vocabulary entries of token ids."""
        return self._table[ids]

    def words_of(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """1 for words, 0 for padding and special tokens, shape (texts, tokens)."""
        return mask * ~torch.isin(ids, self.special)
