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

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from s2lct.analysis.coverage.activations import Booleans, EncoderModel, Floats, Vocabulary
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.memory import SHARE, check_memory, machine_memory
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes
from s2lct.identity import rng_for, shuffle_key

KEPT_ABOVE = 0.5
STEPS_A_CHECKPOINT = 200
_BYTES_A_PAIR = 12  # a logit and two moments of its gradient, in single precision
_KIND = "s2lct masks in training"
_FIRST_LOGIT = 2.0

Advance = Callable[[int, dict[str, float]], None]


@dataclass(frozen=True, slots=True)
class WimaskSettings:
    """How masks are learned; the defaults are the paper's where it gives them.

    Attributes:
        epochs: passes over the training texts.
        learning_rate: Adam's, of everything.
        beta_words: β_i, weight of the word mask's KL divergence.
        beta_pairs: β_g, weight of the pair mask's.
        beta_sparse: weight of |M_A|₁.
        temperature: of the Gumbel-Softmax.
        batch_size: texts a step.
        seed: of weights, order and draws.
    """

    epochs: int = 10
    learning_rate: float = 1e-5
    beta_words: float = 1e-3
    beta_pairs: float = 1e-3
    beta_sparse: float = 1e-3
    temperature: float = 1.0
    batch_size: int = 32
    seed: int = 0


@dataclass(frozen=True, slots=True)
class LearnedMasks:
    """What WIMASK learned.

    Attributes:
        vocabulary: the task vocabulary, of V entries.
        words: probability that a word is let through, shape (V,); 0 for one that never occurred,
            1 for a special token.
        pairs: probability that a pair is, shape (V, V); row i's word receives column j's.
        fidelity: share of held-out texts of which the masked model says what the model says,
            words masked by the trained layer, text by text (the paper's Table 5).
        fidelity_of_masks: the same, words masked by the vocabulary's mask M_W, which coverage uses.
        held_out: how many held-out texts.
        losses: mean loss and its terms over the last epoch's steps.
        most_words: share of the V entries of which M_W may be 1, the most probable ones.
    """

    vocabulary: Vocabulary
    words: Floats
    pairs: Floats
    fidelity: float
    fidelity_of_masks: float
    held_out: int
    losses: dict[str, float]
    most_words: float = 1.0

    def masks(self, about: Mapping[str, Any] | None = None) -> Masks:
        """M_W and M_A, as coverage takes them.

        Args:
            about: kept with them.
        """
        return Masks(self.vocabulary, self.word_mask, self.pair_mask, about or {})

    @property
    def pairs_seen(self) -> Booleans:
        """Which pairs training moved, shape (V, V)."""
        return np.not_equal(self.pairs, KEPT_ABOVE)

    @property
    def word_mask(self) -> Booleans:
        """M_W, shape (V,)."""
        return kept_words(self.words, self.most_words)

    @property
    def pair_mask(self) -> Booleans:
        """M_A, shape (V, V)."""
        return np.greater(self.pairs, KEPT_ABOVE)


def kept_words(words: Floats, most: float = 1.0) -> Booleans:
    """M_W of probabilities: where they are above 1/2, and among the highest.

    Nothing in the loss takes a word that does not matter below 1/2, the KL divergence only draws it
    there: with little training every word stays above. The order of probabilities then still says
    which words matter most.

    Args:
        words: probabilities, shape (V,).
        most: share of the V entries that may be kept; of equally probable ones the commoner.

    Returns:
        Shape (V,).
    """
    ranked = np.argsort(-words, kind="stable")[: int(most * len(words))]
    among = np.zeros(len(words), dtype=bool)
    among[ranked] = True
    kept: Booleans = among & (words > KEPT_ABOVE)
    return kept


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
    """The layer between embeddings and encoder.

    Args:
        entries: V, size of the task vocabulary.
        width: of the embeddings.
        temperature: of the Gumbel-Softmax.
    """

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
        tokens = entries.shape[1]
        real = mask.bool()
        both = real[:, :, None] & real[:, None, :]
        both &= ~torch.eye(tokens, dtype=torch.bool, device=entries.device)
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
    real = mask.bool()
    both = real[:, :, None] & real[:, None, :]
    both &= ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    texts = len(logits)
    return {
        "cross_entropy": F.cross_entropy(logits, predicted),
        "words": kl_to_fair_coin(masked.words[real]).sum() / texts,
        "pairs": kl_to_fair_coin(masked.pairs[both]).sum() / texts,
        "sparse": masked.pairs.sum() / texts,
    }


