"""Checks that the parts of a transformers model fit together.

`transformers` fills what a checkpoint lacks with random numbers, leaves out what a configuration
does not name, and cuts texts, all without a word.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.labels import meaning_of, plain_name
from s2lct.plain_text import listed

MAX_INPUT_TOKENS = 512
"""Texts are cut to so many tokens, or fewer where a model reads fewer."""
_MIN_INPUT_TOKENS = 16
"""A model that reads fewer reads no sentence."""
_MAX_LISTED = 3
_LAYER_NUMBER = re.compile(r"\.(\d+)(?=\.)")
_POSITION_NUMBERS = re.compile(r"(^|\.)position_ids$")
"""Old checkpoints hold the numbers of positions, which are no weights."""


def token_limit(name: str, tokenizer: Any, config: Any) -> int | None:
    """How many tokens a model reads, by tokenizer and configuration; None where neither says.

    Raises:
        ScoringError: it is fewer than any sentence has.
    """
    stated = {
        "model_max_length in tokenizer_config.json": getattr(tokenizer, "model_max_length", None),
        "max_position_embeddings in config.json": getattr(config, "max_position_embeddings", None),
    }
    # Configurations say "no limit" by a number below 0, and tokenizers by 1e30.
    limits = {
        source: int(value)
        for source, value in stated.items()
        if isinstance(value, (int, float)) and 0 <= value < 1 << 60
    }
    if not limits:
        return None
    source = min(limits, key=limits.__getitem__)
    if limits[source] < _MIN_INPUT_TOKENS:
        raise ScoringError(
            f"model {name}: reads {limits[source]} tokens of a text ({source})",
            hint="write there how many the model was trained with, mostly 512",
        )
    return limits[source]


def check_label_ids(model: str, config: Any) -> None:
    """Refuse a configuration whose ``id2label`` and ``label2id`` contradict each other.

    Raises:
        ScoringError: they do.
    """
    names: Mapping[Any, Any] = getattr(config, "id2label", None) or {}
    stated = getattr(config, "label2id", None)
    numbers: Mapping[Any, Any] = stated if isinstance(stated, Mapping) else {}
    number_of = {plain_name(str(name)): str(number) for number, name in names.items()}
    name_of = {str(number): str(name) for number, name in names.items()}
    for name, number in numbers.items():
        other = name_of.get(str(number))
        meanings = {meaning_of(str(name)), meaning_of(other or "")} - {None}
        if number_of.get(plain_name(str(name)), str(number)) != str(number) or len(meanings) > 1:
            raise ScoringError(
                f"model {model}: its id2label calls class {number} {other!r}, its label2id "
                f"{name!r}",
                hint="mend config.json: nobody else can tell which of the two it was trained with",
            )


def check_weights(name: str, model: Any, missing: Iterable[str], unused: Iterable[str]) -> None:
    """Refuse a model with random weights, or without some of its checkpoint's layers.

    A warning names other weights of the checkpoint that the model does not use.

    Args:
        name: of the model.
        model: of transformers.
        missing: weights that the checkpoint lacks.
        unused: weights of the checkpoint that the model lacks.

    Raises:
        ScoringError: weights are missing, or layers are left out.
    """
    if missing := sorted(missing):
        raise ScoringError(
            f"model {name}: its weights lack {listed(missing, _MAX_LISTED)}",
            hint="save the whole model, head and all: model.save_pretrained(FOLDER); a language "
            "model is scored with --llm, and only such: this one is "
            f"{getattr(model.config, 'architectures', None)}",
        )
    unused = [key for key in sorted(unused) if not _POSITION_NUMBERS.search(key)]
    layers = {layer for key in model.state_dict() for layer in _layers_in(key)}
    stacks = {layer.rpartition(".")[0] for layer in layers}
    left_out = {
        layer
        for key in unused
        for layer in _layers_in(key)
        if layer not in layers and layer.rpartition(".")[0] in stacks
    }
    if left_out:
        raise ScoringError(
            f"model {name}: its checkpoint has layers that its configuration leaves out, "
            + listed(sorted(left_out), _MAX_LISTED),
            hint="mend the number of layers in config.json, such as num_hidden_layers",
        )
    if unused:
        warnings.warn(
            f"model {name}: weights of its checkpoint are not used "
            f"({listed(unused, _MAX_LISTED)}); if they are of its head, its answers are not those "
            "that it was trained to give",
            S2lctWarning,
            stacklevel=2,
        )


def check_vocabulary(name: str, tokenizer: Any, model: Any) -> None:
    """Refuse a tokenizer with more tokens than a model has embeddings, later additions apart.

    Raises:
        ScoringError: it has more.
    """
    embeddings, tokens = embedding_count(model), getattr(tokenizer, "vocab_size", 0)
    if embeddings is not None and tokens > embeddings:
        raise _wrong_tokenizer(name, f"{tokens:,} pieces", embeddings)


def check_ids(name: str, model: Any, texts: Iterable[Sequence[int]]) -> None:
    """Refuse texts with a token that a model has no embedding of.

    Raises:
        ScoringError: a text has one.
    """
    embeddings = embedding_count(model)
    largest = max((max(ids, default=0) for ids in texts), default=0)
    if embeddings is not None and largest >= embeddings:
        raise _wrong_tokenizer(name, f"a piece of number {largest:,}", embeddings)


def embedding_count(model: Any) -> int | None:
    """How many tokens a model has embeddings of; None where that cannot be told."""
    try:
        return int(model.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError):
        return None


def warn_of_cut_texts(name: str, lengths: Sequence[int], limit: int, texts: int) -> None:
    """Warn if texts have more tokens than a model reads.

    Args:
        name: of the model.
        lengths: of the texts that may be too long, in tokens.
        limit: how many tokens the model reads.
        texts: how many texts it is asked.
    """
    if cut := sum(length > limit for length in lengths):
        warnings.warn(
            f"model {name}: {cut:,} of {texts:,} texts are cut after {limit} tokens, more than "
            "which it does not read",
            S2lctWarning,
            stacklevel=2,
        )


def _wrong_tokenizer(name: str, tokens: str, embeddings: int) -> ScoringError:
    return ScoringError(
        f"model {name}: its tokenizer has {tokens}, and the model knows {embeddings:,}",
        hint="save the model's own tokenizer beside it: tokenizer.save_pretrained(FOLDER)",
    )


def _layers_in(key: str) -> Iterator[str]:
    """Every numbered part of a weight's name, such as ``bert.encoder.layer.3``."""
    for match in _LAYER_NUMBER.finditer(key):
        yield key[: match.end()]
