"""The embedded sentiment models: a frozen MiniLM encoder under a small trained head."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from s2lct.builder.models.encoder import ENCODER_SHA256, encoder_path
from s2lct.builder.models.shipped import shipped
from s2lct.errors import ModelError
from s2lct.files import sha256_of
from s2lct.hub_calls import pretrained

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

EmbeddedName = Literal["embedded-2class", "embedded-3class"]

WEIGHTS = Path(__file__).parents[1] / "weights"
CLASSES: dict[EmbeddedName, tuple[str, ...]] = {
    "embedded-2class": ("negative", "positive"),
    "embedded-3class": ("negative", "neutral", "positive"),
}
MAX_PIECES = 256
FEATURES = 7 * 2 * 384  # hidden states x (mean, [CLS]) x width of MiniLM-L6
HIDDEN = 128


class SentimentHead(nn.Module):
    """Classifies the features of :class:`SentenceEncoder`: standardised, one hidden layer.

    Args:
        classes: how many classes there are.
        dropout: rate before either linear layer, in training only.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("scale", torch.ones(FEATURES))
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(FEATURES, HIDDEN),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(HIDDEN, classes),
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, shape (texts, classes), of features, shape (texts, FEATURES)."""
        logits: torch.Tensor = self.layers((features - self.mean) * self.scale)
        return logits


class SentenceEncoder:
    """The frozen encoder and its tokenizer.

    A text's features are, for each hidden state (the embeddings and every layer), the mean over
    the text's word pieces and the state of [CLS].

    Raises:
        ModelError: the encoder's package is missing or carries another file.
    """

    def __init__(self) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = encoder_path()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer: PreTrainedTokenizerBase = pretrained(AutoTokenizer, folder)
        model: PreTrainedModel = pretrained(AutoModel, folder, dtype=torch.float32)
        self._model = model.eval().requires_grad_(False)
        self._model.to(self.device)

    def batches(
        self, texts: Sequence[str], batch_size: int
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode texts of similar length together.

        Args:
            texts: any texts; each is cut after MAX_PIECES word pieces, [CLS] and [SEP] included.
            batch_size: most texts in a forward pass.

        Yields:
            (numbers of the batch's texts, their features of shape (texts, FEATURES)), in single
            precision on ``device``; every text comes once, shorter texts first.

        Raises:
            ValueError: ``batch_size`` is below 1.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}, must be at least 1")
        if not texts:
            return
        encoded: list[list[int]] = self._tokenizer(
            list(texts), truncation=True, max_length=MAX_PIECES, padding=False
        )["input_ids"]
        order = sorted(range(len(texts)), key=lambda number: len(encoded[number]))
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            lengths = torch.tensor([len(encoded[number]) for number in batch])
            ids = nn.utils.rnn.pad_sequence(
                [torch.tensor(encoded[number]) for number in batch], batch_first=True
            )
            mask = torch.arange(ids.shape[1]) < lengths[:, None]
            yield batch, self._features(ids.to(self.device), mask.to(self.device, torch.int64))

    @torch.no_grad()
    def _features(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self._model(
            input_ids=ids, attention_mask=mask, output_hidden_states=True
        ).hidden_states
        weights = (mask / mask.sum(dim=1, keepdim=True)).to(torch.float32)[:, None]
        parts = [part for state in states for part in ((weights @ state)[:, 0], state[:, 0])]
        return torch.cat(parts, dim=1)


class EmbeddedSentiment:
    """A sentiment model of our own.

    Attributes:
        classes: what the columns of :meth:`probabilities` stand for.
        fingerprint: SHA-256 (hex) over the encoder's hash and the head's file.
    """

    def __init__(
        self, encoder: SentenceEncoder, head: SentimentHead, classes: tuple[str, ...], sha256: str
    ) -> None:
        self.classes = classes
        self.fingerprint = hashlib.sha256(f"{ENCODER_SHA256} {sha256}".encode()).hexdigest()
        self._encoder = encoder
        # The encoder's last bits depend on a batch's padding; the head adds no noise of its own.
        self._head = head.eval().requires_grad_(False).to(encoder.device, torch.float64)

    @classmethod
    def load(cls, name: EmbeddedName) -> EmbeddedSentiment:
        """Load ``embedded-2class`` or ``embedded-3class``.

        Raises:
            ModelError: the name is another, or the encoder or the head's file is missing or
                broken.
        """
        if name not in get_args(EmbeddedName):
            raise ModelError(
                f"no embedded sentiment model is called {name!r}",
                mend=f"name one of {', '.join(get_args(EmbeddedName))}",
            )
        path = shipped(head_path(name))
        return cls(
            SentenceEncoder(), load_head(path, CLASSES[name]), CLASSES[name], sha256_of(path)
        )

    def probabilities(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """Probabilities of the classes.

        Args:
            texts: any texts; each is cut after MAX_PIECES word pieces, [CLS] and [SEP] included.
            batch_size: most texts in a forward pass; it changes results by less than 1e-5.

        Returns:
            Double-precision array of shape (texts, classes); every row sums to 1.

        Raises:
            ValueError: ``batch_size`` is below 1.
        """
        results = np.empty((len(texts), len(self.classes)), dtype=np.float64)
        for batch, features in self._encoder.batches(texts, batch_size):
            results[batch] = self._head(features.double()).softmax(dim=1).cpu().numpy()
        return results


def head_path(name: EmbeddedName, folder: Path = WEIGHTS) -> Path:
    """Where ``folder`` holds the head of the model called ``name``."""
    return folder / f"sentiment_{name.removeprefix('embedded-')}.safetensors"


def load_head(path: Path, classes: Sequence[str]) -> SentimentHead:
    """The head in the file ``path``, in single precision.

    Raises:
        ModelError: the file is missing, unreadable or of another shape.
    """
    head = SentimentHead(len(classes))
    try:
        head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ModelError(
            f"{path}: cannot be loaded: {str(error).splitlines()[0]}", mend="reinstall s2lct"
        ) from error
    return head
