"""The head that makes MiniLM, whose weights are frozen, a sentiment classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from s2lct.errors import ModelError

WEIGHTS = Path(__file__).parent / "weights"
CLASSES: dict[str, tuple[str, ...]] = {
    "embedded-2class": ("negative", "positive"),
    "embedded-3class": ("negative", "neutral", "positive"),
}
MAX_PIECES = 256
"""The most word pieces of a text that the classifier reads."""
FEATURE_COUNT = 7 * 2 * 384  # hidden states x (mean, [CLS]) x width of MiniLM-L6
HIDDEN_WIDTH = 128
DROPOUT = 0.1


class SentimentHead(nn.Module):
    """A classifier of standardised `pooled_features` with one hidden layer."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, class_count: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FEATURE_COUNT))
        self.register_buffer("scale", torch.ones(FEATURE_COUNT))
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(FEATURE_COUNT, HIDDEN_WIDTH),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(HIDDEN_WIDTH, class_count),
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, shape (texts, classes), of features, shape (texts, FEATURE_COUNT)."""
        logits: torch.Tensor = self.layers((features - self.mean) * self.scale)
        return logits


def pooled_features(states: Sequence[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    """The features of texts: the mean over word pieces and the state at [CLS] of each layer.

    Args:
        states: the hidden layers, each of shape (texts, pieces, width).
        mask: 1 for each piece of a text, 0 for padding.
    """
    weights = (mask / mask.sum(dim=1, keepdim=True)).to(states[0].dtype)[:, None]
    parts = [part for state in states for part in ((weights @ state)[:, 0], state[:, 0])]
    return torch.cat(parts, dim=1)


def head_path(name: str, folder: Path = WEIGHTS) -> Path:
    """The file in a folder that holds the head of an embedded model."""
    return folder / f"sentiment_{name.removeprefix('embedded-')}.safetensors"


def load_head(path: Path, classes: Sequence[str]) -> SentimentHead:
    """Read a head in single precision; a `ModelError` if the file is none."""
    head = SentimentHead(len(classes))
    try:
        head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ModelError(
            f"{path}: cannot be loaded: {str(error).splitlines()[0]}", hint="reinstall s2lct"
        ) from error
    return head
