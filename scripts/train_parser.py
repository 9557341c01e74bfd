"""Train the embedded constituency parser: benepar's chart parser head over the frozen MiniLM.

Usage::

    python scripts/train_parser.py --gum const.zip --gum-splits splits.md \
        --nltk-data nltk_data --epochs 30 --out builder/models/weights

The loss is benepar's (a margin over labelled spans plus the tags' cross-entropy), on features of
the frozen encoder that are computed once. benepar's wheel has no evaluation, and its repository
calls the ``evalb`` program: `brackets` follows the rules of evalb's ``COLLINS.prm`` instead
(no ROOT or TOP, punctuation tagged ``, : `` '' .`` deleted, ADVP = PRT, duplicates counted).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import torch
from benepar.decode_chart import (
    get_labeled_spans,
    pad_charts,
)
from benepar.ptb_unescape import guess_space_after
from provenance import write_card_figures
from safetensors.torch import save
from torch.nn.utils.rnn import pad_sequence
from treebanks import gum, penn_treebank, score

from s2lct.builder.models import batches_by_length
from s2lct.builder.models.chart_parser import (
    ChartConstituencyParser,
    FrozenEncoderChartParser,
    Pieces,
    natural_words,
    pieces_of,
    shape_flags,
)
from s2lct.builder.models.encoder import hidden_layers, installed_tokenizer
from s2lct.files import atomic_file, sha256_of, write_bytes

MAX_TRAINING_WORDS = 100
MIN_LABEL_COUNT = 2
SOURCES = {
    "gum": "GUM constituency trees, train split, CC BY 4.0 annotations",
    "ptb": "NLTK's Penn Treebank sample, all but the last 400 trees",
}


@dataclass
class Example:
    """A gold tree with its words as plain text, and where its encoder features begin."""

    tree: nltk.Tree
    words: list[str]
    space_after: list[bool]
    pieces: Pieces
    shape: torch.Tensor
    offset: int = 0


class TrainedChartParser(FrozenEncoderChartParser):
    """The parser with the scores that benepar's ``compute_loss`` asks for."""

    def forward(self, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Span and tag scores in benepar's layout, for training."""
        content = self.content(batch["first"], batch["last"], batch["shape"])
        annotations = self.annotate(content, batch["valid_token_mask"])
        scores = self.span_scores(annotations).float()
        empty = scores.new_zeros((*scores.shape[:-1], 1))
        return torch.cat([empty, scores], -1), self.f_tag(annotations).float()

    def span_scores(self, annotations: torch.Tensor) -> torch.Tensor:
        """Scores of all labels but the empty one: (sentences, words, words, labels - 1)."""
        half = self.d_model // 2
        fenceposts = torch.cat([annotations[:, :-1, :half], annotations[:, 1:, half:]], -1)
        spans = (fenceposts.unsqueeze(1) - fenceposts.unsqueeze(2))[:, :-1, 1:]
        return torch.as_tensor(self.f_label(spans))


def examples_of(trees: Sequence[nltk.Tree], tokenizer: Any) -> list[Example]:
    """Trees with their plain words and word pieces."""
    spaces = [guess_space_after(tree.leaves()) for tree in trees]
    words = [natural_words(tree.leaves()) for tree in trees]
    return [
        Example(tree, plain, after, pieces, torch.from_numpy(shape_flags(plain)))
        for tree, plain, after, pieces in zip(
            trees, words, spaces, pieces_of(tokenizer, words, spaces), strict=True
        )
    ]


def _fill(out: torch.Tensor, examples: Sequence[Example]) -> None:
    lengths = [len(example.pieces.ids) for example in examples]
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for same in batches_by_length(range(len(lengths)), lengths, lambda length: 4096 // length):
            ids = torch.tensor([examples[i].pieces.ids for i in same])
            layers = hidden_layers(ids, torch.ones_like(ids))
            hidden = torch.cat(layers, -1).to(torch.bfloat16)
            for row, number in zip(hidden, same, strict=True):
                start = examples[number].offset
                out[start : start + len(row)] = row.view(torch.int16)


def encode(examples: Sequence[Example], width: int, cache: Path) -> torch.Tensor:
    """All hidden layers of every word piece, bfloat16, kept in a file that is reused."""
    total = 0
    digest = hashlib.sha256()
    for example in examples:
        example.offset = total
        total += len(example.pieces.ids)
        digest.update(np.array(example.pieces.ids, dtype=np.int32).tobytes())
    path = cache / f"features-{digest.hexdigest()[:16]}.bin"
    if not path.exists():
        started = time.monotonic()
        with atomic_file(path) as file:
            written = np.memmap(file, np.int16, "w+", shape=(total, width))
            _fill(torch.from_numpy(written), examples)
            written.flush()
        print(f"encoded {total} pieces in {time.monotonic() - started:.0f} s", flush=True)
    stored = np.memmap(path, np.int16, "c", shape=(total, width))
    return torch.from_numpy(stored).view(torch.bfloat16)


class Trainer:
    """The head, and the data that it is trained on."""

    def __init__(
        self, train: Sequence[Example], features: torch.Tensor, hparams: dict[str, float]
    ) -> None:
        labels = Counter(
            label for example in train for _, _, label in get_labeled_spans(example.tree) if label
        )
        kept = sorted(label for label, count in labels.items() if count >= MIN_LABEL_COUNT)
        label_vocab = {label: index for index, label in enumerate(["", *kept])}
        tags = sorted({tag for example in train for _, tag in example.tree.pos()})
        # A sentence whose whole span has no known label has no tree the loss could prefer.
        self.train = [
            example
            for example in train
            if len(example.words) <= MAX_TRAINING_WORDS
            and get_labeled_spans(example.tree)[-1][2] in label_vocab
        ]
        self.features = features
        self.head = TrainedChartParser(
            {tag: index for index, tag in enumerate(tags)}, label_vocab, hparams
        )
        self.charts = [
            torch.from_numpy(self.head.decoder.chart_from_tree(example.tree)).short()
            for example in self.train
        ]
        self.tags = [
            torch.tensor([-100, *(self.head.tag_vocab[tag] for _, tag in example.tree.pos()), -100])
            for example in self.train
        ]

    def gather(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """Padded features of a batch."""

        def padded(rows: Iterable[torch.Tensor]) -> torch.Tensor:
            return pad_sequence(list(rows), batch_first=True)

        at = {
            name: padded(torch.tensor(getattr(e.pieces, name)) + e.offset for e in examples)
            for name in ("first", "last")
        }
        return {name: self.features[places] for name, places in at.items()} | {
            "shape": padded(example.shape for example in examples),
            "valid_token_mask": padded(
                torch.ones(len(example.pieces.first), dtype=torch.bool) for example in examples
            ),
        }

    def batches(self, sentences: int, rng: np.random.Generator) -> Iterator[list[int]]:
        """One epoch's batches of similar length, in random order; long ones hold fewer."""
        lengths = np.array([len(example.words) for example in self.train])
        order = np.argsort(lengths + rng.uniform(-1.5, 1.5, len(lengths)))
        cut: list[list[int]] = []
        current: list[int] = []
        for index in order:
            longest = max([lengths[index], *(lengths[i] for i in current[-3:])])
            if current and (
                len(current) == sentences or (len(current) + 1) * longest**2 > sentences * 1600
            ):
                cut.append(current)
                current = []
            current.append(int(index))
        cut.append(current)
        for number in rng.permutation(len(cut)):
            yield cut[number]

    def loss(self, numbers: Sequence[int]) -> torch.Tensor:
        """Loss of a batch, as benepar computes it."""
        examples = [self.train[number] for number in numbers]
        batch: dict[str, Any] = self.gather(examples)
        batch["span_labels"] = pad_charts([self.charts[number].long() for number in numbers])
        batch["tag_labels"] = pad_sequence(
            [self.tags[number] for number in numbers], batch_first=True, padding_value=-100
        )
        batch["batch_size"] = torch.tensor(len(numbers))
        batch["batch_num_tokens"] = torch.tensor(sum(len(example.words) for example in examples))
        loss: torch.Tensor = self.head.compute_loss(batch)
        return loss

    @torch.no_grad()
    def predict(self, examples: Sequence[Example]) -> list[nltk.Tree | None]:
        """Trees of examples whose features are stored."""
        self.head.eval()
        trees: list[nltk.Tree | None] = [None] * len(examples)
        lengths = [len(example.words) for example in examples]
        for group in batches_by_length(range(len(lengths)), lengths, lambda _: 64):
            batch = self.gather([examples[i] for i in group])
            with torch.autocast("cpu", torch.bfloat16):
                content = self.head.content(batch["first"], batch["last"], batch["shape"])
                lengths = [content.shape[1] - 2] * len(content)
                decoded = self.head.decode(self.head.annotate(content, None), lengths)
            for number, (chart, tags) in zip(group, decoded, strict=True):
                leaves = list(zip(examples[number].words, tags, strict=True))
                trees[number] = self.head.decoder.tree_from_chart(chart, leaves)
        self.head.train()
        return trees

    def save(self, path: Path) -> None:
        """Write the head in half precision, complete or not at all."""
        names = ("tag_vocab", "label_vocab", "hparams")
        config = {name: getattr(self.head, name) for name in names}
        state = {name: value.half().contiguous() for name, value in self.head.state_dict().items()}
        write_bytes(path, save(state, metadata={"config": json.dumps(config, sort_keys=True)}))


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Linear warm-up, then half a cosine down to a hundredth of the peak."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gum", type=Path, required=True, help="GUM's const folder as a zip")
    parser.add_argument("--gum-splits", type=Path, required=True, help="GUM's splits.md")
    parser.add_argument("--nltk-data", type=Path, required=True, help="with corpora/treebank.zip")
    parser.add_argument("--corpora", choices=["gum", "both"], default="gum")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/s2lct-parser"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate-every", type=int, default=3, help="epochs")
    parser.add_argument("--d-model", type=int, default=512)
    parser.add_argument("--d-ff", type=int, default=1024)
    parser.add_argument("--num-layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    args.cache.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    tokenizer = installed_tokenizer()
    treebank = args.nltk_data / "corpora" / "treebank.zip"
    corpora = {"ptb": penn_treebank(treebank), "gum": gum(args.gum, args.gum_splits)}
    data = {
        name: {part: examples_of(parts[part], tokenizer) for part in ("train", "dev", "test")}
        for name, parts in corpora.items()
    }
    encoder_width = 7 * 384
    everything = [e for parts in data.values() for part in parts.values() for e in part]
    features = encode(everything, encoder_width, args.cache)
    used = tuple(SOURCES) if args.corpora == "both" else ("gum",)
    hparams = {
        "d_features": encoder_width,
        "d_model": args.d_model,
        "num_layers": args.num_layers,
        "num_heads": 8,
        "d_kv": 64,
        "d_ff": args.d_ff,
        "d_label_hidden": 256,
        "d_tag_hidden": 128,
        "encoder_max_len": 320,
        "morpho_emb_dropout": args.dropout,
        "attention_dropout": args.dropout,
        "relu_dropout": args.dropout / 2,
        "residual_dropout": args.dropout,
        "label_dropout": 0.1,
        "tag_loss_scale": 5.0,
    }
    trainer = Trainer([e for name in used for e in data[name]["train"]], features, hparams)
    parameters = sum(value.numel() for value in trainer.head.parameters())
    print(
        {n: {p: len(t) for p, t in parts.items()} for n, parts in data.items()},
        f"{len(trainer.head.label_vocab)} labels, {parameters} parameters",
        f"read in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    optimiser = torch.optim.Adam(
        trainer.head.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    steps = args.epochs * sum(1 for _ in trainer.batches(args.batch, np.random.default_rng(0)))
    best = 0.0
    step = 0
    weights = args.out / "parser.safetensors"
    for epoch in range(1, args.epochs + 1):
        epoch_started = time.monotonic()
        total = torch.zeros(())
        for numbers in trainer.batches(args.batch, rng):
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(step, steps, args.lr, args.warmup)
            with torch.autocast("cpu", torch.bfloat16):
                loss = trainer.loss(numbers)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            total += loss.detach() * len(numbers)
            step += 1
        line = (
            f"epoch {epoch} step {step}/{steps} loss {float(total) / len(trainer.train):.3f} "
            f"{time.monotonic() - epoch_started:.0f} s"
        )
        if epoch % args.evaluate_every == 0 or epoch == args.epochs:
            figures = {
                name: score([e.tree for e in parts["dev"]], trainer.predict(parts["dev"]))
                for name, parts in data.items()
            }
            line += f" dev {json.dumps(figures)}"
            reached = sum(figures[name]["f1"] for name in used)
            if reached > best:
                best = reached
                trainer.save(weights)
        print(line, flush=True)
    minutes = (time.monotonic() - started) / 60
    parser = ChartConstituencyParser(weights)
    record: dict[str, object] = {
        "sources": {name: SOURCES[name] for name in used},
        "training_trees": {name: len(data[name]["train"]) for name in used},
        "input_sha256": {"const.zip": sha256_of(args.gum), "treebank.zip": sha256_of(treebank)},
        "hyperparameters": hparams
        | {"epochs": args.epochs, "batch": args.batch, "lr": args.lr, "warmup": args.warmup},
        "parameters": parameters,
        "seed": args.seed,
        "minutes": round(minutes, 1),
        "weights_sha256": sha256_of(weights),
        "weights_bytes": weights.stat().st_size,
    }
    for name, parts in data.items():
        test = parts["test"]
        evaluated = time.monotonic()
        trees = parser.parse([e.words for e in test], [e.space_after for e in test])
        seconds = time.monotonic() - evaluated
        record[f"{name}_test"] = score([e.tree for e in test], trees) | {
            "sentences_a_second": round(len(test) / seconds, 1)
        }
        if name == "gum":
            record["gum_test_as_published"] = score(corpora["gum"]["test_as_published"], trees)
    write_card_figures("parser", args.out, record)


if __name__ == "__main__":
    main()
