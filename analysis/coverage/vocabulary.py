"""The task vocabulary: the commonest word pieces of a corpus, and one entry for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

VOCABULARY = 5_000


@dataclass(frozen=True)
class Vocabulary:
    """The commonest word pieces, as the tokenizer writes them; of equals the lower id first."""

    pieces: tuple[str, ...]

    @property
    def size(self) -> int:
        """V: pieces and the entry for the rest, which is the last one."""
        return len(self.pieces) + 1

    @classmethod
    def of_texts(
        cls, tokenizer: Any, texts: Iterable[str], most: int = VOCABULARY, max_tokens: int = 512
    ) -> Vocabulary:
        """The ``most`` commonest word pieces of ``texts``, special tokens included."""
        counts: Counter[int] = Counter()
        for text in texts:
            counts.update(tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"])
        ranked = sorted(counts, key=lambda token: (-counts[token], token))[:most]
        return cls(tuple(tokenizer.convert_ids_to_tokens(ranked)))

    def table(self, tokenizer: Any) -> npt.NDArray[np.int64]:
        """The vocabulary entry of each token id, shape (tokenizer's length,)."""
        entries = np.full(len(tokenizer), len(self.pieces), dtype=np.int64)
        known = tokenizer.get_vocab()
        for entry, piece in enumerate(self.pieces):
            if piece in known:
                entries[known[piece]] = entry
        return entries
