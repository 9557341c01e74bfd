"""Rules of English that an inserted word must keep, and that tags and trees do not state.

They name what English forbids, such as *a so long film* or *an great plot*. Annotators judge what
merely reads badly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from s2lct.builder.language import word_list
from s2lct.builder.language.tags import (
    ADVERBS,
    COMMON_NOUNS,
    DETERMINERS,
    MODIFIERS,
    NOUNS,
)
from s2lct.plain_text import words

if TYPE_CHECKING:
    from s2lct.builder.records import Token

proper_words = partial(word_list, "proper_words.txt")
"""Words that English writes with a capital, in lower case."""
review_words = partial(word_list, "review_words.txt")
"""Words that at least three reviews have in lower case."""

DEGREE_WORDS = words("so too as that this how")
"""Words that say to which degree an adjective holds: *so long*, *this long*."""
_ADJECTIVES_AND_PARTICIPLES = words("JJ VBN VBG")
_BEFORE_A_NOUN = _ADJECTIVES_AND_PARTICIPLES | DETERMINERS | words("RB , CC CD HYPH")
_PREPOSITIONS = words("IN TO RP")
_TAKE_NO_MORE_DETERMINER = words("one same other")
"""Nouns and adjectives before which no determiner is added: *the [its] same*."""
_DETERMINERS_OF_COUNTABLES = words("a an every each another either neither")
_DETERMINERS_OF_SINGULARS = words("this that")
_DETERMINERS_OF_PLURALS = words("these those both all several")


def breaks_grammar(tokens: Sequence[Token], inserted_indices: Collection[int]) -> bool:
    """Whether an inserted token, given by its number, cannot stand in its position.

    A word that lacks its capital, *japanese*, or repeats its neighbour breaks grammar, too.
    """
    return any(_breaks_grammar(tokens, index) for index in inserted_indices)


def _breaks_grammar(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    word = token.text.lower()
    previous = tokens[index - 1] if index else None
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if token.text.islower() and token.text in proper_words():
        return True
    if any(neighbour and word == neighbour.text.lower() for neighbour in (previous, following)):
        return True
    previous_tag = previous.tag if previous else ""
    following_tag = following.tag if following else ""
    head = phrase_head(tokens, index + 1, _BEFORE_A_NOUN)
    head_tag = head.tag if head else ""
    match token.tag:
        case "JJ" | "VBN" | "VBG":
            # A modifier stands before its noun, and behind no other noun.
            return not head_tag or previous_tag in NOUNS
        case "NN":
            return following_tag not in COMMON_NOUNS
        case "RB":
            if previous_tag in ADVERBS or following_tag in ADVERBS | COMMON_NOUNS:
                return True
            return word in DEGREE_WORDS and bool(head_tag)  # "a so long film"
        case "DT" | "PRP$":
            return (
                previous_tag in DETERMINERS
                or following_tag not in COMMON_NOUNS | _ADJECTIVES_AND_PARTICIPLES
                or (following is not None and following.text.lower() in _TAKE_NO_MORE_DETERMINER)
                or not _agrees(word, head_tag)
            )
        case "CD":
            return previous_tag in NOUNS or head_tag != "NNS"
        case "IN" | "TO" | "RP":
            return previous_tag in _PREPOSITIONS or following_tag in _PREPOSITIONS
        case "PDT":
            return following_tag not in DETERMINERS or head_tag != "NNS"
        case _:
            return False


def _agrees(determiner: str, head_tag: str) -> bool:
    """Whether a determiner agrees with a noun that has none yet: a plural or a mass (*music*)."""
    if determiner in _DETERMINERS_OF_COUNTABLES or not head_tag:
        return False
    return not (
        (determiner in _DETERMINERS_OF_SINGULARS and head_tag == "NNS")
        or (determiner in _DETERMINERS_OF_PLURALS and head_tag == "NN")
    )


def phrase_head(
    tokens: Sequence[Token], start: int, skipped_tags: Collection[str] = MODIFIERS
) -> Token | None:
    """The head of the noun phrase whose rest begins at token number ``start``; None without a noun.

    *plot* for *[dull] old police plot*: of several nouns in a row the last one is the head. Before
    the first noun, only tokens with ``skipped_tags`` may stand.
    """
    head = None
    for token in tokens[start:]:
        if token.tag in COMMON_NOUNS:
            head = token
        elif head is not None or token.tag not in skipped_tags:
            break
    return head


def clashes(left: str, right: str) -> bool:
    """Whether two words cannot stand side by side: one word twice, or *a* before *old*."""
    article = left.lower()
    return left == right or (article in ("a", "an") and (article == "an") != takes_an(right))


_VOWEL_LETTERS = "aeiou"
_NAMED_WITH_VOWEL = "aefhilmnorsx"
"""Letters whose names begin with a vowel: "an FBI agent", "an R-rated film"."""
_FIRST_PART = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*")
# "Eight", "eleven" and "eighteen": "11,000" and "1850" begin with these, "1,850" and "110" do not.
_EIGHT = re.compile(r"8|1[18](?:\D|$|\d\d(?!\d))")
_SILENT_H = re.compile(r"heir(?!on)|hon(?:est|our|or(?!é))|hour(?!i)")
# "One" begins as "won" does, "onerous" does not.
_AS_WON = re.compile(r"(?:one(?:s|self|ness|time)?|once|ouija|oui)\b")
# "You": the Latin "uni", and u before one consonant and a vowel where nothing was put before a
# word ("useful", but "unable" and "upend").
_AS_YOU = re.compile(
    r"e[uw]|uni|unanim|unary|unesco|ukr|u(?:[bkv]|hf|hd|ns|pc|rl|rn|sb|ss?r|tc|x)s?\b"
    r"|u(?![np]|ber|do|mami|sher|xo|zi)(?:[bcdfgjklmrstvxz]|th)?[aeiouy]"
)
# "Un" before a word that begins with i is not "uni".
_UN_I = re.compile(r"uni(?:d(?:ea|en|io)|ll|m(?:ag|m|p)|n(?!o|uc)|r(?:on|ri)|ss|talic|tem)")
_VOWEL_Y = re.compile(r"y[bcdfglmnprstv]")
# A letter named with a vowel, before consonants behind which no word goes on, is spelled out.
_SPELLED_OUT = re.compile(
    r"(?:f(?![jlr]?V)|h(?!r?V|mm)|l(?![hl]?V|bs?\b)|m(?!n?V|c[a-z]{2}|rs?\b|s\b|t\b)|n(?!V)"
    r"|r(?![hwz]?V)|s(?![cfhklmnpqrtvwz]{0,3}V|gt|hh|r\b|t\b)|x(?!V)"
    r"|(?:hiv|lapd|mit|naacp|nypd|sos|suvs?)\b)".replace("V", "[aeiouy]")
)
_CAPITAL_U = re.compile(r"U[B-DF-HJ-NP-TV-Z]*s?")


def takes_an(word: str) -> bool:
    """Whether *an* stands before a word or number: *an hour*, *an NBA star*, *an 8-year-old*."""
    first_part = _FIRST_PART.search(word)
    if first_part is None:
        return False
    if first_part[0][0].isdecimal():
        return _EIGHT.match(first_part[0]) is not None
    letters = first_part[0].replace(".", "").replace(",", "")
    lower = letters.lower()
    if _CAPITAL_U.fullmatch(letters) or lower == "u":
        return False
    if len(lower) == 1 or _SPELLED_OUT.match(lower):
        return lower[0] in _NAMED_WITH_VOWEL
    if lower[0] in _VOWEL_LETTERS:
        return bool(_UN_I.match(lower)) or not (_AS_WON.match(lower) or _AS_YOU.match(lower))
    return bool(_SILENT_H.match(lower) or _VOWEL_Y.match(lower))
