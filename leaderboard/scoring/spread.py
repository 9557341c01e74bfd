"""Have workers answer what models are to be asked: models and texts are spread over them.

Workers load models and answer whole batches, those in which one process would ask all the texts:
who answers, and beside what, changes no bit. The cache is read and written here alone.
"""

from __future__ import annotations

import gc
import pickle
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from s2lct.cache import Cache
from s2lct.engines import Engine
from s2lct.errors import S2lctError, ScoringError
from s2lct.leaderboard.models.classifier import facts_of
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.scoring.ask import key_of, predicted
from s2lct.progress import bar

TEXTS_A_PIECE = 512
"""Few enough to share out, and enough to load a model for."""


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


class LoadedElsewhere:
    """A model that workers have asked everything: its predictions are in the cache."""

    name: str
    revision: str
    fingerprint: str
    weights_sha256: str
    classes: tuple[str, ...]

    def __init__(self, model: Any) -> None:
        names = ("revision", "fingerprint", "weights_sha256", "classes", "asks", "label_rule")
        known = {name: getattr(model, name) for name in ("name", *names) if hasattr(model, name)}
        vars(self).update(known, facts=facts_of(model))

    def probabilities(self, texts: Sequence[str]) -> NoReturn:
        """Raise a ScoringError: nothing is asked here."""
        raise ScoringError(
            f"model {self.name}: what workers predicted was not kept",
            hint="give the same command again",
        )

    answers = probabilities


Described = tuple[LoadedElsewhere, tuple[tuple[int, ...], ...]]
"""A model with a prompt, and in what pieces it is asked texts, as numbers of these."""


@dataclass(frozen=True)
class Piece:
    """Texts for a model with the prompt of a number; ``key`` says which it must be."""

    source: Source
    prompt: int
    key: str
    texts: tuple[str, ...]


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

    def describe(self, given: tuple[Source, Sequence[str]]) -> tuple[Described, ...] | Exception:
        """Describe a model, once for each of its prompts, and the pieces of texts."""
        source, texts = given
        try:
            return tuple(
                (LoadedElsewhere(model), tuple(self._pieces(model, texts)))
                for model in self._models(source)
            )
        except Exception as error:  # somebody's model may fail in any way
            return _portable(error)

    def predict(self, piece: Piece) -> dict[str, bytes] | Exception:
        """The predictions of a piece."""
        try:
            model = self._models(piece.source)[piece.prompt]
            if key_of(model) != piece.key:
                raise ScoringError(
                    f"model {model.name}: is another on node {socket.gethostname()} of the cluster "
                    "than where it was loaded first",
                    hint="have the same files on all nodes, and pass --device and --dtype where "
                    "not all of them have GPUs",
                )
            return dict(predicted(model, piece.texts))
        except Exception as error:
            return _portable(error)

    def _pieces(self, model: Any, texts: Sequence[str]) -> Iterator[tuple[int, ...]]:
        piece: list[int] = []
        batches = model.batches(texts) if hasattr(model, "batches") and texts else ()
        # A word list answers each text by itself.
        for numbers in [batch for batch, _ in batches] or [[n] for n in range(len(texts))]:
            piece += numbers
            if len(piece) >= self._texts_a_piece:
                yield tuple(piece)
                piece = []
        if piece:
            yield tuple(piece)

    def _models(self, source: Source) -> list[Any]:
        """A model with each of its prompts; the one that was not asked for longest makes room."""
        models = self._loaded.pop(source, None)
        if models is None:
            while len(self._loaded) >= self._most:
                del self._loaded[next(iter(self._loaded))]
                _make_room()
            models = loaded(source)
        self._loaded[source] = models
        return models


def loaded(source: Source) -> list[Any]:
    """A model, with each of its prompts."""
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


def spread(
    engine: Engine[LoadedModels], sources: Sequence[Source], texts: Sequence[str], cache: Path
) -> Mapping[str, Sequence[LoadedElsewhere] | Exception]:
    """Have workers answer texts with models, and keep what is not kept yet in a file.

    Returns:
        By a source's name its models, one for each prompt, or why it cannot be asked.

    Raises:
        S2lctError: the engine or the cache failed.
    """
    distinct = list(dict.fromkeys(texts))
    found: dict[str, Sequence[LoadedElsewhere] | Exception] = {}
    pieces: list[Piece] = []
    with Cache(cache) as kept:
        loading = bar("Loading models", len(sources))
        given = ((source, distinct) for source in sources)
        for number, described in engine.map(LoadedModels.describe, given):
            source = sources[number]
            loading(1)
            if isinstance(described, Exception):
                found[source.name] = described
                continue
            found[source.name] = [model for model, _ in described]
            for prompt, (model, parts) in enumerate(described):
                key = key_of(model)
                known = kept.kept(key, distinct)
                for numbers in parts:
                    part = tuple(distinct[n] for n in numbers)
                    if not all(text in known for text in part):
                        pieces.append(Piece(source, prompt, key, part))
        advance = bar("Predictions of models", sum(len(piece.texts) for piece in pieces))
        sent: list[Piece] = []

        def under_way() -> Iterator[Piece]:
            for piece in pieces:
                if not isinstance(found[piece.source.name], Exception):
                    sent.append(piece)
                    yield piece

        for number, predictions in engine.map(LoadedModels.predict, under_way()):
            name = sent[number].source.name
            if isinstance(predictions, Exception):
                found[name] = predictions
            else:
                kept.keep(sent[number].key, predictions)
            advance(len(sent[number].texts), name)
    return found


def _make_room() -> None:
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    if isinstance(error, S2lctError):
        return error
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
