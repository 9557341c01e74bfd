"""The one way to have a model answer texts: equal texts once, and what it predicted kept.

What models predicted is kept between runs (`s2lct.cache`), so that scoring again costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from s2lct.cache import Cache, predictions
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Array, Labels
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.classifier import Classifier
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.language_model import TextModel
from s2lct.progress import bar

PREDICTIONS = 1
"""Raise it when a change of this package changes what a model predicts: older ones do not count."""


def key_of(model: Any) -> str:
    """All that decides what a model predicts of a text."""
    classes = [] if isinstance(model, TextModel) else list(model.classes)
    return fingerprint_of([PREDICTIONS, model.fingerprint, classes])


def predicted(model: Any, texts: Sequence[str]) -> Generator[tuple[str, bytes]]:
    """Ask a model texts: each with its prediction, as it is kept, as they come.

    Raises:
        ScoringError: what it predicts cannot be used.
    """
    advance = bar(model.name, len(texts))
    if isinstance(model, TextModel):
        for number, answer in model.answers(texts):
            yield texts[number], _as_bytes(answer)
            advance(1)
        return
    for numbers, batch in model.probabilities(texts):
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


def probabilities_of(model: Classifier, texts: Sequence[str], cache: Path | None = None) -> Array:
    """Probabilities of each text, shape (texts, classes), kept in the file ``cache``.

    Raises:
        ScoringError: the outputs cannot be used.
    """

    def ask(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return predicted(model, missing)

    with _opened(cache, model) as kept:
        if kept is None:
            wanted = list(dict.fromkeys(texts))
            found = dict(ask(wanted)) if wanted else {}
        else:
            found = predictions(kept, key_of(model), texts, ask)
    rows = [np.frombuffer(found[text], dtype="<f8") for text in texts]
    return np.array(rows).reshape(-1, len(model.classes))


def answers_of(
    model: TextModel, texts: Sequence[str], cache: Path | None = None
) -> tuple[dict[str, TextAnswer], int]:
    """What a model writes to each text, and how many of these answers were kept before.

    Answers are kept in the file ``cache`` as they came, and read anew each time. Of a server's
    model one question is asked first, and kept answers of another model, or that are old, are asked
    again. Raises a ScoringError where the model does not answer all: how many are kept is told.
    """
    wanted, key = list(dict.fromkeys(texts)), key_of(model)
    with _opened(cache, model) as kept:
        found = {} if kept is None else kept.kept(key, wanted)
        known = {text: TextAnswer(**json.loads(answer)) for text, answer in found.items()}

        if isinstance(model, EndpointModel) and kept is not None:
            model.keep = lambda text, answer: kept.keep(key, {text: _as_bytes(answer)})

        def ask(part: Sequence[str]) -> None:
            # Whoever stops here has nothing else asked.
            with closing(predicted(model, part)) as answers:
                for text, answer in answers:
                    if kept is not None and not isinstance(model, EndpointModel):
                        kept.keep(key, {text: answer})
                    known[text] = TextAnswer(**json.loads(answer))

        try:
            fresh = ""
            if isinstance(model, EndpointModel) and known:
                if model.server.keeps_answers:
                    model.goes_on(known.values())
                else:
                    fresh = next((text for text in wanted if text not in known), wanted[0])
                    ask([fresh])
                    known = {
                        text: answer for text, answer in known.items() if model.is_current(answer)
                    }
            reused = len(known) - (fresh in known)
            if missing := [text for text in wanted if text not in known]:
                ask(missing)
        except ScoringError as error:
            if kept is None:
                raise
            raise ScoringError(
                f"{error.problem}; {len(known):,} of {len(wanted):,} answers are kept",
                hint=f"{error.hint}; the same command goes on where this one stopped",
            ) from error
    return known, reused


def read_labels(model: TextModel, texts: Sequence[str], answers: dict[str, TextAnswer]) -> Labels:
    """What answers to texts mean: ids of labels, or those of `text_answers`, shape (texts,)."""
    meanings = [LABELS.index(name) for name in model.asks.classes]
    read = {text: label_of(answers[text], model.asks.words, meanings) for text in set(texts)}
    return np.array([read[text] for text in texts], dtype=np.int64)


def _as_bytes(answer: TextAnswer) -> bytes:
    return json.dumps(asdict(answer)).encode()


@contextmanager
def _opened(path: Path | None, model: Any) -> Iterator[Cache | None]:
    """The cache in a file; None where nothing is kept."""
    if path is None or not model.fingerprint:
        yield None
        return
    with Cache(path) as cache:
        yield cache
