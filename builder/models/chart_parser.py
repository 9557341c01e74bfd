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

from s2lct.builder.models import same_lengths
from s2lct.builder.models.encoder import (
    MAX_PIECES,
    hidden_layers,
    installed_encoder,
    installed_tokenizer,
)
from s2lct.engines import parallel_map
from s2lct.errors import ModelError

PADDED_TO = 4
"""Word pieces and words are padded to a multiple of this."""
_SHAPE_FLAGS = 10


def natural_words(words: Iterable[str]) -> list[str]:
    """Words of a treebank as plain text has them: without escapes, with straight quotes."""
    plain = [word.replace("’", "'").replace("‘", "'") for word in words]
    return list(ptb_unescape(plain))


def shape_flags(words: Sequence[str]) -> NDArray[np.float32]:
    """Spelling flags of each word, with an empty row before the first and after the last."""
    flags = np.zeros((len(words) + 2, _SHAPE_FLAGS), dtype=np.float32)
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
        ids: the word pieces.
        first: the indices of the first word piece of [CLS], each word and [SEP].
        last: likewise of the last word piece.
    """

    ids: list[int]
    first: list[int]
    last: list[int]


def pieces_of(
    tokenizer: Any, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
) -> list[Pieces]:
    """Sentences in word pieces; a word without any has its left neighbour's."""
    if not sentences:
        return []
    spaced = [
        [word + " " * bool(space) for word, space in zip(words, after, strict=True)]
        for words, after in zip(sentences, spaces, strict=True)
    ]
    encoded = tokenizer(["".join(words) for words in spaced], verbose=False)
    pieces_of_sentences: list[Pieces] = []
    for row, ids in enumerate(encoded["input_ids"]):
        first, last, start = [0], [0], 0
        for word, with_space in zip(sentences[row], spaced[row], strict=True):
            places = (encoded.char_to_token(row, start + letter) for letter in range(len(word)))
            pieces = [place for place in places if place is not None] or last[-1:]
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
        self.project_shape = nn.Linear(_SHAPE_FLAGS, values.d_model // 2, bias=False)
        self.f_label = nn.Sequential(
            nn.Linear(values.d_model, values.d_label_hidden),
            nn.LayerNorm(values.d_label_hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(values.label_dropout),
            nn.Linear(values.d_label_hidden, max(label_vocab.values())),
        )

    @property
    def max_words(self) -> int:
        """The most words of a sentence that it parses."""
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
        """The highest score of a label for each span, and that label; 0 for what is no span.

        A span's features are a difference of fenceposts. As the first layer is linear, it is
        applied to the fenceposts, which are fewer, and differences are taken of its output.
        """
        half, (count, length) = self.d_model // 2, annotations.shape[:2]
        words = length - 2
        fenceposts = torch.cat([annotations[:, :-1, :half], annotations[:, 1:, half:]], -1)
        first = cast(nn.Linear, self.f_label[0])
        projected = F.linear(fenceposts, first.weight)
        start, last = torch.triu_indices(words, words)
        hidden = projected[:, last + 1].sub_(projected[:, start]).add_(first.bias)
        score, label = self.f_label[1:](hidden).float().max(-1)
        best = score.new_zeros(count, words, words)
        labels = label.new_zeros(count, words, words)
        best[:, start, last], labels[:, start, last] = score, label + 1
        return best, labels

    def decode(
        self, annotations: torch.Tensor, lengths: Sequence[int]
    ) -> list[tuple[NDArray[np.int64], list[str]]]:
        """Each sentence's chart of the best tree, labels by first and last word, and its tags."""
        best, labels = self.best_labels(annotations)
        sizes = torch.tensor(lengths)
        is_constituent = best > 0
        is_constituent[torch.arange(len(sizes)), 0, sizes - 1] = True  # the whole sentence
        with torch.inference_mode(False):  # it decodes by autograd
            scores = (best * is_constituent).clone().unsqueeze(-1)
            spans = _TreeScores(scores, lengths=sizes).argmax.squeeze(-1) > 0
        charts = (labels * is_constituent * spans).numpy()
        tags = self.f_tag(annotations)[:, 1:-1].argmax(-1).tolist()
        return [
            (chart[:words, :words], [self.tag_from_index[index] for index in row[:words]])
            for chart, row, words in zip(charts, tags, lengths, strict=True)
        ]


def padded(rows: Sequence[torch.Tensor], longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows padded to a multiple of `PADDED_TO`, at most to ``longest``, and a mask of the rest."""
    length = max(map(len, rows))
    length = min(length + -length % PADDED_TO, longest)
    lengths = torch.tensor([len(row) for row in rows])
    filled = rows[0].new_zeros(len(rows), length, *rows[0].shape[1:])
    for number, row in enumerate(rows):
        filled[number, : len(row)] = row
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
            state = {name: value.float() for name, value in load_file(weights).items()}
            self._head = FrozenEncoderChartParser(**config)
            self._head.load_state_dict(state)
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
        plain = [natural_words(words) for words in sentences]
        pieces = pieces_of(self._tokenizer, plain, spaces)
        readable = [
            number
            for number, (words, split) in enumerate(zip(plain, pieces, strict=True))
            if words and len(words) <= self._head.max_words and len(split.ids) <= MAX_PIECES
        ]
        readable.sort(key=lambda number: (len(plain[number]), len(pieces[number].ids)))
        contents = self._contents(readable, plain, pieces)

        def decoded(group: list[int]) -> list[tuple[int, NDArray[np.int64], list[str]]]:
            lengths = [len(plain[number]) for number in group]
            with torch.inference_mode():
                stacked, mask = padded(
                    [contents[number] for number in group], self._head.max_words + 2
                )
                charts = self._head.decode(self._head.annotate(stacked, mask), lengths)
                return [(number, *result) for number, result in zip(group, charts, strict=True)]

        trees: list[nltk.Tree | None] = [None] * len(sentences)
        groups = self._groups(readable, [len(words) + 2 for words in plain])
        for group in parallel_map(decoded, groups, on_cpu=True):
            for number, chart, tags in group:
                leaves = list(zip(sentences[number], tags, strict=True))
                tree = self._head.decoder.tree_from_chart(chart, leaves)
                trees[number] = tree[0] if len(tree) == 1 else tree
        return trees

    def _contents(
        self, readable: Sequence[int], plain: Sequence[list[str]], pieces: Sequence[Pieces]
    ) -> dict[int, torch.Tensor]:
        """The projected features of each sentence's words, by the sentence's number."""

        def projected(group: list[int]) -> list[tuple[int, torch.Tensor]]:
            ids, mask = padded([torch.tensor(pieces[number].ids) for number in group], MAX_PIECES)
            rows = range(len(group))
            first = [row * ids.shape[1] + at for row in rows for at in pieces[group[row]].first]
            last = [row * ids.shape[1] + at for row in rows for at in pieces[group[row]].last]
            shape = np.concatenate([shape_flags(plain[number]) for number in group])
            with torch.inference_mode():
                hidden = torch.cat(hidden_layers(ids, mask), -1).flatten(0, 1)
                content = self._head.content(hidden[first], hidden[last], torch.from_numpy(shape))
                sizes = [len(pieces[number].first) for number in group]
                return list(zip(group, content.split(sizes), strict=True))

        groups = self._groups(readable, [len(split.ids) for split in pieces])
        return dict(chain.from_iterable(parallel_map(projected, groups, on_cpu=True)))

    def _groups(self, numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
        """Sentences that are padded alike, at most ``batch_tokens`` tokens a group."""
        steps = [-(-length // PADDED_TO) for length in lengths]
        batch_steps = self._batch_tokens // PADDED_TO
        return same_lengths(numbers, steps, lambda step: batch_steps // step)
