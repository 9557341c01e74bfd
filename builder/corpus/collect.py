"""Gather the sentences of a corpus, and count what is skipped."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2lct.builder.corpus.gather import (
    EXAMPLES,
    Conflict,
    EverySentence,
    Gathered,
    has_controls,
)
from s2lct.builder.corpus.sample import Draw, SampledSentences
from s2lct.builder.corpus.store import kept
from s2lct.errors import CorpusError
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.records import Sentence

logger = logging.getLogger(__name__)
MAX_WORDS = 256
_MAX_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Labelled sentences and where they come from.

    Attributes:
        name: such as ``sst``, ``embedded``, ``csv:reviews.csv`` or ``hf:org/name``.
        sentences: in the order of the corpus; of a large one they lie on disk.
        fingerprint: SHA-256 (hex) of the sentences, whatever the corpus is called.
        skipped: how many records were left out, by reason.
        description: what the corpus holds, for a suite's card.
        licence: the licence of its texts, as far as its authors state one.
        notes: what a user should know of it, a sentence each.
    """

    name: str
    sentences: Sequence[Sentence]
    fingerprint: str
    skipped: Mapping[str, int]
    description: str
    licence: str
    notes: tuple[str, ...] = ()


class Collector:
    """Gathers a corpus's sentences, counting those it skips."""

    def __init__(
        self,
        name: str,
        *,
        skip_duplicates: bool,
        labelled: bool = True,
        draw: Draw | None = None,
    ) -> None:
        self.name = plain(name)
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._gathered: EverySentence | SampledSentences
        if draw is None:
            self._gathered = EverySentence(
                self.name, skip_duplicates=skip_duplicates, labelled=labelled
            )
        else:
            self._gathered = SampledSentences(draw, labelled=labelled)

    def usable(self, text: str) -> bool:
        """Whether ``text`` can be a sentence; if not, the reason is counted."""
        if has_controls(text):
            self.skipped["control characters"] += 1
        elif not text:
            self.skipped["blank"] += 1
        else:
            return not self.too_long(text)
        return False

    def too_long(self, text: str, times: int = 1) -> bool:
        """Whether a text is ``times`` as long as a sentence may be; if so, that is counted."""
        if len(text) < 2 * times * MAX_WORDS:  # so many words have as many blanks between them
            return False
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
        """Add a sentence. Duplicates and taken ids are found when all of them are there.

        Raises:
            CorpusError: the id or the split is no short text of one line.
        """
        self._gathered.add(Sentence(self.name, id, text, label, split, score, raw), where)

    def corpus(self, *, where: str, description: str, licence: str) -> Corpus:
        """What was gathered, without the texts that are labelled in two ways.

        Raises:
            CorpusError: nothing is left, or two sentences have the same id.
        """
        gathered = self._gathered.finish()
        if gathered.not_drawn:
            self.skipped["not drawn"] = gathered.not_drawn
        if gathered.duplicates:
            self.skipped["duplicate text"] = gathered.duplicates
        if gathered.conflicts:
            self.skipped["conflicting labels"] = gathered.conflicting
            self.notes.append(_told(gathered))
        if not gathered.sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items())
            found = f"skipped: {reasons}" if reasons else "empty"
            raise CorpusError(
                f"{where} holds no usable sentence ({found})",
                hint="give a corpus with at least one labelled sentence of at most "
                f"{MAX_WORDS} words",
            )
        digest = hashlib.sha256()
        for s in gathered.sentences:
            record = [s.id, s.text, s.label, s.split, s.score, s.raw]
            digest.update(json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n")
        return Corpus(
            name=self.name,
            sentences=gathered.sentences,
            fingerprint=digest.hexdigest(),
            skipped=dict(sorted(self.skipped.items())),
            description=description,
            licence=licence,
            notes=tuple(self.notes),
        )


def without_conflicts(corpus: Corpus, neutral: Corpus) -> list[Corpus]:
    """Both without the texts that one calls positive or negative and the other neutral.

    A warning names some of them.

    Args:
        corpus: labelled sentences.
        neutral: sentences that are all neutral.
    """
    texts = {one.text for one in neutral.sentences}
    conflicts = {
        one.text: one for one in corpus.sentences if one.label != "neutral" and one.text in texts
    }
    if not conflicts:
        return [corpus, neutral]
    others = {one.text: one for one in neutral.sentences if one.text in conflicts}
    left: list[Corpus] = []
    gone = 0
    for part in (corpus, neutral):
        keep = np.fromiter((one.text not in conflicts for one in part.sentences), dtype=bool)
        number = int((~keep).sum())
        gone += number
        skipped = Counter(part.skipped) + Counter({"conflicting labels": number})
        left.append(
            replace(
                part, sentences=kept(part.sentences, keep), skipped=dict(sorted(skipped.items()))
            )
        )
    examples = [
        Conflict(text, (one.label, one.id), (others[text].label, others[text].id))
        for text, one in list(conflicts.items())[:EXAMPLES]
    ]
    found = Gathered((), conflicts=len(conflicts), conflicting=gone, examples=tuple(examples))
    logger.warning("%s and %s: %s", plain(corpus.name), plain(neutral.name), _told(found))
    return left


def _told(gathered: Gathered) -> str:
    """That there are texts labelled in two ways, with the first of them."""

    def told(label: Label, where: str) -> str:
        return f"{plain(where.rpartition(', ')[2], 60)} {label}"  # such as "row 4 negative"

    examples = [
        f"{told(*one.first)} and {told(*one.other)} ({plain(one.text, 50)!r})"
        for one in gathered.examples
    ]
    more = ", …" if gathered.conflicts > len(examples) else ""
    return (
        f"texts labelled in two ways are left out: {gathered.conflicts:,}, "
        f"such as {', '.join(examples)}{more}"
    )
