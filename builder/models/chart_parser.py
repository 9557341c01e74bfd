"""The embedded constituency parser: benepar's chart parser over the frozen MiniLM encoder.

Span classification with a CKY decoder after Kitaev & Klein (2018), "Constituency Parsing with a
Self-Attentive Encoder", over pretrained features after Kitaev, Cao & Klein (2019),
"Multilingual Constituency Parsing with Self-Attention and Pre-Training". Code: benepar 0.2.0.

Unlike in benepar, the encoder is frozen, and a word is represented by all seven hidden layers of
its first and of its last word piece, and by flags of its spelling, as the encoder has no capitals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import nltk
import numpy as np
import torch
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from benepar.ptb_unescape import ptb_unescape
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from torch_struct import TreeCRF

from s2lct.builder.models import batches_by_length
from s2lct.builder.models.encoder import (
    MAX_PIECES,
    hidden_layers,
    installed_encoder,
    installed_tokenizer,
)
from s2lct.engines import parallel_map
from s2lct.errors import ModelError

PADDING_MULTIPLE = 4
"""Word pieces and words are padded to a multiple of this."""
_SHAPE_FLAG_COUNT = 10


def natural_words(words: Iterable[str]) -> list[str]:
    """Words of a treebank in their plain spelling: without escapes, with straight quotes."""
    plain = [word.replace("’", "'").replace("‘", "'") for word in words]
    return list(ptb_unescape(plain))


def shape_flags(words: Sequence[str]) -> NDArray[np.float32]:
    """Spelling flags of each word, with an empty row before the first and after the last."""
    flags = np.zeros((len(words) + 2, _SHAPE_FLAG_COUNT), dtype=np.float32)
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


class Pieces(NamedTuple):
    """A sentence in word pieces, with [CLS] and [SEP].

    Attributes:
        ids: the vocabulary indices of the word pieces.
        first: the position in ``ids`` of the first word piece of [CLS], of each word and of [SEP].
        last: likewise the position of the last word piece.
    """

    ids: list[int]
    first: list[int]
    last: list[int]


def pieces_of(
    tokenizer: Any, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
) -> list[Pieces]:
    """The word pieces of sentences; a word without a piece has that of its left neighbour."""
    if not sentences:
        return []
    spaced = [
        [word + " " * bool(space) for word, space in zip(words, spaces_after, strict=True)]
        for words, spaces_after in zip(sentences, spaces, strict=True)
    ]
    encoded = tokenizer(["".join(words) for words in spaced], verbose=False)
    pieces_of_sentences: list[Pieces] = []
    for row, ids in enumerate(encoded["input_ids"]):
        first, last, start = [0], [0], 0
        for word, with_space in zip(sentences[row], spaced[row], strict=True):
            positions = (encoded.char_to_token(row, start + letter) for letter in range(len(word)))
            pieces = [position for position in positions if position is not None] or last[-1:]
            first.append(pieces[0])
            last.append(pieces[-1])
            start += len(with_space)
        pieces_of_sentences.append(Pieces(ids, [*first, len(ids) - 1], [*last, len(ids) - 1]))
    return pieces_of_sentences


class _TreeScores(TreeCRF):  # type: ignore[misc]
    arg_constraints: ClassVar[dict[str, Any]] = {}  # PyTorch warns where a distribution has none


class FrozenEncoderChartParser(ChartParser):  # type: ignore[misc]
    """benepar's ``ChartParser`` over word features that a frozen encoder computed.

    ``scripts/train_parser.py`` trains it, with benepar's ``compute_loss``.
    """

    def __init__(
        self,
        tag_vocab: Mapping[str, int],
        label_vocab: Mapping[str, int],
        hparams: Mapping[str, float],
    ) -> None:
        values = HParams(
            **hparams,
            use_chars_lstm=False,
            use_pretrained=False,
            use_encoder=True,
            predict_tags=True,
            force_root_constituent=True,
        )
        super().__init__(dict(tag_vocab), dict(label_vocab), {}, values)
        self.hparams = dict(hparams)
        self.project_pretrained = nn.Linear(2 * values.d_features, values.d_model // 2, bias=False)
        self.project_shape = nn.Linear(_SHAPE_FLAG_COUNT, values.d_model // 2, bias=False)
        self.f_label = nn.Sequential(
            nn.Linear(values.d_model, values.d_label_hidden),
            nn.LayerNorm(values.d_label_hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(values.label_dropout),
            nn.Linear(values.d_label_hidden, max(label_vocab.values())),
        )

    @property
    def max_words(self) -> int:
        """The number of words of the longest sentence that can be parsed."""
        return int(self.add_timing.timing_table.shape[0]) - 2

    def content(self, first: torch.Tensor, last: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        """Project words' features: those of their first and last piece, and of their spelling."""
        projected = self.project_pretrained(torch.cat([first, last], -1))
        return torch.as_tensor(projected + self.project_shape(shape))

    def annotate(self, content: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Run self-attention over words, and separate content from position, as benepar does."""
        inputs = self.add_timing(self.morpho_emb_dropout(content))
        out = self.encoder(inputs, mask)
        return torch.cat([out[..., 0::2], out[..., 1::2]], -1)

    def best_labels(self, annotations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The highest score of a label for each span, and that label; 0 for no span.

        A span's features are a difference of fenceposts. As the first layer is linear, it is
        applied to the fenceposts, which are fewer, and differences are taken of its output.
        """
        half, (n_sentences, length) = self.d_model // 2, annotations.shape[:2]
        n_words = length - 2
        fenceposts = torch.cat([annotations[:, :-1, :half], annotations[:, 1:, half:]], -1)
        first = cast(nn.Linear, self.f_label[0])
        projected = F.linear(fenceposts, first.weight)
        start, last = torch.triu_indices(n_words, n_words)
        hidden = projected[:, last + 1].sub_(projected[:, start]).add_(first.bias)
        score, label = self.f_label[1:](hidden).float().max(-1)
        best = score.new_zeros(n_sentences, n_words, n_words)
        labels = label.new_zeros(n_sentences, n_words, n_words)
        best[:, start, last], labels[:, start, last] = score, label + 1
        return best, labels

    def decode(
        self, annotations: torch.Tensor, lengths: Sequence[int]
    ) -> list[tuple[NDArray[np.int64], list[str]]]:
        """The chart of each sentence's best tree, labels by first and last word, and its tags."""
        best, labels = self.best_labels(annotations)
        counts = torch.tensor(lengths)
        is_constituent = best > 0
        is_constituent[torch.arange(len(counts)), 0, counts - 1] = True  # the whole sentence
        with torch.inference_mode(False):  # it decodes by autograd
            scores = (best * is_constituent).clone().unsqueeze(-1)
            spans = _TreeScores(scores, lengths=counts).argmax.squeeze(-1) > 0
        charts = (labels * is_constituent * spans).numpy()
        tags = self.f_tag(annotations)[:, 1:-1].argmax(-1).tolist()
        return [
            (
                chart[:n_words, :n_words],
                [self.tag_from_index[index] for index in tag_indices[:n_words]],
            )
            for chart, tag_indices, n_words in zip(charts, tags, lengths, strict=True)
        ]


def pad_rows(rows: Sequence[torch.Tensor], max_length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad rows to a multiple of `PADDING_MULTIPLE`, at most ``max_length``; a mask marks values."""
    length = max(map(len, rows))
    length = min(length + -length % PADDING_MULTIPLE, max_length)
    lengths = torch.tensor([len(row) for row in rows])
    filled = rows[0].new_zeros(len(rows), length, *rows[0].shape[1:])
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return filled, torch.arange(length) < lengths.unsqueeze(1)


class ChartConstituencyParser:
    """Parses English sentences into Penn Treebank trees, part-of-speech tags included.

    A sentence is padded by its length alone, so that its tree is the same in any batch.

    Source: Kitaev & Klein (2018); Kitaev, Cao & Klein (2019).
    """

    def __init__(self, weights: Path, *, batch_tokens: int = 2048) -> None:
        """Load the encoder and the head.

        Args:
            weights: the head, a safetensors file with its ``config`` as JSON in the metadata.
            batch_tokens: the most word pieces in a batch.
        """
        hint = "reinstall s2lct, or train them: python scripts/train_parser.py"
        try:
            with safe_open(weights, framework="pt") as file:
                config = json.loads(file.metadata()["config"])
            head_weights = {name: value.float() for name, value in load_file(weights).items()}
            self._head = FrozenEncoderChartParser(**config)
            self._head.load_state_dict(head_weights)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"{weights}: no parser weights: {error}", hint=hint) from error
        self._head.eval().requires_grad_(False)
        installed_encoder()  # loads it now, while other models compute
        self._tokenizer = installed_tokenizer()
        self._batch_tokens = batch_tokens

    def parse(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[nltk.Tree | None]:
        """Parse sentences of natural text.

        Args:
            sentences: the words of each, as spaCy splits them.
            spaces: whether a space follows each word.

        Returns:
            A tree from each sentence's highest constituent down; None for one that is empty or
            longer than the encoder reads.
        """
        plain_words = [natural_words(words) for words in sentences]
        pieces = pieces_of(self._tokenizer, plain_words, spaces)
        readable = [
            index
            for index, (words, sentence_pieces) in enumerate(zip(plain_words, pieces, strict=True))
            if words
            and len(words) <= self._head.max_words
            and len(sentence_pieces.ids) <= MAX_PIECES
        ]
        readable.sort(key=lambda index: (len(plain_words[index]), len(pieces[index].ids)))
        contents = self._projected_features(readable, plain_words, pieces)

        def decode_group(group: list[int]) -> list[tuple[int, NDArray[np.int64], list[str]]]:
            lengths = [len(plain_words[index]) for index in group]
            with torch.inference_mode():
                stacked, mask = pad_rows(
                    [contents[index] for index in group], self._head.max_words + 2
                )
                charts = self._head.decode(self._head.annotate(stacked, mask), lengths)
                return [(index, *result) for index, result in zip(group, charts, strict=True)]

        trees: list[nltk.Tree | None] = [None] * len(sentences)
        groups = self._groups_of_length(readable, [len(words) + 2 for words in plain_words])
        for group in parallel_map(decode_group, groups, on_cpu=True):
            for index, chart, tags in group:
                leaves = list(zip(sentences[index], tags, strict=True))
                tree = self._head.decoder.tree_from_chart(chart, leaves)
                trees[index] = tree[0] if len(tree) == 1 else tree
        return trees

    def _projected_features(
        self, readable: Sequence[int], plain_words: Sequence[list[str]], pieces: Sequence[Pieces]
    ) -> dict[int, torch.Tensor]:
        """The projected features of each sentence's words, by the index of the sentence."""

        def project_group(group: list[int]) -> list[tuple[int, torch.Tensor]]:
            ids, mask = pad_rows([torch.tensor(pieces[index].ids) for index in group], MAX_PIECES)
            rows = range(len(group))
            first = [
                row * ids.shape[1] + piece for row in rows for piece in pieces[group[row]].first
            ]
            last = [row * ids.shape[1] + piece for row in rows for piece in pieces[group[row]].last]
            shape = np.concatenate([shape_flags(plain_words[index]) for index in group])
            with torch.inference_mode():
                hidden = torch.cat(hidden_layers(ids, mask), -1).flatten(0, 1)
                content = self._head.content(hidden[first], hidden[last], torch.from_numpy(shape))
                word_counts = [len(pieces[index].first) for index in group]
                return list(zip(group, content.split(word_counts), strict=True))

        groups = self._groups_of_length(
            readable, [len(sentence_pieces.ids) for sentence_pieces in pieces]
        )
        return dict(chain.from_iterable(parallel_map(project_group, groups, on_cpu=True)))

    def _groups_of_length(
        self, indices: Sequence[int], lengths: Sequence[int]
    ) -> Iterator[list[int]]:
        """Groups of sentences with the same padded length, of at most ``batch_tokens`` tokens."""
        steps = [-(-length // PADDING_MULTIPLE) for length in lengths]
        batch_steps = self._batch_tokens // PADDING_MULTIPLE
        return batches_by_length(indices, steps, lambda step: batch_steps // step)
