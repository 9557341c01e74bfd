"""A worker that loads models, says into what pieces texts are cut, and answers these pieces.

A piece is whole batches, those in which one process would ask all the texts: who answers it, and
beside what, changes no bit of an answer.
"""

from __future__ import annotations

import gc
import pickle
import socket
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import S2lctError, ScoringError
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.facts import licence_of, parameters_of, precision_of
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.spread_model import ModelFacts
from s2lct.leaderboard.models.text_model import TextModel

TEXTS_A_PIECE = 512
"""Few enough to share out, and enough to load a model for."""
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Source:
    """How a model is loaded, see `load_classifier`, and what it is then asked.

    ``is_folder`` says that it was a folder where it was asked for.
    """

    name: str
    device: str = "auto"
    dtype: str = "auto"
    prompts: tuple[LabelPrompt, ...] = ()
    is_folder: bool = False


@dataclass(frozen=True)
class Described:
    """Of a model and a prompt: its facts, and pieces of each group of texts, as numbers of these.

    Or what kept it from being loaded or asked.
    """

    facts: ModelFacts
    pieces: tuple[tuple[Numbers, ...], ...]


@dataclass(frozen=True)
class Asked:
    """Texts for a model with the prompt of a number; ``fingerprint`` says which it must be."""

    source: Source
    prompt: int
    fingerprint: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Answers:
    """Batches of a classifier; of a model that answers in words each text's number and answer."""

    batches: tuple[tuple[list[int], Array], ...] = ()
    written: tuple[tuple[int, TextAnswer], ...] = ()


class LoadedModels:
    """The models that were asked last; a worker of an `Engine`.

    What goes wrong with a model is given back, not raised: others are asked all the same.

    Args:
        most: how many are kept loaded.
        texts_a_piece: how many there are at the least, but in the last piece.
    """

    def __init__(self, most: int = 2, texts_a_piece: int = TEXTS_A_PIECE) -> None:
        self._most, self._texts_a_piece = most, texts_a_piece
        self._loaded: dict[Source, list[Any]] = {}

    def describe(
        self, given: tuple[Source, Sequence[Sequence[str]]]
    ) -> tuple[Described, ...] | Exception:
        """Describe a model, once for each of its prompts, and the pieces of groups of texts."""
        source, groups = given
        try:
            return tuple(
                Described(_facts(model), tuple(self._pieces(model, texts) for texts in groups))
                for model in self._models(source)
            )
        except Exception as error:  # somebody's model may fail in any way
            return _portable(error)

    def cut(self, asked: Asked) -> tuple[Numbers, ...] | Exception:
        """Cut texts into pieces: numbers of texts."""
        try:
            return self._pieces(self._models(asked.source)[asked.prompt], asked.texts)
        except Exception as error:
            return _portable(error)

    def answer(self, asked: Asked) -> Answers | Exception:
        """Answer a piece."""
        try:
            model = self._models(asked.source)[asked.prompt]
            if model.fingerprint != asked.fingerprint:
                raise ScoringError(
                    f"model {model.name}: is another on node {socket.gethostname()} of the cluster "
                    "than where it was loaded first",
                    hint="have the same files on all nodes, and pass --device and --dtype where "
                    "not all of them have GPUs",
                )
            if isinstance(model, TextModel):
                words: list[tuple[int, TextAnswer]] = []
                model.answer(asked.texts, lambda number, one: words.append((number, one)))
                return Answers(written=tuple(words))
            return Answers(tuple(model.probabilities(asked.texts)))
        except Exception as error:
            return _portable(error)

    def _pieces(self, model: Any, texts: Sequence[str]) -> tuple[Numbers, ...]:
        pieces: list[list[int]] = []
        for batch in _batches(model, texts):
            if not pieces or len(pieces[-1]) >= self._texts_a_piece:
                pieces.append([])
            pieces[-1] += batch
        return tuple(np.array(numbers, dtype=np.int32) for numbers in pieces)

    def _models(self, source: Source) -> list[Any]:
        """A model with each of its prompts; the one that was not asked for longest makes room."""
        models = self._loaded.pop(source, None)
        if models is None:
            while len(self._loaded) >= self._most:
                del self._loaded[next(iter(self._loaded))]
                _make_room()
            models = _load(source)
        self._loaded[source] = models
        return models


def _load(source: Source) -> list[Any]:
    if source.is_folder and not Path(source.name).exists():
        raise ScoringError(
            f"model {source.name}: is no folder on node {socket.gethostname()} of the cluster",
            hint="put it where all nodes find it under this path, or pass a Hub id",
        )
    first = source.prompts[0] if source.prompts else None
    model = load_classifier(source.name, device=source.device, dtype=source.dtype, asks=first)
    if isinstance(model, LanguageModel):
        return [model.asking(asks) for asks in source.prompts]
    return [model]


def _make_room() -> None:
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _facts(model: Any) -> ModelFacts:
    writes = isinstance(model, TextModel)
    return ModelFacts(
        name=model.name,
        revision=model.revision,
        fingerprint=model.fingerprint,
        weights_sha256=model.weights_sha256,
        classes=() if writes else tuple(model.classes),
        parameters=parameters_of(model),
        licence=licence_of(model),
        asks=getattr(model, "asks", None),
        label_rule=model.label_rule if writes else "",
        precision=precision_of(model),
    )


def _batches(model: Any, texts: Sequence[str]) -> Iterable[list[int]]:
    if texts and hasattr(model, "batches"):
        return (numbers for numbers, _ in model.batches(texts))
    return ([number] for number in range(len(texts)))  # a word list answers each by itself


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    if isinstance(error, S2lctError):
        return error
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
