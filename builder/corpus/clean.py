"""Clean a corpus as people have it: reviews into sentences, what is none aside, the best first.

What is set aside is not mended: there is always another sentence.
"""

from __future__ import annotations

import functools
import html
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.builder.corpus.collect import OVERLONG_WORDS, has_overlong_word
from s2lct.builder.language.fluency import known_words, proper_words
from s2lct.builder.language.grammar import connectives
from s2lct.builder.language.lexicon import FUNCTION_WORDS, POSES, Lexicon, is_polarity_shifter
from s2lct.builder.language.natural_text import natural, sentence_case
from s2lct.builder.models.opinions import Opinion, opinions
from s2lct.builder.records import Sentence

LEAST_WORDS = 3
OWN_WORD = 5
"""Texts that have a word make it the corpus's own, though no dictionary lists it: *bluetooth*."""
EASY_LENGTH = range(4, 21)
CONTRADICTED = 9
"""The rank of sentences whose label opinions contradict."""
_PARAGRAPHS = re.compile(r"(?:<br\s*/?>\s*)+|\n\s*\n", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIRST = re.compile(r"^\W*([A-Z][^\W\d_A-Z]+)(?!['’\w]| [A-Z][^\W\d_A-Z])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][^\W\d_A-Z]+\b")
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

    Texts are taken as the corpus has them, in ``raw``. A sentence of a longer one has its label
    where all opinions are that it is right (`s2lct.builder.models.opinions`), so never neutral:
    what is neither good nor bad as a whole is seldom so in a sentence.
    """
    lower_case = sum(text.raw.islower() for text in texts) > len(texts) / 2
    split: list[tuple[Sentence, bool]] = []
    overlong = 0
    for text in texts:
        if has_overlong_word(text.raw):
            overlong += 1
            continue
        parts = [sentence_case(part) if lower_case else part for part in sentences_of(text.raw)]
        whole = len(parts) <= 1
        for number, part in enumerate(parts or [""], start=1):
            id = text.id if whole else f"{text.id}#{number}"
            split.append((replace(text, id=id, text=part, raw=text.raw if whole else part), whole))
    own = _own_words([sentence.text for sentence, _ in split])
    faults = [_fault(sentence.text, own) if sentence.text else None for sentence, _ in split]
    aside = Counter(filter(None, faults)) + Counter({OVERLONG_WORDS: overlong})
    plain = [each for each, fault in zip(split, faults, strict=True) if fault is None]
    opinion_of = opinions([sentence.text for sentence, _ in plain])
    kept: list[Sentence] = []
    given = 0
    for sentence, whole in plain:
        opinion = opinion_of[sentence.text]
        if not whole and not opinion.is_unanimous(sentence.label):
            aside["unsure label of a longer text"] += 1
            continue
        given += not whole
        kept.append(replace(sentence, rank=_rank(sentence, opinion)))
    last = sum(sentence.rank == CONTRADICTED for sentence in kept)
    told = ""
    if given:
        told = f"; {given:,} have the label of a longer text, on which all opinions agree"
    if last:
        told += f"; {last:,} whose label opinions contradict come last"
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
    "capitals": lambda text: text.isupper() or any(map(_is_shouted, _WORD.findall(text))),
    "fragments": lambda text: len(_WORD.findall(text)) < LEAST_WORDS or not _WHOLE.fullmatch(text),
    "two sentences in one": _TWO.search,
    "repeated words": re.compile(r"\b([^\W\d_]+) \1\b", re.IGNORECASE).search,
}
"""Why a text is no plain sentence, the first reason that holds."""


def _is_shouted(word: str) -> bool:
    """Whether an everyday word is in capitals, and no abbreviation: *SO*, *TERRIBLE*."""
    plain = word.lower()
    is_everyday = plain in FUNCTION_WORDS or (len(word) > 3 and plain in known_words())
    return len(word) > 1 and word.isupper() and is_everyday and word not in ("IT", "US")


def _fault(text: str, own: frozenset[str]) -> str | None:
    """Why a text is no plain sentence in common spelling, or its corpus's own; None if it is."""
    reason = next((name for name, holds in _FAULTS.items() if holds(text)), None)
    if reason is None and any(own.isdisjoint({word, word.lower()}) for word in _unlisted(text)):
        return "unknown spelling"
    return reason


def is_plain_sentence(text: str) -> bool:
    """Whether a text is a plain sentence in common spelling that has its names with capitals.

    Where a corpus is in lower case, what no dictionary lists is a name.
    """
    words = [re.sub("['’]s$", "", word) for word in _WORD.findall(text) if word.islower()]
    has_name = any(word in proper_words() or not _is_listed(word) for word in words)
    return not has_name and _fault(text, frozenset()) is None


def _unlisted(text: str) -> Iterator[str]:
    """Words that no dictionary lists, but for names and what has an apostrophe.

    A capital makes a name within a sentence. The first word has one anyway, and is a name only if
    the next one has a capital, too (*Wim Wenders*).
    """
    asked = [*_FIRST.findall(text), *filter(str.islower, _WORD.findall(text))]
    return (word for word in asked if not _is_listed(word.lower()))


@functools.lru_cache(maxsize=1 << 16)
def _is_listed(word: str) -> bool:
    """Whether a dictionary has a word: WordNet, or the SPECIALIST lexicon by lemminflect."""
    if len(word) < 3 or "'" in word or "’" in word or word in FUNCTION_WORDS | proper_words():
        return True
    if any((word, pos) in Lexicon.load().entries for pos in POSES):
        return True
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word))


_THEM = re.compile(r"(?:They|Them|Their|These|Those|Both|Each|Such|Most|Some)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:an)?other\b|\b(?:also|former|latter|same|such)\b"
    r"|^(?:the|my|a) (?:first|second|third|next|last)\b",
    re.IGNORECASE,
)


def refers_outside(text: str) -> bool:
    """Whether a sentence goes on with, or speaks of, what another one before it said.

    It begins with a connective or with who *they* are; *he* or *she* has no name before it; or it
    speaks of others, or of the first of several.
    """
    if any(pattern(text) for pattern in (_goes_on().match, _THEM.match, _OTHERS.search)):
        return True
    person = _PERSON.search(text)
    return person is not None and not any(
        word[0].isupper() for word in text[: person.start()].split()[1:]
    )


@functools.cache
def _goes_on() -> re.Pattern[str]:
    listed = "|".join(map(re.escape, sorted(connectives())))
    return re.compile(rf"(?:(?:{listed}),|(?:and|but|or|so|then)\b)", re.IGNORECASE)


def _own_words(texts: Sequence[str]) -> frozenset[str]:
    """Words that many texts have, and names: what has a capital where none is due."""
    counts = Counter(word.lower() for text in texts for word in set(_unlisted(text)))
    often = (word for word, count in counts.items() if count >= OWN_WORD)
    return frozenset(often).union(*map(_NAME.findall, texts))


def _rank(sentence: Sentence, opinion: Opinion) -> int:
    """How late a sentence serves: 0 for the best."""
    if opinion.contradicts(sentence.label):
        return CONTRADICTED
    words: list[str] = _WORD.findall(sentence.text)
    asked = [
        re.split("['’]", each)[0].lower() for each in words if each.islower() or each is words[0]
    ]
    doubts = (
        not opinion.is_unanimous(sentence.label),
        len(words) not in EASY_LENGTH,
        not known_words().issuperset(asked),
        refers_outside(sentence.text),
        any(map(is_polarity_shifter, words)),
    )
    return sum(doubts)
