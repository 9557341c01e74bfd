"""Validate: keep suggestions of the right part of speech that are neutral and change nothing else.

S²LCT's three criteria. A suggestion is counted under the first one that rejects it; what a table
can decide is decided before anything is tagged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.language.articles import takes_an
from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.language.patterns import named_in_errors
from s2lct.builder.models import Tagger
from s2lct.builder.models.masked_lm import MASK
from s2lct.builder.stages.search import meets_text
from s2lct.identity import content_id
from s2lct.suite.records import (
    Expansion,
    FilledSentence,
    InsertedWord,
    MaskedSentence,
    ParsedSeed,
    Suggestion,
    Token,
)


class Rejection(str, Enum):
    """Why a suggestion was rejected.

    One of the three criteria, its words are too unlikely, or they move the sentiment.
    """

    PART_OF_SPEECH = "part of speech"
    NOT_NEUTRAL = "not neutral"
    SPECIFICATION = "specification"
    UNLIKELY = "unlikely"
    SENTIMENT = "sentiment moved"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A suggestion that the tables let pass, put into its text."""

    masked: MaskedSentence
    score: float
    text: str
    inserted: tuple[InsertedWord, ...]


def validate(
    filled: Sequence[FilledSentence],
    seeds: Mapping[str, ParsedSeed],
    forms: Mapping[str, Form],
    tagger: Tagger,
    lexicon: Lexicon,
    *,
    least_score: float | None = None,
) -> tuple[list[Expansion], Counter[tuple[str, Rejection]]]:
    """Apply the three criteria to every suggestion.

    1. The tagger gives the word, in the filled sentence, the tag of its mask.
    2. The word is neutral: `Lexicon.is_neutral_insertion`.
    3. The expansion still meets its seed's specification: the search rule (where the capability
       keeps it), the seed's own words keep their tags, no article before a wrong sound, no word
       twice in a row, no content word that the sentence already has.

    Args:
        filled: masked sentences with suggestions.
        seeds: parsed seeds by id.
        forms: the capabilities' forms by capability id.
        tagger: the tagger.
        lexicon: the lexicon.
        least_score: suggestions that score less are left out.

    Returns:
        The expansions that pass, in the order of ``filled``, and how many suggestions of each
        capability were rejected for which reason.
    """
    rejected: Counter[tuple[str, Rejection]] = Counter()
    candidates: list[_Candidate] = []
    for one in filled:
        parsed = seeds[one.masked.seed_id]
        for suggestion in one.suggestions:
            reason = _reject_by_table(suggestion, one.masked, parsed, lexicon)
            if reason is None and least_score is not None and suggestion.score < least_score:
                reason = Rejection.UNLIKELY
            if reason is None:
                candidates.append(_put_in(one.masked, suggestion))
            else:
                rejected[parsed.seed.capability, reason] += 1
    texts = list(dict.fromkeys(candidate.text for candidate in candidates))
    tagged = dict(zip(texts, tagger.tag(texts), strict=True))
    seed_tags = _tags_of_seeds({c.masked.seed_id for c in candidates}, seeds, tagger)

    passed: list[Expansion] = []
    for candidate in candidates:
        parsed = seeds[candidate.masked.seed_id]
        capability = parsed.seed.capability
        reason = _reject_in_sentence(
            candidate,
            tagged[candidate.text],
            seed_tags[candidate.masked.seed_id],
            parsed,
            forms[capability],
            lexicon,
        )
        if reason is None:
            passed.append(
                Expansion(
                    id=content_id("expansion", capability, candidate.text),
                    seed_id=parsed.seed.id,
                    text=candidate.text,
                    masked=candidate.masked,
                    inserted=candidate.inserted,
                    score=candidate.score,
                )
            )
        else:
            rejected[capability, reason] += 1
    return passed, rejected


def fitting_words(words: Iterable[str], tag: str, lexicon: Lexicon) -> frozenset[str]:
    """Words that the tables let pass for a tag: what else is suggested would be rejected.

    Args:
        words: words to choose from.
        tag: a mask's part of speech.
        lexicon: the lexicon.
    """
    return _words_without_fault(tuple(words), tag, lexicon)


@lru_cache(maxsize=64)
def _words_without_fault(words: tuple[str, ...], tag: str, lexicon: Lexicon) -> frozenset[str]:
    """Kept for every tag: a vocabulary is asked about anew for each batch of sentences."""
    return frozenset(word for word in words if _fault_of_word(word, tag, lexicon) is None)


