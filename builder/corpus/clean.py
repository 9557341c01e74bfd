"""Clean a user's corpus: split reviews into sentences, set bad ones aside, rank the others.

Bad sentences are not mended, as a corpus has enough others.
"""

from __future__ import annotations

import functools
import html
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from s2lct.builder.corpus.collect import OVERLONG_WORD_REASON, has_overlong_word
from s2lct.builder.language.fluency import proper_words, review_words
from s2lct.builder.language.grammar import connectives
from s2lct.builder.language.lexicon import FUNCTION_WORDS, POSES, Lexicon, is_polarity_shifter
from s2lct.builder.language.natural_text import sentence_case, to_natural_text
from s2lct.builder.models.opinions import Opinion, opinions
from s2lct.builder.records import Sentence

MIN_WORDS = 3
MIN_TEXTS_OF_CORPUS_WORD = 5
"""A word that no dictionary lists, such as *bluetooth*, is accepted if this many texts have it."""
EASY_LENGTHS = range(4, 21)
"""Numbers of words that make a sentence easy to read."""
CONTRADICTED_RANK = 9
"""The rank of sentences whose label is contradicted by `opinions`."""
_PARAGRAPHS = re.compile(r"(?:<br\s*/?>\s*)+|\n\s*\n", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIRST_WORD = re.compile(r"^\W*([A-Z][^\W\d_A-Z]+)(?!['’\w]| [A-Z][^\W\d_A-Z])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][^\W\d_A-Z]+\b")
_SUBJECT = r"(?:I|it|this|that|they|he|she|we|you|these|those|there)"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CleanedCorpus:
    """A cleaned corpus.

    Attributes:
        sentences: the sentences, each with its rank.
        set_aside: the number of sentences and texts set aside, by reason.
        notes: the numbers of inherited and of contradicted labels, for the corpus's description.
    """

    sentences: Sequence[Sentence]
    set_aside: Counter[str]
    notes: str


def clean(texts: Sequence[Sentence]) -> CleanedCorpus:
    """Split texts into sentences, set bad ones aside, and rank the others.

    A sentence of a longer text gets the text's label if all opinions agree with it
    (`s2lct.builder.models.opinions`). They never agree with neutral, as a text that is neither good
    nor bad as a whole seldom is so in each sentence.

    Args:
        texts: the corpus's texts in ``raw``; their ``text`` is not used.
    """
    is_lower_case = sum(text.raw.islower() for text in texts) > len(texts) / 2
    candidates: list[tuple[Sentence, bool]] = []
    overlong_count = 0
    for text in texts:
        if has_overlong_word(text.raw):
            overlong_count += 1
            continue
        parts = [
            sentence_case(part) if is_lower_case else part for part in split_sentences(text.raw)
        ]
        is_whole = len(parts) <= 1
        for number, part in enumerate(parts or [""], start=1):
            id = text.id if is_whole else f"{text.id}#{number}"
            raw = text.raw if is_whole else part
            candidates.append((replace(text, id=id, text=part, raw=raw), is_whole))
    corpus_words = _corpus_words([sentence.text for sentence, _ in candidates])
    faults = [
        _fault(sentence.text, corpus_words) if sentence.text else None for sentence, _ in candidates
    ]
    set_aside = Counter(filter(None, faults)) + Counter({OVERLONG_WORD_REASON: overlong_count})
    sound_candidates = [
        candidate for candidate, fault in zip(candidates, faults, strict=True) if fault is None
    ]
    opinion_of = opinions([sentence.text for sentence, _ in sound_candidates])
    sentences: list[Sentence] = []
    inherited_count = 0
    for sentence, is_whole in sound_candidates:
        opinion = opinion_of[sentence.text]
        if not is_whole and not opinion.is_unanimous(sentence.label):
            set_aside["unsure label of a longer text"] += 1
            continue
        inherited_count += not is_whole
        sentences.append(replace(sentence, rank=_rank(sentence, opinion)))
    contradicted_count = sum(sentence.rank == CONTRADICTED_RANK for sentence in sentences)
    notes = ""
    if inherited_count:
        notes = (
            f"; {inherited_count:,} have the label of a longer text, on which all opinions agree"
        )
    if contradicted_count:
        notes += f"; {contradicted_count:,} whose label opinions contradict come last"
    if sentences and (set_aside or notes):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in set_aside.most_common())
        counts = f"{len(sentences):,} sentences in {len(texts):,} texts{notes}"
        logger.warning("%s: %s; set aside: %s", sentences[0].corpus, counts, reasons or "none")
    return CleanedCorpus(sentences, set_aside, notes)


def split_sentences(raw: str) -> list[str]:
    """The sentences of a text as natural text; `<br>` and blank lines end a sentence, too."""
    parts = [to_natural_text(part) for part in _PARAGRAPHS.split(html.unescape(raw))]
    return [sentence for part in parts if part for sentence in _splitter()(part)]


