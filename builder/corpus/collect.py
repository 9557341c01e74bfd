"""The sentences of a corpus: those that can be used, each with one label."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.labels import Label
from s2lct.plain_text import plain

MAX_WORDS = 256
_MAX_CHARACTERS = 10_000
_MAX_ID_CHARACTERS = 200
_EXAMPLES = 3
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
logger = logging.getLogger(__name__)


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
    sentences: Sequence[Sentence]
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
        self._skip_duplicates = skip_duplicates
        self._labelled = labelled
        self._of_text: dict[str, list[tuple[Sentence, str]]] = {}
        self._order: list[Sentence] = []

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
        """Add a sentence; ``where`` it stands is for messages.

        Raises:
            CorpusError: the id or the split is no short text of one line.
        """
        for name, value in (("id", id), ("split", split)):
            if len(value) > _MAX_ID_CHARACTERS or _has_controls(value):
                raise CorpusError(
                    f"{where}: the {name} {plain(value, 60)!r} is no short text of one line",
                    hint=f"shorten it, or drop or rename the column {name!r}",
                )
        sentence = Sentence(self.name, id, text, label, split, score, raw)
        self._order.append(sentence)
        self._of_text.setdefault(text, []).append((sentence, where))

    def corpus(self, *, where: str, description: str, licence: str) -> Corpus:
        """What was gathered, without the texts that are labelled in two ways.

        Raises:
            CorpusError: nothing is left, or two sentences have the same id.
        """
        conflicts = {
            text: same
            for text, same in self._of_text.items()
            if self._labelled and len({sentence.label for sentence, _ in same}) > 1
        }
        sentences = [one for one in self._order if one.text not in conflicts]
        if self._skip_duplicates:
            distinct: dict[str, Sentence] = {}
            for one in sentences:
                distinct.setdefault(one.text, one)
            self.skipped["duplicate text"] += len(sentences) - len(distinct)
            sentences = list(distinct.values())
        self.skipped["conflicting labels"] += sum(map(len, conflicts.values()))
        if conflicts:
            self.notes.append(_conflicts_in_words(conflicts))
        self._check_ids(sentences)
        skipped = {reason: count for reason, count in sorted(self.skipped.items()) if count}
        if not sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
            found = f"skipped: {reasons}" if reasons else "empty"
            raise CorpusError(
                f"{where} holds no usable sentence ({found})",
                hint="give a corpus with at least one labelled sentence of at most "
                f"{MAX_WORDS} words",
            )
        digest = hashlib.sha256()
        for s in sentences:
            record = [s.id, s.text, s.label, s.split, s.score, s.raw]
            digest.update(json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n")
        return Corpus(
            name=self.name,
            sentences=tuple(sentences),
            fingerprint=digest.hexdigest(),
            skipped=skipped,
            description=description,
            licence=licence,
            notes=tuple(self.notes),
        )

    def _check_ids(self, sentences: Iterable[Sentence]) -> None:
        ids: set[str] = set()
        for one in sentences:
            if one.id in ids:
                where = next(where for same, where in self._of_text[one.text] if same is one)
                raise CorpusError(
                    f"{where}: the id {one.id!r} is already taken",
                    hint="make the ids unique, or drop or rename the column 'id'",
                )
            ids.add(one.id)


def without_conflicts(corpus: Corpus, neutral: Corpus) -> list[Corpus]:
    """Both without the texts that one calls positive or negative and the other neutral.

    A warning names some of them.
    """
    both: dict[str, list[tuple[Sentence, str]]] = {}
    for part in (corpus, neutral):
        for one in part.sentences:
            both.setdefault(one.text, []).append((one, f"{part.name} {one.id}"))
    conflicts = {
        text: same for text, same in both.items() if len({one.label for one, _ in same}) > 1
    }
    if not conflicts:
        return [corpus, neutral]
    logger.warning("%s", _conflicts_in_words(conflicts))
    left: list[Corpus] = []
    for part in (corpus, neutral):
        kept = tuple(one for one in part.sentences if one.text not in conflicts)
        gone = Counter({"conflicting labels": len(part.sentences) - len(kept)})
        skipped = dict(sorted((Counter(part.skipped) + gone).items()))
        left.append(replace(part, sentences=kept, skipped=skipped))
    return left


def _conflicts_in_words(conflicts: Mapping[str, Sequence[tuple[Sentence, str]]]) -> str:
    """That there are texts labelled in two ways, with some of them."""
    examples: list[str] = []
    for text, same in list(conflicts.items())[:_EXAMPLES]:
        first, where = same[0]
        other, elsewhere = next(one for one in same if one[0].label != first.label)
        places = (f"{plain(w.rpartition(', ')[2], 60)}" for w in (where, elsewhere))
        at, behind = places
        examples.append(f"{at} {first.label} and {behind} {other.label} ({plain(text, 50)!r})")
    more = ", …" if len(conflicts) > len(examples) else ""
    return (
        f"texts labelled in two ways are left out: {len(conflicts):,}, "
        f"such as {', '.join(examples)}{more}"
    )


def _has_controls(text: str) -> bool:
    return not text.isprintable() and _CONTROLS.search(text) is not None