def _fault_of_word(word: str, tag: str, lexicon: Lexicon) -> Rejection | None:
    """What a word's form alone tells of it."""
    if not lexicon.may_carry(word, tag):
        return Rejection.PART_OF_SPEECH
    # A form that the table lacks waits for its lemma, which the tagger knows.
    known = lexicon.lists(word, tag) or lexicon.pos_of_tag(tag) is None
    neutral = not known or lexicon.is_neutral_insertion(word, tag, word)
    return None if neutral and not is_polarity_shifter(word) else Rejection.NOT_NEUTRAL


def _tags_of_seeds(
    ids: set[str], seeds: Mapping[str, ParsedSeed], tagger: Tagger
) -> dict[str, list[str]]:
    ordered = sorted(ids)
    tagged = tagger.tag([seeds[number].seed.text for number in ordered])
    return {
        number: [token.tag for token in tokens]
        for number, tokens in zip(ordered, tagged, strict=True)
    }


def _put_in(masked: MaskedSentence, suggestion: Suggestion) -> _Candidate:
    text = ""
    inserted: list[InsertedWord] = []
    parts = masked.text.split(MASK)
    for part, mask, word in zip(parts, masked.masks, suggestion.words, strict=False):
        text += part
        inserted.append(InsertedWord(word, mask.tag, len(text), len(text) + len(word)))
        text += word
    return _Candidate(masked, suggestion.score, text + parts[-1], tuple(inserted))


def _reject_by_table(
    suggestion: Suggestion, masked: MaskedSentence, parsed: ParsedSeed, lexicon: Lexicon
) -> Rejection | None:
    """What can be said without a tagger."""
    faults = {
        _fault_of_word(word, mask.tag, lexicon)
        for word, mask in zip(suggestion.words, masked.masks, strict=True)
    }
    for reason in (Rejection.PART_OF_SPEECH, Rejection.NOT_NEUTRAL):
        if reason in faults:
            return reason
    if any(_clashes(*around) for around in _neighbours(suggestion, masked)):
        return Rejection.SPECIFICATION
    own = _forms(parsed, masked.region)
    for word, mask in zip(suggestion.words, masked.masks, strict=True):
        if lexicon.pos_of_tag(mask.tag) is not None and word.lower() in own:
            return Rejection.SPECIFICATION
    return None


def _forms(parsed: ParsedSeed, region: int) -> frozenset[str]:
    tokens = parsed.regions[region].tokens
    return frozenset(form for t in tokens for form in (t.text.lower(), t.lemma.lower()))


def _neighbours(suggestion: Suggestion, masked: MaskedSentence) -> Iterator[tuple[str, str, str]]:
    """For each word, the word before and behind it in the filled text."""
    parts = masked.text.split(MASK)
    for number, word in enumerate(suggestion.words):
        before = parts[number].split()
        behind = parts[number + 1].split()
        left = before[-1] if before else suggestion.words[number - 1] if number else ""
        right = behind[0] if behind else (suggestion.words[number + 1 : number + 2] or ("",))[0]
        yield left, word, right


def _clashes(left: str, word: str, right: str) -> bool:
    """Whether a word repeats its neighbour or breaks an article's agreement with a sound."""
    left, right = left.strip("\"'("), right.strip("\"'.,;:!?)")
    if word.lower() in (left.lower(), right.lower()):
        return True
    return any(
        article.lower() in ("a", "an") and (article.lower() == "an") != takes_an(behind)
        for article, behind in ((left, word), (word, right))
    )


def _reject_in_sentence(
    candidate: _Candidate,
    tokens: Sequence[Token],
    seed_tags: Sequence[str],
    parsed: ParsedSeed,
    form: Form,
    lexicon: Lexicon,
) -> Rejection | None:
    """What the tags of the filled sentence say."""
    by_start = {token.start: token for token in tokens}
    for word in candidate.inserted:
        token = by_start.get(word.start)
        if token is None or token.end != word.end or token.tag != word.tag:
            return Rejection.PART_OF_SPEECH
        if not lexicon.is_neutral_insertion(word.word, word.tag, token.lemma):
            return Rejection.NOT_NEUTRAL
    places = {word.start for word in candidate.inserted}
    if [token.tag for token in tokens if token.start not in places] != list(seed_tags):
        return Rejection.SPECIFICATION
    if form.keep_search_rule:
        (rules,) = form.search.values()
        label = parsed.seed.sources[0].label
        with named_in_errors(f"capability {parsed.seed.capability}"):
            kept = any(
                rule.label == label and meets_text(candidate.text, tokens, rule, lexicon)
                for rule in rules
            )
        if not kept:
            return Rejection.SPECIFICATION
    return None
