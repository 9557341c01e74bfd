"""Fine-tune a model on a capability's cases, and see what it learns and what it forgets.

After S²LCT's Table 2: trained on one capability at a time (8:1:1, one epoch, batches of 16), scored
on all of them before and after.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.judge import Judge
from s2lct.analysis.retrain.fine_tune import Example, fine_tune, learnable
from s2lct.analysis.retrain.runs import (
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
from s2lct.errors import AnalysisError, SuiteError
from s2lct.files import one_folder, whole_folder, write_text
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import LabelRule
from s2lct.leaderboard.models.network import Network
from s2lct.suite.read import read_description
from s2lct.suite.records import Sentence

MODEL_FOLDER = "model"
CHECKPOINTS = "checkpoints"
SMALLEST_PROBABILITY = 1e-12
_BY_DEFAULT = TrainOptions()

Tell = Callable[[str], None]


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
    saved in the folder of the runs if they are to be kept. ``tell`` is told in a line what is being
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
        tell: Tell = lambda line: None,
    ) -> None:
        if not isinstance(judge.model, Network) or judge.rule is None:
            raise AnalysisError(
                f"model {judge.model.name}: has no weights to train",
                mend="pass embedded-2class, embedded-3class, or the folder or Hub id of a "
                "sequence classifier",
            )
        self.options = options
        if self.options.mix and corpus is None:
            raise AnalysisError("--mix: without a corpus", mend="name it with --corpus")
        self.network, self.rule = judge.model, judge.rule
        self.suite, self.corpus, self.out = suite, corpus, out
        self.keep_models, self._judge, self._tell = keep_models, judge, tell
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
        mixed: list[Example] = []
        if self.corpus is not None and self.options.mix:
            mixed = mixed_sentences(self.corpus, self.suite.rows, self.options.mix, seed)
        learnt = learnable(self.rule, mixed)
        inputs = self._inputs(on, seed)
        done = read_run(folder, inputs)
        if done is not None and (not self.keep_models or (folder / MODEL_FOLDER).is_dir()):
            return done
        before, right_before = self._before
        self._tell(f"{name}, seed {seed}: training on {len(own) + len(learnt)} texts")
        model = copy.deepcopy(self.network.model)
        network = Network(self.network.tokenizer, model, self.network.name)
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
            with whole_folder(folder / MODEL_FOLDER) as partial:
                network.model.save_pretrained(partial)
                network.tokenizer.save_pretrained(partial)
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

    @cached_property
    def _before(self) -> tuple[list[bool], list[bool]]:
        """Which cases the model fails, and which test sentences it gets right, as it is."""
        self._tell("scoring the model as it is")
        failures = _failures(self._judge, self.suite.rows)
        return failures, _right(self._judge, self.rule, self._test)

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
    group_of: dict[str, Group] = {
        row.case.id: group for group in get_args(Group) for row in getattr(split, group)
    }
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


def corpus_of_suite(suite: str) -> dict[str, Any]:
    """What a built suite says of its corpus: ``corpus``, ``text_column`` and the like; or {}."""
    try:
        options = read_description(Path(suite))["options"]
    except SuiteError:
        return {}
    return {name: options[name] for name in ("corpus", "text_column", "label_column", "label_map")}
