"""The training of WIMASK's bottleneck, which an interrupt does not lose; see `bottleneck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from s2lct.analysis.arrays import load_arrays, save_arrays, unreadable
from s2lct.analysis.coverage.activations import Floats
from s2lct.analysis.coverage.bottleneck import MaskedModel, loss_terms
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of, rng_for, shuffle_key

STEPS_A_CHECKPOINT = 200
_KIND = "masks in training"
_MOMENTS = ("exp_avg", "exp_avg_sq")

AdvanceSteps = Callable[[int, dict[str, float]], object]
"""Is told how many steps were done, and the last one's loss terms."""


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


def total_loss(terms: dict[str, torch.Tensor], settings: WimaskSettings) -> torch.Tensor:
    """Equation 15: the weighted sum of `loss_terms`."""
    return (
        terms["cross_entropy"]
        + settings.beta_words * terms["words"]
        + settings.beta_pairs * terms["pairs"]
        + settings.beta_sparse * terms["sparse"]
    )


def steps_of(texts: int, settings: WimaskSettings) -> int:
    """How many steps training takes."""
    return settings.epochs * -(-texts // settings.batch_size)


class TokenisedTexts:
    """Tokenised texts."""

    def __init__(self, encoder: EncoderModel, texts: Sequence[str]) -> None:
        self._ids = [torch.tensor(encoder.token_ids(text)) for text in texts]
        self._padding = encoder.tokenizer.pad_token_id or 0
        self._device = encoder.device

    def __len__(self) -> int:
        return len(self._ids)

    def batch(self, numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, shape (texts, tokens of the longest)."""
        ids = [self._ids[number] for number in numbers]
        padded = pad_sequence(ids, batch_first=True, padding_value=self._padding)
        mask = pad_sequence([torch.ones_like(one) for one in ids], batch_first=True)
        return padded.to(self._device), mask.to(self._device)

    def batches(self, size: int, key: Callable[[int], Any] = int) -> list[list[int]]:
        """Texts of like length together; equally long ones in the order of ``key``."""
        order = sorted(range(len(self._ids)), key=lambda n: (len(self._ids[n]), key(n)))
        return [order[start : start + size] for start in range(0, len(order), size)]


class Training:
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
        self._texts = TokenisedTexts(model.encoder, texts)
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
            "texts": fingerprint_of(list(texts)),
            "vocabulary": fingerprint_of(vocabulary.pieces),
        }
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        self._predicted = self._predictions()

    @torch.no_grad()
    def _predictions(self) -> torch.Tensor:
        predicted = torch.empty(len(self._texts), dtype=torch.int64)
        if self._done < self._steps:
            for numbers in self._texts.batches(self._settings.batch_size):
                predicted[numbers] = self._model.logits(*self._texts.batch(numbers)).argmax(1).cpu()
        return predicted.to(self._model.encoder.device)

    def run(self, advance: AdvanceSteps) -> None:
        """Do the steps that are left."""
        if self._done:
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
        self._adam.zero_grad()
        self._sparse.zero_grad()
        loss.backward()
        self._adam.step()
        self._sparse.step()
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
            "sums": torch.tensor(list(self._sums.values()), dtype=torch.float64),
        }
        for name in _MOMENTS:
            tensors[f"pairs.{name}"] = state[name][touched]
        for number, parameter in enumerate(self._dense):
            tensors[f"dense.{number}.value"] = parameter.detach()
            for name in _MOMENTS:
                tensors[f"dense.{number}.{name}"] = self._adam.state[parameter][name]
        save_arrays(
            self._checkpoint,
            _KIND,
            {name: tensor.cpu().numpy() for name, tensor in tensors.items()},
            {"identity": self._identity, "steps": self._done, "sums": list(self._sums)},
        )

    @torch.no_grad()
    def _resume(self, checkpoint: Path) -> None:
        with unreadable(
            f"{checkpoint}: is no checkpoint of masks", "remove it, or choose another --out"
        ):
            arrays, described = load_arrays(checkpoint, _KIND)
            identity, steps, names = (described[key] for key in ("identity", "steps", "sums"))
        if identity != self._identity:
            changed = [
                name for name in self._identity if identity.get(name) != self._identity[name]
            ]
            raise AnalysisError(
                f"{checkpoint}: belongs to a training with other {' and '.join(changed)}",
                mend="give the options it was started with, choose another --out, or --restart",
            )
        device = self._pairs.device
        kept = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        touched = kept["pairs.index"]
        self._pairs[touched] = kept["pairs.value"]
        moments = {name: torch.zeros_like(self._pairs) for name in _MOMENTS}
        for name, moment in moments.items():
            moment[touched] = kept[f"pairs.{name}"]
        self._sparse.state[self._pairs] = {"step": steps, **moments}
        for number, parameter in enumerate(self._dense):
            parameter.copy_(kept[f"dense.{number}.value"])
            moments = {name: kept[f"dense.{number}.{name}"] for name in _MOMENTS}
            self._adam.state[parameter] = {"step": torch.tensor(float(steps)), **moments}
        self._sums = dict(zip(names, arrays["sums"].tolist(), strict=True))
        self._done = steps
