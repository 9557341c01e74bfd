"""Fine-tune a model on a capability's cases, and see what it learns and what it forgets.

After S²LCT's Table 2: trained on one capability at a time (8:1:1, one epoch, batches of 16), scored
on all of them before and after.
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
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.judge import Judge
from s2lct.analysis.kept import kept
from s2lct.analysis.training import Example, TrainOptions, fine_tuned, learnable, network_of
from s2lct.builder.corpus.collect import Corpus
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.files import atomic_folder, write_bytes
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.site.report import capability_words
from s2lct.plain_text import ShortRepr
from s2lct.progress import bar
from s2lct.suite.cases import Case, SuiteCases, families_of
from s2lct.tables import Cell, Table, page_templates

FOLDS = 10
"""One to test on, one to leave out as a validation set, the rest to train on: 8:1:1."""
LEAST_FOLDS = 3
LEAST_FAMILIES = 5
"""A bootstrap of fewer families is no interval."""
TRAINING_FILE = "s2lct_training.json"
"""In a trained model's folder: what training changed."""


class Split(NamedTuple):
    """What is trained on, and on what it is tested: of its capabilities, and of others."""

    train: list[Case]
    test: list[Case]
    others: list[Case]


def sentence_key(text: str) -> str:
    """Equal for sentences that differ in spaces and capitals alone."""
    return " ".join(text.split()).casefold()


def sentences_of(rows: Iterable[Case]) -> frozenset[str]:
    """Keys of the corpus sentences that cases were made from; of a case without any, its text."""
    return frozenset(sentence_key(text) for row in rows for text in row.source_texts or (row.text,))


def split_of(cases: Sequence[Case], trained_on: Collection[str]) -> Split:
    """Divide a suite's cases so that no sentence is trained on and tested on.

    Cases with the same sentence stay together; of a case's sentences that is the one in most
    cases. Where cases of both sides share another sentence, those are left out of training, and so
    are cases of other capabilities out of the test.

    Raises:
        AnalysisError: too few cases share no sentence.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    chosen = [case for case in cases if case.capability in trained_on]
    of_family: dict[str, list[Case]] = {}
    for case in chosen:
        of_family.setdefault(case.seed_id, []).append(case)
    sentences = {name: sentences_of(members) for name, members in of_family.items()}
    uses = Counter(key for case in chosen for key in sentences[case.seed_id])
    groups = [min(sentences[case.seed_id], key=lambda key: (-uses[key], key)) for case in chosen]
    labels = np.array([case.label for case in chosen])
    count = min(FOLDS, len(set(groups)), Counter(labels.tolist()).most_common(1)[0][1])
    if count < LEAST_FOLDS:
        raise AnalysisError(
            f"{len(of_family)} seeds of {len(set(groups))} sentences: too few to train and test on",
            hint="build a suite with more seeds, or train on more capabilities",
        )
    folds = StratifiedGroupKFold(count, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label with fewer cases than folds is in fewer
        tested, *parts = (set(part.tolist()) for _, part in folds.split(labels, labels, groups))
    held_out = tested | min(parts, key=len)
    test = [case for number, case in enumerate(chosen) if number in tested]
    train = _apart([case for n, case in enumerate(chosen) if n not in held_out], test)
    others = _apart([case for case in cases if case.capability not in trained_on], train)
    return Split(train, test, others)


def _apart(rows: Sequence[Case], others: Sequence[Case]) -> list[Case]:
    """The rows of families that have no sentence of others."""
    barred = sentences_of(others)
    out = {row.seed_id for row in rows if sentences_of([row]) & barred}
    return [row for row in rows if row.seed_id not in out]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy on sentences of the corpus's own test split, before and after training."""

    sentences: int
    before: float
    after: float


