"""Clean a corpus as people have it: reviews into sentences, what is none aside, the best first.

What is set aside is not mended: there is always another sentence.
"""

from __future__ import annotations

import functools
import html
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from s2lct.builder.language.fluency import known_words, proper_words
from s2lct.builder.language.lexicon import FUNCTION_WORDS, POSES, Lexicon, Score, textblob, vader
from s2lct.builder.language.natural_text import natural, sentence_case
from s2lct.builder.records import Sentence
from s2lct.labels import Label

LEAST_WORDS = 3
OWN_WORD = 5
"""Texts that have a word make it the corpus's own, though no dictionary lists it: *bluetooth*."""
LEANS: Mapping[Callable[[], Score], float] = {vader: 0.05, textblob: 0.0}
"""From which scores on an opinion is positive, and below which negative."""
LEANS_STRONGLY: Mapping[Callable[[], Score], float] = {vader: 0.3, textblob: 0.1}
EASY_LENGTH = range(4, 21)
CONTRADICTED = 9
"""The rank of sentences whose label both opinions strongly contradict."""
_PARAGRAPHS = re.compile(r"(?:<br\s*/?>\s*)+|\n\s*\n", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SUBJECT = r"(?:I|it|this|that|they|he|she|we|you|these|those|there)"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cleaned:
    """What cleaning leaves of a corpus.

    Attributes:
        sentences: the sentences, each with the rank in which it serves.
        set_aside: how many were set aside, by reason.
        told: in words, which labels are not as the corpus gives them.
    """

    sentences: Sequence[Sentence]
    set_aside: Counter[str]
    told: str


def clean(texts: Sequence[Sentence]) -> Cleaned:
    """Split texts into sentences, set aside what is none, and rank what is left.

    A sentence of a longer text has the text's label where both opinions, VADER's and TextBlob's,
    are that it is right; else it is set aside.

    Args:
        texts: as the corpus has them, in ``raw``.
    """
    lower_case = sum(text.raw.islower() for text in texts) > len(texts) / 2
    split: list[tuple[Sentence, bool]] = []
    for text in texts:
        parts = [sentence_case(part) if lower_case else part for part in sentences_of(text.raw)]
        whole = len(parts) <= 1
        for number, part in enumerate(parts or [""], start=1):
            id = text.id if whole else f"{text.id}#{number}"
            split.append((replace(text, id=id, text=part, raw=text.raw if whole else part), whole))
    own = _own_words(sentence.text for sentence, _ in split)
    aside: Counter[str] = Counter()
    kept: list[Sentence] = []
    given = 0
    for sentence, whole in split:
        reason = fault(sentence.text, own) if sentence.text else None
        agreement = (
            None if reason or not sentence.text else _agreement(sentence.text, sentence.label)
        )
        if reason is None and not whole and agreement and not agreement.clear:
            reason = "unsure label of a longer text"
        if reason is not None:
            aside[reason] += 1
            continue
        given += not whole
        kept.append(replace(sentence, rank=_rank(sentence, agreement)))
    last = sum(sentence.rank == CONTRADICTED for sentence in kept)
    told = ""
    if given:
        told = f"; {given:,} have the label of a longer text, where VADER and TextBlob agree"
    if last:
        told += f"; {last:,} whose label both contradict come last"
    if kept and (aside or told):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in aside.most_common())
        counts = f"{len(kept):,} sentences in {len(texts):,} texts{told}"
        logger.warning("%s: %s; set aside: %s", kept[0].corpus, counts, reasons or "none")
    return Cleaned(kept, aside, told)


def sentences_of(raw: str) -> list[str]:
    """The sentences of a text, as natural text; line breaks of HTML and blank lines end one."""
    parts = [natural(part) for part in _PARAGRAPHS.split(html.unescape(raw))]
    return [sentence for part in parts if part for sentence in _splitter()(part)]


@functools.cache
def _splitter() -> Callable[[str], list[str]]:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return lambda text: [
        stripped for sentence in pipeline(text).sents if (stripped := sentence.text.strip())
    ]


