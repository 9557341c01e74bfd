"""Fine-tune a model on capabilities, and compare its failures before and after.

After S²LCT's Table 2: the model is trained on one capability at a time (8:1:1, one epoch, batches
of 16) and scored on all capabilities before and after.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.cached_results import cached_result
from s2lct.analysis.corpus_parts import split_corpus
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.analysis.result import Result
from s2lct.analysis.training import Example, TrainOptions, fine_tuned, network_of
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.files import atomic_folder, write_bytes
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.site.report import capability_words
from s2lct.progress import bar
from s2lct.suite.cases import Case, SuiteCases, families_of
from s2lct.tables import Cell, Table

FOLDS = 10
"""Folds of the cases: one to test on, one held out for validation, eight to train on."""
MIN_FOLDS = 3
MIN_FAMILIES_FOR_INTERVAL = 5
TRAINING_FILE = "s2lct_training.json"
"""The name of the file with the figures of a `Training`, in the trained model's folder."""
Booleans = npt.NDArray[np.bool_]


class Split(NamedTuple):
    """Cases to train on, cases of the same capabilities to test on, and cases of other ones."""

    train: list[Case]
    test: list[Case]
    other_capabilities: list[Case]


def sentence_key(text: str) -> str:
    """A key that is equal for sentences that differ only in spaces and capitals."""
    return " ".join(text.split()).casefold()


def sentence_keys(cases: Iterable[Case]) -> frozenset[str]:
    """The keys of cases' corpus sentences; of a case that names none, the key of its text."""
    return frozenset(
        sentence_key(text) for case in cases for text in case.source_texts or (case.text,)
    )


def split_cases(cases: Sequence[Case], trained_on: Collection[str]) -> Split:
    """Split a suite's cases so that no corpus sentence is both trained on and tested on.

    Cases are grouped by their corpus sentence; a case with several sentences is grouped by the one
    that most cases have. Two kinds of cases are left out: those to train on that share another
    sentence with the test, and those of other capabilities that share a sentence with training.

    Raises:
        AnalysisError: there are too few cases with different sentences.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    chosen = [case for case in cases if case.capability in trained_on]
    keys_of_seed = {
        seed_id: sentence_keys(case for case in chosen if case.seed_id == seed_id)
        for seed_id in {case.seed_id for case in chosen}
    }
    case_counts = Counter(key for case in chosen for key in keys_of_seed[case.seed_id])
    groups = [
        min(keys_of_seed[case.seed_id], key=lambda key: (-case_counts[key], key)) for case in chosen
    ]
    labels = np.array([case.label for case in chosen])
    n_folds = min(FOLDS, len(set(groups)), Counter(labels.tolist()).most_common(1)[0][1])
    if n_folds < MIN_FOLDS:
        raise AnalysisError(
            f"{len(keys_of_seed)} seeds of {len(set(groups))} sentences: too few to train and test "
            "on",
            hint="build a suite with more seeds, or train on more capabilities",
        )
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label may have fewer cases than there are folds
        tested, *other_folds = (
            set(fold.tolist()) for _, fold in folds.split(labels, labels, groups)
        )
    held_out = tested | min(other_folds, key=len)
    test = [chosen[index] for index in sorted(tested)]
    train = _without_sentences_of(
        test, [case for index, case in enumerate(chosen) if index not in held_out]
    )
    others = [case for case in cases if case.capability not in trained_on]
    return Split(train, test, _without_sentences_of(train, others))


def _without_sentences_of(excluded: Sequence[Case], cases: Sequence[Case]) -> list[Case]:
    """Drop each family of cases of which one shares a sentence with the excluded cases."""
    excluded_keys = sentence_keys(excluded)
    dropped_seeds = {case.seed_id for case in cases if sentence_keys([case]) & excluded_keys}
    return [case for case in cases if case.seed_id not in dropped_seeds]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy on sentences of the corpus's own test split, before and after training."""

    sentences: int
    before: float
    after: float


