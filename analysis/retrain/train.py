"""Fine-tune a model on a capability's cases, and see what it learns and what it forgets.

After S²LCT's Table 2: trained on one capability at a time (8:1:1, one epoch, batches of 16), scored
on all of them before and after.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.judge import Judge
from s2lct.analysis.retrain.splits import Split, sentence_key, sentences_of, split_of
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows
from s2lct.builder.corpus.read import Corpus
from s2lct.errors import AnalysisError
from s2lct.extras import require
from s2lct.files import one_folder, whole_folder, write_text
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network
from s2lct.suite.records import Sentence

RUN_FILE = "run.json"
MODEL_FOLDER = "model"
CHECKPOINTS = "checkpoints"
SMALLEST_PROBABILITY = 1e-12

Group = Literal["train", "validation", "test", "left_out", "unseen", "shared"]
Tell = Callable[[str], None]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainOptions(_Strict):
    """How a model is fine-tuned.

    Attributes:
        epochs: times that every case is seen.
        lr: the learning rate at the start; it falls linearly to 0 (AdamW).
        batch_size: cases a step.
        mix: sentences of the corpus's own training data that are trained on beside the cases, as
            a share of that data.
        checkpoint_steps: steps between two checkpoints that an interrupted run goes on from.
    """

    epochs: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    lr: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch_size: int = Field(default=16, ge=1)
    mix: float = Field(default=0.0, ge=0, le=1)
    checkpoint_steps: int = Field(default=100, ge=1)


class CaseOutcome(_Strict):
    """A case before and after training.

    Attributes:
        id, capability, seed_id: of the case.
        group: see `splits.Split`.
        before, after: whether the model failed it.
    """

    id: str
    capability: str
    seed_id: str
    group: Group
    before: bool
    after: bool


class CorpusAccuracy(_Strict):
    """How well the model does on sentences of the corpus's own test split.

    Attributes:
        sentences: how many.
        left_out: sentences of the split that were trained on, as part of a case.
        before, after: accuracy; of models without a neutral class on negative and positive
            sentences, by the likelier of the two.
    """

    sentences: int = Field(ge=0)
    left_out: int = Field(ge=0)
    before: float
    after: float


class Run(_Strict):
    """A model trained once.

    Attributes:
        inputs: fingerprint of all that decides the outcome.
        on: the capabilities trained on.
        seed: of the split, the order of batches and dropout.
        train, validation, test: how many cases; ``train`` without those that were dropped.
        dropped_neutral: neutral cases and sentences that a model without a neutral class cannot
            learn.
        mixed: sentences of the corpus trained on beside the cases.
        steps: of the optimiser.
        validation_loss: mean negative log probability of the validation cases' labels before and
            after; None without such cases. It is told, nothing is chosen by it.
        corpus: None without a corpus.
        cases: every case of the suite.
    """

    format: Literal[1] = 1
    inputs: str
    on: tuple[str, ...]
    seed: int
    train: int
    validation: int
    test: int
    dropped_neutral: int
    mixed: int
    steps: int
    validation_loss: tuple[float, float] | None
    corpus: CorpusAccuracy | None
    cases: tuple[CaseOutcome, ...]


@dataclass(frozen=True)
class Example:
    """A text to learn, with the number of its label among `LABELS`."""

    text: str
    label: int


def learnable(rule: LabelRule, examples: Sequence[Example]) -> list[Example]:
    """The examples whose label the model has a class for."""
    return [one for one in examples if one.label in rule.meanings]


def mixed_sentences(
    corpus: Corpus, rows: Sequence[SuiteRow], share: float, seed: int
) -> list[Example]:
    """Sentences of a corpus's training data, none of which any case of the suite was made from.

    Args:
        corpus: the corpus.
        rows: all of the suite's cases.
        share: of the corpus's training sentences.
        seed: of the draw.
    """
    parts = parts_of_corpus(corpus)
    barred = sentences_of(rows) | {sentence_key(one.text) for one in parts.test}
    free = sorted(
        (one for one in parts.train if sentence_key(one.text) not in barred),
        key=lambda one: shuffle_key(seed, "mix", one.id, one.text),
    )
    count = round(share * len(parts.train))
    return [Example(one.text, LABELS.index(one.label)) for one in free[:count]]


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

    Args:
        network: the network.
        rule: what its classes mean.
        examples: what to learn; every label has a class.
        options: see `TrainOptions`.
        seed: of the order of batches and of dropout.
        folder: for checkpoints; where one lies there, training goes on from it.
        callbacks: of `transformers`.

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


class Retrainer:
    """Trains a model on capabilities of a suite, each time from the same weights.

    Args:
        judge: the model to start from.
        suite: the suite.
        corpus: its source corpus, to see what is forgotten and to mix in; None for neither.
        out: the folder of the runs.
        options: see `TrainOptions`.
        keep_models: whether to save the trained models.
        tell: told in a line what is being done.

    Raises:
        AnalysisError: the model has no weights, or the corpus is missing and was to be mixed in.
    """

    def __init__(
        self,
        judge: Judge,
        suite: SuiteRows,
        corpus: Corpus | None,
        out: Path,
        options: TrainOptions | None = None,
        *,
        keep_models: bool = True,
        tell: Tell = lambda line: None,
    ) -> None:
        if not isinstance(judge.model, Network) or judge.rule is None:
            raise AnalysisError(
                f"model {judge.model.name}: has no weights to train",
                mend="pass embedded-2class, embedded-3class, or the folder or Hub id of a "
                "sequence classifier",
            )
        self.options = options or TrainOptions()
        if self.options.mix and corpus is None:
            raise AnalysisError("--mix: without a corpus", mend="name it with --corpus")
        self.network, self.rule = judge.model, judge.rule
        self.suite, self.corpus, self.out = suite, corpus, out
        self.keep_models, self._judge, self._tell = keep_models, judge, tell
        self._before: list[bool] | None = None
        self._test = parts_of_corpus(corpus).test if corpus is not None else ()
        if not self.rule.has_neutral:
            self._test = tuple(one for one in self._test if one.label != "neutral")
        self._right_before: list[bool] | None = None

    def folder_of(self, name: str, seed: int) -> Path:
        """Where the run lies that trained on ``name``: a capability or ``all``."""
        return self.out / one_folder(name) / f"seed-{seed}"

    def run(self, name: str, on: Sequence[str], seed: int, *, callbacks: Sequence[Any] = ()) -> Run:
        """Train and score, or read the run that was done before.

        Args:
            name: of the folder.
            on: the capabilities.
            seed: see `splits.split_of`.
            callbacks: of `transformers`, for the training.

        Raises:
            AnalysisError: too few cases, none that the model can learn, or the folder holds a
                run of other inputs.
        """
        folder = self.folder_of(name, seed)
        split = split_of(self.suite.rows, on, seed)
        examples = [Example(row.case.text, row.label) for row in split.train]
        own = learnable(self.rule, examples)
        if not own:
            raise AnalysisError(
                f"{name}: none of {len(examples)} training cases has a label that "
                f"{self.network.name} has a class for (no neutral class)",
                mend="train on another capability, or a model with three classes",
            )
        mixed = (
            mixed_sentences(self.corpus, self.suite.rows, self.options.mix, seed)
            if self.corpus is not None and self.options.mix
            else []
        )
        learnt = learnable(self.rule, mixed)
        inputs = self._inputs(on, seed)
        if (done := _read_run(folder, inputs)) is not None and (
            not self.keep_models or (folder / MODEL_FOLDER).is_dir()
        ):
            return done
        folder.mkdir(parents=True, exist_ok=True)
        before, right_before = self._scored_before()
        self._tell(f"{name}, seed {seed}: training on {len(own) + len(learnt)} texts")
        network = _copied(self.network)
        judge = _same_rule(network, self.rule)
        loss_before = _loss(self._judge, self.rule, split.validation)
        steps = fine_tune(
            network,
            self.rule,
            [*own, *learnt],
            self.options,
            seed,
            folder / CHECKPOINTS / inputs[:16],
            callbacks=callbacks,
        )
        self._tell(f"{name}, seed {seed}: scoring")
        after = _failures(judge, self.suite.rows)
        loss_after = _loss(judge, self.rule, split.validation)
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
            validation_loss=None
            if loss_before is None or loss_after is None
            else (loss_before, loss_after),
            corpus=self._corpus_accuracy(judge, split, right_before),
            cases=_outcomes(self.suite.rows, split, before, after),
        )
        if self.keep_models:
            _save(network, folder / MODEL_FOLDER)
        write_text(folder / RUN_FILE, result.model_dump_json() + "\n")
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        return result

    def _inputs(self, on: Sequence[str], seed: int) -> str:
        return fingerprint_of(
            {
                "format": 1,
                "model": self.network.fingerprint,
                "rule": str(self.rule),
                "suite": [[row.case.id, row.label] for row in self.suite.rows],
                "corpus": self.corpus.fingerprint if self.corpus is not None else "",
                "options": self.options.model_dump(exclude={"checkpoint_steps"}),
                "on": list(on),
                "seed": seed,
            }
        )

    def _scored_before(self) -> tuple[list[bool], list[bool]]:
        if self._before is None or self._right_before is None:
            self._tell("scoring the model as it is")
            self._before = _failures(self._judge, self.suite.rows)
            self._right_before = _right(self._judge, self.rule, self._test)
        return self._before, self._right_before

    def _corpus_accuracy(
        self, judge: Judge, split: Split, right_before: Sequence[bool]
    ) -> CorpusAccuracy | None:
        if not self._test:
            return None
        trained = split.trained_sentences
        kept = [
            number for number, one in enumerate(self._test) if sentence_key(one.text) not in trained
        ]
        right_after = _right(judge, self.rule, [self._test[number] for number in kept])
        return CorpusAccuracy(
            sentences=len(kept),
            left_out=len(self._test) - len(kept),
            before=float(np.mean([right_before[number] for number in kept])) if kept else 0.0,
            after=float(np.mean(right_after)) if kept else 0.0,
        )


def _copied(network: Network) -> Network:
    return Network(network.tokenizer, copy.deepcopy(network.model), network.name)


def _same_rule(network: Network, rule: LabelRule) -> Judge:
    meanings = {
        name: LABELS[meaning] for name, meaning in zip(rule.classes, rule.meanings, strict=True)
    }
    return Judge(network, label_map=meanings, neutral_band=rule.neutral_band)


def _failures(judge: Judge, rows: Sequence[SuiteRow]) -> list[bool]:
    said = judge.labels([row.case.text for row in rows]).tolist()
    return [label not in row.case.passes for row, label in zip(rows, said, strict=True)]


def _right(judge: Judge, rule: LabelRule, sentences: Sequence[Sentence]) -> list[bool]:
    """Which sentences' labels are the likeliest of those that the model has a class for."""
    if not sentences:
        return []
    texts = [one.text for one in sentences]
    labels = sorted(set(rule.meanings))
    support = np.array([judge.support(texts, [label] * len(texts)) for label in labels])
    said = np.array(labels)[support.argmax(axis=0)]
    return [LABELS[label] == one.label for label, one in zip(said, sentences, strict=True)]


