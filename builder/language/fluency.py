"""Grammar that tags and trees leave open: capitals, determiners, number, and what stands where.

Only what English forbids is here; what reads well is for readers to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from s2lct.suite.records import Token

PROPER_WORDS = Path(__file__).parents[1] / "data" / "proper_words.txt"

_NOUNS = frozenset({"NN", "NNS"})
_NAMES = frozenset({"NNP", "NNPS"})
_ADJECTIVES = frozenset({"JJ", "VBN", "VBG"})
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_PREPOSITIONS = frozenset({"IN", "TO", "RP"})
_BETWEEN_MODIFIERS = frozenset({"RB", ",", "CC", "CD", "HYPH"})
_DETERMINERS = frozenset({"DT", "PRP$", "POS", "PDT", "WDT", "WP$"})
_PRONOUNS = frozenset({"one", "same", "other"})
"""Words tagged as adjectives or nouns that need the determiner they have."""
_DEGREE = frozenset({"so", "too", "as", "that", "this", "how"})
_OF_ONE = frozenset({"a", "an", "every", "each", "another", "either", "neither"})
_OF_SINGULARS = frozenset({"this", "that"})
_OF_PLURALS = frozenset({"these", "those", "both", "all", "several"})


@cache
def proper_words() -> frozenset[str]:
    """Words that English writes with a capital."""
    return frozenset(PROPER_WORDS.read_text(encoding="utf-8").split())


def lacks_capital(word: str) -> bool:
    """Whether a word in lower case is one that English capitalises."""
    return word.islower() and word in proper_words()


def breaks_grammar(tokens: Sequence[Token], inserted: Collection[int]) -> bool:
    """Whether an inserted word cannot stand where it does, stands twice, or lacks its capital.

    Args:
        tokens: the filled sentence.
        inserted: the numbers of the inserted tokens.
    """
    return any(_breaks(tokens, number) for number in inserted)


def _breaks(tokens: Sequence[Token], number: int) -> bool:
    word = tokens[number]
    form = word.text.lower()
    before = tokens[number - 1].tag if number else ""
    following = tokens[number + 1] if number + 1 < len(tokens) else None
    behind = following.tag if following else ""
    head = _head_behind(tokens, number)
    neighbours = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
    if lacks_capital(word.text) or form in {token.text.lower() for token in neighbours}:
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
            return form in _DEGREE and bool(head)  # "a so long film"
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


def _head_behind(tokens: Sequence[Token], number: int) -> str:
    """The tag of the common noun that modifiers from here on lead to; empty if they lead to none.

    Of several nouns in a row the last one is the head.
    """
    head = ""
    for token in tokens[number + 1 :]:
        if token.tag in _NOUNS:
            head = token.tag
        elif head or token.tag not in _ADJECTIVES | _BETWEEN_MODIFIERS | _DETERMINERS:
            break
    return head
