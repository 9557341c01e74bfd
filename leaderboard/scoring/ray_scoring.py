"""Models that the workers of a Ray cluster have loaded.

Workers compute whole batches, the ones that a single process would compute: which worker computes
a text changes no bit of its prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from s2lct.engines import Engine, RayEngine
from s2lct.errors import ScoringError
from s2lct.files import resolve_folder
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.model import Batch, Classifier, ModelFacts
from s2lct.leaderboard.models.record import BUILT_IN

TEXTS_PER_TASK = 512


@dataclass(frozen=True)
class ModelSource:
    """How to load a model, see `load_model`, and the prompts of a language model."""

    name: str
    device: str = "auto"
    dtype: str = "auto"
    prompts: tuple[LabelPrompt, ...] = ()


def load_with_prompts(source: ModelSource) -> list[Classifier]:
    """Load a model; a language model once for each prompt, with shared weights."""
    prompt = source.prompts[0] if source.prompts else None
    model = load_model(source.name, device=source.device, dtype=source.dtype, prompt=prompt)
    if isinstance(model, LanguageModel):
        return [model.with_prompt(prompt) for prompt in source.prompts]
    return [model]


@dataclass(frozen=True)
class _Task:
    """Texts for the model of a number; its fingerprint says which model that must be."""

    model: int
    fingerprint: str
    texts: Sequence[str]


class RayModel(Classifier):
    """A model that workers have loaded.

    Args:
        engine: its workers, each the list of models of `load_with_prompts`.
        number: of the model in that list.
        name: what tables call it.
        attributes: its other attributes, as a worker told them.
    """

    facts = ModelFacts()

    def __init__(
        self, engine: Engine[list[Classifier]], number: int, name: str, attributes: dict[str, Any]
    ) -> None:
        vars(self).update(attributes, name=name)
        self._engine, self._number = engine, number

    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """See `Classifier`."""

        def task(some_texts: Sequence[str]) -> _Task:
            return _Task(self._number, self.fingerprint, some_texts)

        ((_, parts),) = self._engine.map(_split_into_tasks, [task(texts)])
        tasks = (task([texts[number] for number in part]) for part in parts)
        for part, batches in self._engine.map(_compute, tasks):
            for numbers, rows in batches:
                yield [parts[part][number] for number in numbers], rows


def load_on_workers(
    source: ModelSource, engine: Engine[list[Classifier]] | None = None
) -> list[RayModel]:
    """A model, once for each prompt, as the workers of the connected cluster load it."""
    on_node = source
    if source.name not in BUILT_IN and (folder := resolve_folder(source.name, "model")):
        on_node = replace(source, name=str(folder.resolve()))
    engine = engine or RayEngine(partial(load_with_prompts, on_node))
    ((_, attributes),) = engine.map(_attributes, [None])
    return [
        RayModel(engine, number, source.name, of_model)
        for number, of_model in enumerate(attributes)
    ]


# What workers run


def _attributes(models: list[Classifier], _: None) -> list[dict[str, Any]]:
    names = ("revision", "fingerprint", "weights_sha256", "classes", "prompt", "facts")
    return [{name: getattr(model, name) for name in names} for model in models]


def _split_into_tasks(models: list[Classifier], task: _Task) -> list[list[int]]:
    """The numbers of the texts of each task: whole batches."""
    parts: list[list[int]] = [[]]
    for numbers, _ in models[task.model].batches(task.texts):
        if len(parts[-1]) >= TEXTS_PER_TASK:
            parts.append([])
        parts[-1] += numbers
    return parts


def _compute(models: list[Classifier], task: _Task) -> list[Batch]:
    model = models[task.model]
    if model.fingerprint != task.fingerprint:
        raise ScoringError(
            f"model {model.name}: is not the same on all nodes of the cluster",
            hint="have the same files on all nodes, and pass --device and --dtype where not "
            "all of them have GPUs",
        )
    return list(model.probabilities(task.texts))