def _loss(judge: Judge, rule: LabelRule, rows: Sequence[SuiteRow]) -> float | None:
    known = [row for row in rows if row.label in rule.meanings]
    if not known:
        return None
    held = judge.support([row.case.text for row in known], [row.label for row in known])
    return float(-np.log(np.maximum(held, SMALLEST_PROBABILITY)).mean())


def _outcomes(
    rows: Sequence[SuiteRow], split: Split, before: Sequence[bool], after: Sequence[bool]
) -> tuple[CaseOutcome, ...]:
    group_of: dict[str, Group] = {}
    groups: tuple[Group, ...] = ("train", "validation", "test", "left_out", "unseen", "shared")
    for group in groups:
        group_of |= {row.case.id: group for row in getattr(split, group)}
    return tuple(
        CaseOutcome(
            id=row.case.id,
            capability=row.case.capability,
            seed_id=row.case.seed_id,
            group=group_of[row.case.id],
            before=failed_before,
            after=failed_after,
        )
        for row, failed_before, failed_after in zip(rows, before, after, strict=True)
    )


def _save(network: Network, folder: Path) -> None:
    """Save tokenizer and weights (safetensors), whole or not at all."""
    with whole_folder(folder) as partial:
        network.model.save_pretrained(partial)
        network.tokenizer.save_pretrained(partial)


def _read_run(folder: Path, inputs: str) -> Run | None:
    path = folder / RUN_FILE
    if not path.exists():
        return None
    try:
        run = Run.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise AnalysisError(f"{path}: is no run of ours", mend="choose another --out") from error
    if run.inputs != inputs:
        raise AnalysisError(
            f"{path}: a run of another model, suite, corpus or other options lies there",
            mend="choose another --out, or delete that folder",
        )
    return run


def corpus_of_suite(suite: str) -> dict[str, Any]:
    """What a built suite says of its corpus: ``corpus``, ``text_column`` and the like; or {}."""
    from s2lct.errors import SuiteError
    from s2lct.suite.read import read_description

    try:
        options = read_description(Path(suite))["options"]
    except SuiteError:
        return {}
    return {name: options[name] for name in ("corpus", "text_column", "label_column", "label_map")}
