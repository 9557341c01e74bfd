"""Masks of the words and pairs that matter to a model, learned with WIMASK's bottleneck.

M_W(v) is 1 where the mean probability over v's occurrences in the training texts is above 1/2, and
M_A(u, v) where the pair's is. The paper leaves open how 0 and 1 are made of probabilities (its
authors' code keeps 1/2 as well): here a pair that never occurred stays at 1/2, hence 0. A word and
itself always count, as in the authors' code, unless the settings say otherwise. An interrupt does
not lose the training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from s2lct.analysis import arrays
from s2lct.analysis.coverage.bottleneck import (
    KEPT_ABOVE,
    Bottleneck,
    MaskedModel,
    Mixing,
    WordsFrom,
    loss_terms,
)
from s2lct.analysis.coverage.encoder import Booleans, EncoderModel, Floats, Text
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of, rng_for, shuffle_key

STEPS_A_CHECKPOINT = 200
_KIND = "masks in training"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_BYTES_A_PAIR = 12  # a logit and two moments of its gradient, in single precision

AdvanceSteps = Callable[[int, dict[str, float]], object]
"""Is told how many steps were done, and the last one's loss terms."""


@dataclass(frozen=True, slots=True)
class WimaskSettings:
    """How masks are learned; the defaults are the paper's where it gives them."""

    epochs: int = 10
    learning_rate: float = 1e-5
    beta_words: float = 1e-3  # β_i, weight of the word mask's KL divergence
    beta_pairs: float = 1e-3  # β_g, weight of the pair mask's
    beta_sparse: float = 1e-3  # weight of |M_A|₁
    temperature: float = 1.0  # of the Gumbel-Softmax
    batch_size: int = 32
    seed: int = 0  # of weights, order and draws
    mixing: Mixing = "eq8"  # of a word's neighbours, see `bottleneck`
    words_from: WordsFrom = "embedding"  # what M_W's probabilities are made of
    diagonal: bool = True  # whether M_A(v, v) is 1 whatever was learned

    def steps(self, texts: int) -> int:
        """How many steps training takes."""
        return self.epochs * -(-texts // self.batch_size)

    def total_loss(self, terms: dict[str, torch.Tensor]) -> torch.Tensor:
        """Equation 15: the weighted sum of `loss_terms`."""
        return (
            terms["cross_entropy"]
            + self.beta_words * terms["words"]
            + self.beta_pairs * terms["pairs"]
            + self.beta_sparse * terms["sparse"]
        )


_BY_DEFAULT = WimaskSettings()


@dataclass(frozen=True, slots=True)
class LearnedMasks:
    """What WIMASK learned.

    Attributes:
        words: probability that a word is let through, shape (V,); 0 for one that never occurred,
            1 for a special token.
        pairs: likewise of pairs, shape (V, V); row i's word receives column j's. Exactly 1/2 where
            training has not seen the pair.
        masks: M_W and M_A, and about them how many words and pairs are ``…_kept`` and
            ``…_seen``; mean ``losses`` over the last epoch; least, mean and greatest of the
            ``word_probabilities`` of words that occur; and the ``fidelity``: the share
            of ``held_out`` texts of which the masked model says what the model says, words masked
            by the trained layer (the paper's Table 5), ``…_of_masks``, masked by M_W, and
            ``…_untrained``, by the layer before its first step. Nothing was masked where the
            untrained one is as faithful: fidelity alone is no merit.
    """

    words: Floats
    pairs: Floats
    masks: Masks


def kept_words(words: Floats, most: float = 1.0) -> Booleans:
    """M_W of probabilities, both of shape (V,): above 1/2, and among the highest ``most`` share.

    Nothing in the loss takes a word that does not matter below 1/2, the KL divergence only draws it
    there: with little training every word stays above. The order of probabilities then still says
    which words matter most; of equally probable ones the commoner.
    """
    kept = np.zeros(len(words), dtype=bool)
    kept[np.argsort(-words, kind="stable")[: int(most * len(words))]] = True
    return np.asarray(kept & (words > KEPT_ABOVE))


class _Texts:
    """Tokenised texts."""

    def __init__(self, encoder: EncoderModel, texts: Sequence[Text]) -> None:
        self._ids = [torch.tensor(encoder.token_ids(text)) for text in texts]
        self._padding = encoder.tokenizer.pad_token_id or 0
        self._device = encoder.device

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


class _Training:
    """Steps of one training, each random only in the seed and its own number."""

    def __init__(
        self,
        model: MaskedModel,
        texts: Sequence[Text],
        vocabulary: Vocabulary,
        settings: WimaskSettings,
        checkpoint: Path | None,
    ) -> None:
        self._model, self._settings, self._checkpoint = model, settings, checkpoint
        self._texts = _Texts(model.encoder, texts)
        self._steps = settings.steps(len(texts))
        self._done = 0
        self._sums: dict[str, float] = {}
        bottleneck = model.bottleneck
        self._pairs = bottleneck.pair_logits.weight
        dense = [*bottleneck.neighbours.parameters(), *bottleneck.word_layer.parameters()]
        self._parameters: dict[str, torch.Tensor] = {
            f"dense.{number}": one for number, one in enumerate(dense)
        }
        self._parameters["pairs"] = self._pairs
        self._adam = torch.optim.Adam(dense, lr=settings.learning_rate)
        self._sparse = torch.optim.SparseAdam([self._pairs], lr=settings.learning_rate)
        self._identity = {
            "settings": asdict(settings),
            "model": model.encoder.fingerprint,
            "texts": fingerprint_of(list(texts)),
            "vocabulary": fingerprint_of(vocabulary.pieces),
        }
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)

    def run(self, advance: AdvanceSteps) -> dict[str, float]:
        """Do the steps that are left, and give means of the losses over the last epoch."""
        if self._done:
            advance(self._done, {})
        an_epoch = self._steps // self._settings.epochs
        predicted = self._predictions() if self._done < self._steps else {}
        while self._done < self._steps:
            epoch, first = divmod(self._done, an_epoch)
            for numbers in self._order(epoch)[first:]:
                if self._done % an_epoch == 0:
                    self._sums = {}
                terms = self._step(numbers, torch.stack([predicted[n] for n in numbers]))
                for name, value in terms.items():
                    self._sums[name] = self._sums.get(name, 0.0) + value
                self._done += 1
                if self._done % STEPS_A_CHECKPOINT == 0 or self._done == self._steps:
                    self._save()
                advance(1, terms)
        return {name: value / an_epoch for name, value in self._sums.items()}

    @torch.no_grad()
    def _predictions(self) -> dict[int, torch.Tensor]:
        predicted: dict[int, torch.Tensor] = {}
        for numbers in self._texts.batches(self._settings.batch_size):
            classes = self._model.logits(*self._texts.batch(numbers)).argmax(1)
            predicted |= zip(numbers, classes, strict=True)
        return predicted

    def _order(self, epoch: int) -> list[list[int]]:
        seed = self._settings.seed
        batches = self._texts.batches(
            self._settings.batch_size, lambda n: shuffle_key(seed, "text", str(epoch), str(n))
        )
        rng_for(seed, "batches", str(epoch)).shuffle(batches)
        return batches

    def _step(self, numbers: Sequence[int], predicted: torch.Tensor) -> dict[str, float]:
        ids, mask = self._texts.batch(numbers)
        draws = torch.Generator().manual_seed(
            rng_for(self._settings.seed, "step", str(self._done)).getrandbits(62)
        )
        logits, masked = self._model.masked_logits(ids, mask, draws=draws)
        terms = loss_terms(logits, predicted, masked, self._model.words_of(ids, mask))
        loss = self._settings.total_loss(terms)
        self._adam.zero_grad()
        self._sparse.zero_grad()
        loss.backward(inputs=list(self._parameters.values()))  # the model's own stay as they are
        self._adam.step()
        self._sparse.step()
        return {"loss": loss.item(), **{name: value.item() for name, value in terms.items()}}

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
        touched = self._sparse.state[self._pairs]["exp_avg_sq"][:, 0].nonzero()[:, 0]
        tensors = {
            "pairs.index": touched,
            "sums": torch.tensor(list(self._sums.values()), dtype=torch.float64),
        }
        for name, parameter in self._parameters.items():
            sparse = parameter is self._pairs
            state = (self._sparse if sparse else self._adam).state[parameter]
            parts = {"value": parameter.detach()} | {key: state[key] for key in _MOMENTS}
            for key, tensor in parts.items():
                tensors[f"{name}.{key}"] = tensor[touched] if sparse else tensor
        arrays.save_arrays(
            self._checkpoint,
            _KIND,
            {name: tensor.cpu().numpy() for name, tensor in tensors.items()},
            {"identity": self._identity, "steps": self._done, "sums": list(self._sums)},
        )

    @torch.no_grad()
    def _resume(self, checkpoint: Path) -> None:
        with arrays.unreadable(
            f"{checkpoint}: is no checkpoint of masks", "remove it, or choose another --out"
        ):
            found, described = arrays.load_arrays(checkpoint, _KIND)
            identity, steps, names = (described[key] for key in ("identity", "steps", "sums"))
        if changed := [n for n, value in self._identity.items() if identity.get(n) != value]:
            raise AnalysisError(
                f"{checkpoint}: belongs to a training with other {' and '.join(changed)}",
                hint="give the options it was started with, choose another --out, or --restart",
            )
        kept = {
            name: torch.from_numpy(array).to(self._pairs.device) for name, array in found.items()
        }
        for name, parameter in self._parameters.items():
            sparse = parameter is self._pairs
            moments = {key: torch.zeros_like(parameter) for key in _MOMENTS}
            for key, tensor in ({"value": parameter} | moments).items():
                tensor[kept["pairs.index"] if sparse else ...] = kept[f"{name}.{key}"]
            state = {"step": steps if sparse else torch.tensor(float(steps)), **moments}
            (self._sparse if sparse else self._adam).state[parameter] = state
        self._sums = dict(zip(names, found["sums"].tolist(), strict=True))
        self._done = steps


