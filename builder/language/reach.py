"""Whether a template suits a sentence.

A denial in the template must take back every opinion, and its *it* must refer to a thing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from s2lct.builder.language.lexicon import Lexicon, is_negator
from s2lct.builder.language.operations import thing_nouns
from s2lct.builder.language.tags import ADJECTIVES, DEFINITE_WORDS
from s2lct.plain_text import words

if TYPE_CHECKING:
    from s2lct.builder.records import ParsedSentence, Token

_BEFORE_NOUN = ADJECTIVES | words("VBN VBG ADJP")
_WORDS = re.compile(r"[\w'’]+")
_REFERRING_IT = re.compile(
    r"(?<!yes, )(?<!no, )\bit\b(?!(?:['’]s)?(?: [\w'’]+){0,3} (?:that|to)\b)", re.IGNORECASE
)
"""*It* that refers to a thing, unlike that of *it isn't true that* or of *no, it isn't*."""
_CACHED_SENTENCES = 16_384
"""The number of answers kept, as every wording that denies a sentence asks about it."""
_FIELD = re.compile(r"\{[^}]*\}")


@lru_cache(_CACHED_SENTENCES)
def denial_reaches_opinions(
    sentence: ParsedSentence, lexicon: Lexicon, *, count_degree_denials: bool = True
) -> bool:
    """Whether denying a sentence takes back every opinion in it.

    A denial reaches the predicate alone: *The script was a disaster? No.* An opinion survives it

    - before the noun of a subject: *the predictable script was a disaster*;
    - before the noun of a definite phrase, which presupposes it: *this incredible performance*;
    - within a comparison: *not as sorry a mess as its sequel*.

    Args:
        sentence: the denied sentence.
        lexicon: says which words are opinions.
        count_degree_denials: if False, denials of degree do not count: *it doesn't work
            perfectly* may still be praise.
    """
    if not count_degree_denials and _opinion_is_of_degree(sentence, lexicon):
        return False
    tokens = sentence.tokens
    clauses = [node for node in sentence.tree.nodes() if node.label == "S"]
    in_subjects = {
        (node.start, node.end)
        for clause in clauses
        for subject in clause.subjects
        for node in subject.nodes()
    }
    for phrase in sentence.tree.nodes():
        first_token = tokens[phrase.start]
        may_be_out_of_reach = (
            first_token.text.lower() in DEFINITE_WORDS
            or first_token.tag == "PRP$"
            or phrase.child_labels[:1] == ("NP",)  # "Demme's loose approach"
            or (phrase.start, phrase.end) in in_subjects
        )
        if phrase.label == "NP" and may_be_out_of_reach:
            nouns = (child.start for child in phrase.children if child.label[:2] == "NN")
            last_noun = max(nouns, default=-1)
            modifiers = [
                child
                for child in phrase.children
                if child.end <= last_noun and child.label in _BEFORE_NOUN
            ]
            if any(
                _is_laden(tokens[number], lexicon)
                for modifier in modifiers
                for number in range(modifier.start, modifier.end)
            ):
                return False
    numbers_of_as = [number for number, token in enumerate(tokens) if token.text.lower() == "as"]
    return not any(
        _is_laden(tokens[number], lexicon)
        for first_as, second_as in pairwise(numbers_of_as)
        for number in range(first_as + 1, second_as)
    )


def _opinion_is_of_degree(sentence: ParsedSentence, lexicon: Lexicon) -> bool:
    """Whether denying a sentence may deny no more than how good or bad something is.

    This is so where an adverb in *-ly* is the only opinion, *it works perfectly*, or modifies a
    quality, *amazingly clear*.
    """
    laden = [token for token in sentence.tokens if _is_laden(token, lexicon)]
    adverbs = [token for token in laden if token.tag == "RB" and token.text.endswith("ly")]
    modifies_quality = any(
        left in adverbs and right.tag[:2] in ("JJ", "RB")
        for left, right in pairwise(sentence.tokens)
    )
    return modifies_quality or (bool(adverbs) and adverbs == laden)


def _is_laden(token: Token, lexicon: Lexicon) -> bool:
    return lexicon.is_laden(token.text, token.tag, token.lemma)


def is_negation(wording: str) -> bool:
    """Whether a template with its choices made negates a sentence: *I wouldn't say that {P}*."""
    return "|negate" in wording or any(map(is_negator, _WORDS.findall(wording)))


def pronoun_has_referent(wording: str, sentence: ParsedSentence) -> bool:
    """Whether a wording has no *it*, or the sentence has a referent for it.

    *I thought that {P}. Now I love it.* needs a sentence about a thing, such as *The script is
    dull.*, or one that says *it* or *this* itself.
    """
    if not _REFERRING_IT.search(_FIELD.sub("", wording)):
        return True
    return any(
        (token.tag == "NN" and token.lemma.lower() in thing_nouns())
        or (token.text.lower() in ("it", "this") and following.tag[:2] in ("VB", "MD", "RB"))
        for token, following in pairwise(sentence.tokens)
    )
