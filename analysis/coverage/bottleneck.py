"""WIMASK: learn which words and which pairs of words matter to a model.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), section 3.3, equations 8 to 15, and appendix A. A bottleneck between the embeddings
and the rest of the frozen model lets only some words and some pairs through; it is trained to leave
the model's own predictions as they are:

- Each pair of words (u, v) of the task vocabulary has a logit. M_A(u, v) is a Bernoulli variable,
  drawn with the Gumbel-Softmax trick (Jang et al. 2017; of two classes it is the binary concrete
  distribution), straight through: 0 or 1 forward, the soft value's gradient backward.
- e'_i = e_i + ReLU(W · mean of e_j over the neighbours j ≠ i with M_A(x_i, x_j) = 1), where a word
  without neighbours adds nothing.
- A single layer gives each e'_i the probability that its word is let through (amortised, Chen and
  Ji 2020); what goes on into the model is M_W(i) · e'_i.
- loss = cross entropy to the model's own prediction + β_i KL(M_W ‖ Bernoulli(1/2))
  + β_g KL(M_A ‖ Bernoulli(1/2)) + β_sparse |M_A|₁, sums over the words and pairs of a text,
  means over texts. |M_A|₁ is taken at its expectation.

After training M_W(v) is 1 where the mean probability over v's occurrences in the training texts is
above 1/2, and M_A(u, v) where the pair's is. A pair that never occurred stays at 1/2, hence 0.

The paper's text leaves open, and is read here, as follows. Special tokens ([CLS], [SEP]) are no
words of the text: they go through as they are, in no pair; their M_W is 1. The layers start with
next to nothing mixed in and most words let through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError

KEPT_ABOVE = 0.5
_FIRST_LOGIT = 2.0


@dataclass(frozen=True, slots=True)
class Masked:
    """A batch's masks.

    Attributes:
        words: probability that a word is let through, shape (texts, tokens); 0 where there is no
            word, but padding or a special token.
        pairs: probability that a pair is, shape (texts, tokens, tokens); 0 where either is no word
            or a word meets itself.
    """

    words: torch.Tensor
    pairs: torch.Tensor


class Bottleneck(nn.Module):
    """The layer between embeddings of a width and the encoder; V is ``entries``."""

    def __init__(self, entries: int, width: int, temperature: float = 1.0) -> None:
        super().__init__()
        self.entries, self.temperature = entries, temperature
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
        """Let some words and pairs through.

        Args:
            embedded: e, shape (texts, tokens, width).
            entries: vocabulary entries, shape (texts, tokens).
            mask: 1 for words, 0 for padding and special tokens, shape (texts, tokens).
            draws: of the masks, in training; None takes what is more probable than not.
            word_mask: M_W, shape (V,), in place of the word layer's own; None for the layer's.

        Returns:
            M_W · e', shape (texts, tokens, width), and e where there is no word; the masks'
            probabilities.
        """
        real, both = mask.bool(), word_pairs(mask)
        codes = entries[:, :, None] * self.entries + entries[:, None, :]
        logits = torch.zeros(codes.shape, dtype=embedded.dtype, device=embedded.device)
        logits = logits.masked_scatter(both, self.pair_logits(codes[both])[:, 0])
        pair_mask = self._drawn(logits, draws) * both
        degree = pair_mask.sum(dim=2, keepdim=True).clamp(min=1)
        mixed = embedded + F.relu(self.neighbours(pair_mask @ embedded / degree))
        word_logits = self.word_layer(mixed)[:, :, 0]
        let_through = (
            self._drawn(word_logits, draws)
            if word_mask is None
            else word_mask.to(embedded.dtype)[entries]
        )
        masked = Masked(word_logits.sigmoid() * real, logits.sigmoid() * both)
        let_through = torch.where(real, let_through, 1.0)
        return mixed * let_through[:, :, None], masked

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
    both = real[:, :, None] & real[:, None, :]
    return both & ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)


def kl_to_fair_coin(probabilities: torch.Tensor) -> torch.Tensor:
    """KL divergence of Bernoulli(p) from Bernoulli(1/2), element by element, in nats."""
    # At 0 and 1 the gradient is infinite.
    p = probabilities.clamp(1e-6, 1 - 1e-6)
    divergence: torch.Tensor = p * (2 * p).log() + (1 - p) * (2 * (1 - p)).log()
    return divergence


def loss_terms(
    logits: torch.Tensor, predicted: torch.Tensor, masked: Masked, mask: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The loss's four terms, not yet weighted.

    Args:
        logits: of the masked model, shape (texts, classes).
        predicted: the model's own class numbers, shape (texts,).
        masked: the masks' probabilities.
        mask: 1 for words, 0 for padding and special tokens, shape (texts, tokens).

    Returns:
        ``cross_entropy``; ``words`` and ``pairs``, sums of KL divergences over a text; ``sparse``,
        expected number of pairs let through in a text; all means over texts.
    """
    real, both, texts = mask.bool(), word_pairs(mask), len(logits)
    return {
        "cross_entropy": F.cross_entropy(logits, predicted),
        "words": kl_to_fair_coin(masked.words[real]).sum() / texts,
        "pairs": kl_to_fair_coin(masked.pairs[both]).sum() / texts,
        "sparse": masked.pairs.sum() / texts,
    }


class MaskedModel:
    """A frozen model with the bottleneck behind its embeddings.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(self, encoder: EncoderModel, vocabulary: Vocabulary, bottleneck: Bottleneck):
        self.encoder, self.bottleneck = encoder, bottleneck.to(encoder.device)
        self._table = torch.from_numpy(vocabulary.table(encoder.tokenizer)).to(encoder.device)
        embeddings: Any = getattr(encoder.base, "embeddings", None)
        if embeddings is None:
            raise AnalysisError(
                f"model {encoder.name}: has no module of embeddings before its layers",
                mend="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
            )
        self._embeddings = embeddings
        tokenizer = encoder.tokenizer
        special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
        self.special = torch.tensor(special, device=encoder.device)

    def logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What the model itself says, shape (texts, classes)."""
        found: torch.Tensor = self.encoder.model(input_ids=ids, attention_mask=mask).logits
        return found

    def masked_logits(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        *,
        draws: torch.Generator | None = None,
        word_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Masked]:
        """What it says behind the bottleneck, and the masks' probabilities."""
        seen: list[Masked] = []
        entries, words = self.entries_of(ids), self.words_of(ids, mask)

        def hook(module: Any, inputs: Any, embedded: torch.Tensor) -> torch.Tensor:
            let_through, masked = self.bottleneck(
                embedded, entries, words, draws=draws, word_mask=word_mask
            )
            seen.append(masked)
            return let_through  # type: ignore[no-any-return]

        handle = self._embeddings.register_forward_hook(hook)
        try:
            logits = self.logits(ids, mask)
        finally:
            handle.remove()
        return logits, seen[0]

    def entries_of(self, ids: torch.Tensor) -> torch.Tensor:
        """Vocabulary entries of token ids."""
        return self._table[ids]

    def words_of(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """1 for words, 0 for padding and special tokens, shape (texts, tokens)."""
        return mask * ~torch.isin(ids, self.special)
