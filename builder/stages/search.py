"""Search: corpus sentences that a capability's rules accept.

S²LCT phase 1: seeds are found in a labelled corpus by rule. Rules on words need a tagger and a
lexicon, and rules on syntax need a parse tree. The cheap rules are checked first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from s2lct.builder.capabilities.schema import Form, SearchRule, WordClass
from s2lct.builder.language.grammar import Node
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.records import ParsedSentence, Sentence, Token
from s2lct.identity import shuffle_key
from s2lct.labels import Label

MAX_CHARACTERS = 1_000
"""The longest sentence, in characters, that a rule may accept and its patterns are run on."""
_SUBJECT_LABELS = frozenset({"NP", "SBAR", "S"})
"""The labels of phrases that may be a subject."""
_FINITE_TAGS = frozenset({"VBZ", "VBP", "VBD", "MD"})
"""The tags of finite verbs."""
_PUNCTUATION_ONLY = re.compile(r"[\W_]+")


def word_count(tokens: Sequence[Token]) -> int:
    """The number of tokens that are not punctuation: the paper's ``len``."""
    return sum(_PUNCTUATION_ONLY.fullmatch(token.text) is None for token in tokens)


def candidates(
    sentences: Sequence[Sentence], rules: Sequence[SearchRule], random_seed: int, *purpose: str
) -> list[Sentence]:
    """The sentences that may meet one of a slot's rules, in the order in which they are used.

    They are sorted by rank, and within a rank in a random order that is fixed by the random seed
    and the purpose. Of equal texts only the first sentence is returned.
    """
    sentence_of_text: dict[str, Sentence] = {}
    for sentence in sentences:
        if any(may_meet(sentence, rule) for rule in rules):
            sentence_of_text.setdefault(sentence.text, sentence)
    return sorted(
        sentence_of_text.values(),
        key=lambda sentence: (
            sentence.rank,
            shuffle_key(random_seed, *purpose, sentence.corpus, sentence.id),
        ),
    )


def still_meets(form: Form, label: Label, modified: ParsedSentence, lexicon: Lexicon) -> bool:
    """Whether a modified sentence of a label still meets the search rule of its seed.

    True if the capability does not require this. The parse tree is not checked.
    """
    if not form.keep_search_rule:
        return True
    (rules,) = form.search.values()
    return any(
        rule.label == label and meets_text(modified.text, modified.tokens, rule, lexicon)
        for rule in rules
    )


def meets_without_tree(
    sentence: Sentence, tokens: Sequence[Token], rule: SearchRule, lexicon: Lexicon
) -> bool:
    """Whether a sentence meets everything in a rule that needs no parse tree."""
    return meets_label(sentence, rule) and meets_text(sentence.text, tokens, rule, lexicon)


def meets_label(sentence: Sentence, rule: SearchRule) -> bool:
    """Whether a sentence has the label of a rule, and a score within the rule's bounds."""
    if sentence.label != rule.label:
        return False
    if sentence.score is None:
        return True
    least, most = rule.score_at_least, rule.score_at_most
    return (least is None or sentence.score >= least) and (most is None or sentence.score <= most)


def may_meet(sentence: Sentence, rule: SearchRule) -> bool:
    """Whether an untagged sentence may meet a rule, by its label, length and patterns."""
    if not meets_label(sentence, rule):
        return False
    # No token goes across a space, so each part with a letter or digit is a word at least.
    min_word_count = sum(
        _PUNCTUATION_ONLY.fullmatch(part) is None for part in sentence.text.split()
    )
    if rule.words_below is not None and min_word_count >= rule.words_below:
        return False
    return _meets_patterns(sentence.text, rule)


def _meets_patterns(text: str, rule: SearchRule) -> bool:
    """Whether a text matches a rule's patterns and is not too long for them."""
    if len(text) > MAX_CHARACTERS:
        return False
    if rule.starts_with is not None and re.match(rule.starts_with, text) is None:
        return False
    return rule.matches_no is None or not re.search(rule.matches_no, text)


def meets_text(text: str, tokens: Sequence[Token], rule: SearchRule, lexicon: Lexicon) -> bool:
    """Whether a text meets everything in a rule but its label, score and tree.

    An expansion of a seed without a template must still meet this (criterion 3).
    """
    n_words = word_count(tokens)
    if n_words < rule.words_at_least or (
        rule.words_below is not None and n_words >= rule.words_below
    ):
        return False
    if not _meets_patterns(text, rule):
        return False
    words_and_lemmas = {
        form for token in tokens for form in (token.text.lower(), token.lemma.lower())
    }
    if not words_and_lemmas.isdisjoint(rule.has_no_words):
        return False

    def has(word_class: WordClass) -> bool:
        return _has_word_of_class(tokens, word_class, lexicon, rule.form_first)

    if rule.has_one_of and not any(map(has, rule.has_one_of)):
        return False
    return not any(map(has, rule.has_none_of))


def _has_word_of_class(
    tokens: Sequence[Token], word_class: WordClass, lexicon: Lexicon, tries_form_first: bool
) -> bool:
    """Whether a token is of a word class: part of speech, sentiment and strength.

    The lexicon looks up the form of a word before its lemma if ``tries_form_first``.
    """
    for token in tokens:
        pos = lexicon.pos_of_tag(token.tag)
        if pos is None or pos not in word_class.parts_of_speech:
            continue
        first, second = (token.text, token.lemma) if tries_form_first else (token.lemma, token.text)
        strength = abs(lexicon.score(second, pos, first) or 0)
        sentiment = lexicon.sentiment(second, pos, first)
        if sentiment == word_class.sentiment and strength >= word_class.strength:
            return True
    return False


def is_complete_sentence(parsed: ParsedSentence) -> bool:
    """Whether a sentence is a declarative clause with a subject, a finite verb and a full stop.

    It must begin with a capital. Clauses joined by *and* are complete if each of them is.
    """
    tokens = parsed.tokens
    if not tokens or tokens[-1].text != "." or not tokens[0].text[0].isupper():
        return False
    return _is_declarative(parsed.tree)


def _is_declarative(node: Node) -> bool:
    """Whether a node is a clause with a subject and a finite verb, or consists of such clauses."""
    if node.label != "S":
        return False
    labels = node.child_labels
    if "VP" not in labels:
        clauses = [child for child in node.children if child.label == "S"]
        return len(clauses) > 1 and all(map(_is_declarative, clauses))
    verb_phrase = labels.index("VP")
    return not _SUBJECT_LABELS.isdisjoint(labels[:verb_phrase]) and _is_finite(
        node.children[verb_phrase]
    )


def _is_finite(verb_phrase: Node) -> bool:
    """Whether a verb phrase has a finite verb, directly or in a verb phrase below it."""
    if not _FINITE_TAGS.isdisjoint(verb_phrase.child_labels):
        return True
    return any(_is_finite(child) for child in verb_phrase.children if child.label == "VP")
