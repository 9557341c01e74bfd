"""Fine-tune a model on a capability's cases, and see what it learns and what it forgets.

After S²LCT's Table 2: trained on one capability at a time (8:1:1, one epoch, batches of 16), scored
on all of them before and after.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.judge import Judge
from s2lct.analysis.retrain.records import (
    RUN_FILE,
    CaseOutcome,
    CorpusAccuracy,
    Group,
    Run,
    TrainOptions,
    read_run,
)
from s2lct.analysis.retrain.splits import Split, sentence_key, sentences_of, split_of
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows
from s2lct.builder.corpus.collect import Corpus
from s2lct.errors import AnalysisError
from s2lct.extras import require
from s2lct.files import files_in, one_folder, whole_folder, write_text
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network
from s2lct.leaderboard.scoring.statistics import families_of

MODEL_FOLDER = "model"
CHECKPOINTS = "checkpoints"
SMALLEST_PROBABILITY = 1e-12
_BY_DEFAULT = TrainOptions()


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
    """Train a network in place with `transformers.Trainer`, on `learnable` examples.

    The loss is the negative log probability of all classes that mean the label, so that models
    with several positive classes may choose among them; with one class each it is cross-entropy.
    Where a checkpoint lies in the folder, training goes on from it.

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
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        learning_rate=options.lr,
        per_device_train_batch_size=options.batch_size,
        average_tokens_across_devices=False,
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
    found = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    trainer.train(resume_from_checkpoint=found)
    network.model.eval()
    return int(trainer.state.global_step)


def mixed_sentences(
    corpus: Corpus, rows: Sequence[SuiteRow], share: float, seed: int
) -> list[Example]:
    """A share of a corpus's training sentences, none of which any case was made from."""
    parts = parts_of_corpus(corpus)
    barred = sentences_of(rows) | {sentence_key(one.text) for one in parts.test}
    free = sorted(
        (one for one in parts.train if sentence_key(one.text) not in barred),
        key=lambda one: shuffle_key(seed, "mix", one.id, one.text),
    )
    count = round(share * len(parts.train))
    return [Example(one.text, LABELS.index(one.label)) for one in free[:count]]


