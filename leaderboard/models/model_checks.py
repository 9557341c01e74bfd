"""Checks that the parts of a transformers model fit together.

`transformers` reports none of these as an error: weights that a checkpoint lacks become random
numbers, layers that a configuration leaves out are not loaded, and long texts are cut.
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
"""Number of tokens to which texts are cut; fewer for a model that reads fewer."""
_MIN_INPUT_TOKENS = 16
"""Fewest tokens that a model must read: sentences have more."""
_MAX_LISTED = 3
_LAYER_NUMBER = re.compile(r"\.(\d+)(?=\.)")
_POSITION_IDS = re.compile(r"(^|\.)position_ids$")
"""Entries of old checkpoints that hold the indices of positions, which are no weights."""


def token_limit(name: str, tokenizer: Any, config: Any) -> int | None:
    """How many tokens a model reads; None if neither tokenizer nor configuration states it.

    Raises:
        ScoringError: the limit is below `_MIN_INPUT_TOKENS`.
    """
    stated_limits = {
        "model_max_length in tokenizer_config.json": getattr(tokenizer, "model_max_length", None),
        "max_position_embeddings in config.json": getattr(config, "max_position_embeddings", None),
    }
    # A negative number in a configuration, and 1e30 in a tokenizer, mean "no limit".
    known_limits = {
        source: int(value)
        for source, value in stated_limits.items()
        if isinstance(value, (int, float)) and 0 <= value < 1 << 60
    }
    if not known_limits:
        return None
    source = min(known_limits, key=known_limits.__getitem__)
    if known_limits[source] < _MIN_INPUT_TOKENS:
        raise ScoringError(
            f"model {name}: reads {known_limits[source]} tokens of a text ({source})",
            hint="write there how many the model was trained with, mostly 512",
        )
    return known_limits[source]


def check_label_ids(model: str, config: Any) -> None:
    """Refuse a configuration whose ``id2label`` and ``label2id`` contradict each other.

    Raises:
        ScoringError: they contradict each other.
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
        name: the name of the model in messages.
        model: a model of transformers.
        missing: names of weights that the checkpoint lacks.
        unused: names of weights of the checkpoint that the model lacks.

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
    unused = [key for key in sorted(unused) if not _POSITION_IDS.search(key)]
    model_layers = {layer for key in model.state_dict() for layer in _layers_of_weight(key)}
    stacks = {layer.rpartition(".")[0] for layer in model_layers}
    missing_layers = {
        layer
        for key in unused
        for layer in _layers_of_weight(key)
        if layer not in model_layers and layer.rpartition(".")[0] in stacks
    }
    if missing_layers:
        raise ScoringError(
            f"model {name}: its checkpoint has layers that its configuration leaves out, "
            + listed(sorted(missing_layers), _MAX_LISTED),
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
    """Refuse a tokenizer with more tokens, without added ones, than a model has embeddings.

    Raises:
        ScoringError: it has more.
    """
    embeddings, tokens = embedding_count(model), getattr(tokenizer, "vocab_size", 0)
    if embeddings is not None and tokens > embeddings:
        raise _wrong_tokenizer(name, f"{tokens:,} pieces", embeddings)


def check_ids(name: str, model: Any, texts: Iterable[Sequence[int]]) -> None:
    """Refuse texts, as token ids, with an id that has no embedding in a model.

    Raises:
        ScoringError: a text has such an id.
    """
    embeddings = embedding_count(model)
    largest = max((max(ids, default=0) for ids in texts), default=0)
    if embeddings is not None and largest >= embeddings:
        raise _wrong_tokenizer(name, f"a piece of number {largest:,}", embeddings)


def embedding_count(model: Any) -> int | None:
    """How many tokens have an embedding in a model; None if the model does not tell."""
    try:
        return int(model.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError):
        return None


def warn_of_cut_texts(name: str, lengths: Sequence[int], limit: int, text_count: int) -> None:
    """Warn if texts have more tokens than a model reads.

    Args:
        name: the name of the model.
        lengths: the lengths, in tokens, of the texts that may be too long.
        limit: how many tokens the model reads.
        text_count: the number of all texts.
    """
    if cut_count := sum(length > limit for length in lengths):
        warnings.warn(
            f"model {name}: {cut_count:,} of {text_count:,} texts are cut after {limit} tokens, "
            "more than which it does not read",
            S2lctWarning,
            stacklevel=2,
        )


def _wrong_tokenizer(name: str, tokens: str, embeddings: int) -> ScoringError:
    return ScoringError(
        f"model {name}: its tokenizer has {tokens}, and the model knows {embeddings:,}",
        hint="save the model's own tokenizer beside it: tokenizer.save_pretrained(FOLDER)",
    )


def _layers_of_weight(key: str) -> Iterator[str]:
    """The layers in a weight's name, by their numbers, such as ``bert.encoder.layer.3``."""
    for match in _LAYER_NUMBER.finditer(key):
        yield key[: match.end()]
