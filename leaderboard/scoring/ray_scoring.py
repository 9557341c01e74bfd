"""Models that the workers of a Ray cluster have loaded.

Workers compute the same whole batches as a single process would. So no bit of a prediction depends
on the worker that computes it.
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
    """The arguments of `load_model` for a model, with all prompts of a language model."""

    name: str
    device: str = "auto"
    dtype: str = "auto"
    prompts: tuple[LabelPrompt, ...] = ()


def load_with_prompts(source: ModelSource) -> list[Classifier]:
    """Load a model; a language model yields one model for each prompt, with shared weights."""
    prompt = source.prompts[0] if source.prompts else None
    model = load_model(source.name, device=source.device, dtype=source.dtype, prompt=prompt)
    if isinstance(model, LanguageModel):
        return [model.with_prompt(prompt) for prompt in source.prompts]
    return [model]


@dataclass(frozen=True)
class _Task:
    """Texts for one of a worker's models: its index, and the fingerprint that it must have."""

    model_index: int
    fingerprint: str
    texts: Sequence[str]


class RayModel(Classifier):
    """A model that workers have loaded.

    Args:
        engine: the engine; each of its workers is the list of models of `load_with_prompts`.
        index: the index of the model in that list.
        name: the name of the model in tables.
        attributes: the model's other attributes, by name, from a worker.
    """

    facts = ModelFacts()

    def __init__(
        self, engine: Engine[list[Classifier]], index: int, name: str, attributes: dict[str, Any]
    ) -> None:
        vars(self).update(attributes, name=name)
        self._engine, self._index = engine, index

    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """See `Classifier`."""

        def task(texts_of_task: Sequence[str]) -> _Task:
            return _Task(self._index, self.fingerprint, texts_of_task)

        ((_, indices_of_tasks),) = self._engine.map(_split_into_tasks, [task(texts)])
        tasks = (task([texts[index] for index in indices]) for indices in indices_of_tasks)
        for task_number, batches in self._engine.map(_compute, tasks):
            text_indices = indices_of_tasks[task_number]
            for indices, rows in batches:
                yield [text_indices[index] for index in indices], rows


def load_on_workers(
    source: ModelSource, engine: Engine[list[Classifier]] | None = None
) -> list[RayModel]:
    """Load a model, with each of its prompts, on the workers of the connected cluster."""
    source_on_nodes = source
    if source.name not in BUILT_IN and (folder := resolve_folder(source.name, "model")):
        source_on_nodes = replace(source, name=str(folder.resolve()))
    engine = engine or RayEngine(partial(load_with_prompts, source_on_nodes))
    ((_, attributes_of_models),) = engine.map(_attributes, [None])
    return [
        RayModel(engine, index, source.name, attributes_of_model)
        for index, attributes_of_model in enumerate(attributes_of_models)
    ]


# Functions that workers run


def _attributes(models: list[Classifier], _: None) -> list[dict[str, Any]]:
    names = ("revision", "fingerprint", "weights_sha256", "classes", "prompt", "facts")
    return [{name: getattr(model, name) for name in names} for model in models]


def _split_into_tasks(models: list[Classifier], task: _Task) -> list[list[int]]:
    """Split a task's texts into tasks of whole batches; the indices of the texts of each."""
    indices_of_tasks: list[list[int]] = [[]]
    for indices, _ in models[task.model_index].batches(task.texts):
        if len(indices_of_tasks[-1]) >= TEXTS_PER_TASK:
            indices_of_tasks.append([])
        indices_of_tasks[-1] += indices
    return indices_of_tasks


def _compute(models: list[Classifier], task: _Task) -> list[Batch]:
    model = models[task.model_index]
    if model.fingerprint != task.fingerprint:
        raise ScoringError(
            f"model {model.name}: is not the same on all nodes of the cluster",
            hint="have the same files on all nodes, and pass --device and --dtype where not "
            "all of them have GPUs",
        )
    return list(model.probabilities(task.texts))
