"""A model that the workers of an engine have loaded, and that is asked there.

Workers answer whole batches, those in which one process would ask all the texts: who answers, and
beside what, changes no bit.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from s2lct.engines import Engine
from s2lct.errors import ScoringError
from s2lct.files import folder_named
from s2lct.leaderboard.models.classifier import facts_of
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.record import BUILT_IN

TEXTS_A_PIECE = 512
"""Few enough to share out, and enough to load a model for."""
_DESCRIBED = ("name", "revision", "fingerprint", "weights_sha256", "classes", "asks")


@dataclass(frozen=True)
class Source:
    """How a model is loaded, see `load_classifier`, and with which prompts it is asked."""

    name: str
    device: str = "auto"
    dtype: str = "auto"
    prompts: tuple[LabelPrompt, ...] = ()


def loaded(source: Source) -> list[Any]:
    """A model, with each of its prompts."""
    first = source.prompts[0] if source.prompts else None
    model = load_classifier(source.name, device=source.device, dtype=source.dtype, asks=first)
    if isinstance(model, LanguageModel):
        return [model.asking(asks) for asks in source.prompts]
    return [model]


@dataclass(frozen=True)
class Piece:
    """Texts for a model with the prompt of a number; its fingerprint says which it must be."""

    source: Source
    prompt: int
    fingerprint: str
    texts: Sequence[str]


class ModelWorker:
    """The model that was asked last; a worker of an `Engine`."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._models: list[Any] = []

    def models(self, source: Source) -> list[Any]:
        """A model with each of its prompts, loaded if another was asked last."""
        if source != self._source:
            self._source, self._models = None, []
            gc.collect()
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_available():
                torch.cuda.empty_cache()
            self._models, self._source = loaded(source), source
        return self._models

    def described(self, source: Source) -> list[dict[str, Any]]:
        """What is known of a model without asking it, once for each of its prompts."""
        return [
            {name: getattr(model, name) for name in _DESCRIBED if hasattr(model, name)}
            | {"facts": facts_of(model)}
            for model in self.models(source)
        ]

    def pieces(self, whole: Piece) -> list[list[int]]:
        """In what parts texts are asked, as their numbers: whole batches."""
        model = self.models(whole.source)[whole.prompt]
        parts: list[list[int]] = [[]]
        # A word list answers each text by itself.
        batches = [[number] for number in range(len(whole.texts))]
        if hasattr(model, "batches"):
            batches = [numbers for numbers, _ in model.batches(whole.texts)]
        for numbers in batches:
            if len(parts[-1]) >= TEXTS_A_PIECE:
                parts.append([])
            parts[-1] += numbers
        return parts

    def probabilities(self, piece: Piece) -> list[Any]:
        """The batches of a piece with their probabilities."""
        return list(self._asked(piece).probabilities(piece.texts))

    def _asked(self, piece: Piece) -> Any:
        model = self.models(piece.source)[piece.prompt]
        if model.fingerprint != piece.fingerprint:
            raise ScoringError(
                f"model {model.name}: is not the same on all nodes of the cluster",
                hint="have the same files on all nodes, and pass --device and --dtype where not "
                "all of them have GPUs",
            )
        return model


class SharedModel:
    """A model with the prompt of a number, as a `Classifier` that workers ask."""

    fingerprint: str

    def __init__(
        self, engine: Engine[ModelWorker], source: Source, prompt: int, described: dict[str, Any]
    ) -> None:
        vars(self).update(described)
        self._engine, self._source, self._prompt = engine, source, prompt

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Batches, as they are done; see `Classifier`."""

        def of(part: Sequence[str]) -> Piece:
            return Piece(self._source, self._prompt, self.fingerprint, part)

        ((_, parts),) = self._engine.map(ModelWorker.pieces, [of(texts)])
        given = (of([texts[number] for number in part]) for part in parts)
        for piece, batches in self._engine.map(ModelWorker.probabilities, given):
            for numbers, batch in batches:
                yield [parts[piece][number] for number in numbers], batch


def shared(engine: Engine[ModelWorker], source: Source) -> list[SharedModel]:
    """A model as workers have loaded it, with each of its prompts."""
    there = source
    if source.name not in BUILT_IN and (folder := folder_named(source.name, "model")):
        there = replace(source, name=str(folder.resolve()))
    ((_, described),) = engine.map(ModelWorker.described, [there])
    return [
        SharedModel(engine, there, prompt, known | {"name": source.name})
        for prompt, known in enumerate(described)
    ]
