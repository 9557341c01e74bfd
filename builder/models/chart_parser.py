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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nltk
import numpy as np
import torch
from benepar.decode_chart import ChartDecoder, SpanClassificationMarginLoss
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from benepar.partitioned_transformer import (
    ConcatPositionalEncoding,
    FeatureDropout,
    PartitionedTransformerEncoder,
    PartitionedTransformerEncoderLayer,
)
from benepar.ptb_unescape import ptb_unescape
from benepar.retokenization import Retokenizer
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertModel

from s2lct.builder.models.encoder import encoder_path
from s2lct.errors import ModelError

ENCODER_MAX_PIECES = 512
_SHAPE_FLAGS = 10
_CHUNK_SENTENCES = 1024


def natural_words(words: Iterable[str]) -> list[str]:
    """Words as they stand in plain text: treebank escapes undone, quotes straightened."""
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


class MaxSpanDecoder(ChartDecoder):  # type: ignore[misc]
    """benepar's chart decoder on the best label's score a span, with a NumPy CKY.

    benepar decodes through autograd, which ``torch.inference_mode`` forbids.
    """

    def charts(
        self, best: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Charts of the highest-scoring trees of equally long sentences.

        Args:
            best: score of each span's best label, (sentences, words, words), last word included.
            labels: that label.
        """
        count, length, _ = best.shape
        from_start = np.full((count, length + 1, length + 1), -np.inf, dtype=np.float64)
        to_end = np.full_like(from_start, -np.inf)
        splits = np.zeros((count, length + 1, length + 1), dtype=np.int64)
        for width in range(1, length + 1):
            starts = np.arange(length - width + 1)
            score = best[:, starts, starts + width - 1].astype(np.float64)
            if width > 1:
                sums = (
                    from_start[:, : length - width + 1, 1:width]
                    + to_end[:, width:, width - 1 : 0 : -1]
                )
                choice = sums.argmax(-1)
                score += np.take_along_axis(sums, choice[..., None], -1)[..., 0]
                splits[:, : length - width + 1, width] = choice + 1
            from_start[:, : length - width + 1, width] = score
            to_end[:, width:, width] = score
        charts = []
        for row in range(count):
            chart = np.zeros((length, length), dtype=np.int64)
            stack = [(0, length)]
            while stack:
                start, width = stack.pop()
                chart[start, start + width - 1] = labels[row, start, start + width - 1]
                if width > 1:
                    left = int(splits[row, start, width])
                    stack += [(start, left), (start + left, width - left)]
            charts.append(chart)
        return charts


class FrozenEncoderChartParser(ChartParser):  # type: ignore[misc]
    """benepar's ``ChartParser`` whose word features come from outside, the encoder being frozen.

    Its ``compute_loss`` is benepar's; ``forward`` takes a batch of gathered features.
    """

    def __init__(
        self,
        tag_vocab: Mapping[str, int],
        label_vocab: Mapping[str, int],
        hparams: Mapping[str, float],
    ) -> None:
        nn.Module.__init__(self)
        self.tag_vocab = dict(tag_vocab)
        self.label_vocab = dict(label_vocab)
        self.hparams = dict(hparams)
        values = HParams(**hparams)
        self.d_model = values.d_model
        self.char_encoder = None
        self.pretrained_model = None
        self.parallelized_devices = None

        self.project_pretrained = nn.Linear(2 * values.d_features, values.d_model // 2, bias=False)
        self.project_shape = nn.Linear(_SHAPE_FLAGS, values.d_model // 2, bias=False)
        self.morpho_emb_dropout = FeatureDropout(values.morpho_emb_dropout)
        self.add_timing = ConcatPositionalEncoding(
            d_model=values.d_model, max_len=values.encoder_max_len
        )
        self.encoder = PartitionedTransformerEncoder(
            PartitionedTransformerEncoderLayer(
                values.d_model,
                n_head=values.num_heads,
                d_qkv=values.d_kv,
                d_ff=values.d_ff,
                ff_dropout=values.relu_dropout,
                residual_dropout=values.residual_dropout,
                attention_dropout=values.attention_dropout,
            ),
            values.num_layers,
        )
        self.f_label = nn.Sequential(
            nn.Linear(values.d_model, values.d_label_hidden),
            nn.LayerNorm(values.d_label_hidden),
            nn.ReLU(),
            nn.Dropout(values.label_dropout),
            nn.Linear(values.d_label_hidden, max(label_vocab.values())),
        )
        self.f_tag = nn.Sequential(
            nn.Linear(values.d_model, values.d_tag_hidden),
            nn.LayerNorm(values.d_tag_hidden),
            nn.ReLU(),
            nn.Linear(values.d_tag_hidden, max(tag_vocab.values()) + 1),
        )
        self.tag_loss_scale = values.tag_loss_scale
        self.tag_from_index = {index: tag for tag, index in tag_vocab.items()}
        self.decoder = MaxSpanDecoder(self.label_vocab, force_root_constituent=True)
        self.criterion = SpanClassificationMarginLoss(reduction="sum", force_root_constituent=True)

    @property
    def max_words(self) -> int:
        """The longest sentence the position table covers."""
        return int(self.add_timing.timing_table.shape[0]) - 2

    def content(self, first: torch.Tensor, last: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        """Project the encoder's features of words' first and last pieces and their spelling."""
        projected = self.project_pretrained(torch.cat([first, last], -1))
        return torch.as_tensor(projected + self.project_shape(shape))

    def annotate(self, content: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Run the head's self-attention and part content from position, as benepar does."""
        inputs = self.add_timing(self.morpho_emb_dropout(content))
        out = self.encoder(inputs, mask)
        return torch.cat([out[..., 0::2], out[..., 1::2]], -1)

    def triangle_scores(self, annotations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of all labels but the empty one, for spans in ``torch.triu_indices`` order.

        The label head's first layer is linear, so it is applied to the fenceposts and not to
        their differences: the same result from n instead of n² products.

        Returns:
            The scores, (sentences, spans, labels - 1), and the span indices, (2, spans).
        """
        half = self.d_model // 2
        fenceposts = torch.cat([annotations[:, :-1, :half], annotations[:, 1:, half:]], -1)
        weight, bias = self.f_label[0].parameters()
        hidden = nn.functional.linear(fenceposts, weight)
        words = fenceposts.shape[1] - 1
        spans = torch.triu_indices(words, words, device=hidden.device)
        scores = hidden[:, spans[1] + 1] - hidden[:, spans[0]] + bias
        for layer in list(self.f_label)[1:]:
            scores = layer(scores)
        return scores, spans

    def forward(self, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Span and tag scores in benepar's layout, for training."""
        content = self.content(batch["first"], batch["last"], batch["shape"])
        annotations = self.annotate(content, batch["valid_token_mask"])
        scores, spans = self.triangle_scores(annotations)
        words = annotations.shape[1] - 2
        chart = scores.new_zeros(
            (len(scores), words, words, scores.shape[-1] + 1), dtype=torch.float32
        )
        chart[:, spans[0], spans[1], 1:] = scores.float()
        return chart, self.f_tag(annotations).float()

    def decode(self, annotations: torch.Tensor) -> list[tuple[NDArray[np.int64], list[str]]]:
        """Best chart and predicted tags of equally long, unpadded sentences."""
        scores, spans = self.triangle_scores(annotations)
        words = annotations.shape[1] - 2
        whole = words - 1  # row of the span (0, words - 1)
        top, label = scores.float().max(-1)
        label = label + 1
        empty = top <= 0
        empty[:, whole] = False
        label[empty] = 0
        top[empty] = 0
        best = top.new_zeros((len(top), words, words))
        labels = label.new_zeros((len(top), words, words))
        best[:, spans[0], spans[1]] = top
        labels[:, spans[0], spans[1]] = label
        charts = self.decoder.charts(best.numpy(), labels.numpy())
        tags = self.f_tag(annotations)[:, 1:-1].argmax(-1).tolist()
        return [
            (chart, [self.tag_from_index[index] for index in row])
            for chart, row in zip(charts, tags, strict=True)
        ]


def frozen_encoder() -> nn.Module:
    """The pinned MiniLM encoder in evaluation mode, without gradients.

    Built here and not by ``from_pretrained``, which draws a progress bar.
    """
    folder = encoder_path()
    encoder = BertModel(
        BertConfig.from_pretrained(folder, trust_remote_code=False), add_pooling_layer=False
    )
    stored = load_file(folder / "model.safetensors")
    encoder.load_state_dict({name: stored[name] for name in encoder.state_dict()})
    encoder.requires_grad_(False)
    encoder.train(False)
    return encoder


def all_layers(encoder: nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """All hidden layers of the encoder, concatenated a word piece."""
    out = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    return torch.cat(out.hidden_states, -1)


class ChartConstituencyParser:
    """Parses English sentences into Penn Treebank trees, part-of-speech tags included.

    Sentences are grouped by exact length, so nothing is padded and a sentence's tree does not
    depend on the others it is parsed with.

    Source: Kitaev & Klein (2018); Kitaev, Cao & Klein (2019).
    """

    def __init__(self, weights: Path, *, batch_tokens: int = 2048) -> None:
        """Load the head's weights and the pinned encoder.

        Args:
            weights: safetensors file whose metadata's ``config`` holds the vocabularies and
                hyperparameters as JSON.
            batch_tokens: most word pieces encoded at once.

        Raises:
            ModelError: the file is missing, no such weights, or the encoder is not installed.
        """
        mend = "reinstall s2lct, or train them: python -m s2lct.builder.training.train_parser"
        try:
            with safe_open(weights, framework="pt") as file:
                config = json.loads(file.metadata()["config"])
            state = {name: value.float() for name, value in load_file(weights).items()}
            self._head = FrozenEncoderChartParser(**config)
            self._head.load_state_dict(state)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"{weights}: no parser weights: {error}", mend=mend) from error
        self._head.eval().requires_grad_(False)
        self._retokenizer = PieceRetokenizer(encoder_path())
        self._encoder = frozen_encoder()
        self._batch_tokens = batch_tokens

    def parse(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[nltk.Tree | None]:
        """Parse tokenised sentences.

        Args:
            sentences: the words of each sentence, in natural text form (as spaCy splits them).
            spaces: for each word, whether a space follows it.

        Returns:
            For each sentence its tree, rooted in its highest constituent, with the words as
            given; None for an empty sentence and for one longer than the encoder can read.
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
        with torch.inference_mode():
            for start in range(0, len(readable), _CHUNK_SENTENCES):
                chunk = readable[start : start + _CHUNK_SENTENCES]
                contents = self._contents(chunk, plain, pieces)
                for group in self._groups(chunk, [len(words) for words in plain]):
                    annotations = self._head.annotate(
                        torch.stack([contents[number] for number in group]), None
                    )
                    for number, (chart, tags) in zip(
                        group, self._head.decode(annotations), strict=True
                    ):
                        leaves = list(zip(sentences[number], tags, strict=True))
                        tree = self._head.decoder.tree_from_chart(chart, leaves)
                        trees[number] = tree[0] if len(tree) == 1 else tree
        return trees

    def _contents(
        self, chunk: Sequence[int], plain: Sequence[list[str]], pieces: Sequence[Pieces]
    ) -> dict[int, torch.Tensor]:
        """Projected features of each sentence's words."""
        contents: dict[int, torch.Tensor] = {}
        for group in self._groups(chunk, [len(split.ids) for split in pieces]):
            ids = torch.tensor([pieces[number].ids for number in group])
            hidden = all_layers(self._encoder, ids, torch.ones_like(ids))
            for row, number in zip(hidden, group, strict=True):
                contents[number] = self._head.content(
                    row[pieces[number].first],
                    row[pieces[number].last],
                    torch.from_numpy(shape_flags(plain[number])),
                )
        return contents

    def _groups(self, numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
        """Sentences of the same length, at most ``batch_tokens`` tokens a group."""
        same: defaultdict[int, list[int]] = defaultdict(list)
        for number in numbers:
            same[lengths[number]].append(number)
        for length, group in same.items():
            size = max(1, self._batch_tokens // (length + 2))
            for start in range(0, len(group), size):
                yield group[start : start + size]