@functools.cache
def _splitter() -> Callable[[str], list[str]]:
    """A function that splits natural text into sentences."""
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
_LIST_ITEM = re.compile(
    r"^(?:[-–—*•+#>~=]|\(?\d{1,2}[.):]\s|\(?[a-zA-Z][.)]\s)|\b(?:pros?|cons?)\s*[:\-]",
    re.IGNORECASE,
)
_COMPLETE_SENTENCE = re.compile(r"""["'“‘(\[]*[A-Z0-9$].*(?<!\.\.)[.!?…]["'”’)\]]*""", re.DOTALL)
_TWO_SENTENCES = re.compile(
    rf";|^(?:{_SUBJECT}|the|my)\b(?:(?!\b(?:if|when|because|while|though|although|since|and|but|or"
    rf"|so|as)\b)[^,])+,\s{_SUBJECT}\b\s\w",
    re.IGNORECASE,
)
_PAIRED_MARKS = ("()", "[]", "{}", "“”")
_FAULTS: Mapping[str, Callable[[str], object]] = {
    "ratings": _RATING.search,
    "lists": _LIST_ITEM.search,
    "broken quotes or brackets": lambda text: (
        text.count('"') % 2
        or any(text.count(pair[0]) != text.count(pair[1]) for pair in _PAIRED_MARKS)
    ),
    "capitals": lambda text: text.isupper() or any(map(_is_shouted, _WORD.findall(text))),
    "fragments": lambda text: (
        len(_WORD.findall(text)) < MIN_WORDS or not _COMPLETE_SENTENCE.fullmatch(text)
    ),
    "two sentences in one": _TWO_SENTENCES.search,
    "repeated words": re.compile(r"\b([^\W\d_]+) \1\b", re.IGNORECASE).search,
}
"""Tests for faults that a plain sentence does not have, by the name of the fault."""


def _is_shouted(word: str) -> bool:
    """Whether an everyday word is in capitals, *TERRIBLE*, and thus no abbreviation."""
    lower = word.lower()
    is_everyday = lower in FUNCTION_WORDS or (len(word) > 3 and lower in review_words())
    return len(word) > 1 and word.isupper() and is_everyday and word not in ("IT", "US")


def _fault(text: str, corpus_words: frozenset[str]) -> str | None:
    """The first fault of a text that keeps it from being a plain sentence; None without one.

    Unknown words are a fault, apart from ``corpus_words``.
    """
    fault = next((name for name, is_found in _FAULTS.items() if is_found(text)), None)
    if fault is None and any(
        corpus_words.isdisjoint({word, word.lower()}) for word in _unlisted_words(text)
    ):
        return "unknown spelling"
    return fault


def is_plain_sentence(text: str) -> bool:
    """Whether a text is a plain sentence, commonly spelt, without names in lower case.

    A word that no dictionary lists counts as a name.
    """
    words = [re.sub("['’]s$", "", word) for word in _WORD.findall(text) if word.islower()]
    has_name = any(word in proper_words() or not _is_listed(word) for word in words)
    return not has_name and _fault(text, frozenset()) is None


def _unlisted_words(text: str) -> Iterator[str]:
    """The words of a text that no dictionary lists, apart from names.

    A word with a capital is a name. The first word of a sentence is one only if the next has a
    capital, too: *Wim Wenders*.
    """
    words = [*_FIRST_WORD.findall(text), *filter(str.islower, _WORD.findall(text))]
    return (word for word in words if not _is_listed(word.lower()))


@functools.lru_cache(maxsize=1 << 16)
def _is_listed(word: str) -> bool:
    """Whether WordNet or the SPECIALIST lexicon has a word; a short or contracted one counts."""
    if len(word) < 3 or "'" in word or "’" in word or word in FUNCTION_WORDS | proper_words():
        return True
    if any((word, pos) in Lexicon.load().entries for pos in POSES):
        return True
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word))


_REFERRING_SUBJECT = re.compile(
    r"(?:They|Them|Their|These|Those|Both|Each|Such|Most|Some)\b", re.IGNORECASE
)
_PERSONAL_PRONOUN = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
_REFERENCE_TO_OTHERS = re.compile(
    r"\b(?:an)?other\b|\b(?:also|former|latter|same|such)\b"
    r"|^(?:the|my|a) (?:first|second|third|next|last)\b",
    re.IGNORECASE,
)


def refers_to_earlier_sentence(text: str) -> bool:
    """Whether a sentence refers to an earlier one.

    It does if it begins with a connective or a word like *they*, has *he* or *she* without a name
    before it, or speaks of *another*, *the same* or *the first*.
    """
    matchers = (_connective().match, _REFERRING_SUBJECT.match, _REFERENCE_TO_OTHERS.search)
    if any(matcher(text) for matcher in matchers):
        return True
    pronoun = _PERSONAL_PRONOUN.search(text)
    return pronoun is not None and not any(
        word[0].isupper() for word in text[: pronoun.start()].split()[1:]
    )


@functools.cache
def _connective() -> re.Pattern[str]:
    phrases = "|".join(map(re.escape, sorted(connectives())))
    return re.compile(rf"(?:(?:{phrases}),|(?:and|but|or|so|then)\b)", re.IGNORECASE)


def _corpus_words(texts: Sequence[str]) -> frozenset[str]:
    """Words that no dictionary lists, but that many texts have, and names within sentences."""
    counts = Counter(word.lower() for text in texts for word in set(_unlisted_words(text)))
    frequent = (word for word, count in counts.items() if count >= MIN_TEXTS_OF_CORPUS_WORD)
    return frozenset(frequent).union(*map(_NAME.findall, texts))


def _rank(sentence: Sentence, opinion: Opinion) -> int:
    """The number of doubts about a sentence; sentences of rank 0 are the best, and used first."""
    if opinion.contradicts(sentence.label):
        return CONTRADICTED_RANK
    words: list[str] = _WORD.findall(sentence.text)
    lower_case_words = [
        re.split("['’]", word)[0].lower() for word in words if word.islower() or word is words[0]
    ]
    doubts = (
        not opinion.is_unanimous(sentence.label),
        len(words) not in EASY_LENGTHS,
        not review_words().issuperset(lower_case_words),
        refers_to_earlier_sentence(sentence.text),
        any(map(is_polarity_shifter, words)),
    )
    return sum(doubts)
