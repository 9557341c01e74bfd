"""benepar's chart parser over the frozen MiniLM encoder: word pieces, network and decoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from safetensors.torch import load_file
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertModel

from s2lct.builder.models.encoder import encoder_path

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
    """A sentence in word pieces: input ids, [CLS] and [SEP] included.

    ``first`` and ``last`` are the indices of the first and last word piece of [CLS], each word
    and [SEP].
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
        spaced = [
            [word + " " * bool(space) for word, space in zip(words, after, strict=True)]
            for words, after in zip(sentences, spaces, strict=True)
        ]
        encoded = self.tokenizer(
            ["".join(words) for words in spaced],
            return_offsets_mapping=True,
            truncation=False,
            padding=False,
            verbose=False,
        )
        return [
            _aligned(ids, offsets, words, parts)
            for ids, offsets, words, parts in zip(
                encoded["input_ids"], encoded["offset_mapping"], sentences, spaced, strict=True
            )
        ]


def _aligned(
    ids: list[int],
    offsets: Sequence[tuple[int, int]],
    words: Sequence[str],
    spaced: Sequence[str],
) -> Pieces:
    first, last = [0], [0]
    stop = len(ids) - 1
    piece, start = 1, 0
    for word, with_space in zip(words, spaced, strict=True):
        end = start + len(word)
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
        start += len(with_space)
    return Pieces(ids, [*first, stop], [*last, stop])


class MaxSpanDecoder(ChartDecoder):  # type: ignore[misc]
    """benepar's chart decoder on the best label's score a span, with a NumPy CKY.

    benepar decodes through autograd, which ``torch.inference_mode`` forbids.
    """

    def charts(
        self, best: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Charts of the highest-scoring trees of equally long sentences.

        ``best`` is the score of each span's best label, (sentences, words, words), the span's
        last word included; ``labels`` is that label.
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
        self.project_shape = nn.Linear(SHAPE_FLAGS, values.d_model // 2, bias=False)
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
        their differences: the same result from n instead of n² products. Scores have the shape
        (sentences, spans, labels - 1), the span indices (2, spans).
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
        top, label = scores.float().max(-1)
        label = label + 1
        empty = top <= 0
        empty[:, words - 1] = False  # row of the span (0, words - 1)
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
