"""Operations on a parsed sentence: what they make of it, and what they leave alone."""

from __future__ import annotations

import re

import pytest

from s2lct.builder.language.operations import (
    OPERATIONS,
    REPLIES,
    VERB_OPERATIONS,
    NotApplicableError,
    apply_operations,
)
from s2lct.builder.records import ParsedSentence, Token

ALL = OPERATIONS | REPLIES
NT = "n't"
LEAF = re.compile(r"\((\S+) ([^\s()]+)\)")
GLUED = ("'", "’", ".", ",", "!", "?", "n't", "n’t")


def parsed(brackets: str) -> ParsedSentence:
    """A sentence from its tree, with words as leaves."""
    text = ""
    tokens: list[Token] = []
    for tag, word in LEAF.findall(brackets):
        glued = word.startswith(GLUED) or (word == "not" and text.endswith("can"))
        text += "" if not text or glued else " "
        lemma = "be" if word in ("'s", "’s", "'re", "'m") else word.lower()
        tokens.append(Token(word, tag, lemma, len(text), len(text) + len(word)))
        text += word
    numbers = iter(range(len(tokens)))
    tree = LEAF.sub(lambda leaf: f"({leaf[1]} {next(numbers)})", brackets)
    return ParsedSentence(text, tuple(tokens), tree)


def text_of(sentence: ParsedSentence, *names: str) -> str:
    text, _ = apply_operations(sentence, tuple(names))
    return text


DULL = "(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))) (. .))"
WORKS = "(S (NP (PRP It)) (VP (VBZ works)) (. .))"
CAN = "(S (NP (DT The) (NN story)) (VP (MD can) (VP (VB bore) (NP (PRP you)))) (. .))"
MESS = "(S (NP (PRP It)) (VP (VBZ 's) (NP (DT a) (NN mess))) (. .))"
MADE = "(S (NP (PRP They)) (VP (VBP 've) (VP (VBN made) (NP (DT a) (NN mess)))) (. .))"
NAME = "(S (NP (NNP John)) (VP (VBD made) (NP (DT a) (NN mess))) (. .))"
THERE = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (JJ dull) (NN story))) (. .))"
FRENCH = "(S (NP (JJ French) (NNS films)) (VP (VBP are) (ADJP (JJ dull))) (. .))"
MAY = "(S (NP (PRP She)) (VP (MD may) (VP (VB disappoint))) (. .))"
BORED = "(S (NP (PRP I)) (VP (VBP 'm) (ADJP (JJ bored))) (. .))"
TITLE = "(S (NP (NN Wedding)) (VP (VBZ feels) (ADJP (JJ dull))) (. .))"
TWO = (
    "(S (S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ dull)))) (, ,) (CC and) "
    "(S (NP (PRP it)) (VP (VBZ fails))) (. .))"
)
NEGATED = "(S (NP (PRP It)) (VP (VBZ does) (RB n't) (VP (VB work))) (. .))"
BEEN = "(S (NP (PRP It)) (VP (VBZ 's) (VP (VBN wasted))) (. .))"
EVERY = "(S (NP (DT Every) (NN joke)) (VP (VBZ fails)) (. .))"
BECAUSE = (
    "(S (NP (PRP It)) (VP (VBZ fails) (SBAR (IN because) (S (NP (PRP it)) "
    "(VP (VBZ is) (ADJP (JJ dull)))))) (. .))"
)
WHILE = (
    "(S (SBAR (IN Although) (S (NP (PRP it)) (VP (VBZ is) (ADJP (JJ dull))))) (, ,) "
    "(NP (PRP it)) (VP (VBZ works)) (. .))"
)
ADVERB = "(S (NP (DT The) (NN story)) (ADVP (RB really)) (VP (VBZ works)) (. .))"
ASKED = "(SQ (VBZ Is) (NP (PRP it)) (ADJP (JJ dull)) (. ?))"
LOUD = "(S (NP (PRP It)) (VP (VBZ works)) (. !))"
PAIR = (
    "(S (NP (NP (DT The) (NN film)) (CC and) (NP (DT the) (NN book))) "
    "(VP (VBP are) (ADJP (JJ dull))) (. .))"
)


@pytest.mark.parametrize(
    ("sentence", "operation", "expected"),
    [
        (DULL, "negate", "The film isn't dull."),
        (DULL, "negate fully", "The film is not dull."),
        (DULL, "question", "Is the film dull?"),
        (DULL, "clause", "the film is dull"),
        (DULL, "unstopped", "The film is dull"),
        (DULL, "infinitive", "the film to be dull"),
        (DULL, "denial", "it isn't"),
        (DULL, "past denial", "it wasn't"),
        (WORKS, "negate", "It doesn't work."),
        (CAN, "negate fully", "The story cannot bore you."),
        (CAN, "past denial", "it couldn't"),
        (MESS, "negate", "It's not a mess."),
        (MADE, "negate", "They've not made a mess."),
        (MADE, "infinitive", "them to have made a mess"),
        (MADE, "past denial", "they hadn't"),
        (THERE, "denial", "there isn't"),
        (FRENCH, "clause", "French films are dull"),
        (MAY, "backshift", "She might disappoint."),
        (BORED, "infinitive", "me to be bored"),
        (TWO, "backshift", "It was dull, and it failed."),
        (NEGATED, "backshift", "It didn't work."),
        (PAIR, "denial", "they aren't"),
    ],
)
def test_what_an_operation_makes(sentence: str, operation: str, expected: str) -> None:
    assert text_of(parsed(sentence), operation) == expected


VERBAL = tuple(sorted((VERB_OPERATIONS | set(REPLIES)) - {"backshift"}))


@pytest.mark.parametrize(
    ("sentence", "operations"),
    [
        (NEGATED, VERBAL),
        (EVERY, VERBAL),
        (BECAUSE, VERBAL),
        (TWO, (*VERBAL, "clause")),
        (WHILE, (*VERBAL, "clause")),
        (ASKED, (*VERBAL, "clause", "unstopped")),
        (LOUD, ("clause", "unstopped", "question", "infinitive")),
        (TITLE, ("clause", "question", "infinitive")),
        (TITLE, tuple(REPLIES)),
        (NAME, tuple(REPLIES)),
        (ADVERB, ("negate", "negate fully", "question", "infinitive")),
        (BEEN, ("question", "infinitive", "backshift", *REPLIES)),
        (CAN, ("infinitive",)),
        (MAY, ("denial", "past denial")),
    ],
)
def test_what_does_not_apply_is_an_error(sentence: str, operations: tuple[str, ...]) -> None:
    for operation in operations:
        with pytest.raises(NotApplicableError):
            text_of(parsed(sentence), operation)


def test_tokens_keep_their_places_in_the_text() -> None:
    for operation in OPERATIONS:
        sentence = parsed(DULL)
        text, starts = apply_operations(sentence, (operation,))
        for number in (1, 3):  # film, dull
            assert text[starts[number] :].startswith(sentence.tokens[number].text)