@dataclass(frozen=True)
class Change:
    """Failures on the same cases before and after training.

    ``change`` is the failure rate after training minus the rate before, in [-1, 1]. ``ci`` is its
    95 % bootstrap interval, which resamples families. All other figures are counts.
    """

    cases: int
    families: int
    failures_before: int
    failures_after: int
    fail_to_pass: int
    pass_to_fail: int
    change: float
    ci: tuple[float, float]

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0; never true with too few families for an interval."""
        return self.families >= MIN_FAMILIES_FOR_INTERVAL and (self.ci[0] > 0 or self.ci[1] < 0)


@dataclass(frozen=True)
class Training:
    """The changes by a training on capabilities: by capability, and on the corpus.

    If there was no training, ``problem`` is the reason. ``train`` is the number of cases that the
    model was trained on. ``not_learnt`` is the number of cases that were left out of the training
    because the model has no class for their label.
    """

    name: str
    trained_on: tuple[str, ...]
    problem: str = ""
    train: int = 0
    not_learnt: int = 0
    changes: dict[str, Change] = field(default_factory=dict)
    corpus: Accuracy | None = None


_TRAINING = TypeAdapter(Training)


@dataclass(frozen=True, repr=False)
class RetrainingMatrix(Result):
    """The content of the file that ``s2lct retrain`` writes: all trainings and their settings."""

    model: str
    model_fingerprint: str
    label_rule: str
    suite: str
    suite_fingerprint: str
    corpus: str
    options: TrainOptions
    capabilities: tuple[str, ...]
    trainings: tuple[Training, ...]

    def table(self) -> Table:
        """A row of failures before and after for each training; significant changes are bold."""
        words = capability_words(self.capabilities)
        rows: list[list[str | Cell]] = []
        for training in self.trainings:
            cells: list[str | Cell] = [Cell(training.name, title=training.problem)]
            for name in self.capabilities:
                if (change := training.changes.get(name)) is None:
                    cells.append("–")
                    continue
                counts = f"{change.failures_before}→{change.failures_after}/{change.cases}"
                cells.append(Cell(counts, kind="bold" if change.is_significant else ""))
            corpus = training.corpus
            cells.append("–" if corpus is None else f"{corpus.before:.1%}→{corpus.after:.1%}")
            rows.append(cells)
        return Table(
            ("on", *(Cell(name, title=words[name].short) for name in self.capabilities), "corpus"),
            rows,
            f"{self.model}: failures before→after/cases",
            "Rows: trained on. Columns: tested on, on cases whose sentences were not trained on. "
            "Bold: the 95 % interval of the change excludes 0. Corpus: accuracy on its test split.",
        )


@dataclass(frozen=True)
class Retrainer:
    """Trains a model on capabilities of a suite, each time from the same weights.

    If there is a corpus, accuracy is measured on it. If there is a folder ``save_to``, trained
    models are saved there.
    """

    model: LabelledClassifier
    suite: SuiteCases
    corpus: Corpus | None
    options: TrainOptions
    save_to: Path | None = None

    def matrix(self, trainings: Mapping[str, Sequence[str]]) -> RetrainingMatrix:
        """Run trainings, given as capabilities by the training's name.

        An impossible training gives a warning with the reason, unless it is the only one.

        Raises:
            AnalysisError: the model cannot be trained, or the only training is impossible.
        """
        network = network_of(self.model)
        advance = bar(f"retraining {network.name}", len(trainings))
        results: list[Training] = []
        for name, trained_on in trainings.items():
            try:
                results.append(self.train(name, trained_on))
            except AnalysisError as error:
                if len(trainings) == 1:
                    raise
                warnings.warn(f"{name}: {error.problem}", S2lctWarning, stacklevel=2)
                results.append(Training(name, tuple(trained_on), error.problem))
            advance(1, name)
        return RetrainingMatrix(
            model=network.name,
            model_fingerprint=network.fingerprint,
            label_rule=str(self.model.rule),
            suite=self.suite.name,
            suite_fingerprint=self.suite.fingerprint,
            corpus=self.corpus.name if self.corpus is not None else "",
            options=self.options,
            capabilities=self.suite.capabilities,
            trainings=tuple(results),
        )

    def train(self, name: str, trained_on: Sequence[str]) -> Training:
        """Train on capabilities and test, or return the cached result of the same training.

        Raises:
            AnalysisError: there are too few cases, or none that the model can learn.
        """
        inputs = self._inputs_fingerprint(trained_on)
        if self.save_to is None:
            compute = partial(self._train, name, trained_on)
            return cached_result(self.model.classifier.fingerprint, inputs, _TRAINING, compute)
        folder = self.save_to / f"{name}-{inputs[:8]}"
        if folder.exists():
            return _TRAINING.validate_json((folder / TRAINING_FILE).read_bytes())
        return self._train(name, trained_on, folder)

    def _train(self, name: str, trained_on: Sequence[str], folder: Path | None = None) -> Training:
        cases = self.suite.cases
        split = split_cases(cases, trained_on)
        learnable_labels = self.model.rule.meanings
        examples = [Example(case.text, case.label) for case in split.train]
        learnable = [example for example in examples if example.label in learnable_labels]
        if not learnable:
            raise AnalysisError(
                f"{name}: none of {len(examples)} training cases has a label that "
                f"{self.model.classifier.name} has a class for (no neutral class)",
                hint="train on another capability, or a model with three classes",
            )
        trained = fine_tuned(self.model, learnable, self.options)
        failed_before, correct_before = self._outcomes_before
        failed_after, correct_after = self._outcomes(trained)
        tested_ids = {case.id for case in (*split.test, *split.other_capabilities)}
        families = families_of(cases)
        changes: dict[str, Change] = {}
        for capability in self.suite.capabilities:
            indices = [
                index
                for index, case in enumerate(cases)
                if case.capability == capability and case.id in tested_ids
            ]
            if indices:
                outcomes = failed_before[indices], failed_after[indices]
                changes[capability] = change_of(families[indices].tolist(), *outcomes)
        trained_keys = sentence_keys(split.train)
        is_unseen = np.array(
            [sentence_key(sentence.text) not in trained_keys for sentence in self._test_sentences],
            bool,
        )
        accuracies = (
            float(correct[is_unseen].mean()) for correct in (correct_before, correct_after)
        )
        training = Training(
            name=name,
            trained_on=tuple(trained_on),
            train=len(learnable),
            not_learnt=len(examples) - len(learnable),
            changes=changes,
            corpus=Accuracy(int(is_unseen.sum()), *accuracies) if is_unseen.any() else None,
        )
        if folder is not None:
            network = network_of(trained)
            with atomic_folder(folder) as partial_folder:
                network.model.save_pretrained(partial_folder)
                network.tokenizer.save_pretrained(partial_folder)
                write_bytes(partial_folder / TRAINING_FILE, _TRAINING.dump_json(training))
        return training

    def _inputs_fingerprint(self, trained_on: Sequence[str]) -> str:
        """A fingerprint of everything that the result of a training depends on."""
        cases = [
            [case.id, case.text, case.label, sorted(case.passes), case.sources, case.source_texts]
            for case in self.suite.cases
        ]
        corpus = self.corpus.fingerprint if self.corpus is not None else ""
        model = [self.model.classifier.fingerprint, str(self.model.rule)]
        return fingerprint_of([*model, cases, corpus, asdict(self.options), list(trained_on)])

    @cached_property
    def _test_sentences(self) -> list[Sentence]:
        """The corpus's test sentences whose label the model has a class for."""
        sentences = split_corpus(self.corpus).test if self.corpus is not None else ()
        meanings = self.model.rule.meanings
        return [sentence for sentence in sentences if LABELS.index(sentence.label) in meanings]

    @cached_property
    def _outcomes_before(self) -> tuple[Booleans, Booleans]:
        return self._outcomes(self.model)

    def _outcomes(self, model: LabelledClassifier) -> tuple[Booleans, Booleans]:
        """Whether each case fails, and whether each test sentence is classified correctly.

        A sentence is classified correctly if its label is the likeliest among those that the model
        has a class for.
        """
        cases, sentences = self.suite.cases, self._test_sentences
        labels = model.labels([case.text for case in cases]).tolist()
        failed = [label not in case.passes for case, label in zip(cases, labels, strict=True)]
        likeliest = model.likeliest_labels([sentence.text for sentence in sentences])
        correct = likeliest == [LABELS.index(sentence.label) for sentence in sentences]
        return np.array(failed, dtype=bool), np.array(correct, dtype=bool)


def change_of(families: Sequence[int], before: Booleans, after: Booleans) -> Change:
    """The change on at least one case, from its family and whether it failed before and after."""
    change, ci = mean_and_interval(families, after.astype(np.float64) - before, random_seed=0)
    return Change(
        cases=len(families),
        families=len(set(families)),
        failures_before=int(before.sum()),
        failures_after=int(after.sum()),
        fail_to_pass=int((before & ~after).sum()),
        pass_to_fail=int((~before & after).sum()),
        change=change,
        ci=ci,
    )
