"""Which splits of well-known corpora a sentence is in, told by fingerprints of its letters.

The table beside this file holds fingerprints and no text. It is made by
``python -m s2lct.leaderboard.training.compute_known_splits``, which says how each split is known.
A membership is written ``corpus:split``, as in ``sst:train``; the split is empty where only the
corpus is known.
"""

from __future__ import annotations

import functools
import hashlib
import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from s2lct.builder.natural_text import mend_c1, undo_escapes
from s2lct.builder.sst import mend_mojibake

Group = Literal["train", "other", "unknown"]
GROUPS: tuple[Group, ...] = ("train", "other", "unknown")
TABLE = Path(__file__).with_suffix(".parquet")
UNKNOWN: Final = ""
"""Stands for a source sentence of which nothing is known."""

KNOWN_TRAIN_SPLITS = ("sst:train", "rotten_tomatoes:train")
"""The train splits that the table holds whole, the one most models learnt from first."""

_SST: Final = frozenset({"sst:train"})
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

_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def letters_of(text: str) -> str:
    """A text's letters and digits: what spacing, case, quotes and tokenisation leave alone.

    >>> letters_of("It is n't `` Amélie '' -LRB- yet -RRB- .")
    'itisntamelieyet'
    """
    text = undo_escapes(mend_mojibake(mend_c1(html.unescape(_LINE_BREAK.sub(" ", text)))))
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(letter for letter in folded if letter.isalnum())


def fingerprint_of_letters(letters: str) -> int:
    """The first 64 bits of the SHA-256 of what `letters_of` gives."""
    return int.from_bytes(hashlib.sha256(letters.encode()).digest()[:8], "big")


@functools.lru_cache(maxsize=1)
def _table() -> dict[int, frozenset[str]]:
    import pyarrow.parquet as pq

    table = pq.read_table(TABLE)
    return {
        fingerprint: frozenset(names)
        for fingerprint, names in zip(
            table["fingerprint"].to_pylist(), table["splits"].to_pylist(), strict=True
        )
    }


@functools.lru_cache(maxsize=100_000)
def known_in(text: str) -> frozenset[str]:
    """What a text is in, as far as the table knows: empty if it is in none of its corpora."""
    letters = letters_of(text)
    return _table().get(fingerprint_of_letters(letters), frozenset()) if letters else frozenset()


def memberships_of(sources: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What a case's source sentences are in.

    Args:
        sources: as rows of a suite have them, with ``corpus``, ``split`` and ``text``.

    Returns:
        Of each sentence the split that its corpus states and those that its fingerprint tells;
        `UNKNOWN` is among them if nothing is known of one.
    """
    found: set[str] = set()
    for source in sources:
        own = set(known_in(str(source.get("text") or "")))
        if split := str(source.get("split") or ""):
            own.add(f"{source.get('corpus') or ''}:{split}")
        found |= own or {UNKNOWN}
    return frozenset(found)


def is_train(membership: str) -> bool:
    """Whether a membership is that of a train split."""
    return membership.rpartition(":")[2].casefold().startswith("train")


def training_data_of(model: str) -> frozenset[str] | None:
    """The splits that a model was trained on; None where that is not known."""
    return TRAINED_ON.get(model)


def main_comparison(model: str) -> frozenset[str]:
    """The splits of a model's training data; SST's train split where it is not known."""
    own = training_data_of(model)
    return frozenset(KNOWN_TRAIN_SPLITS[:1]) if own is None else own


def comparisons_for(
    model: str, memberships: Iterable[Collection[str]]
) -> tuple[frozenset[str], ...]:
    """What a model's cases are held against: its own training data where that is known.

    Elsewhere it is each train split that is known: those of the table, SST's first, and those that
    the suite's corpus states.

    Args:
        model: its name.
        memberships: of all cases.
    """
    if training_data_of(model) is not None:
        return (main_comparison(model),)
    # Of a file without corpora only "train" is known, and not which.
    stated = {one for of in memberships for one in of if ":" in one and is_train(one)}
    names = (*KNOWN_TRAIN_SPLITS, *sorted(stated.difference(KNOWN_TRAIN_SPLITS)))
    return tuple(frozenset((name,)) for name in names)


def group_of(memberships: Collection[str], training: frozenset[str]) -> Group:
    """Whether a case holds a sentence of training data.

    Args:
        memberships: of the case, see `memberships_of`.
        training: the splits that are training data.

    Returns:
        ``train`` if a sentence is known to be in it, ``other`` if all are known to be elsewhere,
        else ``unknown``.
    """
    if not training.isdisjoint(memberships):
        return "train"
    told = bool(memberships) and not any(_leaves_open(one, training) for one in memberships)
    return "other" if told else "unknown"


def _leaves_open(membership: str, training: frozenset[str]) -> bool:
    """Whether a membership that is none of training data may be one of it all the same."""
    corpus, colon, split = membership.rpartition(":")
    if not colon:
        return True  # nothing is known, or an older file names no corpus
    return not split and any(one.rpartition(":")[0] == corpus for one in training)
