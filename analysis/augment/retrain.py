"""Retraining with and without augmented texts, and test accuracy for each (MNCOVER, Table 4)."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy import stats

from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.progress import Advance, silently
from s2lct.analysis.tables import figures_table
from s2lct.errors import AnalysisError
from s2lct.extras import require
from s2lct.labels import LABELS, Label
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.models.network import Network

LEARNING_RATE = 2e-5
BATCH = 16

Labelled = Sequence[tuple[str, Label]]
Accuracy = Callable[[Labelled, int], float]
"""On the test texts, after training on these with a seed."""


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The size of a training set, and accuracy on the test texts, one a seed, shape (seeds,)."""

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


def retrain(
    model: str,
    sets: Mapping[str, Labelled],
    dev: Labelled,
    test: Labelled,
    seeds: Sequence[int],
    *,
    epochs: int = 1,
    label_map: Mapping[str, str] | None = None,
    device: str = "auto",
    advance: Advance = silently,
) -> dict[str, Accuracies]:
    """Train on each named set with each seed, and test.

    Of the embedded models the head alone is trained, anew, and stopped on dev; epochs play no part.
    Any other model goes on from its own weights, with `transformers.Trainer`.

    Raises:
        AnalysisError: a set is empty, or the package that Trainer needs is missing.
    """
    every = {**sets, "dev": dev, "test": test}
    if empty := [name for name, texts in every.items() if not texts]:
        raise AnalysisError(
            f"--retrain: no sentences {empty[0]} of the model's labels",
            hint="give a corpus with sentences of each split, or a larger one",
        )
    if model in EMBEDDED_MODELS:
        accuracy = _of_heads(model, every)
    else:
        accuracy = _of_fine_tuned(model, test, epochs, label_map, device)
    found: dict[str, Accuracies] = {}
    for name, part in sets.items():
        values: list[float] = []
        for seed in seeds:
            with contextlib.redirect_stdout(io.StringIO()):
                values.append(accuracy(part, seed))
            advance(1)
        found[name] = Accuracies(len(part), tuple(values))
    return found


def _of_heads(model: str, every: Mapping[str, Labelled]) -> Accuracy:
    import torch

    from s2lct.leaderboard.models.sentiment_head import CLASSES
    from s2lct.leaderboard.training.train_sentiment_heads import encode, evaluate, train_head

    texts = list(dict.fromkeys(text for part in every.values() for text, _ in part))
    row_of = {text: row for row, text in enumerate(texts)}
    features = encode(texts)

    def data(part: Labelled) -> tuple[Any, Any]:
        rows = [row_of[text] for text, _ in part]
        return features[rows], torch.tensor([CLASSES[model].index(label) for _, label in part])

    def accuracy(part: Labelled, seed: int) -> float:
        head, _ = train_head(model, data(part), data(every["dev"]), seed)
        return evaluate(head, *data(every["test"]))["accuracy"]

    return accuracy


def _of_fine_tuned(
    model: str, test: Labelled, epochs: int, label_map: Mapping[str, str] | None, device: str
) -> Accuracy:
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    require("accelerate")
    truth = np.array([LABELS.index(label) for _, label in test])

    def accuracy(part: Labelled, seed: int) -> float:
        encoder = load_encoder(model, device=device)  # from its own weights each time
        meanings = rule_for(encoder.classes, model=model, label_map=label_map).meanings
        rows = [
            {"input_ids": encoder.token_ids(text), "labels": meanings.index(LABELS.index(label))}
            for text, label in part
        ]
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                output_dir=folder,
                num_train_epochs=epochs,
                learning_rate=LEARNING_RATE,
                per_device_train_batch_size=BATCH,
                seed=seed,
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
                use_cpu=encoder.device.type == "cpu",
            )
            Trainer(
                model=encoder.model,
                args=arguments,
                train_dataset=rows,
                data_collator=DataCollatorWithPadding(encoder.tokenizer),
            ).train()
        network = Network(encoder.tokenizer, encoder.model)
        right = 0
        for numbers, batch in network.probabilities([text for text, _ in test]):
            right += int((np.array(meanings)[batch.argmax(axis=1)] == truth[numbers]).sum())
        return right / len(test)

    return accuracy


def accuracy_table(found: Mapping[str, Accuracies], model: str) -> Table:
    """Accuracies, a row a training set, and the paired difference from the first.

    Behind ± stands half of the 95 % t-interval over seeds.
    """
    base = next(iter(found.values()))
    seeds = len(base.values)
    table = figures_table(
        ("training texts", "test accuracy %", "difference"),
        first="augmentation",
        title=f"{model}, {seeds} seed{'s' * (seeds != 1)}",
    )
    for name, one in found.items():
        difference = f"{100 * (one.mean - base.mean):+.2f}{_reach(one.interval(base))}"
        table.add_row(
            name,
            f"{one.texts:,}",
            f"{100 * one.mean:.2f}{_reach(one.interval())}",
            "" if one is base else difference,
        )
    return table


def _reach(bounds: tuple[float, float] | None) -> str:
    return f" ± {50 * (bounds[1] - bounds[0]):.2f}" if bounds else ""
