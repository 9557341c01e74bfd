"""Masks of words and word pairs: which tokens and pairs MNCOVER counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.analysis.arrays import load_arrays, save_arrays, unreadable
from s2lct.analysis.coverage.activations import Booleans
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.memory import check_memory
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError

_KIND, _FORMAT = "masks", "1"


@dataclass(frozen=True)
class Masks:
    """Which words and word pairs matter to a model (Sekhon et al. 2022, §3.2).

    Attributes:
        vocabulary: what the axes stand for; its last entry is every other word piece.
        words: M_W, boolean of shape (V,).
        pairs: M_A, boolean of shape (V, V); [i, j] is word i looking at word j.
        about: how they were made, as plain JSON values.
    """

    vocabulary: Vocabulary
    words: Booleans
    pairs: Booleans
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = self.vocabulary.size
        if self.words.shape != (size,) or self.pairs.shape != (size, size):
            raise AnalysisError(
                f"masks of shapes {self.words.shape} and {self.pairs.shape} for a vocabulary of "
                f"{size} entries",
                mend=f"pass shapes ({size},) and ({size}, {size})",
            )

    @classmethod
    def full(cls, vocabulary: Vocabulary) -> Masks:
        """Masks that let everything count."""
        size = vocabulary.size
        check_memory(size * size, f"masks of {size:,} × {size:,} word pairs", "a smaller --vocab")
        return cls(vocabulary, np.ones(size, dtype=bool), np.ones((size, size), dtype=bool))

    def save(self, path: Path) -> None:
        """Write them as safetensors, whole or not at all."""
        save_arrays(
            path,
            _KIND,
            {"words": np.packbits(self.words), "pairs": np.packbits(self.pairs, axis=1)},
            {"format": _FORMAT, "pieces": self.vocabulary.pieces, "about": dict(self.about)},
        )

    @classmethod
    def load(cls, path: Path) -> Masks:
        """Read masks.

        Raises:
            AnalysisError: the file is missing or holds no masks.
        """
        with unreadable(f"masks {path}: cannot be read", "make one with `s2lct masks`"):
            arrays, described = load_arrays(path, _KIND)
            if described.get("format") != _FORMAT:
                raise ValueError("it holds no masks")
            vocabulary = Vocabulary(tuple(map(str, described["pieces"])))
            return cls(
                vocabulary,
                np.unpackbits(arrays["words"], count=vocabulary.size).astype(bool),
                np.unpackbits(arrays["pairs"], axis=1, count=vocabulary.size).astype(bool),
                dict(described["about"]),
            )

    @classmethod
    def load_for(cls, path: Path, encoder: EncoderModel) -> Masks:
        """Read masks that were learned for a model.

        Raises:
            AnalysisError: the file is missing, holds no masks, or those of another model.
        """
        masks = cls.load(path)
        if masks.about.get("weights_sha256", encoder.fingerprint) != encoder.fingerprint:
            raise AnalysisError(
                f"--masks {path}: were learned for {masks.about.get('model', 'another model')}",
                mend=f"learn them for {encoder.name}: s2lct masks CORPUS --model {encoder.name}",
            )
        return masks
