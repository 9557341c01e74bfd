"""Search: corpus sentences that a capability's rules accept.

S²LCT phase 1: seeds are found in a labelled corpus by rule. Rules on words need a tagger and a
lexicon, rules on syntax a parse tree; the cheap ones are decided first.
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
"""Of a sentence that a rule may accept: no pattern of a capability file sees a longer one."""
_SUBJECTS = frozenset({"NP", "SBAR", "S"})
_FINITE_TAGS = frozenset({"VBZ", "VBP", "VBD", "MD"})
_PUNCTUATION_ONLY = re.compile(r"[\W_]+")


def number_of_words(tokens: Sequence[Token]) -> int:
    """Tokens that are not punctuation: the paper's ``len``."""
    return sum(_PUNCTUATION_ONLY.fullmatch(token.text) is None for token in tokens)


def candidates(
    sentences: Sequence[Sentence], rules: Sequence[SearchRule], seed: int, *purpose: str
) -> list[Sentence]:
    """Sentences that may meet one of a slot's rules, in the order in which they are taken.

    Those of a lower rank come first; among them the order is random, but fixed by the seed, the
    purpose and each sentence. Of sentences with one text the first counts.
    """
    of_text: dict[str, Sentence] = {}
    for sentence in sentences:
        if any(may_meet(sentence, rule) for rule in rules):
            of_text.setdefault(sentence.text, sentence)
    return sorted(
        of_text.values(),
        key=lambda each: (each.rank, shuffle_key(seed, *purpose, each.corpus, each.id)),
    )


def still_meets(form: Form, label: Label, parsed: ParsedSentence, lexicon: Lexicon) -> bool:
    """Whether what was made of a sentence of that label still meets the rule that found it.

    Only some capabilities ask for it. The tree is not looked at.
    """
    if not form.keep_search_rule:
        return True
    (rules,) = form.search.values()
    return any(
        rule.label == label and meets_text(parsed.text, parsed.tokens, rule, lexicon)
        for rule in rules
    )


def meets_words(
    sentence: Sentence, tokens: Sequence[Token], rule: SearchRule, lexicon: Lexicon
) -> bool:
    """Whether a sentence meets everything in a rule that needs no parse tree."""
    return meets_label(sentence, rule) and meets_text(sentence.text, tokens, rule, lexicon)


def meets_label(sentence: Sentence, rule: SearchRule) -> bool:
    """Whether a sentence has a rule's label, and a score that it takes."""
    if sentence.label != rule.label:
        return False
    if sentence.score is None:
        return True
    least, most = rule.score_at_least, rule.score_at_most
    return (least is None or sentence.score >= least) and (most is None or sentence.score <= most)


def may_meet(sentence: Sentence, rule: SearchRule) -> bool:
    """Whether a sentence meets what can be told of a rule before it is tagged."""
    if not meets_label(sentence, rule):
        return False
    # No token goes across a space, so each part with a letter or digit is a word at least.
    words = sum(_PUNCTUATION_ONLY.fullmatch(part) is None for part in sentence.text.split())
    if rule.words_below is not None and words >= rule.words_below:
        return False
    return _meets_patterns(sentence.text, rule)


def _meets_patterns(text: str, rule: SearchRule) -> bool:
    if len(text) > MAX_CHARACTERS:
        return False
    if rule.starts_with is not None and re.match(rule.starts_with, text) is None:
        return False
    return rule.matches_no is None or not re.search(rule.matches_no, text)


def meets_text(text: str, tokens: Sequence[Token], rule: SearchRule, lexicon: Lexicon) -> bool:
    """Whether a text meets everything in a rule but its label, score and tree.

    This is what an expansion of a seed without template must still meet (criterion 3).
    """
    words = number_of_words(tokens)
    if words < rule.words_at_least or (rule.words_below is not None and words >= rule.words_below):
        return False
    if not _meets_patterns(text, rule):
        return False
    forms = {form for token in tokens for form in (token.text.lower(), token.lemma.lower())}
    if not forms.isdisjoint(rule.has_no_words):
        return False

    def has(wanted: WordClass) -> bool:
        return _has(tokens, wanted, lexicon, rule.form_first)

    if rule.has_one_of and not any(map(has, rule.has_one_of)):
        return False
    return not any(map(has, rule.has_none_of))


def _has(tokens: Sequence[Token], wanted: WordClass, lexicon: Lexicon, form_first: bool) -> bool:
    for token in tokens:
        pos = lexicon.pos_of_tag(token.tag)
        if pos is None or pos not in wanted.parts_of_speech:
            continue
        first, second = (token.text, token.lemma) if form_first else (token.lemma, token.text)
        strength = abs(lexicon.score(second, pos, first) or 0)
        sentiment = lexicon.sentiment(second, pos, first)
        if sentiment == wanted.sentiment and strength >= wanted.strength:
            return True
    return False


def is_complete_sentence(parsed: ParsedSentence) -> bool:
    """Whether it is a declarative clause with subject and finite verb, from capital to full stop.

    Clauses joined by "and" are complete if each of them is.
    """
    tokens = parsed.tokens
    if not tokens or tokens[-1].text != "." or not tokens[0].text[0].isupper():
        return False
    return _is_declarative(parsed.tree)


def _is_declarative(node: Node) -> bool:
    if node.label != "S":
        return False
    labels = node.child_labels
    if "VP" not in labels:
        parts = [child for child in node.children if child.label == "S"]
        return len(parts) > 1 and all(map(_is_declarative, parts))
    verb_phrase = labels.index("VP")
    return not _SUBJECTS.isdisjoint(labels[:verb_phrase]) and _is_finite(node.children[verb_phrase])


def _is_finite(verb_phrase: Node) -> bool:
    if not _FINITE_TAGS.isdisjoint(verb_phrase.child_labels):
        return True
    return any(_is_finite(child) for child in verb_phrase.children if child.label == "VP")
