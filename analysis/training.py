"""Fine-tuning of a sequence classifier."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from s2lct.analysis.judge import Judge
from s2lct.errors import AnalysisError, require
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network


@dataclass(frozen=True)
class Example:
    """A text to learn, with the number of its label among `LABELS`."""

    text: str
    label: int


@dataclass(frozen=True)
class TrainOptions:
    """How a model is trained: by AdamW, with a learning rate that falls linearly to 0."""

    epochs: float = 1.0
    lr: float = 2e-5
    batch_size: int = 16


_BY_DEFAULT = TrainOptions()


def learnable(rule: LabelRule, examples: Sequence[Example]) -> list[Example]:
    """The examples whose label the model has a class for."""
    return [example for example in examples if example.label in rule.meanings]


def network_of(judge: Judge) -> Network:
    """The network of a judge.

    Raises:
        AnalysisError: the model has no weights that can be trained.
    """
    if not isinstance(judge.model, Network):
        raise AnalysisError(
            f"model {judge.model.name}: has no weights to train",
            hint="pass embedded-2class, embedded-3class, or the folder or Hub id of a sequence "
            "classifier",
        )
    return judge.model


def loss_of(rule: LabelRule) -> Callable[..., Any]:
    """The loss that is trained by: the negative log probability of all classes that mean a label.

    Models with several positive classes may choose among them; with one class each it is
    cross-entropy.
    """
    import torch

    matching = torch.tensor(
        [[meaning == label for meaning in rule.meanings] for label in range(len(LABELS))]
    )

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        logarithms = torch.log_softmax(outputs.logits.float(), dim=-1)
        wanted = matching.to(labels.device)[labels].float().log()
        return -torch.logsumexp(logarithms + wanted, dim=-1).mean()

    return loss


def fine_tuned(
    judge: Judge,
    examples: Sequence[Example],
    options: TrainOptions = _BY_DEFAULT,
    seed: int = 0,
) -> Judge:
    """A copy of a model that has learnt examples, which must be `learnable`.

    The seed decides the order of the batches and dropout.

    Raises:
        AnalysisError: the model has no weights that can be trained.
    """
    require("accelerate")
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

    before = network_of(judge)
    network = Network(before.tokenizer, copy.deepcopy(before.model), before.name)
    encoded = network.tokenizer(
        [example.text for example in examples], truncation=True, max_length=network.most_tokens
    )
    rows = [
        {name: values[number] for name, values in encoded.items()} | {"label": example.label}
        for number, example in enumerate(examples)
    ]
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=options.epochs,
            learning_rate=options.lr,
            per_device_train_batch_size=options.batch_size,
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
            compute_loss_func=loss_of(judge.rule),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    network.model.eval()
    return judge.with_model(network)
