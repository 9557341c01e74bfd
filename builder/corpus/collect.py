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
    """

    name: str
    sentences: Sequence[Sentence]
    fingerprint: str
    skipped: Mapping[str, int]
    description: str
    licence: str


class Collector:
    """Gathers a corpus's sentences, counting those it skips."""

    def __init__(self, name: str, *, skip_duplicates: bool, labelled: bool = True) -> None:
        self.name = plain(name)
        self.skipped: Counter[str] = Counter()
        self._skip_duplicates = skip_duplicates
        self._labelled = labelled
        self._sentences: list[Sentence] = []

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
    ) -> None:
        """Add a sentence."""
        self._sentences.append(Sentence(self.name, id, text, label, split, score, raw))

    def corpus(self, *, description: str, licence: str) -> Corpus:
        """What was gathered, without the texts that are labelled in two ways.

        Raises:
            CorpusError: nothing is left, or two sentences have the same id.
        """
        conflicts = _conflicts(self._sentences) if self._labelled else {}
        sentences = [sentence for sentence in self._sentences if sentence.text not in conflicts]
        self.skipped["conflicting labels"] += len(self._sentences) - len(sentences)
        if conflicts:
            logger.warning("%s: %s", self.name, _conflicts_in_words(conflicts))
        if self._skip_duplicates:
            distinct: dict[str, Sentence] = {}
            for sentence in sentences:
                distinct.setdefault(sentence.text, sentence)
            self.skipped["duplicate text"] += len(sentences) - len(distinct)
            sentences = list(distinct.values())
        (id, times), *_ = [*Counter(sentence.id for sentence in sentences).most_common(1), ("", 0)]
        if times > 1:
            raise CorpusError(
                f"{self.name}: {times} sentences have the id {id!r}",
                hint="make the ids unique, or drop or rename the column 'id'",
            )
        skipped = {reason: count for reason, count in sorted(self.skipped.items()) if count}
        if not sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
            raise CorpusError(
                f"{self.name} holds no usable sentence ({reasons or 'empty'})",
                hint="give a corpus with at least one labelled sentence of at most "
                f"{MAX_WORDS} words",
            )
        digest = hashlib.sha256()
        for s in sentences:
            record = [s.id, s.text, s.label, s.split, s.score, s.raw]
            digest.update(json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n")
        return Corpus(
            self.name,
            tuple(sentences),
            digest.hexdigest(),
            skipped,
            description,
            licence,
        )


def without_conflicts(corpora: Sequence[Corpus]) -> list[Corpus]:
    """Corpora without the texts that are labelled otherwise in another; a warning names some."""
    conflicts = _conflicts(sentence for corpus in corpora for sentence in corpus.sentences)
    if not conflicts:
        return list(corpora)
    logger.warning("%s", _conflicts_in_words(conflicts))
    left: list[Corpus] = []
    for corpus in corpora:
        kept = tuple(sentence for sentence in corpus.sentences if sentence.text not in conflicts)
        gone = Counter({"conflicting labels": len(corpus.sentences) - len(kept)})
        skipped = dict(sorted((Counter(corpus.skipped) + gone).items()))
        left.append(replace(corpus, sentences=kept, skipped=skipped))
    return left


def _conflicts(sentences: Iterable[Sentence]) -> dict[str, list[Sentence]]:
    """The texts that are labelled in two ways, each with its sentences."""
    of_text: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        of_text.setdefault(sentence.text, []).append(sentence)
    return {text: same for text, same in of_text.items() if len({s.label for s in same}) > 1}


def _conflicts_in_words(conflicts: Mapping[str, Sequence[Sentence]]) -> str:
    """That there are texts labelled in two ways, with some of them."""
    examples: list[str] = []
    for text, (first, *same) in list(conflicts.items())[:_EXAMPLES]:
        other = next(sentence for sentence in same if sentence.label != first.label)
        both = " and ".join(f"{s.corpus} {s.id} {s.label}" for s in (first, other))
        examples.append(f"{plain(text, 50)!r} ({both})")
    return (
        f"texts labelled in two ways are left out: {len(conflicts):,}, such as "
        f"{', '.join(examples)}"
    )


def _has_controls(text: str) -> bool:
    return not text.isprintable() and _CONTROLS.search(text) is not None
