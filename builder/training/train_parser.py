"""Train the embedded constituency parser: benepar's chart parser head over the frozen MiniLM.

Usage::

    python -m s2lct.builder.training.train_parser --gum const.zip --gum-splits splits.md \
        --nltk-data nltk_data --epochs 30 --out builder/models/weights

The loss is benepar's (a margin over labelled spans plus the tags' cross-entropy), on features of
the frozen encoder that are computed once. benepar's wheel has no evaluation, and its repository
calls the ``evalb`` program: :func:`brackets` follows the rules of evalb's ``COLLINS.prm`` instead
(no ROOT or TOP, punctuation tagged ``, : `` '' .`` deleted, ADVP = PRT, duplicates counted).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import nltk
import numpy as np
import torch
from benepar.decode_chart import get_labeled_spans, pad_charts
from benepar.ptb_unescape import guess_space_after
from numpy.typing import NDArray
from safetensors.torch import save

from s2lct.builder.models.chart_network import FrozenEncoderChartParser, all_layers, frozen_encoder
from s2lct.builder.models.chart_parser import ChartConstituencyParser
from s2lct.builder.models.encoder import encoder_path
from s2lct.builder.models.word_pieces import PieceRetokenizer, natural_words, shape_flags
from s2lct.builder.training.bracket_scores import score
from s2lct.builder.training.provenance import write_card_figures
from s2lct.builder.training.treebanks import gum, penn_treebank
from s2lct.files import sha256_of, whole_file, write_bytes

MAX_TRAINING_WORDS = 100
MIN_LABEL_COUNT = 2


@dataclass
class Example:
    """A gold tree with its words as plain text and, later, its encoder features."""

    tree: nltk.Tree
    words: list[str]
    space_after: list[bool]
    ids: list[int]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    offset: int = 0

    def pos(self) -> list[tuple[str, str]]:
        """(word, tag) pairs of the gold tree."""
        return list(self.tree.pos())


def examples_of(trees: Sequence[nltk.Tree], retokenizer: PieceRetokenizer) -> list[Example]:
    """Trees with their plain words and word pieces."""
    spaces = [guess_space_after(tree.leaves()) for tree in trees]
    words = [natural_words(tree.leaves()) for tree in trees]
    return [
        Example(tree, plain, after, split.ids, np.array(split.first), np.array(split.last))
        for tree, plain, after, split in zip(
            trees, words, spaces, retokenizer.pieces(words, spaces), strict=True
        )
    ]


def _fill(out: torch.Tensor, examples: Sequence[Example]) -> None:
    encoder = frozen_encoder()
    order = sorted(range(len(examples)), key=lambda number: len(examples[number].ids))
    done = 0
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        while done < len(order):
            longest = len(examples[order[done]].ids)
            candidates = order[done : done + max(1, 4096 // longest)]
            same = [i for i in candidates if len(examples[i].ids) == longest]
            ids = torch.tensor([examples[i].ids for i in same])
            hidden = all_layers(encoder, ids, torch.ones_like(ids)).to(torch.bfloat16)
            for row, number in zip(hidden, same, strict=True):
                start = examples[number].offset
                out[start : start + longest] = row.view(torch.int16)
            done += len(same)


def encode(examples: Sequence[Example], width: int, cache: Path) -> torch.Tensor:
    """All hidden layers of every word piece, bfloat16, kept in a file that is reused."""
    total = 0
    digest = hashlib.sha256()
    for example in examples:
        example.offset = total
        total += len(example.ids)
        digest.update(np.array(example.ids, dtype=np.int32).tobytes())
    path = cache / f"features-{digest.hexdigest()[:16]}.bin"
    if not path.exists():
        started = time.monotonic()
        with whole_file(path) as file:
            written = np.memmap(file, np.int16, "w+", shape=(total, width))
            _fill(torch.from_numpy(written), examples)
            written.flush()
        print(f"encoded {total} pieces in {time.monotonic() - started:.0f} s", flush=True)
    stored = np.memmap(path, np.int16, "c", shape=(total, width))
    return torch.from_numpy(stored).view(torch.bfloat16)


class Trainer:
    """The head, its data and its optimiser."""

    def __init__(
        self,
        train: Sequence[Example],
        features: torch.Tensor,
        hparams: dict[str, float],
    ) -> None:
        labels = Counter(
            label for example in train for _, _, label in get_labeled_spans(example.tree) if label
        )
        kept = sorted(label for label, count in labels.items() if count >= MIN_LABEL_COUNT)
        label_vocab = {label: index for index, label in enumerate(["", *kept])}
        tags = sorted({tag for example in train for _, tag in example.pos()})
        # A sentence whose whole span has no known label has no tree the loss could prefer.
        self.train = [
            example
            for example in train
            if len(example.words) <= MAX_TRAINING_WORDS
            and get_labeled_spans(example.tree)[-1][2] in label_vocab
        ]
        self.features = features
        self.head = FrozenEncoderChartParser(
            {tag: index for index, tag in enumerate(tags)}, label_vocab, hparams
        )
        self.charts = [
            torch.from_numpy(self.head.decoder.chart_from_tree(example.tree)).short()
            for example in self.train
        ]
        self.tags = [
            torch.tensor([-100, *(self.head.tag_vocab[tag] for _, tag in example.pos()), -100])
            for example in self.train
        ]
        self.shapes = [torch.from_numpy(shape_flags(example.words)) for example in self.train]

    def gather(
        self, examples: Sequence[Example], shapes: Sequence[torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Padded features of a batch."""
        longest = max(len(example.first) for example in examples)
        first = np.zeros((len(examples), longest), dtype=np.int64)
        last = np.zeros_like(first)
        mask = np.zeros((len(examples), longest), dtype=bool)
        for row, example in enumerate(examples):
            width = len(example.first)
            first[row, :width] = example.first + example.offset
            last[row, :width] = example.last + example.offset
            mask[row, :width] = True
        return {
            "first": self.features[torch.from_numpy(first)],
            "last": self.features[torch.from_numpy(last)],
            "shape": torch.nn.utils.rnn.pad_sequence(list(shapes), batch_first=True),
            "valid_token_mask": torch.from_numpy(mask),
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
        batch = self.gather(examples, [self.shapes[number] for number in numbers])
        batch["span_labels"] = pad_charts([self.charts[number].long() for number in numbers])
        batch["tag_labels"] = torch.nn.utils.rnn.pad_sequence(
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
        order = sorted(range(len(examples)), key=lambda number: len(examples[number].words))
        while order:
            length = len(examples[order[0]].words)
            group = [i for i in order[:64] if len(examples[i].words) == length]
            order = order[len(group) :]
            chosen = [examples[i] for i in group]
            batch = self.gather(
                chosen, [torch.from_numpy(shape_flags(example.words)) for example in chosen]
            )
            with torch.autocast("cpu", torch.bfloat16):
                content = self.head.content(batch["first"], batch["last"], batch["shape"])
                decoded = self.head.decode(self.head.annotate(content, None))
            for number, (chart, tags) in zip(group, decoded, strict=True):
                leaves = list(zip(examples[number].words, tags, strict=True))
                trees[number] = self.head.decoder.tree_from_chart(chart, leaves)
        self.head.train()
        return trees

    def save(self, path: Path) -> None:
        """Write the head in half precision, complete or not at all."""
        config = {
            "tag_vocab": self.head.tag_vocab,
            "label_vocab": self.head.label_vocab,
            "hparams": self.head.hparams,
        }
        state = {name: value.half().contiguous() for name, value in self.head.state_dict().items()}
        write_bytes(path, save(state, metadata={"config": json.dumps(config, sort_keys=True)}))


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Linear warm-up, then half a cosine down to a hundredth of the peak."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress)))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gum", type=Path, required=True, help="GUM's const folder as a zip")
    parser.add_argument("--gum-splits", type=Path, required=True, help="GUM's splits.md")
    parser.add_argument(
        "--nltk-data", type=Path, required=True, help="folder with corpora/treebank.zip"
    )
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
    """Train, and write ``parser.safetensors`` and ``parser.json``."""
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    args.cache.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()

    retokenizer = PieceRetokenizer(encoder_path())
    ptb = penn_treebank(args.nltk_data / "corpora" / "treebank.zip")
    corpora = {"ptb": ptb, "gum": gum(args.gum, args.gum_splits)}
    data = {
        name: {part: examples_of(parts[part], retokenizer) for part in ("train", "dev", "test")}
        for name, parts in corpora.items()
    }
    encoder_width = 7 * 384
    everything = [e for parts in data.values() for part in parts.values() for e in part]
    features = encode(everything, encoder_width, args.cache)
    train = data["gum"]["train"] + (data["ptb"]["train"] if args.corpora == "both" else [])
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
    trainer = Trainer(train, features, hparams)
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
                name: score(
                    [example.tree for example in parts["dev"]], trainer.predict(parts["dev"])
                )
                for name, parts in data.items()
            }
            line += f" dev {json.dumps(figures)}"
            reached = sum(figures[name]["f1"] for name in figures if args.corpora in (name, "both"))
            if reached > best:
                best = reached
                trainer.save(weights)
        print(line, flush=True)
    minutes = (time.monotonic() - started) / 60

    parser = ChartConstituencyParser(weights)
    record: dict[str, object] = {
        "sources": {
            "gum": "GUM constituency trees, train split, CC BY 4.0 annotations",
            **(
                {"ptb": "NLTK's Penn Treebank sample, all but the last 400 trees"}
                if args.corpora == "both"
                else {}
            ),
        },
        "training_trees": {
            name: len(parts["train"])
            for name, parts in data.items()
            if args.corpora in (name, "both")
        },
        "input_sha256": {
            "const.zip": sha256_of(args.gum),
            "treebank.zip": sha256_of(args.nltk_data / "corpora" / "treebank.zip"),
        },
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
            published = corpora["gum"]["test_as_published"]
            record["gum_test_as_published"] = score(published, trees)
    write_card_figures("parser", args.out, record)


if __name__ == "__main__":
    main()