@dataclass(frozen=True)
class Change:
    """Failures on the same cases, of so many families, before and after training.

    ``change`` is the failure rate after less before, ``ci`` its 95 % bootstrap interval, of whole
    families.
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
    def clear(self) -> bool:
        """Whether the interval leaves out 0; of too few families none tells."""
        return self.families >= LEAST_FAMILIES and (self.ci[0] > 0 or self.ci[1] < 0)


@dataclass(frozen=True)
class Training:
    """What training on capabilities changed.

    ``changes`` are by capability, on cases that share no sentence with what was trained on. Trained
    on are ``train`` cases; a model without a neutral class leaves out ``not_learnt`` more.
    ``problem`` says why there was no training, if so.
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
class Matrix(ShortRepr):
    """What ``s2lct retrain`` writes."""

    model: str
    model_fingerprint: str
    label_rule: str
    suite: str
    suite_fingerprint: str
    corpus: str
    options: TrainOptions
    capabilities: tuple[str, ...]
    trainings: tuple[Training, ...]

    def json(self) -> str:
        """All of it, as JSON."""
        return TypeAdapter(Matrix).dump_json(self, indent=1).decode() + "\n"


Booleans = npt.NDArray[np.bool_]


def change_of(families: Sequence[int], before: Booleans, after: Booleans) -> Change:
    """The change on cases, at least one, by family and whether each failed."""
    change, ci = mean_and_interval(families, after.astype(np.float64) - before, 0)
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


class Retrainer:
    """Trains a model on capabilities of a suite, each time from the same weights.

    Args:
        judge: the model.
        suite: to train and to test on.
        corpus: shows what is forgotten; None if nobody asks.
        options: of the training.
        save_to: a folder for the trained models; None to keep what they did alone.

    Raises:
        AnalysisError: the model has no weights that can be trained.
    """

    def __init__(
        self,
        judge: Judge,
        suite: SuiteCases,
        corpus: Corpus | None,
        options: TrainOptions,
        save_to: Path | None = None,
    ) -> None:
        self._network = network_of(judge)
        self._judge, self._suite, self._corpus = judge, suite, corpus
        self._options, self._save_to = options, save_to
        self._tested = [
            sentence
            for sentence in (parts_of_corpus(corpus).test if corpus is not None else ())
            if LABELS.index(sentence.label) in judge.rule.meanings
        ]

    def matrix(self, trainings: Mapping[str, Sequence[str]]) -> Matrix:
        """Train on the capabilities of each named training.

        A warning names a training that is not possible, and why, unless it is the only one.

        Raises:
            AnalysisError: the only training is not possible.
        """
        advance = bar(f"retraining {self._network.name}", len(trainings))
        found: list[Training] = []
        for name, trained_on in trainings.items():
            try:
                found.append(self.train(name, trained_on))
            except AnalysisError as error:
                if len(trainings) == 1:
                    raise
                warnings.warn(f"{name}: {error.problem}", S2lctWarning, stacklevel=2)
                found.append(Training(name, tuple(trained_on), error.problem))
            advance(1, name)
        return Matrix(
            model=self._network.name,
            model_fingerprint=self._network.fingerprint,
            label_rule=str(self._judge),
            suite=self._suite.name,
            suite_fingerprint=self._suite.fingerprint,
            corpus=self._corpus.name if self._corpus is not None else "",
            options=self._options,
            capabilities=self._suite.capabilities,
            trainings=tuple(found),
        )

    def train(self, name: str, trained_on: Sequence[str]) -> Training:
        """Train on capabilities and test, or give what was kept of the same training.

        Raises:
            AnalysisError: too few cases, or none that the model can learn.
        """
        inputs = self._inputs(trained_on)
        if self._save_to is None:
            make = partial(self._train, name, trained_on)
            return kept(self._network.fingerprint, inputs, _TRAINING, make)
        folder = self._save_to / f"{name}-{inputs[:8]}"
        if folder.exists():
            return _TRAINING.validate_json((folder / TRAINING_FILE).read_bytes())
        return self._train(name, trained_on, folder)

    def _train(self, name: str, trained_on: Sequence[str], folder: Path | None = None) -> Training:
        cases = self._suite.cases
        split = split_of(cases, trained_on)
        examples = [Example(case.text, case.label) for case in split.train]
        learnt = learnable(self._judge.rule, examples)
        if not learnt:
            raise AnalysisError(
                f"{name}: none of {len(examples)} training cases has a label that "
                f"{self._network.name} has a class for (no neutral class)",
                hint="train on another capability, or a model with three classes",
            )
        judge = fine_tuned(self._judge, learnt, self._options)
        (before, right_before), (after, right_after) = self._before, self._scored(judge)
        families = families_of(cases)
        numbers: dict[str, list[int]] = {}
        tested = {case.id for case in (*split.test, *split.others)}
        for number, case in enumerate(cases):
            if case.id in tested:
                numbers.setdefault(case.capability, []).append(number)
        seen = sentences_of(split.train)
        unseen = [n for n, one in enumerate(self._tested) if sentence_key(one.text) not in seen]
        training = Training(
            name=name,
            trained_on=tuple(trained_on),
            train=len(learnt),
            not_learnt=len(examples) - len(learnt),
            changes={
                capability: change_of(families[of].tolist(), before[of], after[of])
                for capability, of in numbers.items()
            },
            corpus=Accuracy(
                len(unseen), float(right_before[unseen].mean()), float(right_after[unseen].mean())
            )
            if unseen
            else None,
        )
        if folder is not None:
            network = network_of(judge)
            with atomic_folder(folder) as partial_folder:
                network.model.save_pretrained(partial_folder)
                network.tokenizer.save_pretrained(partial_folder)
                write_bytes(partial_folder / TRAINING_FILE, _TRAINING.dump_json(training))
        return training

    def _inputs(self, trained_on: Sequence[str]) -> str:
        """A fingerprint of all that decides a training."""
        cases = [
            [case.id, case.text, case.label, sorted(case.passes), case.sources, case.source_texts]
            for case in self._suite.cases
        ]
        corpus = self._corpus.fingerprint if self._corpus is not None else ""
        model = [self._network.fingerprint, str(self._judge)]
        return fingerprint_of([*model, cases, corpus, asdict(self._options), list(trained_on)])

    @cached_property
    def _before(self) -> tuple[Booleans, Booleans]:
        return self._scored(self._judge)

    def _scored(self, judge: Judge) -> tuple[Booleans, Booleans]:
        """Whether each case fails, and whether each of the corpus's test sentences it gets right.

        A sentence's label has to be the likeliest of those that the model has a class for.
        """
        cases = self._suite.cases
        labels = judge.labels([case.text for case in cases]).tolist()
        failed = [label not in case.passes for case, label in zip(cases, labels, strict=True)]
        likeliest = judge.likeliest([sentence.text for sentence in self._tested])
        right = likeliest == [LABELS.index(sentence.label) for sentence in self._tested]
        return np.array(failed, dtype=bool), np.array(right, dtype=bool)


