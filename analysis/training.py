"""Fine-tuning of a sequence classifier."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from s2lct.errors import require
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network


@dataclass(frozen=True)
class Example:
    """A text to learn, with the number of its label among `LABELS`."""

    text: str
    label: int


def learnable(rule: LabelRule, examples: Sequence[Example]) -> list[Example]:
    """The examples whose label the model has a class for."""
    return [one for one in examples if one.label in rule.meanings]


def fine_tune(
    network: Network,
    rule: LabelRule,
    examples: Sequence[Example],
    *,
    epochs: float = 1.0,
    lr: float = 2e-5,
    batch_size: int = 16,
    seed: int = 0,
    callbacks: Sequence[Any] = (),
) -> int:
    """Train a network in place with `transformers.Trainer`, on `learnable` examples.

    By AdamW, with a learning rate that falls linearly to 0. The loss is the negative log
    probability of all classes that mean the label, so that models with several positive classes
    may choose among them; with one class each it is cross-entropy.

    Returns:
        The number of optimiser steps.
    """
    require("accelerate")
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

    matching = torch.tensor(
        [[meaning == label for meaning in rule.meanings] for label in range(len(LABELS))]
    )

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        logarithms = torch.log_softmax(outputs.logits.float(), dim=-1)
        wanted = matching.to(labels.device)[labels].float().log()
        return -torch.logsumexp(logarithms + wanted, dim=-1).mean()

    encoded = network.tokenizer(
        [one.text for one in examples], truncation=True, max_length=network.most_tokens
    )
    rows = [
        {name: values[number] for name, values in encoded.items()} | {"label": one.label}
        for number, one in enumerate(examples)
    ]
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            learning_rate=lr,
            per_device_train_batch_size=batch_size,
            average_tokens_across_devices=False,
            seed=seed,
            data_seed=seed,
            save_strategy="no",
            logging_strategy="no",
            eval_strategy="no",
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            use_cpu=network.model.device.type == "cpu",
        )
        trainer = Trainer(
            network.model,
            arguments,
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(network.tokenizer),
            processing_class=network.tokenizer,
            compute_loss_func=loss,
            callbacks=list(callbacks),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    network.model.eval()
    return int(trainer.state.global_step)
