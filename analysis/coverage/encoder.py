"""An encoder classifier whose hidden states and attention weights can be read.

Coverage compares activations with minima and maxima measured on other texts. Padding, batching and
multi-threaded matrix products change the last bits of floating-point results. So each text runs
alone on one thread, and several threads run several texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.engines import parallel_map
from s2lct.errors import AnalysisError
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.network import Network, model_fingerprint
from s2lct.progress import bar

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
ModelInput = str | tuple[str, str]
"""A model's input: a text, or a pair of texts as for paraphrase and inference."""


@dataclass(frozen=True)
class Activations:
    """A model's outputs for one text; tokens include special ones.

    Attributes:
        input_ids: token ids, shape (tokens,).
        hidden_states: of the embedding layer, then of each layer; each has shape (tokens, width).
        attentions: attention weights of each layer, shape (heads, tokens, tokens): [k, i, j] is the
            weight that token i gives token j in head k.
        logits: outputs of the classification head, shape (classes,).
    """

    input_ids: Integers
    hidden_states: tuple[Floats, ...]
    attentions: tuple[Floats, ...]
    logits: Floats


class EncoderModel(Network):
    """A transformers encoder with a classification head.

    Its attention implementation becomes ``eager``: others return no attention weights.

    Raises:
        AnalysisError: it is no encoder, or returns no attention weights.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        if getattr(model.config, "_attn_implementation", "eager") != "eager":
            model.set_attn_implementation("eager")
        super().__init__(tokenizer, model.eval(), name)
        self.fingerprint = model_fingerprint(tokenizer, model)
        self.device = model.device
        self.layer_count = int(model.config.num_hidden_layers)
        try:
            attentions = self._activations_of("A text of a few words.").attentions
        except (AttributeError, IndexError, TypeError, ValueError):
            attentions = ()
        # In a decoder no token looks at a later one.
        if not any(np.triu(layer[0], 1).any() for layer in attentions):
            raise _not_an_encoder_error(name)

    def tokenize(self, texts: Sequence[ModelInput]) -> Any:
        """Tokenize texts into one padded batch; of a pair, the longer text is truncated."""
        is_pairs = not isinstance(texts[0], str)
        columns = map(list, zip(*texts, strict=True)) if is_pairs else (list(texts),)
        return self.tokenizer(
            *columns,
            truncation=True,
            max_length=self.max_tokens,
            padding=len(texts) > 1,
            return_token_type_ids=None if is_pairs else False,
            return_tensors="pt",
        ).to(self.device)

    def token_ids(self, text: ModelInput) -> list[int]:
        """Token ids of a text, special tokens included, truncated to the model's maximum."""
        ids: list[int] = self.tokenize([text])["input_ids"][0].tolist()
        return ids

    def activations(self, texts: Sequence[ModelInput], title: str = "") -> Iterator[Activations]:
        """Yield the activations of each text, in order; a title shows a progress bar.

        Only a few texts' activations are in memory at a time.
        """
        advance = bar(title, len(texts)) if title else None
        on_cpu = self.device.type == "cpu"
        for activations in parallel_map(self._activations_of, texts, on_cpu=on_cpu):
            yield activations
            if advance:
                advance(1)

    def _activations_of(self, text: ModelInput) -> Activations:
        import torch

        inputs = self.tokenize([text])
        with torch.inference_mode():
            outputs = self.model(**inputs, output_hidden_states=True, output_attentions=True)

        def arrays(tensors: Any) -> tuple[Floats, ...]:
            return tuple(tensor[0].float().cpu().numpy() for tensor in tensors or ())

        return Activations(
            inputs["input_ids"][0].cpu().numpy(),
            arrays(outputs.hidden_states),
            arrays(outputs.attentions),
            *arrays([outputs.logits]),
        )


def _not_an_encoder_error(name: str) -> AnalysisError:
    return AnalysisError(
        f"model {name}: is no encoder whose attention can be read",
        hint="pass a sequence classifier of the BERT, RoBERTa, DistilBERT, MiniLM or DeBERTa kind",
    )


def load_encoder(name: str, *, device: str = "auto") -> EncoderModel:
    """Load an encoder classifier by name, in single precision; see `load_model`.

    Raises:
        AnalysisError: the model is no encoder.
        ScoringError: there is no such model, or it has no classification head.
    """
    loaded = load_model(name, device=device, dtype="float32")
    if not isinstance(loaded, Network):
        raise _not_an_encoder_error(name)
    return EncoderModel(loaded.tokenizer, loaded.model, loaded.name)
