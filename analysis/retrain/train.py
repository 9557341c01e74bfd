"""Fine-tune a model on a capability's cases, and see what it learns and what it forgets.

After S²LCT's Table 2: trained on one capability at a time (8:1:1, one epoch, batches of 16), scored
on all of them before and after.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import TypeAdapter, ValidationError

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.judge import Judge
from s2lct.analysis.kept import kept
from s2lct.analysis.retrain.records import (
    CaseOutcome,
    CorpusAccuracy,
    Group,
    Matrix,
    Row,
    Run,
    TrainOptions,
    row_of,
)
from s2lct.analysis.retrain.splits import Split, sentence_key, sentences_of, split_of
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows
from s2lct.analysis.training import Example, fine_tune, learnable
from s2lct.builder.corpus.collect import Corpus
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.files import whole_folder, write_text
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.models.network import Network
from s2lct.progress import bar
from s2lct.suite.cases import families_of

MODEL_FOLDER = "model"
RUN_FILE = "s2lct_run.json"
"""In a trained model's folder: how it was trained."""
_RUN = TypeAdapter(Run)


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

    Args:
        judge: the model.
        suite: to train and to test on.
        corpus: shows what is forgotten, and may be mixed in; None for neither.
        options: of the training.
        save_to: a folder for the trained models; None to keep what they did alone.

    Raises:
        AnalysisError: the model has no weights, or the corpus is missing and was to be mixed in.
    """

    def __init__(
        self,
        judge: Judge,
        suite: SuiteRows,
        corpus: Corpus | None,
        options: TrainOptions,
        save_to: Path | None = None,
    ) -> None:
        if not isinstance(judge.model, Network):
            raise AnalysisError(
                f"model {judge.model.name}: has no weights to train",
                hint="pass embedded-2class, embedded-3class, or the folder or Hub id of a "
                "sequence classifier",
            )
        if options.mix and corpus is None:
            raise AnalysisError("--mix: without a corpus", hint="name it with --corpus")
        self.network, self.rule, self._judge = judge.model, judge.rule, judge
        self.suite, self.corpus, self.options, self.save_to = suite, corpus, options, save_to
        self._test = parts_of_corpus(corpus).test if corpus is not None else ()
        if not self.rule.has_neutral:
            self._test = tuple(one for one in self._test if one.label != "neutral")

    def matrix(self, trainings: Mapping[str, Sequence[str]], seeds: int) -> Matrix:
        """Train on the capabilities of each training, with so many seeds.

        A warning names a training that is not possible, and why, unless it is the only one.

        Raises:
            AnalysisError: the only training is not possible.
        """
        advance = bar(f"retraining {self.network.name}", len(trainings) * seeds)
        rows: list[Row] = []
        for name, on in trainings.items():
            try:
                runs = []
                for seed in range(seeds):
                    runs.append(self.run(name, on, seed))
                    advance(1, name)
                rows.append(row_of(name, runs))
            except AnalysisError as error:
                if len(trainings) == 1:
                    raise
                warnings.warn(f"{name}: {error.problem}", S2lctWarning, stacklevel=2)
                rows.append(Row(name=name, trained_on=tuple(on), problem=error.problem))
        return Matrix(
            model=self.network.name,
            model_fingerprint=self.network.fingerprint,
            label_rule=str(self._judge),
            suite=self.suite.name,
            suite_fingerprint=self.suite.fingerprint,
            corpus=self.corpus.name if self.corpus is not None else "",
            options=self.options,
            seeds=tuple(range(seeds)),
            capabilities=self.suite.capabilities,
            rows=tuple(rows),
        )

    def folder_of(self, name: str, seed: int) -> Path | None:
        """Where the model lies that trained on ``name``: a capability or ``all``."""
        return self.save_to and self.save_to / name / f"seed-{seed}" / MODEL_FOLDER

    def run(self, name: str, on: Sequence[str], seed: int, *, callbacks: Sequence[Any] = ()) -> Run:
        """Train on capabilities and score, or give what was kept of the same run.

        For the seed see `splits.split_of`; the callbacks are of `transformers`.

        Raises:
            AnalysisError: too few cases, none that the model can learn, or the folder holds a
                model of another run.
        """
        split = split_of(self.suite.rows, on, seed)
        examples = [Example(row.case.text, row.label) for row in split.train]
        own = learnable(self.rule, examples)
        if not own:
            raise AnalysisError(
                f"{name}: none of {len(examples)} training cases has a label that "
                f"{self.network.name} has a class for (no neutral class)",
                hint="train on another capability, or a model with three classes",
            )
        mixed: list[Example] = []
        if self.corpus is not None and self.options.mix:
            mixed = mixed_sentences(self.corpus, self.suite.rows, self.options.mix, seed)
        learnt = learnable(self.rule, mixed)
        inputs = fingerprint_of(
            {
                "model": self.network.fingerprint,
                "rule": str(self.rule),
                "suite": [
                    [one.id, one.text, row.label, sorted(one.passes), one.sources, row.sources]
                    for row in self.suite.rows
                    for one in (row.case,)
                ],
                "corpus": self.corpus.fingerprint if self.corpus is not None else "",
                "options": self.options.model_dump(),
                "on": list(on),
                "seed": seed,
            }
        )
        folder = self.folder_of(name, seed)

        def trained() -> Run:
            before = self._before
            model = copy.deepcopy(self.network.model)
            network = Network(self.network.tokenizer, model, self.network.name)
            steps = fine_tune(
                network,
                self.rule,
                [*own, *learnt],
                epochs=self.options.epochs,
                lr=self.options.lr,
                batch_size=self.options.batch_size,
                seed=seed,
                callbacks=callbacks,
            )
            meanings = [LABELS[one] for one in self.rule.meanings]
            judge = Judge(
                network,
                label_map=dict(zip(self.rule.classes, meanings, strict=True)),
                neutral_band=self.rule.neutral_band,
            )
            after = self._scored(judge)
            run = Run(
                inputs=inputs,
                on=tuple(on),
                seed=seed,
                train=len(own),
                validation=len(split.validation),
                test=len(split.test),
                dropped_neutral=len(examples) - len(own) + len(mixed) - len(learnt),
                mixed=len(learnt),
                steps=steps,
                corpus=self._corpus_accuracy(split, before[1], after[1]),
                cases=self._outcomes(split, before[0], after[0]),
            )
            if folder is not None:
                with whole_folder(folder) as partial:
                    network.model.save_pretrained(partial)
                    network.tokenizer.save_pretrained(partial)
                    write_text(partial / RUN_FILE, run.model_dump_json() + "\n")
            return run

        if folder is None:
            return kept(self.network.fingerprint, inputs, _RUN, trained)
        return _saved(folder, inputs) or trained()

    @cached_property
    def _before(self) -> tuple[list[bool], list[bool]]:
        return self._scored(self._judge)

    def _scored(self, judge: Judge) -> tuple[list[bool], list[bool]]:
        """Which cases a model fails, and which of the corpus's test sentences it gets right.

        A sentence's label has to be the likeliest of those that the model has a class for.
        """
        predicted = judge.labels([row.case.text for row in self.suite.rows]).tolist()
        rows = zip(self.suite.rows, predicted, strict=True)
        failures = [label not in row.case.passes for row, label in rows]
        likeliest = judge.likeliest([one.text for one in self._test]).tolist()
        labels = zip(self._test, likeliest, strict=True)
        return failures, [LABELS[label] == one.label for one, label in labels]

    def _outcomes(
        self, split: Split, before: Sequence[bool], after: Sequence[bool]
    ) -> tuple[CaseOutcome, ...]:
        cases = [row.case for row in self.suite.rows]
        group_of: dict[str, Group] = {
            row.case.id: group for group in get_args(Group) for row in getattr(split, group)
        }
        return tuple(
            CaseOutcome(
                id=case.id,
                capability=case.capability,
                family=family,
                group=group_of[case.id],
                before=failed,
                after=fails,
            )
            for case, family, failed, fails in zip(
                cases, families_of(cases).tolist(), before, after, strict=True
            )
        )

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


def _saved(folder: Path, inputs: str) -> Run | None:
    """The run whose model a folder holds; an AnalysisError where it is of other inputs."""
    if not folder.exists():
        return None
    try:
        run = Run.model_validate_json((folder / RUN_FILE).read_bytes())
    except (OSError, ValidationError):
        run = None
    if run is None or run.inputs != inputs:
        raise AnalysisError(
            f"--out: {folder} holds a model of another run: of another model, suite, corpus or "
            "other options",
            hint="choose another --out, or delete that folder",
        )
    return run
