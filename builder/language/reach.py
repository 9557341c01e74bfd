"""What a wording does to a sentence: how far a denial reaches, and what its pronouns stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from s2lct.builder.language.lexicon import ASSERTIVE, DENIED_ALONE, Lexicon, is_negator
from s2lct.builder.language.operations import things

if TYPE_CHECKING:
    from s2lct.builder.records import InsertedWord, ParsedSentence, Token

_DEFINITE = frozenset({"the", "this", "that", "these", "those"})
_MODIFIERS = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG", "ADJP"})
_WORDS = re.compile(r"[\w'’]+")
_REFERS = re.compile(
    r"(?<!yes, )(?<!no, )\bit\b(?!(?:['’]s)?(?: [\w'’]+){0,3} (?:that|to)\b)", re.IGNORECASE
)
"""*It* that stands for a thing: not that of *it isn't true that*, nor of *no, it isn't*."""
_FIELD = re.compile(r"\{[^}]*\}")


def is_reached(sentence: ParsedSentence, lexicon: Lexicon, *, of_degree: bool = True) -> bool:
    """Whether who denies a sentence takes back every opinion in it.

    A denial reaches the predicate. An opinion before a noun outlives it where the noun phrase is
    the subject (*the predictable script was a disaster? No.*) or is definite, and so presupposes
    it (*this incredible performance*); so does one that is compared (*not as sorry a mess as …*).
    Unless denials ``of_degree`` count, so may one whose degree alone may be denied.
    """
    if not of_degree and _leaves_less(sentence, lexicon):
        return False
    tokens = sentence.tokens
    clauses = [node for node in sentence.tree.nodes() if node.label == "S"]
    parts = (n for clause in clauses for subject in clause.subjects for n in subject.nodes())
    subjects = {(n.start, n.end) for n in parts}
    for node in sentence.tree.nodes():
        first = tokens[node.start]
        presupposes = (
            first.text.lower() in _DEFINITE
            or first.tag == "PRP$"
            or node.child_labels[:1] == ("NP",)  # "Demme's loose approach"
            or (node.start, node.end) in subjects
        )
        if node.label == "NP" and presupposes:
            last = max((c.start for c in node.children if c.label[:2] == "NN"), default=-1)
            before = [c for c in node.children if c.end <= last and c.label in _MODIFIERS]
            if any(_is_laden(tokens[n], lexicon) for c in before for n in range(c.start, c.end)):
                return False
    forms = [token.text.lower() for token in tokens]
    compared = [n for n, form in enumerate(forms) if form == "as"]
    return not any(
        _is_laden(tokens[n], lexicon)
        for first_as, second_as in pairwise(compared)
        for n in range(first_as + 1, second_as)
    )


def _leaves_less(sentence: ParsedSentence, lexicon: Lexicon) -> bool:
    """Whether who denies a sentence may deny no more than how good or bad something is.

    *It doesn't work perfectly* may still be praise, *it isn't amazingly clear*, too: an adverb in
    *-ly* is all the opinion there is, or says of a quality how far it goes.
    """
    laden = [token for token in sentence.tokens if _is_laden(token, lexicon)]
    adverbs = [each for each in laden if each.tag == "RB" and each.text.endswith("ly")]
    graded = any(a in adverbs and b.tag[:2] in ("JJ", "RB") for a, b in pairwise(sentence.tokens))
    return graded or (bool(adverbs) and adverbs == laden)


def _is_laden(token: Token, lexicon: Lexicon) -> bool:
    return lexicon.is_laden(token.text, token.tag, token.lemma)


def is_negative(wording: str) -> bool:
    """Whether a template with its choices made, as it is shown, negates a sentence."""
    return "|negate" in wording or any(map(is_negator, _WORDS.findall(wording)))


def shuns_negation(inserted: Iterable[InsertedWord], *, unread: bool) -> bool:
    """Whether one of inserted words goes under no negation: *some*, and where nobody read *all*."""
    shunned = ASSERTIVE | DENIED_ALONE if unread else ASSERTIVE
    return any(not shunned.isdisjoint(word.word.lower().split()) for word in inserted)


def has_referent(wording: str, sentence: ParsedSentence) -> bool:
    """Whether the sentence has a thing for the pronoun of a wording, where that has one."""
    if not _REFERS.search(_FIELD.sub("", wording)):
        return True
    tokens = sentence.tokens
    return any(
        (token.tag == "NN" and token.lemma.lower() in things())
        or (token.text.lower() in ("it", "this") and behind.tag[:2] in ("VB", "MD", "RB"))
        for token, behind in pairwise(tokens)
    )
