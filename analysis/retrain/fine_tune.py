"""Fine-tune a network on texts whose labels several of its classes may mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.analysis.retrain.runs import TrainOptions
from s2lct.extras import require
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
    options: TrainOptions,
    seed: int,
    folder: Path,
    *,
    callbacks: Sequence[Any] = (),
) -> int:
    """Train a network in place with `transformers.Trainer`.

    The loss is the negative log probability of all classes that mean the label, so that models
    with several positive classes may choose among them; with one class each it is cross-entropy.

    Every example's label has a class. The folder is for checkpoints; where one lies there, training
    goes on from it.

    Returns:
        The number of optimiser steps, those before an interruption included.
    """
    require("accelerate")
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments
    from transformers.trainer_utils import get_last_checkpoint

    matching = torch.tensor(
        [[meaning == label for meaning in rule.meanings] for label in range(len(LABELS))]
    )

    class FoldedTrainer(Trainer):
        def compute_loss(
            self,
            model: Any,
            inputs: Any,
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            logarithms = torch.log_softmax(outputs.logits.float(), dim=-1)
            wanted = matching.to(labels.device)[labels].float().log()
            loss = -torch.logsumexp(logarithms + wanted, dim=-1).mean()
            return (loss, outputs) if return_outputs else loss

    encoded = network.tokenizer(
        [one.text for one in examples], truncation=True, max_length=network.most_tokens
    )
    rows = [
        {name: values[number] for name, values in encoded.items()} | {"label": one.label}
        for number, one in enumerate(examples)
    ]
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        learning_rate=options.lr,
        per_device_train_batch_size=options.batch_size,
        seed=seed,
        data_seed=seed,
        save_strategy="steps",
        save_steps=options.checkpoint_steps,
        save_total_limit=1,
        logging_strategy="no",
        eval_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=network.model.device.type == "cpu",
    )
    torch.manual_seed(seed)
    trainer = FoldedTrainer(
        network.model,
        arguments,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(network.tokenizer),
        processing_class=network.tokenizer,
        callbacks=list(callbacks),
    )
    trainer.remove_callback(PrinterCallback)
    found = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    trainer.train(resume_from_checkpoint=found)
    network.model.eval()
    return int(trainer.state.global_step)
