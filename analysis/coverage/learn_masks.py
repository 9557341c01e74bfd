"""Masks of the words and pairs that matter to a model, as WIMASK learns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from s2lct.analysis.coverage.activations import Booleans, Floats
from s2lct.analysis.coverage.bottleneck import KEPT_ABOVE, Bottleneck, MaskedModel
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.mask_training import (
    AdvanceSteps,
    TokenisedTexts,
    Training,
    WimaskSettings,
)
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.memory import SHARE, check_memory, machine_memory
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError

_BY_DEFAULT = WimaskSettings()
_BYTES_A_PAIR = 12  # a logit and two moments of its gradient, in single precision


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
        """M_W and M_A, as coverage takes them; ``about`` is kept with them."""
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
    """M_W of probabilities, both of shape (V,): above 1/2, and among the highest ``most`` share.

    Nothing in the loss takes a word that does not matter below 1/2, the KL divergence only draws it
    there: with little training every word stays above. The order of probabilities then still says
    which words matter most; of equally probable ones the commoner.
    """
    ranked = np.argsort(-words, kind="stable")[: int(most * len(words))]
    among = np.zeros(len(words), dtype=bool)
    among[ranked] = True
    kept: Booleans = among & (words > KEPT_ABOVE)
    return kept


def check_room(entries: int) -> None:
    """Refuse a vocabulary of V entries whose pairs take too much memory.

    Raises:
        AnalysisError: they do, with the numbers.
    """
    most = int((machine_memory() * SHARE / _BYTES_A_PAIR) ** 0.5) - 1
    check_memory(
        _BYTES_A_PAIR * entries**2,
        f"--vocab {entries - 1}: {entries:,} × {entries:,} word pairs and their moments",
        f"--vocab {most} or less",
    )


def learn_masks(
    encoder: EncoderModel,
    texts: Sequence[str],
    held_out: Sequence[str],
    vocabulary: Vocabulary,
    settings: WimaskSettings = _BY_DEFAULT,
    *,
    most_words: float = 1.0,
    checkpoint: Path | None = None,
    advance: AdvanceSteps = lambda done, terms: None,
) -> LearnedMasks:
    """Learn the masks of a model, whose weights stay as they are, and measure their fidelity.

    Args:
        encoder: the target model.
        texts: to train on. Labels play no part.
        held_out: to measure fidelity on.
        vocabulary: see `Vocabulary.of_texts`.
        settings: see `WimaskSettings`.
        most_words: see `kept_words`; 1 is the paper's reading.
        checkpoint: takes what was learned so far; the same training goes on from it, to the same
            bytes.
        advance: see `AdvanceSteps`.

    Raises:
        AnalysisError: there are no texts, the vocabulary is larger than memory, the model has no
            embeddings to stand behind, or the checkpoint belongs to another training.
    """
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
        training = Training(model, texts, vocabulary, settings, checkpoint)
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


@torch.no_grad()
def _fidelity(
    model: MaskedModel, texts: Sequence[str], batch_size: int, word_mask: torch.Tensor
) -> tuple[float, float]:
    """Agreement with the model itself: words masked by the layer, and by the vocabulary's mask."""
    held_out = TokenisedTexts(model.encoder, texts)
    word_mask = word_mask.to(model.encoder.device)
    agree = agree_of_mask = 0
    for numbers in held_out.batches(batch_size):
        ids, mask = held_out.batch(numbers)
        target = model.logits(ids, mask).argmax(1)
        agree += int((model.masked_logits(ids, mask)[0].argmax(1) == target).sum())
        by_mask = model.masked_logits(ids, mask, word_mask=word_mask)[0].argmax(1)
        agree_of_mask += int((by_mask == target).sum())
    return agree / len(texts), agree_of_mask / len(texts)
