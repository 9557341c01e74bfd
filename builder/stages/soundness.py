"""Soundness: what a sentence that nobody read must show before it is used.

Its tree is that of a sentence, made of productions that the reference treebanks have, and its verbs
agree with their subjects. Many good sentences fall short of it, but few bad ones pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from s2lct.builder.language import word_list
from s2lct.builder.language.fluency import proper_words
from s2lct.builder.language.grammar import Node, ReferenceGrammar, connectives
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models.opinions import opinions
from s2lct.builder.records import ParsedSentence, Source, Token
from s2lct.builder.stages.search import is_complete_sentence
from s2lct.labels import Label
from s2lct.plain_text import words

bare_nouns = partial(word_list, "bare_nouns.txt")
"""Nouns that stand without an article in the singular."""
_DETERMINERS = frozenset({"DT", "PDT", "PRP$", "WP$", "POS", "CD"})
_OF_PLURALS = words("are were have do")
_AMOUNTS = words("lot number rest majority couple variety half bunch plenty range kind sort series")
_SINGULAR_PRONOUNS = words("he she it this that")
_PLURAL_PRONOUNS = words("they we you these those")


def sound_sources(sources: Sequence[Source]) -> set[Source]:
    """The sentences that show by themselves that they are sound and their label is right."""
    grammar = ReferenceGrammar.load()
    sound = [each for each in sources if is_sound(each.parsed, each.sentence.label, grammar)]
    opinion_of = opinions([source.text for source in sound])
    return {each for each in sound if opinion_of[each.text].confirms(each.sentence.label)}


def is_sound(parsed: ParsedSentence, label: Label, grammar: ReferenceGrammar) -> bool:
    """Whether a parsed text is a sentence or a noun phrase, each clause is in order, and it fits.

    Its productions are known, its verbs agree, its subjects have their articles (not *key card
    stopped working*), and clauses side by side have a conjunction. It does not say which of several
    faults or merits a thing is (*the graphics are the only flaw*), which no denial takes back; it
    does not go on from another (*However, …*); and it calls nothing anything (*it is rugged*) if
    its label is neutral.
    """
    tree, tokens = parsed.tree, parsed.tokens
    goes_on = parsed.text.lower().partition(",")[0] in connectives()
    phrases = [node for node in tree.nodes() if not node.is_word]
    return (
        not goes_on
        and (tree.label == "NP" or is_complete_sentence(parsed))
        and not any(
            not _is_known(node, grammar)
            or (node.child_labels.count("S") > 1 and "CC" not in node.child_labels)
            or (node.label == "S" and (not _agrees(node, tokens) or _identifies(node, tokens)))
            or (node.label == "S" and any(_is_bare(each, tokens) for each in node.subjects))
            or (label == "neutral" and node.label == "VP" and "ADJP" in node.child_labels)
            for node in phrases
        )
    )


def _identifies(clause: Node, tokens: Sequence[Token]) -> bool:
    """Whether a clause says that one thing is another, but not that it is the best or the worst.

    So does a cleft: *it is the execution that makes the game shine*.
    """
    if (parts := _subject_and_verb(clause)) is None:
        return False
    subject, verb_phrase = parts
    sides = [subject, *[child for child in verb_phrase.children if child.label == "NP"][:1]]
    first, *others = (tokens[side.start].text.lower() for side in sides)
    is_cleft = first == "it" and any(node.label == "SBAR" for node in verb_phrase.nodes())
    return (
        tokens[verb_phrase.start].lemma == "be"
        and others == ["the"]
        and (first == "the" or is_cleft)
        and not any(token.tag in ("JJS", "RBS") for token in tokens)
    )


def _subject_and_verb(clause: Node) -> tuple[Node, Node] | None:
    """A clause's subject and the verb phrase behind it; None without them."""
    if not (subjects := clause.subjects):
        return None
    return subjects[-1], clause.children[clause.child_labels.index("VP")]


def _is_bare(phrase: Node, tokens: Sequence[Token]) -> bool:
    """Whether a subject is a bare noun that is seldom bare, or may be a name or none."""
    while not phrase.children[0].is_word:
        phrase = phrase.children[0]
    words = tokens[phrase.start : phrase.end]
    first, last = words[0], words[-1]
    if not _DETERMINERS.isdisjoint(token.tag for token in words):
        return False
    if phrase.start == 0 and first.tag == "NNP" and first.text.lower() not in proper_words():
        # It has its capital as the first word: has it one inside a sentence, too?
        return (first.text.lower(), "noun") in Lexicon.load().entries
    return last.tag == "NN" and last.text.lower() not in bare_nouns()


def _is_known(node: Node, grammar: ReferenceGrammar) -> bool:
    """Whether a treebank has a node's production, its full stop aside."""
    labels = node.child_labels
    without_stop = labels[:-1] if labels[-1] == "." else labels
    return not grammar.counts.keys().isdisjoint({(node.label, labels), (node.label, without_stop)})


def _agrees(clause: Node, tokens: Sequence[Token]) -> bool:
    """Whether a clause's verb has its subject's number, as far as both show it."""
    if (parts := _subject_and_verb(clause)) is None:
        return True
    subject, verb = parts
    while verb.children:
        verb = verb.children[0]
    finite = tokens[verb.start]
    singular = _is_singular(subject, tokens)
    form = finite.text.lower()
    if singular is None or finite.tag not in ("VBZ", "VBP", "VBD"):
        return True
    if finite.tag == "VBD":
        return form != ("were" if singular else "was")
    return form not in _OF_PLURALS and finite.tag == "VBZ" if singular else finite.tag == "VBP"


def _is_singular(subject: Node, tokens: Sequence[Token]) -> bool | None:
    """Whether a subject is of one; None where it does not show."""
    while not subject.children[0].is_word:
        if subject.children[0].label != "NP" or "CC" in subject.child_labels:
            return None
        subject = subject.children[0]
    if "CC" in subject.child_labels:
        return None
    head = tokens[subject.end - 1]
    form = head.text.lower()
    if head.tag in ("NN", "NNS"):
        return None if form in _AMOUNTS else head.tag == "NN"
    if form in _SINGULAR_PRONOUNS:
        return True
    return False if form in _PLURAL_PRONOUNS else None
