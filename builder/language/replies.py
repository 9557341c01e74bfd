"""Replies: what takes up a sentence that stands elsewhere in a template, *it isn't*, *they do*.

A template names them behind a slot that it has already, ``{N|denial}``. As an operation does, a
reply applies where the tree makes it safe, and says why where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from s2lct.builder.language.operations import (
    NEGATIVE_FORMS,
    PAST_MODALS,
    WITHOUT_CONTRACTION,
    Draft,
    NotApplicableError,
    Operation,
    form_of_do,
    full_form,
    is_auxiliary,
    main_clause,
    refuse_unclear_contraction,
)
from s2lct.builder.language.tree import Node
from s2lct.builder.records import Token
from s2lct.plain_text import words

THINGS = Path(__file__).parents[1] / "data" / "things.txt"
_PAST_BE = {"is": "was", "'s": "was", "’s": "was", "am": "was", "'m": "was", "are": "were"}


def _reply(draft: Draft, denied: bool, past: bool) -> Draft:
    """The pronoun of the subject with its auxiliary, denied or not."""
    found = main_clause(draft)
    refuse_unclear_contraction(draft, found.finite)
    tokens = draft.analysis.tokens
    pronoun = _pronoun(tokens, found.subject)
    token = tokens[found.finite]
    if is_auxiliary(draft, found):
        verb = full_form(token.text)
        if past:
            verb = _PAST_BE.get(verb, PAST_MODALS.get(verb, verb))
            verb = "had" if verb in ("has", "have") else verb
    else:
        verb = "did" if past else form_of_do(token)
    if verb.startswith("'"):
        raise NotApplicableError("its verb is shortened to 'd")
    if pronoun == "they" and verb in ("is", "was", "does", "has"):
        pronoun = "it"
    if denied:
        if verb in WITHOUT_CONTRACTION:
            raise NotApplicableError(f"{verb} has no short negation")
        verb = NEGATIVE_FORMS.get(verb, f"{verb}n't")
    return Draft(draft.analysis, (f"{pronoun} {verb}",), (0,))


def _pronoun(tokens: tuple[Token, ...], subject: Node) -> str:
    first = tokens[subject.start]
    lower = first.text.lower()
    if subject.end - subject.start == 1 and lower in ("it", "he", "she", "they", "we"):
        return lower
    if subject.end - subject.start == 1 and lower in ("this", "that"):
        return "it"
    if lower == "there" and subject.end - subject.start == 1:
        return "there"
    head = _head(tokens, subject)
    if lower in ("these", "those") or head.tag == "NNS":
        return "they"
    if head.tag == "NN" and head.lemma.lower() in _things() and lower in ("the", "this", "its"):
        return "it"
    raise NotApplicableError("no pronoun is sure to stand for its subject")


@cache
def _things() -> frozenset[str]:
    """Nouns of the things that reviews speak of: *it* stands for them."""
    return words(THINGS.read_text(encoding="utf-8"))


def _head(tokens: tuple[Token, ...], phrase: Node) -> Token:
    """The head of a noun phrase: the last noun before what follows it."""
    node = phrase
    while any(child.label == "NP" for child in node.children):
        if any(child.label == "CC" for child in node.children):
            return replace(tokens[node.start], tag="NNS", lemma="")
        node = next(child for child in node.children if child.label == "NP")
    nouns = [c for c in node.children if c.is_word and c.label.startswith("NN")]
    return tokens[nouns[-1].start] if nouns else tokens[node.end - 1]


def denial(draft: Draft) -> Draft:
    """What denies it in short: *it isn't*, *they don't*."""
    return _reply(draft, denied=True, past=False)


def denial_in_the_past(draft: Draft) -> Draft:
    """What denies it in short, in the past: *it wasn't*, *they didn't*."""
    return _reply(draft, denied=True, past=True)


def assent(draft: Draft) -> Draft:
    """What confirms it in short: *it is*, *they do*."""
    return _reply(draft, denied=False, past=False)


def assent_in_the_past(draft: Draft) -> Draft:
    """What confirms it in short, in the past: *it was*, *they did*."""
    return _reply(draft, denied=False, past=True)


REPLIES: Mapping[str, Operation] = {
    "denial": denial,
    "past denial": denial_in_the_past,
    "assent": assent,
    "past assent": assent_in_the_past,
}
"""What takes up a sentence that stands elsewhere in the template."""
