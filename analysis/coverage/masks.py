"""Masks of words and word pairs: which tokens and pairs MNCOVER counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.analysis.coverage.activations import Booleans, EncoderModel, Integers, Vocabulary
from s2lct.analysis.coverage.memory import check_memory
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes

_KIND = "s2lct masks"
_FORMAT = "1"
_MEND = "make one with `s2lct masks`"


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

    def tokens(self, entries: Integers) -> Booleans:
        """Which tokens of a text count.

        Args:
            entries: the tokens' vocabulary entries, shape (tokens,).
        """
        return np.asarray(self.words[entries])

    def token_pairs(self, entries: Integers) -> Booleans:
        """Which pairs of a text's tokens count, shape (tokens, tokens)."""
        return np.asarray(self.pairs[np.ix_(entries, entries)])

    def save(self, path: Path) -> None:
        """Write them as safetensors, whole or not at all."""
        from safetensors.numpy import save

        described = {
            "format": _FORMAT,
            "pieces": self.vocabulary.pieces,
            "about": dict(self.about),
        }
        written = save(
            {"words": np.packbits(self.words), "pairs": np.packbits(self.pairs, axis=1)},
            # One entry: safetensors writes several in an order of its own each time.
            metadata={_KIND: json.dumps(described, ensure_ascii=False, sort_keys=True)},
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, written)

    @classmethod
    def load(cls, path: Path) -> Masks:
        """Read masks.

        Raises:
            AnalysisError: the file is missing or holds no masks.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads((file.metadata() or {}).get(_KIND, "{}"))
                if described.get("format") != _FORMAT:
                    raise ValueError("it holds no masks")
                vocabulary = Vocabulary(tuple(map(str, described["pieces"])))
                size = vocabulary.size
                return cls(
                    vocabulary,
                    np.unpackbits(file.get_tensor("words"), count=size).astype(bool),
                    np.unpackbits(file.get_tensor("pairs"), axis=1, count=size).astype(bool),
                    dict(described["about"]),
                )
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise AnalysisError(f"masks {path}: cannot be read ({error})", mend=_MEND) from error

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