def total_loss(terms: dict[str, torch.Tensor], settings: WimaskSettings) -> torch.Tensor:
    """Equation 15: the weighted sum of `loss_terms`."""
    return (
        terms["cross_entropy"]
        + settings.beta_words * terms["words"]
        + settings.beta_pairs * terms["pairs"]
        + settings.beta_sparse * terms["sparse"]
    )


def check_room(entries: int) -> None:
    """Refuse a vocabulary whose pairs take too much memory.

    Args:
        entries: V.

    Raises:
        AnalysisError: they do, with the numbers.
    """
    most = int((machine_memory() * SHARE / _BYTES_A_PAIR) ** 0.5) - 1
    check_memory(
        _BYTES_A_PAIR * entries**2,
        f"--vocab {entries - 1}: {entries:,} × {entries:,} word pairs and their moments",
        f"--vocab {most} or less",
    )


class MaskedModel:
    """A frozen model with the bottleneck behind its embeddings.

    Raises:
        AnalysisError: the model has no module of embeddings.
    """

    def __init__(self, encoder: EncoderModel, vocabulary: Vocabulary, bottleneck: Bottleneck):
        self.encoder, self.bottleneck = encoder, bottleneck.to(encoder.device)
        self._table = torch.from_numpy(vocabulary.table(encoder.tokenizer)).to(encoder.device)
        self._embeddings = embeddings_of(encoder)
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
        entries, words = self._table[ids], self.words_of(ids, mask)

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
        """1 for words, 0 for padding and special tokens."""
        return mask * ~torch.isin(ids, self.special)


def embeddings_of(encoder: EncoderModel) -> Any:
    """The module whose output goes into the first layer.

    Raises:
        AnalysisError: the model has none that is called so.
    """
    module = getattr(encoder.base, "embeddings", None)
    if module is None:
        raise AnalysisError(
            f"model {encoder.name}: has no module of embeddings before its layers",
            mend="pass an encoder of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
        )
    return module


