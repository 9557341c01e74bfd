"""Make corpora of the usable sentences; every text has exactly one label."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.builder.records import Sentence
from s2lct.errors import CorpusError
from s2lct.identity import fingerprint_of
from s2lct.plain_text import ShortRepr, plain

MAX_WORDS = 256
_MAX_CHARACTERS = 10_000
_MAX_WORD_CHARACTERS = 200
OVERLONG_WORD_REASON = f"a word longer than {_MAX_WORD_CHARACTERS} characters"
_OVERLONG_WORD_PATTERN = re.compile(rf"\S{{{_MAX_WORD_CHARACTERS + 1}}}")
# Braces mark slots and masks; the others are special tokens of tokenizers.
_MODEL_TOKENS = re.compile(
    r"[{}]|\[(?:MASK|SEP|CLS|PAD|UNK|BOS|EOS|INST)\]|</?(?:s|mask|pad|unk|bos|eos)>|<\|\w+\|>",
    re.IGNORECASE,
)
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class Corpus(ShortRepr):
    """Labelled sentences and where they come from.

    Attributes:
        name: such as ``sst``, ``embedded``, ``csv:reviews.csv`` or ``hf:org/name``.
        sentences: in the order of the corpus.
        fingerprint: SHA-256 (hex) of the sentences.
        skipped: the number of texts left out, by reason.
        description: what the corpus holds, for a suite's card.
        licence: the licence of its texts, as far as its authors state one.
    """

    name: str
    sentences: Sequence[Sentence]
    fingerprint: str
    skipped: Mapping[str, int]
    description: str
    licence: str


def make_corpus(
    name: str,
    sentences: Iterable[Sentence],
    *,
    description: str,
    licence: str,
    skipped: Mapping[str, int] | None = None,
    drop_conflicts: bool = True,
    drop_duplicates: bool = True,
) -> Corpus:
    """Make a corpus of the usable sentences; the others are counted by reason.

    Args:
        name: see `Corpus`.
        sentences: all sentences that were read.
        description: see `Corpus`.
        licence: see `Corpus`.
        skipped: the number of texts left out before, by reason.
        drop_conflicts: whether to leave out texts that have two labels.
        drop_duplicates: whether to keep only the first of equal texts.

    Raises:
        CorpusError: no sentence can be used, or two have one id.
    """
    skip_counts = Counter(skipped)
    usable: list[Sentence] = []
    for sentence in sentences:
        if fault := _fault(sentence.text):
            skip_counts[fault] += 1
        else:
            usable.append(sentence)
    conflicts = _conflicts(usable) if drop_conflicts else frozenset()
    kept = [sentence for sentence in usable if sentence.text not in conflicts]
    skip_counts["conflicting labels"] += len(usable) - len(kept)
    if drop_duplicates:
        first_by_text: dict[str, Sentence] = {}
        for sentence in kept:
            first_by_text.setdefault(sentence.text, sentence)
        skip_counts["duplicate text"] += len(kept) - len(first_by_text)
        kept = [*first_by_text.values()]
    (id, occurrences), *_ = [*Counter(sentence.id for sentence in kept).most_common(1), ("", 0)]
    if occurrences > 1:
        raise CorpusError(
            f"{name}: {occurrences} sentences have the id {plain(id, 60)!r}",
            hint="make the ids unique, or drop or rename the column 'id'",
        )
    skip_counts = Counter({reason: count for reason, count in sorted(skip_counts.items()) if count})
    if not kept:
        reasons = ", ".join(f"{count} {reason}" for reason, count in skip_counts.items())
        raise CorpusError(
            f"{name} holds no usable sentence ({reasons or 'empty'})",
            hint=f"give a corpus with at least one labelled sentence of at most {MAX_WORDS} words",
        )
    fingerprint = fingerprint_of([(s.id, s.text, s.label, s.split, s.score, s.raw) for s in kept])
    return Corpus(name, tuple(kept), fingerprint, skip_counts, description, licence)


def _fault(text: str) -> str | None:
    """The reason why a text cannot be used; None if it can."""
    if not text.isprintable() and _CONTROL_CHARACTERS.search(text):
        return "control characters"
    if _MODEL_TOKENS.search(text):
        return "braces or tokens of a language model"
    if not text:
        return "blank"
    if len(text.split()) > MAX_WORDS:
        return f"longer than {MAX_WORDS} words"
    if len(text) > _MAX_CHARACTERS:
        return f"longer than {_MAX_CHARACTERS:,} characters"
    return OVERLONG_WORD_REASON if has_overlong_word(text) else None


def has_overlong_word(text: str) -> bool:
    """Whether a text has a word so long that tokenizing it would take a minute."""
    return len(text) > _MAX_WORD_CHARACTERS and _OVERLONG_WORD_PATTERN.search(text) is not None


def without_conflicts(corpora: Sequence[Corpus]) -> list[Corpus]:
    """The corpora without the texts that have different labels in two corpora."""
    conflicts = _conflicts(sentence for corpus in corpora for sentence in corpus.sentences)
    consistent_corpora: list[Corpus] = []
    for corpus in corpora:
        kept = tuple(sentence for sentence in corpus.sentences if sentence.text not in conflicts)
        conflicting = Counter({"conflicting labels": len(corpus.sentences) - len(kept)})
        skipped = dict(sorted((Counter(corpus.skipped) + conflicting).items()))
        consistent_corpora.append(replace(corpus, sentences=kept, skipped=skipped))
    return consistent_corpora


def with_distinct_names(corpora: Sequence[Corpus]) -> list[Corpus]:
    """The corpora with distinct names, as the ids of sentences are unique only within a corpus.

    If different corpora share a name, as `a/data.csv` and `b/data.csv` do, ``#`` and the first
    digits of its fingerprint are appended to the name of each.
    """
    fingerprints = {(corpus.name, corpus.fingerprint) for corpus in corpora}
    corpora_per_name = Counter(name for name, _ in fingerprints)
    renamed_corpora: list[Corpus] = []
    for corpus in corpora:
        if corpora_per_name[corpus.name] > 1:
            name = f"{corpus.name}#{corpus.fingerprint[:8]}"
            sentences = tuple(replace(sentence, corpus=name) for sentence in corpus.sentences)
            corpus = replace(corpus, name=name, sentences=sentences)
        renamed_corpora.append(corpus)
    return renamed_corpora


def _conflicts(sentences: Iterable[Sentence]) -> frozenset[str]:
    """The texts that have two labels; a warning shows the first of them."""
    first_by_text: dict[str, Sentence] = {}
    conflicts: dict[str, str] = {}
    for sentence in sentences:
        earlier = first_by_text.setdefault(sentence.text, sentence)
        if earlier.label != sentence.label:
            both = " and ".join(f"{s.corpus} {s.id} {s.label}" for s in (earlier, sentence))
            conflicts.setdefault(sentence.text, f"{plain(sentence.text, 50)!r} ({both})")
    if conflicts:
        example = next(iter(conflicts.values()))
        logger.warning(
            "texts labelled in two ways are left out: %d, such as %s", len(conflicts), example
        )
    return frozenset(conflicts)
