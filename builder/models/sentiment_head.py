"""What the embedded sentiment models are made of: a frozen MiniLM under a small trained head.

As a `transformers` model they can be fine-tuned, saved and scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.bert.modeling_bert import BertPreTrainedModel

from s2lct.builder.models.shipped import encoder_path, shipped
from s2lct.errors import ModelError
from s2lct.hub_calls import pretrained

WEIGHTS = Path(__file__).parent / "weights"
CLASSES: dict[str, tuple[str, ...]] = {
    "embedded-2class": ("negative", "positive"),
    "embedded-3class": ("negative", "neutral", "positive"),
}
MAX_PIECES = 256
FEATURES = 7 * 2 * 384  # hidden states x (mean, [CLS]) x width of MiniLM-L6
HIDDEN = 128
DROPOUT = 0.1


class SentimentHead(nn.Module):
    """Classifies the features of `SentenceEncoder`: standardised, one hidden layer."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("scale", torch.ones(FEATURES))
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(FEATURES, HIDDEN),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(HIDDEN, classes),
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, shape (texts, classes), of features, shape (texts, FEATURES)."""
        logits: torch.Tensor = self.layers((features - self.mean) * self.scale)
        return logits


def pooled(states: Sequence[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    """Features of hidden states: of each the mean over the word pieces, and [CLS]."""
    weights = (mask / mask.sum(dim=1, keepdim=True)).to(states[0].dtype)[:, None]
    parts = [part for state in states for part in ((weights @ state)[:, 0], state[:, 0])]
    return torch.cat(parts, dim=1)


def head_path(name: str, folder: Path = WEIGHTS) -> Path:
    """Where ``folder`` holds the head of the embedded model called ``name``."""
    return folder / f"sentiment_{name.removeprefix('embedded-')}.safetensors"


def load_head(path: Path, classes: Sequence[str]) -> SentimentHead:
    """The head in a file, in single precision, else a ModelError."""
    head = SentimentHead(len(classes))
    try:
        head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ModelError(
            f"{path}: cannot be loaded: {str(error).splitlines()[0]}", hint="reinstall s2lct"
        ) from error
    return head


class EmbeddedSentimentConfig(BertConfig):
    """MiniLM's configuration, under a name of its own."""

    model_type = "s2lct-sentiment"


class EmbeddedForSequenceClassification(BertPreTrainedModel):
    """The encoder under the head: nothing frozen, one forward pass.

    The head reads all hidden states, which no architecture of `transformers` does; its folders are
    therefore loaded by this class alone.
    """

    config_class = EmbeddedSentimentConfig

    def __init__(self, config: EmbeddedSentimentConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = BertModel(config, add_pooling_layer=False)
        self.head = SentimentHead(len(config.id2label or ()), DROPOUT)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Logits, shape (texts, classes), and cross-entropy where labels are given."""
        found = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            inputs_embeds=inputs_embeds,
            output_hidden_states=True,
            output_attentions=output_attentions,
        )
        states = found.hidden_states
        if attention_mask is None:
            attention_mask = torch.ones(states[0].shape[:2], device=states[0].device)
        logits = self.head(pooled(states, attention_mask))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(
            loss=loss,
            logits=logits,
            hidden_states=states if output_hidden_states else None,
            attentions=found.attentions,
        )


def register() -> None:
    """Let `transformers`' Auto classes load folders of this architecture."""
    AutoConfig.register(EmbeddedSentimentConfig.model_type, EmbeddedSentimentConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(
        EmbeddedSentimentConfig, EmbeddedForSequenceClassification, exist_ok=True
    )


def embedded_network(name: str) -> tuple[Any, EmbeddedForSequenceClassification]:
    """Tokenizer and network of an embedded model, in single precision.

    It says what `built_in.Embedded` says, up to rounding, and is refused as that is.
    """
    folder, classes = encoder_path(), CLASSES[name]
    described = pretrained(BertConfig, folder).to_dict()
    for key in ("architectures", "model_type", "transformers_version", "_name_or_path"):
        described.pop(key, None)
    described["id2label"] = dict(enumerate(classes))
    described["label2id"] = {label: number for number, label in enumerate(classes)}
    model = EmbeddedForSequenceClassification(EmbeddedSentimentConfig(**described))
    encoder = load_file(folder / "model.safetensors")
    model.bert.load_state_dict({key: encoder[key] for key in model.bert.state_dict()})
    head = load_head(shipped(head_path(name)), classes)
    model.head.load_state_dict(head.state_dict())
    tokenizer = pretrained(AutoTokenizer, folder, model_max_length=MAX_PIECES)
    model.train(False)
    return tokenizer, model
