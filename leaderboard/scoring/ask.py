"""The one way to have a model answer texts: equal texts once, and what it predicted kept.

What models predicted is kept between runs (`s2lct.cache`), so that scoring again costs nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from s2lct.cache import Cache, predictions
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array, Labels
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.classifier import Classifier
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.progress import bar

PREDICTIONS = 1
"""Raise it when a change of this package changes what a model predicts: older ones do not count."""
_ANSWER = TypeAdapter(TextAnswer)


def probabilities_of(model: Classifier, texts: Sequence[str], cache: Path | None = None) -> Array:
    """Probabilities of each text, shape (texts, classes), kept in the file ``cache``.

    Raises:
        ScoringError: the outputs cannot be used.
    """
    found = _predictions(model, list(model.classes), texts, cache)
    rows = [np.frombuffer(found[text], dtype="<f8") for text in texts]
    return np.array(rows).reshape(-1, len(model.classes))


def answers_of(
    model: EndpointModel, texts: Sequence[str], cache: Path | None = None
) -> dict[str, TextAnswer]:
    """What a model writes to each text, kept in the file ``cache`` as it came.

    Raises:
        ScoringError: the model does not answer all; what it answered is kept.
    """
    found = _predictions(model, [], texts, cache)
    return {text: _ANSWER.validate_json(found[text]) for text in texts}


def read_labels(
    model: EndpointModel, texts: Sequence[str], answers: dict[str, TextAnswer]
) -> Labels:
    """What answers to texts mean: ids of labels, or those of `text_answers`, shape (texts,)."""
    meanings = [LABELS.index(name) for name in model.asks.classes]
    read = {text: label_of(answers[text], model.asks.words, meanings) for text in set(texts)}
    return np.array([read[text] for text in texts], dtype=np.int64)


def _predictions(
    model: Any, classes: list[str], texts: Sequence[str], cache: Path | None
) -> dict[str, bytes]:
    """What a model predicts of each text, as it is kept."""
    if cache is None or not model.fingerprint:
        return dict(_predicted(model, list(dict.fromkeys(texts))))
    key = fingerprint_of([PREDICTIONS, model.fingerprint, classes])
    with Cache(cache) as kept:
        # An answer in words takes long, and may cost money: each is kept as it comes.
        at_once = 1 if isinstance(model, EndpointModel) else 256
        return predictions(kept, key, texts, partial(_predicted, model), kept_at_once=at_once)


def _predicted(model: Any, texts: Sequence[str]) -> Generator[tuple[str, bytes]]:
    """Ask a model texts: each with its prediction, as they come."""
    advance = bar(model.name, len(texts))
    if isinstance(model, EndpointModel):
        for number, answer in model.answers(texts):
            yield texts[number], _ANSWER.dump_json(answer)
            advance(1)
        return
    for numbers, batch in model.probabilities(texts) if texts else ():
        if batch.shape != (len(numbers), len(model.classes)):
            raise ScoringError(
                f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
                f"{len(model.classes)} classes",
                hint="give one row a text and one column a class",
            )
        if not np.isfinite(batch).all():
            raise ScoringError(
                f"model {model.name}: its output is not a number (NaN or infinite)",
                hint="check the model's weights; in half precision try --dtype float32",
            )
        for number, row in zip(numbers, batch, strict=True):
            yield texts[number], row.astype("<f8").tobytes()
        advance(len(numbers))
