"""Test accuracy of a model after training with and without augmented texts (MNCOVER, Table 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from s2lct.analysis.judge import Judge, load_model
from s2lct.analysis.training import Example, fine_tuned, learnable
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS, Label
from s2lct.progress import bar

Labelled = Sequence[tuple[str, Label]]


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The size of a training set, and accuracy on the test texts, one a seed."""

    texts: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values))

    def interval(self, against: Accuracies | None = None) -> tuple[float, float] | None:
        """95 % t-interval of the mean, or of the mean paired difference; None for one seed."""
        values = np.array(self.values) - (np.array(against.values) if against else 0.0)
        if len(values) < 2:
            return None
        reach = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
        return float(values.mean()) - reach, float(values.mean()) + reach


def accuracies(
    model: str,
    sets: Mapping[str, Labelled],
    test: Labelled,
    seeds: Sequence[int],
    *,
    device: str = "auto",
) -> dict[str, Accuracies]:
    """Train a model on each named set with each seed, from its weights each time, and test it.

    Raises:
        AnalysisError: a set has no text of the model's labels, or the model has no weights.
    """
    judge = Judge(load_model(model, device=device))
    named = {**sets, "test": test}
    examples = {
        name: learnable(judge.rule, [Example(text, LABELS.index(label)) for text, label in part])
        for name, part in named.items()
    }
    if empty := [name for name, part in examples.items() if not part]:
        raise AnalysisError(
            f"no sentences {empty[0]} of the labels of {model}",
            hint="give a corpus with sentences of each split, or a larger one",
        )
    tested = examples.pop("test")
    shown = bar("training", len(examples) * len(seeds))
    found: dict[str, Accuracies] = {}
    for name, part in examples.items():
        values: list[float] = []
        for seed in seeds:
            trained = fine_tuned(judge, part, seed=seed)
            predicted = trained.likeliest([example.text for example in tested])
            values.append(float(np.mean(predicted == [example.label for example in tested])))
            shown(1)
        found[name] = Accuracies(len(part), tuple(values))
    return found