@dataclass(frozen=True)
class _Texts:
    """Tokenised texts, longest first within a batch, and what the model says of them."""

    ids: list[list[int]]
    padding: int
    device: torch.device

    def batch(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, shape (texts, tokens of the longest)."""
        longest = max(len(self.ids[n]) for n in numbers)
        ids = torch.full((len(numbers), longest), self.padding)
        mask = torch.zeros((len(numbers), longest), dtype=torch.int64)
        for row, number in enumerate(numbers):
            ids[row, : len(self.ids[number])] = torch.tensor(self.ids[number])
            mask[row, : len(self.ids[number])] = 1
        return ids.to(self.device), mask.to(self.device)

    def batches(self, size: int, key: Callable[[int], Any] = int) -> list[list[int]]:
        """Texts of like length together; equally long ones in the order of ``key``."""
        order = sorted(range(len(self.ids)), key=lambda n: (len(self.ids[n]), key(n)))
        return [order[start : start + size] for start in range(0, len(order), size)]


def _tokenised(encoder: EncoderModel, texts: Sequence[str]) -> _Texts:
    padding = encoder.tokenizer.pad_token_id
    return _Texts(
        [encoder.token_ids(text) for text in texts],
        0 if padding is None else int(padding),
        encoder.device,
    )


def check_settings(settings: WimaskSettings, vocabulary: int) -> None:
    """Refuse settings that cannot be trained with.

    Args:
        settings: see `WimaskSettings`.
        vocabulary: the number of word pieces asked for.

    Raises:
        AnalysisError: one of them makes no sense.
    """
    for option, value in (
        ("--lr", settings.learning_rate),
        ("--temperature", settings.temperature),
        ("--vocab", vocabulary),
    ):
        if not 0 < value < math.inf:
            raise AnalysisError(f"{option} {value:g}", mend="give a number above 0")
    for option, value in (
        ("--beta-words", settings.beta_words),
        ("--beta-pairs", settings.beta_pairs),
        ("--beta-sparse", settings.beta_sparse),
    ):
        if not 0 <= value < math.inf:
            raise AnalysisError(f"{option} {value:g}", mend="give 0 or a number above")


def steps_of(texts: int, settings: WimaskSettings) -> int:
    """How many steps training takes."""
    return settings.epochs * -(-texts // settings.batch_size)


def learn_masks(
    encoder: EncoderModel,
    texts: Sequence[str],
    held_out: Sequence[str],
    vocabulary: Vocabulary,
    settings: WimaskSettings | None = None,
    *,
    most_words: float = 1.0,
    checkpoint: Path | None = None,
    advance: Advance | None = None,
) -> LearnedMasks:
    """Learn a model's masks.

    Args:
        encoder: the target model; its weights stay as they are.
        texts: to train on. Labels play no part.
        held_out: to measure fidelity on.
        vocabulary: the task vocabulary; see `Vocabulary.of_texts`.
        settings: see `WimaskSettings`; None for its defaults.
        most_words: see `kept_words`; 1 is the paper's reading.
        checkpoint: a file that takes what was learned so far, and from which the same training
            goes on to the same bytes; None keeps nothing.
        advance: told how many steps were done, and the last one's loss terms.

    Raises:
        AnalysisError: there are no texts, the vocabulary is larger than memory, the model has no
            embeddings to stand behind, or the checkpoint belongs to another training.
    """
    settings = settings or WimaskSettings()
    if not texts or not held_out:
        raise AnalysisError(
            f"{len(texts)} texts to learn masks from and {len(held_out)} to test them on",
            mend="give a corpus of some hundred sentences at least",
        )
    check_room(vocabulary.size)
    torch.manual_seed(settings.seed)
    model = MaskedModel(
        encoder,
        vocabulary,
        Bottleneck(vocabulary.size, encoder.model.config.hidden_size, settings.temperature),
    )
    with _frozen(encoder):
        training = _Training(model, texts, vocabulary, settings, checkpoint)
        training.run(advance)
        words = training.word_probabilities()
        fidelity, of_masks = _fidelity(
            model, held_out, settings.batch_size, torch.from_numpy(kept_words(words, most_words))
        )
    size = vocabulary.size
    pairs = model.bottleneck.pair_logits.weight.detach().view(size, size).sigmoid()
    return LearnedMasks(
        vocabulary,
        words,
        pairs.cpu().numpy(),
        fidelity,
        of_masks,
        len(held_out),
        training.mean_losses(),
        most_words,
    )


@contextmanager
def _frozen(encoder: EncoderModel) -> Iterator[None]:
    """No gradients for the model's own weights, no dropout."""
    model = encoder.model
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    in_training = model.training
    model.eval()
    for parameter in wanted:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)
        model.train(in_training)


