"""Whether the parts of a transformers model fit together: what does not is refused, or a warning.

`transformers` fills what a checkpoint lacks with random numbers, leaves out what a configuration
does not name, and cuts texts without a word.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.labels import meaning_of, plain_name

MOST_TOKENS = 512
"""Of a text, where a model says nothing else."""
FEWEST_TOKENS = 16
"""A model that reads less reads no sentence."""
_NAMED = 3
_NUMBER = re.compile(r"\.(\d+)(?=\.)")
_NO_WEIGHT = re.compile(r"(^|\.)position_ids$")
"""Old checkpoints have the numbers of places among their weights."""


def positions_of(name: str, tokenizer: Any, config: Any) -> int | None:
    """How many tokens a model reads, by its tokenizer and its configuration.

    None where neither says.

    Raises:
        ScoringError: so few that it reads no sentence.
    """
    stated = {
        "model_max_length in tokenizer_config.json": getattr(tokenizer, "model_max_length", None),
        "max_position_embeddings in config.json": getattr(config, "max_position_embeddings", None),
    }
    # Below 0 a configuration says that there is no end, and tokenizers say so by 1e30.
    numbers = {
        place: int(value)
        for place, value in stated.items()
        if isinstance(value, (int, float)) and 0 <= value < 1 << 60
    }
    if not numbers:
        return None
    place = min(numbers, key=numbers.__getitem__)
    if numbers[place] < FEWEST_TOKENS:
        raise ScoringError(
            f"model {name}: reads {numbers[place]} tokens of a text ({place})",
            hint="write there how many the model was trained with, mostly 512",
        )
    return numbers[place]


def check_label_ids(model: str, config: Any) -> None:
    """Refuse a configuration whose two lists of classes contradict each other.

    Raises:
        ScoringError: ``label2id`` gives a class another number than ``id2label``.
    """
    names: Mapping[Any, Any] = getattr(config, "id2label", None) or {}
    stated = getattr(config, "label2id", None)
    numbers: Mapping[Any, Any] = stated if isinstance(stated, Mapping) else {}
    number_of = {plain_name(str(name)): str(number) for number, name in names.items()}
    for name, number in numbers.items():
        called = next((str(of) for other, of in names.items() if str(other) == str(number)), None)
        meanings = {meaning_of(str(name)), meaning_of(called or "")} - {None}
        if number_of.get(plain_name(str(name)), str(number)) != str(number) or len(meanings) > 1:
            raise ScoringError(
                f"model {model}: its id2label calls class {number} {called!r}, its label2id "
                f"{name!r}",
                hint="mend config.json: nobody else can tell which of the two it was trained with",
            )


def check_weights(name: str, model: Any, lacking: Iterable[str], unused: Iterable[str]) -> None:
    """Refuse a model whose checkpoint lacks weights, or has layers that its configuration lacks.

    A warning names other weights that the model does not use.

    Args:
        name: of the model.
        model: of transformers.
        lacking: weights that the checkpoint does not have.
        unused: weights of the checkpoint that the model does not have.

    Raises:
        ScoringError: some are lacking, or layers are left out.
    """
    if lacking := sorted(lacking):
        raise ScoringError(
            f"model {name}: its weights lack {_listed(lacking)}",
            hint="save the whole model, head and all: model.save_pretrained(FOLDER); a language "
            "model is scored with --llm, and only such: this one is "
            f"{getattr(model.config, 'architectures', None)}",
        )
    unused = [key for key in sorted(unused) if not _NO_WEIGHT.search(key)]
    layers = {place for key in model.state_dict() for place in _layers_in(key)}
    lists = {place.rpartition(".")[0] for place in layers}
    left_out = {
        place
        for key in unused
        for place in _layers_in(key)
        if place not in layers and place.rpartition(".")[0] in lists
    }
    if left_out:
        raise ScoringError(
            f"model {name}: its checkpoint has layers that its configuration leaves out, "
            + _listed(sorted(left_out)),
            hint="mend the number of layers in config.json, such as num_hidden_layers",
        )
    if unused:
        warnings.warn(
            f"model {name}: weights of its checkpoint are not used ({_listed(unused)}); if they "
            "are of its head, its answers are not those that it was trained to give",
            S2lctWarning,
            stacklevel=2,
        )


def check_vocabulary(name: str, tokenizer: Any, model: Any) -> None:
    """Refuse a tokenizer with more pieces than a model has embeddings.

    Raises:
        ScoringError: its vocabulary is larger, tokens that were added to it apart.
    """
    known, pieces = pieces_known(model), getattr(tokenizer, "vocab_size", 0)
    if known is not None and pieces > known:
        raise _other_tokenizer(name, f"{pieces:,} pieces", known)


def check_ids(name: str, model: Any, texts: Iterable[Sequence[int]]) -> None:
    """Refuse texts with a piece that a model has no embedding of.

    Raises:
        ScoringError: a text has one.
    """
    known = pieces_known(model)
    largest = max((max(ids, default=0) for ids in texts), default=0)
    if known is not None and largest >= known:
        raise _other_tokenizer(name, f"a piece of number {largest:,}", known)


def pieces_known(model: Any) -> int | None:
    """How many pieces a model has embeddings of; None where that cannot be told."""
    try:
        known = model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):
        return None
    return int(known)


def warn_of_cut_texts(name: str, lengths: Sequence[int], most: int, asked: int) -> None:
    """Warn of texts that are longer than a model reads.

    Args:
        name: of the model.
        lengths: of the texts that may be, in tokens.
        most: how many tokens it reads.
        asked: how many texts it is asked.
    """
    if cut := sum(length > most for length in lengths):
        warnings.warn(
            f"model {name}: {cut:,} of {asked:,} texts are cut after {most} tokens, more than "
            "which it does not read",
            S2lctWarning,
            stacklevel=2,
        )


def _other_tokenizer(name: str, what: str, known: int) -> ScoringError:
    return ScoringError(
        f"model {name}: its tokenizer has {what}, and the model knows {known:,}",
        hint="save the model's own tokenizer beside it: tokenizer.save_pretrained(FOLDER)",
    )


def _layers_in(key: str) -> Iterator[str]:
    """Every numbered part of a weight's name, such as ``bert.encoder.layer.3``."""
    for match in _NUMBER.finditer(key):
        yield key[: match.end()]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
