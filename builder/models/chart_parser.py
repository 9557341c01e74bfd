"""The embedded constituency parser: benepar's chart parser over the frozen MiniLM encoder.

Span classification with a CKY decoder after Kitaev & Klein (2018), "Constituency Parsing with a
Self-Attentive Encoder", over pretrained features after Kitaev, Cao & Klein (2019),
"Multilingual Constituency Parsing with Self-Attention and Pre-Training". Code: benepar 0.2.0.

What differs from benepar: the encoder is frozen, and a word is represented by all seven hidden
layers of its first and of its last word piece, plus a few flags of its spelling (the encoder
lowercases everything).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import nltk
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file

from s2lct.builder.models import same_lengths
from s2lct.builder.models.chart_network import (
    FrozenEncoderChartParser,
    PieceRetokenizer,
    Pieces,
    all_layers,
    frozen_encoder,
    natural_words,
    shape_flags,
)
from s2lct.builder.models.encoder import encoder_path
from s2lct.engines import batches_at_once
from s2lct.errors import ModelError

ENCODER_MAX_PIECES = 512
_CHUNK_SENTENCES = 1024


class ChartConstituencyParser:
    """Parses English sentences into Penn Treebank trees, part-of-speech tags included.

    Sentences are grouped by exact length, so nothing is padded and a sentence's tree does not
    depend on the others it is parsed with.

    Source: Kitaev & Klein (2018); Kitaev, Cao & Klein (2019).
    """

    def __init__(self, weights: Path, *, batch_tokens: int = 2048) -> None:
        """Load the pinned encoder, and the head: a safetensors file with its ``config`` as JSON.

        At most ``batch_tokens`` word pieces are encoded at once.

        Raises:
            ModelError: the file is missing, no such weights, or the encoder is not installed.
        """
        hint = "reinstall s2lct, or train them: python scripts/train_parser.py"
        try:
            with safe_open(weights, framework="pt") as file:
                config = json.loads(file.metadata()["config"])
            state = {name: value.float() for name, value in load_file(weights).items()}
            self._head = FrozenEncoderChartParser(**config)
            self._head.load_state_dict(state)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"{weights}: no parser weights: {error}", hint=hint) from error
        self._head.eval().requires_grad_(False)
        self._retokenizer = PieceRetokenizer(encoder_path())
        self._encoder = frozen_encoder()
        self._batch_tokens = batch_tokens

    def parse(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[nltk.Tree | None]:
        """Parse natural sentences, as spaCy splits them: words, and whether a space follows each.

        A tree is rooted in its sentence's highest constituent, with the words as given; there is
        none for an empty sentence and for one longer than the encoder can read.
        """
        plain = [natural_words(words) for words in sentences]
        pieces = self._retokenizer.pieces(plain, spaces)
        readable = [
            number
            for number, (words, split) in enumerate(zip(plain, pieces, strict=True))
            if words and len(words) <= self._head.max_words and len(split.ids) <= ENCODER_MAX_PIECES
        ]
        readable.sort(key=lambda number: (len(plain[number]), len(pieces[number].ids)))
        trees: list[nltk.Tree | None] = [None] * len(sentences)
        for start in range(0, len(readable), _CHUNK_SENTENCES):
            chunk = readable[start : start + _CHUNK_SENTENCES]
            contents = self._contents(chunk, plain, pieces)
            groups = self._groups(chunk, [len(words) for words in plain])

            def decoded(
                group: list[int], contents: dict[int, torch.Tensor] = contents
            ) -> tuple[list[int], list[tuple[NDArray[np.int64], list[str]]]]:
                with torch.inference_mode():
                    stacked = torch.stack([contents[number] for number in group])
                    return group, self._head.decode(self._head.annotate(stacked, None))

            for group, charts in batches_at_once(decoded, groups, on_cpu=True):
                for number, (chart, tags) in zip(group, charts, strict=True):
                    leaves = list(zip(sentences[number], tags, strict=True))
                    tree = self._head.decoder.tree_from_chart(chart, leaves)
                    trees[number] = tree[0] if len(tree) == 1 else tree
        return trees

    def _contents(
        self, chunk: Sequence[int], plain: Sequence[list[str]], pieces: Sequence[Pieces]
    ) -> dict[int, torch.Tensor]:
        """Projected features of each sentence's words."""

        def projected(group: list[int]) -> list[tuple[int, torch.Tensor]]:
            ids = torch.tensor([pieces[number].ids for number in group])
            with torch.inference_mode():
                hidden = all_layers(self._encoder, ids, torch.ones_like(ids))
                return [
                    (
                        number,
                        self._head.content(
                            row[pieces[number].first],
                            row[pieces[number].last],
                            torch.from_numpy(shape_flags(plain[number])),
                        ),
                    )
                    for row, number in zip(hidden, group, strict=True)
                ]

        groups = self._groups(chunk, [len(split.ids) for split in pieces])
        of_groups = batches_at_once(projected, groups, on_cpu=True)
        return {number: content for found in of_groups for number, content in found}

    def _groups(self, numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
        """Sentences of the same length, at most ``batch_tokens`` tokens a group."""
        return same_lengths(numbers, lengths, lambda length: self._batch_tokens // (length + 2))