class _Training:
    """Steps of one training, each random only in the seed and its own number."""

    def __init__(
        self,
        model: MaskedModel,
        texts: Sequence[str],
        vocabulary: Vocabulary,
        settings: WimaskSettings,
        checkpoint: Path | None,
    ) -> None:
        self._model, self._settings, self._checkpoint = model, settings, checkpoint
        self._texts = _tokenised(model.encoder, texts)
        self._steps_an_epoch = -(-len(texts) // settings.batch_size)
        self._steps = steps_of(len(texts), settings)
        self._done = 0
        self._sums: dict[str, float] = {}
        bottleneck = model.bottleneck
        self._dense = [*bottleneck.neighbours.parameters(), *bottleneck.word_layer.parameters()]
        self._adam = torch.optim.Adam(self._dense, lr=settings.learning_rate)
        self._pairs = bottleneck.pair_logits.weight
        self._sparse = torch.optim.SparseAdam([self._pairs], lr=settings.learning_rate)
        self._identity = {
            "settings": asdict(settings),
            "model": model.encoder.fingerprint,
            "texts": _digest(texts),
            "vocabulary": _digest(vocabulary.pieces),
        }
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        self._predicted = self._predictions()

    @torch.no_grad()
    def _predictions(self) -> torch.Tensor:
        predicted = torch.empty(len(self._texts.ids), dtype=torch.int64)
        if self._done < self._steps:
            for numbers in self._texts.batches(self._settings.batch_size):
                predicted[numbers] = self._model.logits(*self._texts.batch(numbers)).argmax(1).cpu()
        return predicted.to(self._model.encoder.device)

    def run(self, advance: Advance | None) -> None:
        """Do the steps that are left."""
        if advance and self._done:
            advance(self._done, {})
        while self._done < self._steps:
            epoch, first = divmod(self._done, self._steps_an_epoch)
            for numbers in self._order(epoch)[first:]:
                if self._done % self._steps_an_epoch == 0:
                    self._sums = {}
                terms = self._step(numbers)
                for name, value in terms.items():
                    self._sums[name] = self._sums.get(name, 0.0) + value
                self._done += 1
                if self._done % STEPS_A_CHECKPOINT == 0 or self._done == self._steps:
                    self._save()
                if advance:
                    advance(1, terms)

    def _order(self, epoch: int) -> list[list[int]]:
        seed = self._settings.seed
        batches = self._texts.batches(
            self._settings.batch_size, lambda n: shuffle_key(seed, "text", str(epoch), str(n))
        )
        rng_for(seed, "batches", str(epoch)).shuffle(batches)
        return batches

    def _step(self, numbers: Sequence[int]) -> dict[str, float]:
        ids, mask = self._texts.batch(numbers)
        draws = torch.Generator().manual_seed(
            rng_for(self._settings.seed, "step", str(self._done)).getrandbits(62)
        )
        logits, masked = self._model.masked_logits(ids, mask, draws=draws)
        words = self._model.words_of(ids, mask)
        terms = loss_terms(logits, self._predicted[list(numbers)], masked, words)
        loss = total_loss(terms, self._settings)
        for optimizer in (self._adam, self._sparse):
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in (self._adam, self._sparse):
            optimizer.step()
        return {"loss": loss.item(), **{name: value.item() for name, value in terms.items()}}

    def mean_losses(self) -> dict[str, float]:
        """Loss and terms over the last epoch begun."""
        steps = (self._done - 1) % self._steps_an_epoch + 1
        return {name: value / steps for name, value in self._sums.items()}

    @torch.no_grad()
    def word_probabilities(self) -> Floats:
        """Mean probability over each word's occurrences in the texts, shape (V,)."""
        size = self._model.bottleneck.entries
        sums, counts = torch.zeros(size, dtype=torch.float64), torch.zeros(size)
        for numbers in self._texts.batches(self._settings.batch_size):
            ids, mask = self._texts.batch(numbers)
            _, masked = self._model.masked_logits(ids, mask)
            real = self._model.words_of(ids, mask).bool()
            entries = self._model.entries_of(ids)[real].cpu()
            sums.index_add_(0, entries, masked.words[real].double().cpu())
            counts.index_add_(0, entries, torch.ones(len(entries)))
        means = sums / counts.clamp(min=1)
        special = self._model.entries_of(self._model.special).cpu()
        means[special[special < size - 1]] = 1.0
        return means.float().numpy()

    def _save(self) -> None:
        """Weights and both optimizers' moments; of the pairs, those that a step has touched."""
        if self._checkpoint is None:
            return
        state = self._sparse.state[self._pairs]
        touched = state["exp_avg_sq"][:, 0].nonzero()[:, 0]
        tensors = {
            "pairs.index": touched,
            "pairs.value": self._pairs.detach()[touched],
            "pairs.exp_avg": state["exp_avg"][touched],
            "pairs.exp_avg_sq": state["exp_avg_sq"][touched],
            "sums": torch.tensor(list(self._sums.values()), dtype=torch.float64),
        }
        for number, parameter in enumerate(self._dense):
            moments = self._adam.state[parameter]
            tensors[f"dense.{number}.value"] = parameter.detach()
            tensors[f"dense.{number}.exp_avg"] = moments["exp_avg"]
            tensors[f"dense.{number}.exp_avg_sq"] = moments["exp_avg_sq"]
        described = {"identity": self._identity, "steps": self._done, "sums": list(self._sums)}
        self._checkpoint.parent.mkdir(parents=True, exist_ok=True)
        # One entry: safetensors writes several in an order of its own each time.
        content = save(
            {name: tensor.cpu().contiguous() for name, tensor in tensors.items()},
            {_KIND: json.dumps(described, sort_keys=True)},
        )
        write_bytes(self._checkpoint, content)

    @torch.no_grad()
    def _resume(self, checkpoint: Path) -> None:
        try:
            with safe_open(checkpoint, framework="pt") as file:
                described = json.loads((file.metadata() or {})[_KIND])
            tensors = load_file(checkpoint)
            identity, steps, names = (described[key] for key in ("identity", "steps", "sums"))
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise AnalysisError(
                f"{checkpoint}: is no checkpoint of masks ({error})",
                mend="remove it, or choose another --out",
            ) from error
        if identity != self._identity:
            changed = [
                name for name in self._identity if identity.get(name) != self._identity[name]
            ]
            raise AnalysisError(
                f"{checkpoint}: belongs to a training with other {' and '.join(changed)}",
                mend="give the options it was started with, choose another --out, or --restart",
            )
        device = self._pairs.device
        touched = tensors["pairs.index"].to(device)
        self._pairs[touched] = tensors["pairs.value"].to(device)
        moments = {name: torch.zeros_like(self._pairs) for name in ("exp_avg", "exp_avg_sq")}
        for name, moment in moments.items():
            moment[touched] = tensors[f"pairs.{name}"].to(device)
        self._sparse.state[self._pairs] = {"step": steps, **moments}
        for number, parameter in enumerate(self._dense):
            parameter.copy_(tensors[f"dense.{number}.value"])
            self._adam.state[parameter] = {
                "step": torch.tensor(float(steps)),
                "exp_avg": tensors[f"dense.{number}.exp_avg"].to(device),
                "exp_avg_sq": tensors[f"dense.{number}.exp_avg_sq"].to(device),
            }
        self._sums = dict(zip(names, tensors["sums"].tolist(), strict=True))
        self._done = steps


@torch.no_grad()
def _fidelity(
    model: MaskedModel, texts: Sequence[str], batch_size: int, word_mask: torch.Tensor
) -> tuple[float, float]:
    """Agreement with the model itself: words masked by the layer, and by the vocabulary's mask."""
    held_out = _tokenised(model.encoder, texts)
    word_mask = word_mask.to(model.encoder.device)
    agree = agree_of_mask = 0
    for numbers in held_out.batches(batch_size):
        ids, mask = held_out.batch(numbers)
        target = model.logits(ids, mask).argmax(1)
        agree += int((model.masked_logits(ids, mask)[0].argmax(1) == target).sum())
        by_mask = model.masked_logits(ids, mask, word_mask=word_mask)[0].argmax(1)
        agree_of_mask += int((by_mask == target).sum())
    return agree / len(texts), agree_of_mask / len(texts)


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
