"""Fine-tuning of a sequence classifier on texts with labels."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.errors import AnalysisError, require
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network


class Example(NamedTuple):
    """A text to learn, with the number of its label among `LABELS`."""

    text: str
    label: int


@dataclass(frozen=True)
class TrainOptions:
    """How AdamW trains a model; the learning rate falls linearly to 0."""

    epochs: float = 1.0
    lr: float = 2e-5
    batch_size: int = 16


_DEFAULT_OPTIONS = TrainOptions()


def network_of(model: LabelledClassifier) -> Network:
    """The network behind a classifier.

    Raises:
        AnalysisError: it has no weights that can be trained.
    """
    if not isinstance(model.classifier, Network):
        raise AnalysisError(
            f"model {model.classifier.name}: has no weights to train",
            hint="pass embedded-2class, embedded-3class, or the folder or Hub id of a sequence "
            "classifier",
        )
    return model.classifier


def loss_of(rule: LabelRule) -> Callable[..., Any]:
    """The training loss: the negative log probability of all classes that mean the label.

    With one class per label it is cross-entropy.
    """
    import torch

    has_meaning = torch.tensor(
        [[meaning == label for meaning in rule.meanings] for label in range(len(LABELS))]
    )

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        log_probabilities = torch.log_softmax(outputs.logits.float(), dim=-1)
        mask = has_meaning.to(labels.device)[labels].float().log()
        return -torch.logsumexp(log_probabilities + mask, dim=-1).mean()

    return loss


def fine_tuned(
    model: LabelledClassifier,
    examples: Sequence[Example],
    options: TrainOptions = _DEFAULT_OPTIONS,
    seed: int = 0,
) -> LabelledClassifier:
    """A copy of a model that was trained on examples.

    Args:
        model: is left as it is.
        examples: of labels that the model has a class for.
        options: of the training.
        seed: decides the order of the batches and dropout.

    Raises:
        AnalysisError: the model has no weights that can be trained.
    """
    require("accelerate")
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

    original = network_of(model)
    network = Network(original.tokenizer, copy.deepcopy(original.model), original.name)
    encoded = network.tokenizer(
        [example.text for example in examples], truncation=True, max_length=network.max_tokens
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
            compute_loss_func=loss_of(model.rule),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    network.model.eval()
    return replace(model, classifier=network)
