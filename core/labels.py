"""The task: its labels, and what the classes of models mean, as a file defines them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import ScoringError

SLOT = "{text}"
OPENING = ('"', "'", "“", "‘", "«", "(", "[")
"""Behind these a word follows without a space."""
_TASK_FILE = Path(__file__).with_name("sentiment.json")
_EXAMPLE = '{"LABEL_0": "negative", "LABEL_1": "positive"}'


@dataclass(frozen=True)
class Task:
    """What texts are classified for; labels are numbers in the order of ``labels``.

    Attributes:
        name: of the task.
        labels: their names.
        prompt: what a language model is asked, with `SLOT` where the text stands.
        other_prompts: the same in other words; one prompt's figure says little of a model.
        low, middle, high: labels on a scale. A model whose classes mean only low and high says
            middle where p(high) lies strictly within ``middle_band``.
        middle_band: two bounds.
        columns: by number of columns the labels that they are for, where nothing names them.
        class_names: what the usual names of classes mean, in lower case without - and _.
        known_models: what the classes of models mean whose cards say so and whose names do not.
    """

    name: str
    labels: tuple[str, ...]
    prompt: str
    other_prompts: tuple[str, ...]
    low: int
    middle: int
    high: int
    middle_band: tuple[float, float]
    columns: Mapping[int, tuple[int, ...]]
    class_names: Mapping[str, int]
    known_models: Mapping[str, tuple[int, ...]]

    @classmethod
    def read(cls, path: Path) -> Task:
        """The task that ``sentiment.json`` defines."""
        content = json.loads(path.read_text(encoding="utf-8"))
        number = {label: n for n, label in enumerate(content["labels"])}

        def numbers(names: Iterable[str]) -> tuple[int, ...]:
            return tuple(number[name] for name in names)

        low, high = content["scale"]["middle_band"]
        return cls(
            name=content["name"],
            labels=tuple(number),
            prompt=content["prompt"],
            other_prompts=tuple(content["other_prompts"]),
            low=number[content["scale"]["low"]],
            middle=number[content["scale"]["middle"]],
            high=number[content["scale"]["high"]],
            middle_band=(low, high),
            columns={len(names): numbers(names) for names in content["columns"]},
            class_names={
                name: number[label]
                for label, names in content["class_names"].items()
                for name in names
            },
            known_models={m: numbers(names) for m, names in content["known_models"].items()},
        )

    @property
    def prompts(self) -> tuple[str, ...]:
        """All that a language model is asked, the usual one first."""
        return self.prompt, *self.other_prompts

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the labels at both ends of the scale."""
        return self.labels[self.low], self.labels[self.high]

    @property
    def numbered(self) -> str:
        """The labels with their numbers, for messages."""
        return ", ".join(f"{number} {label}" for number, label in enumerate(self.labels))


TASK = Task.read(_TASK_FILE)
LABELS = TASK.labels
if TYPE_CHECKING:
    Label = str
else:
    Label = Literal[LABELS]  # what pydantic checks


def check_label_map(
    label_map: str | Mapping[Any, Any] | None, task: Task = TASK
) -> dict[str, str] | None:
    """What classes mean, with every label by its name; no model is asked.

    Args:
        label_map: from the name or number of a class to ``negative``, ``neutral`` or ``positive``
            in any case, or to 0, 1 or 2; or ``LABEL_0=negative,LABEL_1=positive`` as on the
            command line. None for none.
        task: whose labels.

    Raises:
        ScoringError: it is no map, empty, names a class twice or means no label.
    """
    if label_map is None:
        return None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(label_map, str):
        called = f"--label-map {label_map}"
        for pair in label_map.split(","):
            # A label holds no "=", and the name of a class may.
            name, _, label = pair.rpartition("=")
            if not name.strip():
                raise ScoringError(
                    f"{called}: {pair!r} is not LABEL={'|'.join(task.labels)}",
                    hint="write it like 0=negative,1=positive",
                )
            pairs.append((name, label))
    elif isinstance(label_map, Mapping):
        pairs, called = list(label_map.items()), f"label map {dict(label_map)!r}"
    else:
        raise ScoringError(
            f"label map of type {type(label_map).__name__}", hint=f"give a dict such as {_EXAMPLE}"
        )
    checked: dict[str, str] = {}
    for key, value in pairs:
        name = str(key).strip()
        if not name or not (isinstance(key, str) or is_integer(key)):
            raise ScoringError(
                f"{called}: {key!r} is no class",
                hint="name each class, or give its number, counted from 0",
            )
        if name in checked:
            raise ScoringError(f"{called}: names {name} twice", hint="give each class one label")
        if isinstance(value, str) and value.strip().lower() in task.labels:
            checked[name] = value.strip().lower()
        elif is_integer(value) and value in range(len(task.labels)):
            checked[name] = task.labels[int(value)]
        else:
            raise ScoringError(
                f"{called}: {value!r} is no label", hint=f"use {', '.join(task.labels)}"
            )
    if not checked:
        raise ScoringError(
            f"{called}: names no class", hint=f"give each class a label, such as {_EXAMPLE}"
        )
    return checked


def is_integer(value: Any) -> bool:
    """Whether it is an integer of whatever library, and no boolean."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def space_behind(prompt: str) -> str:
    """What stands between a prompt and a word that completes it: a space, or nothing."""
    return "" if prompt[-1:].isspace() or prompt.endswith(OPENING) else " "
