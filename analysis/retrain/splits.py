"""Divide a suite's cases so that no seed family and no corpus sentence is on both sides."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from s2lct.analysis.suite_rows import SuiteRow
from s2lct.errors import AnalysisError

FOLDS = 10
"""One to test on, one to validate on, the rest to train on: 8:1:1."""
LEAST_GROUPS = 3


@dataclass(frozen=True, slots=True)
class Split:
    """The cases of a training run.

    Attributes:
        train, validation, test: cases of the capabilities that are trained on.
        left_out: cases of them that would put a sentence on both sides.
        unseen: cases of other capabilities that share no sentence with train or validation.
        shared: cases of other capabilities that do.
    """

    train: tuple[SuiteRow, ...]
    validation: tuple[SuiteRow, ...]
    test: tuple[SuiteRow, ...]
    left_out: tuple[SuiteRow, ...]
    unseen: tuple[SuiteRow, ...]
    shared: tuple[SuiteRow, ...]

    @property
    def trained_sentences(self) -> frozenset[str]:
        """Keys of the corpus sentences in train and validation."""
        return sentences_of((*self.train, *self.validation))


def sentence_key(text: str) -> str:
    """Equal for sentences that differ in spaces and capitals alone."""
    return " ".join(text.split()).casefold()


def sentences_of(rows: Iterable[SuiteRow]) -> frozenset[str]:
    """Keys of the corpus sentences that cases were made from; of a case without any, its text."""
    return frozenset(sentence_key(text) for row in rows for text in row.sources or (row.case.text,))


def split_of(rows: Sequence[SuiteRow], trained_on: Collection[str], seed: int = 0) -> Split:
    """Divide all of a suite's cases for training on some capabilities.

    Cases with the same sentence stay together; of a case's sentences that is the one in most
    cases. Where cases of different parts share another sentence, those are left out of training
    (and of validation, where the other is tested on).

    Seed 0 tests on the first fold, 1 on the second, and so on; behind the last fold the cases are
    shuffled anew. Every case is thus tested on once in as many seeds as there are folds.

    Raises:
        AnalysisError: too few cases share no sentence.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    chosen = [row for row in rows if row.case.capability in trained_on]
    families: dict[str, list[SuiteRow]] = defaultdict(list)
    for row in chosen:
        families[row.case.seed_id].append(row)
    sentences = {name: sentences_of(own) for name, own in families.items()}
    cases = Counter(key for row in chosen for key in sentences[row.case.seed_id])
    groups = [
        min(sentences[row.case.seed_id], key=lambda key: (-cases[key], key)) for row in chosen
    ]
    if len(set(groups)) < LEAST_GROUPS:
        raise AnalysisError(
            f"{len(families)} seed families of {len(set(groups))} sentences: too few to train, "
            "validate and test on",
            hint="build a suite with more seeds, or train on more capabilities",
        )
    labels = np.array([row.label for row in chosen])
    count = min(FOLDS, len(set(groups)), np.bincount(labels).max())
    folds = StratifiedGroupKFold(count, shuffle=True, random_state=seed // count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label with fewer cases than folds is in fewer
        parts = [set(test.tolist()) for _, test in folds.split(labels, labels, groups)]
    tested = parts.pop(seed % count)
    validated = min(parts, key=len)
    test = [row for number, row in enumerate(chosen) if number in tested]
    validation, out = _apart(
        [row for number, row in enumerate(chosen) if number in validated], test
    )
    train, more_out = _apart(
        [row for number, row in enumerate(chosen) if number not in tested | validated],
        [*test, *validation],
    )
    others = [row for row in rows if row.case.capability not in trained_on]
    unseen, shared = _apart(others, [*train, *validation])
    return Split(*map(tuple, (train, validation, test, out + more_out, unseen, shared)))


def _apart(
    rows: Sequence[SuiteRow], others: Sequence[SuiteRow]
) -> tuple[list[SuiteRow], list[SuiteRow]]:
    """The rows without a sentence, in their family, of others; and those with one."""
    barred = sentences_of(others)
    out = {row.case.seed_id for row in rows if sentences_of([row]) & barred}
    return (
        [row for row in rows if row.case.seed_id not in out],
        [row for row in rows if row.case.seed_id in out],
    )
