"""Train the embedded sentiment models' heads on the Stanford Sentiment Treebank.

Usage::

    python scripts/train_sentiment_heads.py --sst PATH --out builder/models/weights
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from provenance import write_card_figures
from safetensors.torch import save
from torch import nn
from transformers import AutoModel, AutoTokenizer

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.models.sentiment_head import (
    CLASSES,
    FEATURE_COUNT,
    MAX_PIECES,
    SentimentHead,
    head_path,
    load_head,
    pooled_features,
)
from s2lct.builder.models.shipped import ENCODER_SHA256, encoder_path
from s2lct.files import sha256_of, write_bytes
from s2lct.hub_calls import from_pretrained

SOURCE = (
    "Stanford Sentiment Treebank v1 (Socher et al., Recursive Deep Models for Semantic "
    "Compositionality Over a Sentiment Treebank, EMNLP 2013)"
)
# What each head is stopped on.
STOPPED_ON: Mapping[str, str] = {
    "embedded-2class": "accuracy",
    "embedded-3class": "macro_f1",
}
# Cross-entropy weights of classes, a power of their inverse frequency: 0 for none.
BALANCE: Mapping[str, float] = {"embedded-2class": 0.0, "embedded-3class": 0.5}
DROPOUT = 0.5
LEARNING_RATE = 3e-4
WEIGHT_DECAY = 0.1
LABEL_SMOOTHING = 0.1
BATCH = 64
MAX_EPOCHS = 60
PATIENCE = 10
MIN_SPREAD = 1e-4


@torch.no_grad()
class SentenceEncoder:
    """The frozen encoder and its tokenizer; a ModelError where the package is missing or another.

    A text's features are, for each hidden state (the embeddings and every layer), the mean over
    the text's word pieces and the state of [CLS].
    """

    def __init__(self) -> None:
        folder = encoder_path()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer = from_pretrained(AutoTokenizer, folder)
        model: Any = from_pretrained(AutoModel, folder, dtype=torch.float32)
        self.model = model.eval().requires_grad_(False).to(self.device)

    def batches(
        self, texts: Sequence[str], batch_size: int
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Indices of texts of similar length, short first, and features (texts, FEATURE_COUNT).

        Texts are cut after MAX_PIECES word pieces, [CLS] and [SEP] included. A batch's size changes
        features by rounding alone.
        """
        for numbers, rows in self.tokenised(texts, batch_size):
            yield numbers, self.features(rows)

    def tokenised(
        self, texts: Sequence[str], batch_size: int
    ) -> Iterator[tuple[list[int], list[torch.Tensor]]]:
        """The batches, and their texts' word pieces, none padded yet."""
        if not texts:
            return
        encoded: list[list[int]] = self._tokenizer(
            list(texts), truncation=True, max_length=MAX_PIECES, padding=False
        )["input_ids"]
        order = sorted(range(len(texts)), key=lambda number: len(encoded[number]))
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            yield batch, [torch.tensor(encoded[number]) for number in batch]

    def features(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Features of a batch of texts' word pieces, shape (texts, FEATURE_COUNT)."""
        ids = nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
        mask = torch.arange(ids.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]
        mask = mask.to(self.device, torch.int64)
        output = self.model(
            input_ids=ids.to(self.device), attention_mask=mask, output_hidden_states=True
        )
        return pooled_features(output.hidden_states, mask)


def evaluate(head: SentimentHead, features: torch.Tensor, truth: torch.Tensor) -> dict[str, float]:
    """Accuracy, macro F1 and the number of sentences, of features and class numbers."""
    head.eval()
    logits = head(features)
    one_hot = F.one_hot(torch.stack([logits.argmax(dim=1), truth]), logits.shape[1]).double()
    right = one_hot.prod(dim=0).sum(dim=0)
    f1s = 2 * right / one_hot.sum(dim=(0, 1)).clamp(min=1)
    return {
        "accuracy": round(float(right.sum() / len(truth)), 4),
        "macro_f1": round(float(f1s.mean()), 4),
        "sentences": len(truth),
    }


def encode(texts: Sequence[str]) -> torch.Tensor:
    """Features of texts, shape (texts, FEATURE_COUNT), in the order of the texts."""
    features = torch.empty(len(texts), FEATURE_COUNT)
    for batch, part in SentenceEncoder().batches(texts, batch_size=64):
        features[batch] = part.cpu()
    return features


def train_head(
    name: str,
    train: tuple[torch.Tensor, torch.Tensor],
    dev: tuple[torch.Tensor, torch.Tensor],
    seed: int,
) -> tuple[SentimentHead, int]:
    """Train a head on features and class numbers until dev is no better for PATIENCE epochs.

    The seed is of the initial weights, dropout and the order of batches. Gives the head of the
    best epoch, and that epoch, from 1.
    """
    torch.manual_seed(seed)
    features, truth = train
    classes = len(CLASSES[name])
    head = SentimentHead(classes, DROPOUT)
    head.mean.copy_(features.mean(dim=0))
    # A constant, such as [CLS] of the embeddings, is left out: scaled, it is rounding noise.
    spread = features.std(dim=0)
    head.scale.copy_(torch.where(spread < MIN_SPREAD, 0.0, 1 / spread))
    weight = (len(truth) / (classes * truth.bincount(minlength=classes))) ** BALANCE[name]
    optimizer = torch.optim.AdamW(head.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    best, best_epoch, best_head = -1.0, 0, head
    for epoch in range(1, MAX_EPOCHS + 1):
        head.train()
        for rows in torch.randperm(len(truth)).split(BATCH):
            loss = F.cross_entropy(
                head(features[rows]), truth[rows], weight, label_smoothing=LABEL_SMOOTHING
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        score = evaluate(head, *dev)[STOPPED_ON[name]]
        print(f"{name} epoch {epoch}: dev {STOPPED_ON[name]} {score:.4f}", flush=True)
        if score > best:
            best, best_epoch, best_head = score, epoch, copy.deepcopy(head)
        elif epoch - best_epoch >= PATIENCE:
            break
    return best_head, best_epoch


def train_and_write(
    name: str, corpus: Corpus, features: torch.Tensor, out: Path, seed: int
) -> None:
    """Train one head and write its weights and its figures, those of the file as written.

    ``features`` are of the corpus's sentences; those of other classes are left out.
    """
    classes = CLASSES[name]
    parts: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    for split in ("train", "dev", "test"):
        rows = [
            row
            for row, sentence in enumerate(corpus.sentences)
            if sentence.split == split and sentence.label in classes
        ]
        truth = torch.tensor([classes.index(corpus.sentences[row].label) for row in rows])
        parts[split] = (features[rows], truth)
    head, epoch = train_head(name, parts["train"], parts["dev"], seed)
    path = head_path(name, out)
    # Weights in half precision, what it standardises with in single.
    tensors = {
        key: value.detach().contiguous().to(torch.float16 if "layers" in key else torch.float32)
        for key, value in head.state_dict().items()
    }
    write_bytes(path, save(tensors))
    written = load_head(path, classes)
    write_card_figures(
        path.stem,
        out,
        {
            "classes": list(classes),
            "test": evaluate(written, *parts["test"]),
            "dev": evaluate(written, *parts["dev"]),
            "training_sentences": len(parts["train"][1]),
            "stopped_on": f"dev {STOPPED_ON[name]}",
            "epoch": epoch,
            "seed": seed,
            "hyperparameters": {
                "balance": BALANCE[name],
                "batch": BATCH,
                "dropout": DROPOUT,
                "label_smoothing": LABEL_SMOOTHING,
                "learning_rate": LEARNING_RATE,
                "patience": PATIENCE,
                "weight_decay": WEIGHT_DECAY,
            },
            "corpus_sha256": corpus.fingerprint,
            "encoder_sha256": ENCODER_SHA256,
            "weights_sha256": sha256_of(path),
            "source": SOURCE,
            "licence": corpus.licence,
        },
    )


def main() -> None:
    """Train both heads."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sst", required=True, help="folder or zip of the original treebank")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    corpus = read_corpus(f"sst:{args.sst}", text_column=None, label_column=None, label_map=None)
    features = encode([sentence.text for sentence in corpus.sentences])
    for name in CLASSES:
        train_and_write(name, corpus, features, args.out, args.seed)


if __name__ == "__main__":
    main()
