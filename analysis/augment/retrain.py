"""Retraining with and without augmented texts, and test accuracy for each (MNCOVER, Table 4)."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Accuracies:
    """What retraining on one training set gave.

    Attributes:
        texts: size of the training set.
        values: accuracy on the test texts, one a seed, shape (seeds,).
    """

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
        middle, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
        reach = float(stats.t.ppf(0.975, len(values) - 1)) * error
        return middle - reach, middle + reach


def known_labels(
    classes: Sequence[str], model: str, label_map: Mapping[str, str] | None
) -> set[Label]:
    """The labels that a model has a class for.

    Raises:
        ScoringError: nothing says what its classes mean.
    """
    rule = rule_for(classes, model=model, label_map=label_map)
    return {LABELS[meaning] for meaning in rule.meanings}


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
    for name, texts in {**sets, "dev": dev, "test": test}.items():
        if not texts:
            raise AnalysisError(
                f"--retrain: no sentences {name} of the model's labels",
                mend="give a corpus with sentences of each split, or a larger one",
            )
    if model in EMBEDDED_MODELS:
        return _heads(model, sets, dev, test, seeds, advance)
    return _fine_tuned(model, sets, test, seeds, epochs, label_map, device, advance)


def _heads(
    model: str,
    sets: Mapping[str, Labelled],
    dev: Labelled,
    test: Labelled,
    seeds: Sequence[int],
    advance: Advance,
) -> dict[str, Accuracies]:
    import torch

    from s2lct.leaderboard.models.sentiment_head import CLASSES
    from s2lct.leaderboard.training.train_sentiment_heads import encode, evaluate, train_head

    every = {**sets, "dev": dev, "test": test}
    texts = list(dict.fromkeys(text for part in every.values() for text, _ in part))
    row_of = {text: row for row, text in enumerate(texts)}
    features = encode(texts)

    def data(part: Labelled) -> tuple[Any, Any]:
        rows = [row_of[text] for text, _ in part]
        return features[rows], torch.tensor([CLASSES[model].index(label) for _, label in part])

    found: dict[str, Accuracies] = {}
    tested, stopped_on = data(test), data(dev)
    for set_name, part in sets.items():
        train, values = data(part), []
        for seed in seeds:
            with contextlib.redirect_stdout(io.StringIO()):
                head, _ = train_head(model, train, stopped_on, seed)
            values.append(evaluate(head, *tested)["accuracy"])
            advance(1)
        found[set_name] = Accuracies(len(part), tuple(values))
    return found


def _fine_tuned(
    model: str,
    sets: Mapping[str, Labelled],
    test: Labelled,
    seeds: Sequence[int],
    epochs: int,
    label_map: Mapping[str, str] | None,
    device: str,
    advance: Advance,
) -> dict[str, Accuracies]:
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    require("accelerate")
    found: dict[str, Accuracies] = {}
    for set_name, part in sets.items():
        values = []
        for seed in seeds:
            encoder = load_encoder(model, device=device)  # from its own weights each time
            rule = rule_for(encoder.classes, model=model, label_map=label_map)
            class_of = {LABELS[m]: n for n, m in reversed(list(enumerate(rule.meanings)))}
            truth = [LABELS.index(label) for _, label in test]
            with tempfile.TemporaryDirectory() as folder:
                trainer = Trainer(
                    model=encoder.model,
                    args=TrainingArguments(
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
                    ),
                    train_dataset=[
                        {"input_ids": encoder.token_ids(text), "labels": class_of[label]}
                        for text, label in part
                    ],
                    data_collator=DataCollatorWithPadding(encoder.tokenizer),
                )
                with contextlib.redirect_stdout(io.StringIO()):
                    trainer.train()
            encoder.model.eval()
            said = _said(encoder, [text for text, _ in test], rule.meanings)
            values.append(float((said == np.array(truth)).mean()))
            advance(1)
        found[set_name] = Accuracies(len(part), tuple(values))
    return found


def _said(encoder: Any, texts: Sequence[str], meanings: Sequence[int]) -> Any:
    """Label ids, of the most probable class each, shape (texts,)."""
    said = np.zeros(len(texts), dtype=np.int64)
    for numbers, batch in Network(encoder.tokenizer, encoder.model).probabilities(texts):
        said[numbers] = np.array(meanings)[batch.argmax(axis=1)]
    return said


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
        difference = one.mean - base.mean
        table.add_row(
            name,
            f"{one.texts:,}",
            f"{100 * one.mean:.2f}{_reach(one.interval())}",
            "" if one is base else f"{100 * difference:+.2f}{_reach(one.interval(base))}",
        )
    return table


def _reach(bounds: tuple[float, float] | None) -> str:
    return f" ± {50 * (bounds[1] - bounds[0]):.2f}" if bounds else ""
