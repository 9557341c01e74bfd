"""Soundness: what a sentence that no annotator read must show before it is used.

Its tree is that of a sentence, its productions occur in the reference treebanks, and its verbs
agree with their subjects. Many good sentences fail these checks, but few bad ones pass.
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
"""The nouns that stand without an article in the singular."""
_DETERMINER_TAGS = frozenset({"DT", "PDT", "PRP$", "WP$", "POS", "CD"})
"""The tags of words that determine a noun: articles, possessives, numbers."""
_PLURAL_VERBS = words("are were have do")
"""Forms of auxiliary verbs that a singular subject does not have."""
_AMOUNT_NOUNS = words(
    "lot number rest majority couple variety half bunch plenty range kind sort series"
)
"""Nouns of amount: their verb may be singular or plural."""
_SINGULAR_PRONOUNS = words("he she it this that")
_PLURAL_PRONOUNS = words("they we you these those")


def sound_sources(sources: Sequence[Source]) -> set[Source]:
    """The sentences that are sound, and whose label the opinions in their text confirm."""
    grammar = ReferenceGrammar.load()
    sound = [each for each in sources if is_sound(each.parsed, each.sentence.label, grammar)]
    opinion_of = opinions([source.text for source in sound])
    return {each for each in sound if opinion_of[each.text].confirms(each.sentence.label)}


def is_sound(parsed: ParsedSentence, label: Label, grammar: ReferenceGrammar) -> bool:
    """Whether a parsed text is a complete sentence or a noun phrase without a known fault.

    Its productions occur in a treebank, its verbs agree with their subjects, its subjects have
    their articles (not *key card stopped working*), and clauses side by side have a conjunction.

    It does not name one of several faults or merits (*the graphics are the only flaw*), since no
    denial takes that back. It does not continue another sentence (*However, …*). If its label is
    neutral, it does not call a thing anything (*it is rugged*).
    """
    tree, tokens = parsed.tree, parsed.tokens
    continues_another_sentence = parsed.text.lower().partition(",")[0] in connectives()
    phrases = [node for node in tree.nodes() if not node.is_word]
    return (
        not continues_another_sentence
        and (tree.label == "NP" or is_complete_sentence(parsed))
        and not any(
            not _has_known_production(node, grammar)
            or (node.child_labels.count("S") > 1 and "CC" not in node.child_labels)
            or (
                node.label == "S"
                and (not _agrees(node, tokens) or _names_one_flaw_or_merit(node, tokens))
            )
            or (
                node.label == "S"
                and any(_lacks_article(subject, tokens) for subject in node.subjects)
            )
            or (label == "neutral" and node.label == "VP" and "ADJP" in node.child_labels)
            for node in phrases
        )
    )


def _names_one_flaw_or_merit(clause: Node, tokens: Sequence[Token]) -> bool:
    """Whether a clause says that one thing is another, but not that it is the best or the worst.

    Clefts count too: *it is the execution that makes the game shine*.
    """
    if (subject_and_verb := _subject_and_verb(clause)) is None:
        return False
    subject, verb_phrase = subject_and_verb
    sides = [subject, *[child for child in verb_phrase.children if child.label == "NP"][:1]]
    first_word_of_subject, *first_words_of_complement = (
        tokens[side.start].text.lower() for side in sides
    )
    is_cleft = first_word_of_subject == "it" and any(
        node.label == "SBAR" for node in verb_phrase.nodes()
    )
    return (
        tokens[verb_phrase.start].lemma == "be"
        and first_words_of_complement == ["the"]
        and (first_word_of_subject == "the" or is_cleft)
        and not any(token.tag in ("JJS", "RBS") for token in tokens)
    )


def _subject_and_verb(clause: Node) -> tuple[Node, Node] | None:
    """The subject of a clause and the verb phrase after it; None if it has no subject."""
    if not (subjects := clause.subjects):
        return None
    return subjects[-1], clause.children[clause.child_labels.index("VP")]


def _lacks_article(phrase: Node, tokens: Sequence[Token]) -> bool:
    """Whether a subject is a singular noun without the article that it seems to need."""
    while not phrase.children[0].is_word:
        phrase = phrase.children[0]
    tokens_of_phrase = tokens[phrase.start : phrase.end]
    first_token, last_token = tokens_of_phrase[0], tokens_of_phrase[-1]
    if not _DETERMINER_TAGS.isdisjoint(token.tag for token in tokens_of_phrase):
        return False
    if (
        phrase.start == 0
        and first_token.tag == "NNP"
        and first_token.text.lower() not in proper_words()
    ):
        # The first word always has a capital: is the word a common noun inside a sentence?
        return (first_token.text.lower(), "noun") in Lexicon.load().entries
    return last_token.tag == "NN" and last_token.text.lower() not in bare_nouns()


def _has_known_production(node: Node, grammar: ReferenceGrammar) -> bool:
    """Whether a treebank has the production of a node, with or without its full stop."""
    labels = node.child_labels
    without_stop = labels[:-1] if labels[-1] == "." else labels
    return not grammar.counts.keys().isdisjoint({(node.label, labels), (node.label, without_stop)})


def _agrees(clause: Node, tokens: Sequence[Token]) -> bool:
    """Whether the verb of a clause agrees with its subject, as far as both show their number."""
    if (subject_and_verb := _subject_and_verb(clause)) is None:
        return True
    subject, verb = subject_and_verb
    while verb.children:
        verb = verb.children[0]
    finite_verb = tokens[verb.start]
    is_singular = _is_singular(subject, tokens)
    verb_form = finite_verb.text.lower()
    if is_singular is None or finite_verb.tag not in ("VBZ", "VBP", "VBD"):
        return True
    if finite_verb.tag == "VBD":
        return verb_form != ("were" if is_singular else "was")
    return (
        verb_form not in _PLURAL_VERBS and finite_verb.tag == "VBZ"
        if is_singular
        else finite_verb.tag == "VBP"
    )


def _is_singular(subject: Node, tokens: Sequence[Token]) -> bool | None:
    """Whether a subject is singular; None where this does not show."""
    while not subject.children[0].is_word:
        if subject.children[0].label != "NP" or "CC" in subject.child_labels:
            return None
        subject = subject.children[0]
    if "CC" in subject.child_labels:
        return None
    head = tokens[subject.end - 1]
    form = head.text.lower()
    if head.tag in ("NN", "NNS"):
        return None if form in _AMOUNT_NOUNS else head.tag == "NN"
    if form in _SINGULAR_PRONOUNS:
        return True
    return False if form in _PLURAL_PRONOUNS else None
