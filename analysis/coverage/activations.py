"""What an encoder computes for texts of one length, and arrays of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Activations:
    """What a model computes for texts of one length. Nothing is padded.

    Attributes:
        numbers: of the texts, in the order they were handed in.
        input_ids: shape (texts, tokens).
        hidden: of the embeddings and then of each layer, each of shape (texts, tokens, dim).
        attentions: of each layer, each of shape (texts, heads, tokens, tokens): how much the
            token of the last but one axis looks at that of the last.
        pooled: what the pooler gives, shape (texts, dim); None for a model without one.
        logits: shape (texts, classes); their last bits may depend on the batch.
    """

    numbers: tuple[int, ...]
    input_ids: Integers
    hidden: tuple[Floats, ...]
    attentions: tuple[Floats, ...]
    pooled: Floats | None
    logits: Floats

    @property
    def tokens(self) -> int:
        """How many tokens each text has."""
        return int(self.input_ids.shape[1])

    def one(self, row: int) -> Activations:
        """Those of one text; its axis stays."""
        rows = slice(row, row + 1)
        return Activations(
            numbers=self.numbers[rows],
            input_ids=self.input_ids[rows],
            hidden=tuple(layer[rows] for layer in self.hidden),
            attentions=tuple(layer[rows] for layer in self.attentions),
            pooled=None if self.pooled is None else self.pooled[rows],
            logits=self.logits[rows],
        )