class Retrainer:
    """Trains a model on capabilities of a suite, each time from the same weights.

    The corpus shows what is forgotten, and may be mixed in; None for neither. Trained models are
    saved in the folder of the runs if they are to be kept. ``tell`` gets a line on what is being
    done.

    Raises:
        AnalysisError: the model has no weights, or the corpus is missing and was to be mixed in.
    """

    def __init__(
        self,
        judge: Judge,
        suite: SuiteRows,
        corpus: Corpus | None,
        out: Path,
        options: TrainOptions = _BY_DEFAULT,
        *,
        keep_models: bool = True,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        if not isinstance(judge.model, Network) or judge.rule is None:
            raise AnalysisError(
                f"model {judge.model.name}: has no weights to train",
                hint="pass embedded-2class, embedded-3class, or the folder or Hub id of a "
                "sequence classifier",
            )
        if options.mix and corpus is None:
            raise AnalysisError("--mix: without a corpus", hint="name it with --corpus")
        self.network, self.rule, self._judge = judge.model, judge.rule, judge
        self.suite, self.corpus, self.out = suite, corpus, out
        self.options, self.keep_models, self._tell = options, keep_models, tell
        self._test = parts_of_corpus(corpus).test if corpus is not None else ()
        if not self.rule.has_neutral:
            self._test = tuple(one for one in self._test if one.label != "neutral")

    def folder_of(self, name: str, seed: int) -> Path:
        """Where the run lies that trained on ``name``: a capability or ``all``."""
        return self.out / one_folder(name) / f"seed-{seed}"

    def run(self, name: str, on: Sequence[str], seed: int, *, callbacks: Sequence[Any] = ()) -> Run:
        """Train on capabilities and score, or read the run that was done before.

        For the seed see `splits.split_of`; the callbacks are of `transformers`.

        Raises:
            AnalysisError: too few cases, none that the model can learn, or the folder holds a
                run of other inputs.
        """
        folder, rule, rows = self.folder_of(name, seed), self.rule, self.suite.rows
        split = split_of(rows, on, seed)
        examples = [Example(row.case.text, row.label) for row in split.train]
        own = learnable(rule, examples)
        if not own:
            raise AnalysisError(
                f"{name}: none of {len(examples)} training cases has a label that "
                f"{self.network.name} has a class for (no neutral class)",
                hint="train on another capability, or a model with three classes",
            )
        mixed: list[Example] = []
        if self.corpus is not None and self.options.mix:
            mixed = mixed_sentences(self.corpus, rows, self.options.mix, seed)
        learnt = learnable(rule, mixed)
        inputs = fingerprint_of(
            {
                "format": 2,
                "model": self.network.fingerprint,
                "rule": str(rule),
                "suite": [
                    [one.id, one.text, row.label, sorted(one.passes), one.sources, row.sources]
                    for row in rows
                    for one in (row.case,)
                ],
                "corpus": self.corpus.fingerprint if self.corpus is not None else "",
                "options": self.options.model_dump(exclude={"checkpoint_steps"}),
                "on": list(on),
                "seed": seed,
            }
        )
        done = read_run(folder, inputs)
        if done is not None and (not self.keep_models or (folder / MODEL_FOLDER).is_dir()):
            return done
        failed, right = self._before
        loss = self._loss(self._judge, split)
        self._tell(f"{name}, seed {seed}: training on {len(own) + len(learnt)} texts")
        model = copy.deepcopy(self.network.model)
        network = Network(self.network.tokenizer, model, self.network.name)
        checkpoints = folder / CHECKPOINTS / inputs[:16]
        steps = fine_tune(
            network, rule, [*own, *learnt], self.options, seed, checkpoints, callbacks=callbacks
        )
        self._tell(f"{name}, seed {seed}: scoring")
        meanings = dict(zip(rule.classes, (LABELS[one] for one in rule.meanings), strict=True))
        judge = Judge(network, label_map=meanings, neutral_band=rule.neutral_band)
        failed_after, right_after = self._scored(judge)
        loss_after = self._loss(judge, split)
        group_of: dict[str, Group] = {
            row.case.id: group for group in get_args(Group) for row in getattr(split, group)
        }
        families = families_of([row.case for row in rows])
        result = Run(
            inputs=inputs,
            on=tuple(on),
            seed=seed,
            train=len(own),
            validation=len(split.validation),
            test=len(split.test),
            dropped_neutral=len(examples) - len(own) + len(mixed) - len(learnt),
            mixed=len(learnt),
            steps=steps,
            validation_loss=None if loss is None or loss_after is None else (loss, loss_after),
            corpus=self._corpus_accuracy(split, right, right_after),
            cases=tuple(
                CaseOutcome(
                    id=row.case.id,
                    capability=row.case.capability,
                    kind=row.case.kind,
                    family=family,
                    group=group_of[row.case.id],
                    before=before,
                    after=after,
                )
                for row, family, before, after in zip(
                    rows, families.tolist(), failed, failed_after, strict=True
                )
            ),
        )
        if self.keep_models:
            models = folder / MODEL_FOLDER
            with whole_folder(models, ours=files_in(models)) as partial:
                network.model.save_pretrained(partial)
                network.tokenizer.save_pretrained(partial)
        write_text(folder / RUN_FILE, result.model_dump_json() + "\n")
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        return result

    @cached_property
    def _before(self) -> tuple[list[bool], list[bool]]:
        self._tell("scoring the model as it is")
        return self._scored(self._judge)

    def _scored(self, judge: Judge) -> tuple[list[bool], list[bool]]:
        """Which cases a model fails, and which of the corpus's test sentences it gets right.

        A sentence's label has to be the likeliest of those that the model has a class for.
        """
        said = judge.labels([row.case.text for row in self.suite.rows]).tolist()
        rows = zip(self.suite.rows, said, strict=True)
        failures = [label not in row.case.passes for row, label in rows]
        labels = np.array(sorted(set(self.rule.meanings)))
        held = judge.supports([one.text for one in self._test])[:, labels]
        likeliest = zip(self._test, labels[held.argmax(axis=1)], strict=True)
        return failures, [LABELS[label] == one.label for one, label in likeliest]

    def _loss(self, judge: Judge, split: Split) -> float | None:
        """The mean negative log probability of the validation cases' labels."""
        known = [row for row in split.validation if row.label in self.rule.meanings]
        if not known:
            return None
        held = judge.support([row.case.text for row in known], [row.label for row in known])
        return float(-np.log(np.maximum(held, SMALLEST_PROBABILITY)).mean())

    def _corpus_accuracy(
        self, split: Split, before: Sequence[bool], after: Sequence[bool]
    ) -> CorpusAccuracy | None:
        """Accuracy on those of the corpus's test sentences that were not trained on."""
        if not self._test:
            return None
        trained = split.trained_sentences
        kept = np.array([sentence_key(one.text) not in trained for one in self._test])
        return CorpusAccuracy(
            sentences=int(kept.sum()),
            left_out=int((~kept).sum()),
            before=float(np.mean(np.array(before)[kept])) if kept.any() else 0.0,
            after=float(np.mean(np.array(after)[kept])) if kept.any() else 0.0,
        )