def matrix_table(matrix: Matrix) -> Table:
    """Failures before and after: trained on (rows), tested on (columns)."""
    words = capability_words(matrix.capabilities)
    columns = [Cell(name, title=words[name].short) for name in matrix.capabilities]
    rows: list[list[str | Cell]] = []
    for training in matrix.trainings:
        cells: list[str | Cell] = [Cell(training.name, title=training.problem)]
        for name in matrix.capabilities:
            if (of := training.changes.get(name)) is None:
                cells.append("–")
                continue
            low, high = of.ci
            about = f"{of.change:+.0%}, 95 % interval {low:+.0%} to {high:+.0%}"
            kind = ("better" if of.change < 0 else "worse") + (" bold" if of.clear else "")
            counts = f"{of.failures_before}→{of.failures_after}/{of.cases}"
            cells.append(Cell(counts, "", about, kind, abs(of.change)))
        corpus = training.corpus
        cells.append(f"{corpus.before:.1%}→{corpus.after:.1%}" if corpus is not None else "–")
        rows.append(cells)
    return Table(
        ("on", *columns, "corpus"),
        rows,
        "Failures before→after/cases whose sentences were not trained on; accuracy on the corpus",
    )


def conclusion(matrix: Matrix) -> str:
    """What training came to, in a sentence."""
    learnt, others = (
        [
            change
            for training in matrix.trainings
            for name, change in training.changes.items()
            if (name in training.trained_on) == trained_on
        ]
        for trained_on in (True, False)
    )
    lower = sum(change.clear and change.change < 0 for change in learnt)
    worse = sum(change.clear and change.change > 0 for change in others)
    return (
        f"Training {matrix.model} clearly lowered the failure rate of {lower} of {len(learnt)} "
        f"capabilities trained on, and clearly raised {worse} of {len(others)} others."
    )


def html_page(matrix: Matrix) -> str:
    """The matrix and each training's figures as one HTML page that needs no network."""
    template = page_templates("s2lct.analysis").get_template("retrain.html.jinja")
    return template.render(
        matrix=matrix,
        conclusion=conclusion(matrix),
        changes=matrix_table(matrix),
    )
