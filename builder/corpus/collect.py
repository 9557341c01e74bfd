"""Gather the sentences of a corpus, and count what is skipped."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from s2lct.errors import CorpusError
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.records import Sentence

MAX_WORDS = 256
_MAX_CHARACTERS = 10_000
_MAX_ID_CHARACTERS = 200
_EXAMPLES = 3
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Labelled sentences and where they come from.

    Attributes:
        name: such as ``sst``, ``embedded``, ``csv:reviews.csv`` or ``hf:org/name``.
        sentences: in the order of the corpus.
        fingerprint: SHA-256 (hex) of the sentences, whatever the corpus is called.
        skipped: how many records were left out, by reason.
        description: what the corpus holds, for a suite's card.
        licence: the licence of its texts, as far as its authors state one.
        notes: what a user should know of it, a sentence each.
    """

    name: str
    sentences: tuple[Sentence, ...]
    fingerprint: str
    skipped: Mapping[str, int]
    description: str
    licence: str
    notes: tuple[str, ...] = ()


class Collector:
    """Gathers a corpus's sentences, counting those it skips."""

    def __init__(self, name: str, *, skip_duplicates: bool, labelled: bool = True) -> None:
        self.name = plain(name)
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._sentences: list[Sentence] = []
        self._skip_duplicates = skip_duplicates
        self._labelled = labelled
        self._ids: set[str] = set()
        # By text: its first label and where it stands; the first other label; how often skipped.
        self._first: dict[str, tuple[Label, str]] = {}
        self._other: dict[str, tuple[Label, str]] = {}
        self._again: Counter[str] = Counter()

    def usable(self, text: str) -> bool:
        """Whether ``text`` can be a sentence; if not, the reason is counted."""
        if _has_controls(text):
            self.skipped["control characters"] += 1
        elif not text:
            self.skipped["blank"] += 1
        else:
            return not self.too_long(text)
        return False

    def too_long(self, text: str, times: int = 1) -> bool:
        """Whether a text is ``times`` as long as a sentence may be; if so, that is counted."""
        if len(text.split()) > times * MAX_WORDS:
            self.skipped[f"longer than {MAX_WORDS} words"] += 1
        elif len(text) > times * _MAX_CHARACTERS:
            self.skipped[f"longer than {_MAX_CHARACTERS:,} characters"] += 1
        else:
            return False
        return True

    def add(
        self,
        id: str,
        text: str,
        label: Label,
        *,
        split: str = "",
        score: float | None = None,
        raw: str,
        where: str,
    ) -> None:
        """Add a sentence, unless its text is there already and duplicates are skipped."""
        again = text in self._first
        known, _ = self._first.setdefault(text, (label, where))
        if known != label and self._labelled:
            self._other.setdefault(text, (label, where))
        if again and self._skip_duplicates:
            self._again[text] += 1
            return
        for name, value in (("id", id), ("split", split)):
            if len(value) > _MAX_ID_CHARACTERS or _has_controls(value):
                raise CorpusError(
                    f"{where}: the {name} {plain(value, 60)!r} is no short text of one line",
                    mend=f"shorten it, or drop or rename the column {name!r}",
                )
        if id in self._ids:
            raise CorpusError(
                f"{where}: the id {id!r} is already taken",
                mend="make the ids unique, or drop or rename the column 'id'",
            )
        self._ids.add(id)
        self._sentences.append(Sentence(self.name, id, text, label, split, score, raw))

    def corpus(self, *, where: str, description: str, licence: str) -> Corpus:
        """What was gathered, without the texts that are labelled in two ways.

        Raises:
            CorpusError: nothing is left.
        """
        kept = tuple(one for one in self._sentences if one.text not in self._other)
        conflicting = sum(self._again[text] for text in self._other)
        if duplicates := self._again.total() - conflicting:
            self.skipped["duplicate text"] = duplicates
        if self._other:
            self.skipped["conflicting labels"] = conflicting + len(self._sentences) - len(kept)
            self.notes.append(self._conflicts_told())
        if not kept:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items())
            found = f"skipped: {reasons}" if reasons else "empty"
            raise CorpusError(
                f"{where} holds no usable sentence ({found})",
                mend="give a corpus with at least one labelled sentence of at most "
                f"{MAX_WORDS} words",
            )
        digest = hashlib.sha256()
        for s in kept:
            record = [s.id, s.text, s.label, s.split, s.score, s.raw]
            digest.update(json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n")
        return Corpus(
            name=self.name,
            sentences=kept,
            fingerprint=digest.hexdigest(),
            skipped=dict(sorted(self.skipped.items())),
            description=description,
            licence=licence,
            notes=tuple(self.notes),
        )

    def _conflicts_told(self) -> str:
        def told(label: Label, where: str) -> str:
            return f"{plain(where.rpartition(', ')[2], 60)} {label}"  # such as "row 4 negative"

        examples = [
            f"{told(*self._first[text])} and {told(*other)} ({plain(text, 50)!r})"
            for text, other in itertools.islice(self._other.items(), _EXAMPLES)
        ]
        more = ", …" if len(self._other) > _EXAMPLES else ""
        return (
            f"texts labelled in two ways are left out: {len(self._other):,}, "
            f"such as {', '.join(examples)}{more}"
        )


def _has_controls(text: str) -> bool:
    """Whether a text holds control characters or half characters."""
    return _CONTROLS.search(text) is not None
