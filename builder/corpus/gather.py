"""Every sentence of a corpus, and which of them say the same."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2lct.builder.corpus.repeats import Hashes, Rows
from s2lct.builder.corpus.store import SentenceWriter, kept
from s2lct.errors import CorpusError
from s2lct.labels import LABELS, Label
from s2lct.plain_text import plain
from s2lct.suite.records import Sentence

EXAMPLES = 3
_MAX_ID_CHARACTERS = 200
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LABEL_NUMBERS: dict[Label, int] = {label: number for number, label in enumerate(LABELS)}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A text that is labelled in two ways: each label, and where it stands first."""

    text: str
    first: tuple[Label, str]
    other: tuple[Label, str]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The sentences of a corpus, each text once if it is to stand once.

    Attributes:
        sentences: in the order of the corpus, without texts that are labelled in two ways.
        duplicates: how many others have the text of one of them.
        conflicts: how many texts are labelled in two ways.
        conflicting: how many sentences have these texts.
        examples: the first conflicts that show.
        not_drawn: how many sentences were left where some are drawn.
    """

    sentences: Sequence[Sentence]
    duplicates: int = 0
    conflicts: int = 0
    conflicting: int = 0
    examples: tuple[Conflict, ...] = ()
    not_drawn: int = 0


class EverySentence:
    """Gathers all sentences of a corpus: on disk if they are many, hashes in memory."""

    def __init__(self, corpus: str, *, skip_duplicates: bool, labelled: bool) -> None:
        self._writer = SentenceWriter(corpus)
        self._skip_duplicates = skip_duplicates
        self._labelled = labelled
        self._texts = Hashes()
        self._ids = Hashes()
        self._labels = array("b")

    def add(self, sentence: Sentence, where: str) -> None:
        """Take a sentence of usable text.

        Raises:
            CorpusError: its id or split is no short text, or the disk is full.
        """
        if (error := malformed(sentence, where)) is not None:
            if not self._skip_duplicates or sentence.text not in self._texts:
                raise error
            sentence = replace(sentence, id="", split="")  # it is a duplicate, and will go
        self._texts.append(sentence.text)
        self._ids.append(sentence.id)
        self._labels.append(_LABEL_NUMBERS[sentence.label])
        self._writer.append(sentence, where)

    def finish(self) -> Gathered:
        """What was gathered.

        Raises:
            CorpusError: two sentences have the same id.
        """
        sentences, where = self._writer.finish()
        again, first = self._texts.repeats()
        keep = np.ones(len(sentences), dtype=bool)
        if self._skip_duplicates:
            keep[again] = False
        taken, _ = self._ids.repeats(None if keep.all() else np.flatnonzero(keep))
        if len(taken):
            row = int(taken.min())
            raise already_taken(sentences[row], where(row))
        labels = np.frombuffer(self._labels, np.int8)
        differs = labels[again] != labels[first] if self._labelled else np.zeros(len(again), bool)
        conflicts, others = _first_of_each(first[differs], again[differs])
        in_conflict = np.isin(first, conflicts)
        keep[conflicts] = False
        keep[again[in_conflict]] = False

        def told(row: int) -> tuple[Label, str]:
            return sentences[row].label, where(row)

        shown = np.argsort(others)[:EXAMPLES].tolist()
        return Gathered(
            kept(sentences, keep),
            duplicates=int((~in_conflict).sum()) if self._skip_duplicates else 0,
            conflicts=len(conflicts),
            conflicting=len(conflicts) + int(in_conflict.sum()),
            examples=tuple(
                Conflict(sentences[row].text, told(row), told(other))
                for row, other in zip(
                    conflicts[shown].tolist(), others[shown].tolist(), strict=True
                )
            ),
        )


def _first_of_each(group: Rows, rows: Rows) -> tuple[Rows, Rows]:
    """Each group once, and the smallest of its rows."""
    order = np.lexsort((rows, group))
    groups, starts = np.unique(group[order], return_index=True)
    return groups, rows[order][starts]


def has_controls(text: str) -> bool:
    """Whether a text holds control characters or half characters."""
    return not text.isprintable() and _CONTROLS.search(text) is not None


def malformed(sentence: Sentence, where: str) -> CorpusError | None:
    """What is wrong with a sentence's id or split."""
    for name, value in (("id", sentence.id), ("split", sentence.split)):
        if len(value) > _MAX_ID_CHARACTERS or has_controls(value):
            return CorpusError(
                f"{where}: the {name} {plain(value, 60)!r} is no short text of one line",
                hint=f"shorten it, or drop or rename the column {name!r}",
            )
    return None


def already_taken(sentence: Sentence, where: str) -> CorpusError:
    """A sentence has an id that another has before it."""
    return CorpusError(
        f"{where}: the id {sentence.id!r} is already taken",
        hint="make the ids unique, or drop or rename the column 'id'",
    )