_RATING = re.compile(
    r"★|⭐|(?<![\d/])\d+(?:\.\d)?\s*/\s*(?:5|10)(?![\d/])|\bout of (?:5|10|five|ten)\b"
    r"|\b(?:\d(?:\.\d)?|one|two|three|four|five|zero)[ -]stars?\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"^(?:[-–—*•+#>~=]|\(?\d{1,2}[.):]\s|\(?[a-zA-Z][.)]\s)|\b(?:pros?|cons?)\s*[:\-]",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"""["'“‘(\[]*[A-Z0-9$].*(?<!\.\.)[.!?…]["'”’)\]]*""", re.DOTALL)
_TWO = re.compile(
    rf";|^(?:{_SUBJECT}|the|my)\b(?:(?!\b(?:if|when|because|while|though|although|since|and|but|or"
    rf"|so|as)\b)[^,])+,\s{_SUBJECT}\b\s\w",
    re.IGNORECASE,
)
_PAIRS = ("()", "[]", "{}", "“”")
_FAULTS: Mapping[str, Callable[[str], object]] = {
    "ratings": _RATING.search,
    "lists": _LIST.search,
    "broken quotes or brackets": lambda text: (
        text.count('"') % 2 or any(text.count(pair[0]) != text.count(pair[1]) for pair in _PAIRS)
    ),
    "capitals": lambda text: (
        text.isupper() or sum(len(w) > 3 and w.isupper() for w in _WORD.findall(text)) > 1
    ),
    "fragments": lambda text: len(_WORD.findall(text)) < LEAST_WORDS or not _WHOLE.fullmatch(text),
    "two sentences in one": _TWO.search,
}
"""Why a text is no plain sentence, the first reason that holds."""


def fault(text: str, own: frozenset[str] = frozenset()) -> str | None:
    """Why a text is no plain sentence in common spelling; None if it is.

    Args:
        text: the text.
        own: words that the corpus spells so.
    """
    reason = next((name for name, holds in _FAULTS.items() if holds(text)), None)
    if reason is None and any(word not in own for word in _unlisted(text)):
        return "unknown spelling"
    return reason


def _unlisted(text: str) -> Iterator[str]:
    """Lower-case words that no dictionary lists; names and what has an apostrophe are not asked."""
    return (word for word in _WORD.findall(text) if word.islower() and not _is_listed(word))


@functools.lru_cache(maxsize=1 << 16)
def _is_listed(word: str) -> bool:
    """Whether a dictionary has a word: WordNet, or the SPECIALIST lexicon by lemminflect."""
    if len(word) < 3 or "'" in word or "’" in word or word in FUNCTION_WORDS | proper_words():
        return True
    if any((word, pos) in Lexicon.load().entries for pos in POSES):
        return True
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word))


def _own_words(texts: Iterable[str]) -> frozenset[str]:
    counts = Counter(word for text in texts for word in set(_unlisted(text)))
    return frozenset(word for word, count in counts.items() if count >= OWN_WORD)


class _Agreement(NamedTuple):
    """Whether both opinions clearly are a label, either contradicts it, both do so strongly."""

    clear: bool
    contradicted: bool
    strongly: bool


def _agreement(text: str, label: Label) -> _Agreement:
    scores = {scorer: scorer()(text) for scorer in LEANS}
    leaning = {_leaning(score, LEANS[scorer]) for scorer, score in scores.items()}
    strong = {_leaning(score, LEANS_STRONGLY[scorer]) for scorer, score in scores.items()}
    return _Agreement(
        clear={label} == (leaning if label == "neutral" else strong),
        contradicted=not leaning <= {label, "neutral"},
        strongly=strong in ({"negative"}, {"positive"}) and label not in strong,
    )


def _leaning(score: float, least: float) -> Label:
    return "positive" if score > least else "negative" if score < -least else "neutral"


def _rank(sentence: Sentence, agreement: _Agreement | None) -> int:
    """How late a sentence serves: 0 for the best."""
    if agreement is None or agreement.strongly:
        return CONTRADICTED
    words: list[str] = _WORD.findall(sentence.text)
    asked = [
        re.split("['’]", each)[0].lower() for each in words if each.islower() or each is words[0]
    ]
    rare = not known_words().issuperset(asked)
    return sum((agreement.contradicted, len(words) not in EASY_LENGTH, rare))
