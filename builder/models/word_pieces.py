"""Words as the frozen encoder takes them: word pieces, and flags of their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benepar.ptb_unescape import ptb_unescape
from benepar.retokenization import Retokenizer
from numpy.typing import NDArray
from transformers import AutoTokenizer

SHAPE_FLAGS = 10


def natural_words(words: Iterable[str]) -> list[str]:
    """Words as they stand in plain text: treebank escapes undone, quotes straightened."""
    plain = [word.replace("’", "'").replace("‘", "'") for word in words]
    return list(ptb_unescape(plain))


def shape_flags(words: Sequence[str]) -> NDArray[np.float32]:
    """Spelling flags of each word, with an empty row before the first and after the last."""
    flags = np.zeros((len(words) + 2, SHAPE_FLAGS), dtype=np.float32)
    for row, word in enumerate(words, start=1):
        flags[row] = (
            word[:1].isupper(),
            word.isupper() and len(word) > 1,
            word.islower(),
            any(letter.isupper() for letter in word[1:]),
            any(letter.isdigit() for letter in word),
            word.isdigit(),
            "-" in word and len(word) > 1,
            "." in word and len(word) > 1,
            not any(letter.isalnum() for letter in word),
            len(word) == 1,
        )
    return flags


@dataclass(frozen=True)
class Pieces:
    """A sentence in word pieces.

    Attributes:
        ids: input ids, [CLS] and [SEP] included.
        first: for [CLS], each word and [SEP], the index of its first word piece.
        last: likewise, of its last word piece.
    """

    ids: list[int]
    first: list[int]
    last: list[int]


class PieceRetokenizer(Retokenizer):  # type: ignore[misc]
    """benepar's retokenizer for a BERT tokenizer, also naming each word's first piece."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        self.retain_start_stop = True
        self.is_t5 = False
        self.is_gpt2 = False
        self.start_token_idx = 0
        self.stop_token_idx = -1

    def pieces(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[Pieces]:
        """Split sentences of natural words; a word without pieces borrows its left neighbour's."""
        if not sentences:
            return []
        texts: list[str] = []
        bounds: list[list[tuple[int, int]]] = []
        for words, after in zip(sentences, spaces, strict=True):
            start = 0
            ends: list[tuple[int, int]] = []
            for word, space in zip(words, after, strict=True):
                ends.append((start, start + len(word)))
                start += len(word) + bool(space)
            texts.append("".join(w + (" " if s else "") for w, s in zip(words, after, strict=True)))
            bounds.append(ends)
        encoded = self.tokenizer(
            texts, return_offsets_mapping=True, truncation=False, padding=False, verbose=False
        )
        return [
            self._align(ids, offsets, words)
            for ids, offsets, words in zip(
                encoded["input_ids"], encoded["offset_mapping"], bounds, strict=True
            )
        ]

    @staticmethod
    def _align(
        ids: list[int], offsets: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]
    ) -> Pieces:
        first, last = [0], [0]
        stop = len(ids) - 1
        piece = 1
        for start, end in words:
            while piece < stop and offsets[piece][1] <= start:
                piece += 1
            final = piece
            while final < stop and offsets[final][1] < end:
                final += 1
            if piece < stop and offsets[piece][0] < end:
                inside = final < stop and offsets[final][0] < end
                first.append(piece)
                last.append(final if inside else final - 1)
            else:
                first.append(max(piece - 1, 0))
                last.append(max(piece - 1, 0))
        return Pieces(ids, [*first, stop], [*last, stop])
