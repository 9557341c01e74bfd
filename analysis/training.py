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
    """A text to train on, with the index of its label in `LABELS`."""

    text: str
    label: int


@dataclass(frozen=True)
class TrainOptions:
    """The settings of AdamW; the learning rate ``lr`` falls linearly to 0."""

    epochs: float = 1.0
    lr: float = 2e-5
    batch_size: int = 16


_DEFAULT_OPTIONS = TrainOptions()


def network_of(model: LabelledClassifier) -> Network:
    """The network that a classifier wraps.

    Raises:
        AnalysisError: the classifier has no weights that can be trained.
    """
    if not isinstance(model.classifier, Network):
        raise AnalysisError(
            f"model {model.classifier.name}: has no weights to train",
            hint="pass embedded-2class, embedded-3class, or the folder or Hub id of a sequence "
            "classifier",
        )
    return model.classifier


def loss_for(rule: LabelRule) -> Callable[..., Any]:
    """The training loss: the negative log of the summed probability of all classes of the label.

    With one class per label it is cross-entropy.
    """
    import torch

    is_class_of_label = torch.tensor(
        [[meaning == label for meaning in rule.meanings] for label in range(len(LABELS))]
    )

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        log_probabilities = torch.log_softmax(outputs.logits.float(), dim=-1)
        log_mask = is_class_of_label.to(labels.device)[labels].float().log()
        return -torch.logsumexp(log_probabilities + log_mask, dim=-1).mean()

    return loss


def fine_tuned(
    model: LabelledClassifier,
    examples: Sequence[Example],
    options: TrainOptions = _DEFAULT_OPTIONS,
    random_seed: int = 0,
) -> LabelledClassifier:
    """Copy a model, train the copy on examples, and return it.

    Args:
        model: the model to copy; it is left unchanged.
        examples: texts with labels that the model has a class for.
        options: the settings of the training.
        random_seed: the random seed; it decides the order of the batches and dropout.

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
    dataset = [
        {name: values[row] for name, values in encoded.items()} | {"label": example.label}
        for row, example in enumerate(examples)
    ]
    torch.manual_seed(random_seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=options.epochs,
            learning_rate=options.lr,
            per_device_train_batch_size=options.batch_size,
            average_tokens_across_devices=False,
            seed=random_seed,
            data_seed=random_seed,
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
            train_dataset=dataset,
            data_collator=DataCollatorWithPadding(network.tokenizer),
            processing_class=network.tokenizer,
            compute_loss_func=loss_for(model.rule),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    network.model.eval()
    return replace(model, classifier=network)