def learn_masks(
    encoder: EncoderModel,
    texts: Sequence[Text],
    held_out: Sequence[Text],
    vocabulary: Vocabulary,
    settings: WimaskSettings = _BY_DEFAULT,
    *,
    most_words: float = 1.0,
    checkpoint: Path | None = None,
    advance: AdvanceSteps = lambda done, terms: None,
) -> LearnedMasks:
    """Learn the masks of a model, whose weights stay as they are, and measure their fidelity.

    For ``most_words`` see `kept_words`; 1 is the paper's reading. The checkpoint takes what was
    learned so far; the same training goes on from it, to the same bytes.

    Raises:
        AnalysisError: there are no texts, the vocabulary is larger than memory, the model has no
            embeddings to stand behind, or the checkpoint belongs to another training.
    """
    if not texts or not held_out:
        raise AnalysisError(
            f"{len(texts)} texts to learn masks from and {len(held_out)} to test them on",
            hint="give a corpus of some hundred sentences at least",
        )
    size = vocabulary.size
    arrays.check_memory(
        _BYTES_A_PAIR * size**2,
        f"--vocab {size - 1}: {size:,} × {size:,} word pairs and their moments",
        f"--vocab {int((arrays.machine_memory() / 2 / _BYTES_A_PAIR) ** 0.5) - 1} or less",
    )
    torch.manual_seed(settings.seed)
    bottleneck = Bottleneck(
        size,
        encoder.model.config.hidden_size,
        settings.temperature,
        mixing=settings.mixing,
        words_from=settings.words_from,
    )
    model = MaskedModel(encoder, vocabulary, bottleneck, pairs=not isinstance(texts[0], str))
    untrained, _ = _fidelity(model, held_out, settings.batch_size, torch.ones(size).bool())
    training = _Training(model, texts, vocabulary, settings, checkpoint)
    losses = training.run(advance)
    words = training.word_probabilities()
    word_mask = kept_words(words, most_words)
    pairs = bottleneck.pair_logits.weight.detach().view(size, size).sigmoid().cpu().numpy()
    pair_mask = pairs > KEPT_ABOVE
    pairs_kept = int(pair_mask.sum())
    if settings.diagonal:
        np.fill_diagonal(pair_mask, True)
    learned = words[(words > 0) & (words < 1)]
    by_layer, by_mask = _fidelity(model, held_out, settings.batch_size, torch.from_numpy(word_mask))
    about = {
        "held_out": len(held_out),
        "fidelity": by_layer,
        "fidelity_of_masks": by_mask,
        "fidelity_untrained": untrained,
        "losses": losses,
        "words_kept": int(word_mask.sum()),
        "words_seen": int((words > 0).sum()),
        "word_probabilities": {
            name: float(of(learned)) if len(learned) else 1.0
            for name, of in (("least", np.min), ("mean", np.mean), ("greatest", np.max))
        },
        "pairs_kept": pairs_kept,
        "pairs_seen": int((pairs != KEPT_ABOVE).sum()),
    }
    return LearnedMasks(words, pairs, Masks(vocabulary, word_mask, pair_mask, about))


@torch.no_grad()
def _fidelity(
    model: MaskedModel, texts: Sequence[Text], batch_size: int, word_mask: torch.Tensor
) -> tuple[float, float]:
    """Agreement with the model itself: words masked by the layer, and by the vocabulary's mask."""
    held_out = _Texts(model.encoder, texts)
    agree = [0, 0]
    for numbers in held_out.batches(batch_size):
        ids, mask = held_out.batch(numbers)
        target = model.logits(ids, mask).argmax(1)
        for place, given in enumerate((None, word_mask.to(ids.device))):
            masked, _ = model.masked_logits(ids, mask, word_mask=given)
            agree[place] += int((masked.argmax(1) == target).sum())
    return agree[0] / len(texts), agree[1] / len(texts)
