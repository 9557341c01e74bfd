"""The embedded sentiment models as `transformers` models, which can be fine-tuned and saved."""

from __future__ import annotations

from typing import Any

import torch
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

from s2lct.builder.models.sentiment_head import (
    CLASSES,
    DROPOUT,
    MAX_PIECES,
    SentimentHead,
    head_path,
    load_head,
    pooled_features,
)
from s2lct.builder.models.shipped import encoder_path, verified_weights
from s2lct.hub_calls import from_pretrained


class EmbeddedSentimentConfig(BertConfig):
    """MiniLM's configuration with a ``model_type`` of its own."""

    model_type = "s2lct-sentiment"


class EmbeddedForSequenceClassification(BertPreTrainedModel):
    """MiniLM with a classification head that reads the hidden states of all layers."""

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
        """Logits, shape (texts, classes), and the cross-entropy loss if labels are given."""
        outputs = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            inputs_embeds=inputs_embeds,
            output_hidden_states=True,
            output_attentions=output_attentions,
        )
        all_states = outputs.hidden_states
        if attention_mask is None:
            attention_mask = torch.ones(all_states[0].shape[:2], device=all_states[0].device)
        logits = self.head(pooled_features(all_states, attention_mask))
        return SequenceClassifierOutput(
            loss=None if labels is None else nn.functional.cross_entropy(logits, labels),
            logits=logits,
            hidden_states=all_states if output_hidden_states else None,
            attentions=outputs.attentions,
        )


def register() -> None:
    """Let the Auto classes of `transformers` load folders of this architecture."""
    AutoConfig.register(EmbeddedSentimentConfig.model_type, EmbeddedSentimentConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(
        EmbeddedSentimentConfig, EmbeddedForSequenceClassification, exist_ok=True
    )


def embedded_network(name: str) -> tuple[Any, EmbeddedForSequenceClassification]:
    """The tokenizer and the network, in float32, of one of `EMBEDDED_MODELS`."""
    folder, classes = encoder_path(), CLASSES[name]
    config = from_pretrained(BertConfig, folder).to_dict()
    for key in ("architectures", "model_type", "transformers_version", "_name_or_path"):
        config.pop(key, None)
    config["id2label"] = dict(enumerate(classes))
    config["label2id"] = {label: class_number for class_number, label in enumerate(classes)}
    model = EmbeddedForSequenceClassification(EmbeddedSentimentConfig(**config))
    weights = load_file(folder / "model.safetensors")
    model.bert.load_state_dict({key: weights[key] for key in model.bert.state_dict()})
    model.head.load_state_dict(load_head(verified_weights(head_path(name)), classes).state_dict())
    tokenizer = from_pretrained(AutoTokenizer, folder, model_max_length=MAX_PIECES)
    model.train(False)
    return tokenizer, model
