"""Validate suggestions, and select: the right part of speech, neutral, and within the rule.

S²LCT's three criteria, and nothing beside them. A suggestion is counted under the first one that
rejects it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from s2lct.builder.capabilities.schema import Form
from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.models import Tagger
from s2lct.builder.models.masked_lm import MASK
from s2lct.builder.records import (
    Expansion,
    Family,
    FilledSentence,
    InsertedWord,
    MaskedSentence,
    ParsedSeed,
    Suggestion,
    Token,
)
from s2lct.builder.stages.search import still_meets
from s2lct.identity import content_id, shuffle_key


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
    """A suggestion, put into its text."""

    masked: MaskedSentence
    suggestion: Suggestion
    text: str
    inserted: tuple[InsertedWord, ...]


def validate(
    filled: Sequence[FilledSentence],
    seeds: Mapping[str, ParsedSeed],
    forms: Mapping[str, Form],
    tagger: Tagger,
    lexicon: Lexicon,
) -> tuple[list[Expansion], Counter[tuple[str, Rejection]]]:
    """Apply the three criteria to every suggestion.

    1. The tagger gives the word, in the filled sentence, the tag of its mask.
    2. The word is neutral: `Lexicon.is_neutral`.
    3. The filled sentence still meets its seed's search rule, where the capability keeps it.

    Args:
        filled: masked sentences with suggestions.
        seeds: parsed seeds by id.
        forms: the capabilities' forms by capability id.
        tagger: the tagger.
        lexicon: the lexicon.
        least_score: suggestions that score less are left out; None leaves out none.

    Returns:
        The expansions that pass, in the order of ``filled``, and how many suggestions of each
        capability were rejected for which reason.
    """
    rejected: Counter[tuple[str, Rejection]] = Counter()
    candidates: list[_Candidate] = []
    for one in filled:
        for suggestion in one.suggestions:
            candidates.append(_put_in(one.masked, suggestion))
    texts = list(dict.fromkeys(candidate.text for candidate in candidates))
    tagged = dict(zip(texts, tagger.tag(texts), strict=True))
    passed: list[Expansion] = []
    for candidate in candidates:
        parsed = seeds[candidate.masked.seed_id]
        capability = parsed.seed.capability
        reason = _reject(candidate, tagged[candidate.text], parsed, forms[capability], lexicon)
        if reason is None:
            passed.append(
                Expansion(
                    id=content_id("expansion", capability, candidate.text),
                    seed_id=parsed.seed.id,
                    text=candidate.text,
                    masked=candidate.masked,
                    inserted=candidate.inserted,
                    score=candidate.suggestion.score,
                    origin=candidate.suggestion.origin,
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


def _put_in(masked: MaskedSentence, suggestion: Suggestion) -> _Candidate:
    text = ""
    inserted: list[InsertedWord] = []
    parts = masked.text.split(MASK)
    for part, mask, word in zip(parts, masked.masks, suggestion.words, strict=False):
        text += part
        inserted.append(InsertedWord(word, mask.tag, len(text), len(text) + len(word)))
        text += word
    return _Candidate(masked, suggestion, text + parts[-1], tuple(inserted))


def _reject(
    candidate: _Candidate,
    tokens: Sequence[Token],
    parsed: ParsedSeed,
    form: Form,
    lexicon: Lexicon,
) -> Rejection | None:
    """The first criterion that the filled sentence does not meet."""
    by_start = {token.start: token for token in tokens}
    found = [(word, by_start.get(word.start)) for word in candidate.inserted]
    if not all(
        token is not None and token.end == word.end and token.tag == word.tag
        for word, token in found
    ):
        return Rejection.PART_OF_SPEECH
    if not all(
        token is not None and lexicon.is_neutral(word.word, word.tag, token.lemma)
        for word, token in found
    ):
        return Rejection.NOT_NEUTRAL
    label = parsed.seed.sources[0].label
    if not still_meets(form, label, candidate.text, tokens, lexicon):
        return Rejection.SPECIFICATION
    return None


def select(
    expansions: Sequence[Expansion],
    seeds: Sequence[ParsedSeed],
    *,
    per_seed: int,
    seed: int,
) -> list[Family]:
    """Choose each seed's expansions.

    Args:
        expansions: expansions that passed validation.
        seeds: the seeds, those without expansions too.
        per_seed: most expansions of a seed, drawn at random.
        seed: of the random choice.

    Returns:
        A family for each seed.
    """
    passed: dict[str, list[Expansion]] = defaultdict(list)
    for expansion in _distinct(expansions):
        passed[expansion.seed_id].append(expansion)
    for seed_id, group in passed.items():
        group.sort(key=lambda one: shuffle_key(seed, "select", seed_id, one.text))
    return [Family(parsed, tuple(passed[parsed.seed.id][:per_seed])) for parsed in seeds]


def without_duplicates(families: Iterable[Family]) -> tuple[list[Family], Counter[str]]:
    """Drop expansions whose text a seed or an earlier expansion of the capability has.

    Returns:
        The families, and how many expansions of each capability were dropped.
    """
    families = list(families)
    seen = {(family.seed.seed.capability, family.seed.seed.text) for family in families}
    dropped: Counter[str] = Counter()
    kept: list[Family] = []
    for family in families:
        capability = family.seed.seed.capability
        own: list[Expansion] = []
        for expansion in family.expansions:
            if (capability, expansion.text) in seen:
                dropped[capability] += 1
            else:
                seen.add((capability, expansion.text))
                own.append(expansion)
        kept.append(replace(family, expansions=tuple(own)))
    return kept, dropped


def _distinct(expansions: Iterable[Expansion]) -> list[Expansion]:
    """One expansion for each text of a seed: the most probable production, then the best score."""
    best: dict[tuple[str, str], Expansion] = {}
    for expansion in expansions:
        key = (expansion.seed_id, expansion.text)
        known = best.get(key)
        if known is None or _rank(expansion) > _rank(known):
            best[key] = expansion
    return list(best.values())


def _rank(expansion: Expansion) -> tuple[float, float]:
    return expansion.masked.production.probability, expansion.score
