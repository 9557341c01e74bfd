"""What a model was trained on, as far as it is known, and which cases hold it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from s2lct.suite.known_splits import is_train

Group = Literal["train", "other", "unknown"]
GROUPS: tuple[Group, ...] = ("train", "other", "unknown")
KNOWN_TRAIN_SPLITS = ("sst:train", "rotten_tomatoes:train")
"""The train splits that the table holds whole, the one most models learnt from first."""
_SST = frozenset(KNOWN_TRAIN_SPLITS[:1])
TRAINED_ON: dict[str, frozenset[str]] = {
    # Models with two classes learnt from it without its neutral sentences.
    "embedded-2class": _SST,
    "embedded-3class": _SST,
    # SST-2 of GLUE: the phrases of the sentences of SST's train split.
    "textattack/bert-base-uncased-SST-2": _SST,
    "textattack/roberta-base-SST-2": _SST,
    "textattack/distilbert-base-uncased-SST-2": _SST,
    "textattack/albert-base-v2-SST-2": _SST,
    "distilbert-base-uncased-finetuned-sst-2-english": _SST,
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": _SST,
}
"""What models were trained on for sentiment, by name, where it is known. Add yours here."""


def training_data_of(model: str) -> frozenset[str] | None:
    """The splits that a model was trained on; None where that is not known."""
    return TRAINED_ON.get(model)


def main_comparison(model: str) -> frozenset[str]:
    """The splits of a model's training data; SST's train split where it is not known."""
    return TRAINED_ON.get(model, _SST)


def comparisons_for(
    model: str, memberships: Iterable[Collection[str]]
) -> tuple[frozenset[str], ...]:
    """What a model's cases are held against: its own training data where that is known.

    Elsewhere it is each train split that is known: those of the table, SST's first, and those that
    the suite's corpus states in the memberships of its cases.
    """
    if model in TRAINED_ON:
        return (TRAINED_ON[model],)
    # Of a file without corpora only "train" is known, and not which.
    stated = {
        membership
        for of in memberships
        for membership in of
        if ":" in membership and is_train(membership)
    }
    names = (*KNOWN_TRAIN_SPLITS, *sorted(stated.difference(KNOWN_TRAIN_SPLITS)))
    return tuple(frozenset((name,)) for name in names)


def group_of(memberships: Collection[str], training: frozenset[str]) -> Group:
    """Whether a case, by its `memberships_of`, holds a sentence of the splits of training data.

    ``train`` if a sentence is known to be in it, ``other`` if all are known to be elsewhere.
    """
    if not training.isdisjoint(memberships):
        return "train"
    corpora = {name.rpartition(":")[0] for name in training}
    for membership in memberships:
        corpus, colon, split = membership.rpartition(":")
        # Nothing is known, or an older file names no corpus; or its split is not known.
        if not colon or (not split and corpus in corpora):
            return "unknown"
    return "other" if memberships else "unknown"
