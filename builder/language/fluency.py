"""Grammar that tags and trees leave open: capitals, determiners, number, and what stands where.

Only what English forbids is here; what reads well is for readers to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from s2lct.builder.language import listed

if TYPE_CHECKING:
    from s2lct.builder.records import Token

proper_words = partial(listed, "proper_words.txt")
"""Words that English writes with a capital."""
known_words = partial(listed, "review_words.txt")
"""Lower-case words that at least three reviews have."""

_NOUNS = frozenset({"NN", "NNS"})
_NAMES = frozenset({"NNP", "NNPS"})
_ADJECTIVES = frozenset({"JJ", "VBN", "VBG"})
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_PREPOSITIONS = frozenset({"IN", "TO", "RP"})
_BETWEEN_MODIFIERS = frozenset({"RB", ",", "CC", "CD", "HYPH"})
_DETERMINERS = frozenset({"DT", "PRP$", "POS", "PDT", "WDT", "WP$"})
_BEFORE_A_NOUN = _ADJECTIVES | _BETWEEN_MODIFIERS | _DETERMINERS
MODIFIERS = frozenset({"JJ", "JJR", "JJS", "NN", "NNS", "VBN", "VBG"})
_PRONOUNS = frozenset({"one", "same", "other"})
"""Words tagged as adjectives or nouns that need the determiner they have."""
DEGREE = frozenset({"so", "too", "as", "that", "this", "how"})
_OF_ONE = frozenset({"a", "an", "every", "each", "another", "either", "neither"})
_OF_SINGULARS = frozenset({"this", "that"})
_OF_PLURALS = frozenset({"these", "those", "both", "all", "several"})


def breaks_grammar(tokens: Sequence[Token], inserted: Collection[int]) -> bool:
    """Whether one of the ``inserted`` tokens cannot stand where it does, or lacks its capital."""
    return any(_breaks(tokens, number) for number in inserted)


def _breaks(tokens: Sequence[Token], number: int) -> bool:
    word = tokens[number]
    form = word.text.lower()
    before = tokens[number - 1].tag if number else ""
    following = tokens[number + 1] if number + 1 < len(tokens) else None
    behind = following.tag if following else ""
    noun = head_behind(tokens, number + 1, _BEFORE_A_NOUN)
    head = noun.tag if noun else ""
    neighbours = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
    lacks_capital = word.text.islower() and word.text in proper_words()
    if lacks_capital or form in {token.text.lower() for token in neighbours}:
        return True
    match word.tag:
        case "JJ" | "VBN" | "VBG":
            # What modifies a noun stands before it, and behind no other noun.
            return not head or before in _NOUNS | _NAMES
        case "NN":
            return behind not in _NOUNS
        case "RB":
            if before in _ADVERBS or behind in _ADVERBS | _NOUNS:
                return True
            return form in DEGREE and bool(head)  # "a so long film"
        case "DT" | "PRP$":
            return (
                before in _DETERMINERS
                or behind not in _NOUNS | _ADJECTIVES
                or (following is not None and following.text.lower() in _PRONOUNS)
                or not _agrees(form, head)
            )
        case "CD":
            return before in _NOUNS | _NAMES or head != "NNS"
        case "IN" | "TO" | "RP":
            return before in _PREPOSITIONS or behind in _PREPOSITIONS
        case "PDT":
            return following is None or behind not in _DETERMINERS or head != "NNS"
        case _:
            return False


def _agrees(determiner: str, head: str) -> bool:
    """Whether a determiner fits a noun that has none: a plural, or a mass as "music" is."""
    if determiner in _OF_ONE or not head:
        return False
    return not (
        (determiner in _OF_SINGULARS and head == "NNS")
        or (determiner in _OF_PLURALS and head == "NN")
    )


def head_behind(
    tokens: Sequence[Token], place: int, between: Collection[str] = MODIFIERS
) -> Token | None:
    """The common noun that tokens ``between``, from token number ``place`` on, lead to, if any.

    Of several nouns in a row the last one is the head.
    """
    head = None
    for token in tokens[place:]:
        if token.tag in _NOUNS:
            head = token
        elif head is not None or token.tag not in between:
            break
    return head


def clashes(left: str, right: str) -> bool:
    """Whether words cannot stand side by side: a word twice, or an article with a wrong sound."""
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
    """Whether "an" stands before a word, in letters or figures; of a compound its first part."""
    found = _FIRST_PART.search(word)
    if found is None:
        return False
    if found[0][0].isdecimal():
        return _EIGHT.match(found[0]) is not None
    written = found[0].replace(".", "").replace(",", "")
    first = written.lower()
    if _CAPITAL_U.fullmatch(written) or first == "u":
        return False
    if len(first) == 1 or _SPELLED_OUT.match(first):
        return first[0] in _NAMED_WITH_VOWEL
    if first[0] in _VOWEL_LETTERS:
        return bool(_UN_I.match(first)) or not (_AS_WON.match(first) or _AS_YOU.match(first))
    return bool(_SILENT_H.match(first) or _VOWEL_Y.match(first))
