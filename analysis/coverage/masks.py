"""The task vocabulary, and masks of its words and pairs: which of them MNCOVER counts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from s2lct.analysis.coverage.encoder import Booleans, EncoderModel, Integers, Text
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes
from s2lct.plain_text import ShortRepr

VOCABULARY = 5_000
_KIND = "s2lct masks"


@dataclass(frozen=True)
class Vocabulary:
    """The commonest word pieces, as the tokenizer writes them, and one more entry for the rest."""

    pieces: tuple[str, ...]

    @property
    def size(self) -> int:
        """V: pieces and the entry for the rest, which is the last one."""
        return len(self.pieces) + 1

    @classmethod
    def of_texts(
        cls, encoder: EncoderModel, texts: Iterable[Text], most: int = VOCABULARY
    ) -> Vocabulary:
        """The ``most`` commonest, special tokens included; of equals the lower id first."""
        counts = Counter(token for text in texts for token in encoder.token_ids(text))
        ranked = sorted(counts, key=lambda token: (-counts[token], token))[:most]
        return cls(tuple(encoder.tokenizer.convert_ids_to_tokens(ranked)))

    def table(self, tokenizer: Any) -> Integers:
        """The vocabulary entry of each token id, shape (tokenizer's length,)."""
        entries = np.full(len(tokenizer), len(self.pieces), dtype=np.int64)
        known = tokenizer.get_vocab()
        for entry, piece in enumerate(self.pieces):
            if piece in known:
                entries[known[piece]] = entry
        return entries


@dataclass(frozen=True, repr=False)
class Masks(ShortRepr):
    """Which words and word pairs matter to a model (Sekhon et al. 2022, §3.2).

    Attributes:
        vocabulary: what the axes stand for.
        words: M_W, boolean of shape (V,).
        pairs: M_A, boolean of shape (V, V); [i, j] is word i looking at word j.
        about: how they were made, as plain JSON values.
    """

    vocabulary: Vocabulary
    words: Booleans
    pairs: Booleans
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return hashlib.sha256(self._content()).hexdigest()

    def save(self, path: Path) -> None:
        """Write them as safetensors, whole or not at all."""
        write_bytes(path, self._content())

    def _content(self) -> bytes:
        described = {"pieces": self.vocabulary.pieces, "about": dict(self.about)}
        # One entry: safetensors writes several in an order of its own each time.
        metadata = {_KIND: json.dumps(described, ensure_ascii=False, sort_keys=True)}
        arrays = {"words": np.packbits(self.words), "pairs": np.packbits(self.pairs, axis=1)}
        return save(arrays, metadata)

    @classmethod
    def load(cls, path: Path, encoder: EncoderModel | None = None) -> Masks:
        """Read masks, of a model where one is given.

        Raises:
            AnalysisError: the file is missing, holds no masks, or those of another model.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads((file.metadata() or {})[_KIND])
                vocabulary = Vocabulary(tuple(map(str, described["pieces"])))
                words, pairs = (
                    np.unpackbits(file.get_tensor(name), axis=-1, count=vocabulary.size)
                    for name in ("words", "pairs")
                )
            if pairs.shape != (vocabulary.size, vocabulary.size):
                raise ValueError("pairs are of another vocabulary")
            masks = cls(vocabulary, words.astype(bool), pairs.astype(bool), described["about"])
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise AnalysisError(
                f"masks {path}: cannot be read ({error!r})", hint="make one with `s2lct masks`"
            ) from error
        if encoder and masks.about.get("weights_sha256", encoder.fingerprint) != (
            encoder.fingerprint
        ):
            raise AnalysisError(
                f"--masks {path}: were learned for {masks.about.get('model', 'another model')}",
                hint=f"learn them for {encoder.name}: s2lct masks CORPUS --model {encoder.name}",
            )
        return masks
