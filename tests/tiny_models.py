"""Tiny BERT classifiers with random weights and the embedded encoder's tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLASSES = ("negative", "neutral", "positive")


def tiny_classifier(classes: Sequence[str] = CLASSES, *, seed: int = 0, **config: Any) -> Any:
    """A tokenizer and a model; ``config`` overrides its `transformers.BertConfig`."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from s2lct.builder.models.encoder import encoder_path

    tokenizer = AutoTokenizer.from_pretrained(encoder_path())
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 128,
        "initializer_range": 0.5,
    }
    torch.manual_seed(seed)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            id2label=dict(enumerate(classes)),
            label2id={name: number for number, name in enumerate(classes)},
            **(small | config),
        )
    )
    return tokenizer, model


def save_tiny_classifier(folder: Path, classes: Sequence[str] = CLASSES, **config: Any) -> Path:
    """Save one as `transformers` does; see `tiny_classifier`."""
    tokenizer, model = tiny_classifier(classes, **config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
