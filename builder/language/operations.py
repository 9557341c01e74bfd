"""Grammatical operations on a parsed sentence, such as negating it or asking it as a question.

A template of a capability file names operations behind a slot: ``{P|negate}``. Several are carried
out from left to right: ``{P|backshift|clause}``. A reply answers a sentence that the template has
elsewhere: ``{N|denial}`` is *it isn't*. Each operation uses a sentence's words, tags and tree
alone. It does not apply where the tree does not show that the result is sound English.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from s2lct.builder.language import word_list
from s2lct.builder.language.fluency import proper_words
from s2lct.builder.language.grammar import Node
from s2lct.builder.language.inflection import past_tense, verb_lemma
from s2lct.builder.language.lexicon import NEAR_NEGATORS, NEGATORS
from s2lct.builder.language.tags import ADVERBS, FINITE_VERBS, PROPER_NOUNS
from s2lct.plain_text import words

if TYPE_CHECKING:
    from s2lct.builder.records import ParsedSentence, Token

thing_nouns = partial(word_list, "things.txt")
"""Nouns of things that reviews are about, such as *film*: *it* can stand for them."""

_QUANTIFIERS = words("all every some many most both each everyone everybody everything few several")
_NEGATIVE_WORDS = NEGATORS | NEAR_NEGATORS
_SUBORDINATE = words("SBAR SINV PRN FRAG")
_CONTRACTIONS = words("'s 're 've 'll 'd 'm ’s ’re ’ve ’ll ’d ’m")
_FULL_FORMS = {"s": "is", "re": "are", "ve": "have", "ll": "will", "m": "am"}
_IRREGULAR_NEGATIONS = {"can": "can't", "will": "won't", "shall": "shan't"}
_WITHOUT_NEGATIVE_CONTRACTION = words("am may might")
_PAST_MODALS = {
    **{"can": "could", "will": "would", "'ll": "'d", "may": "might"},
    **{"ca": "could", "wo": "would"},  # of can't and won't
}
_PAST_BE = {"is": "was", "'s": "was", "’s": "was", "am": "was", "'m": "was", "are": "were"}
_OBJECT_FORMS = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us"}
_CACHED_TEXTS = 16_384


class NotApplicableError(ValueError):
    """An operation does not apply to a sentence; the message says why."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence on its way through operations.

    Attributes:
        sentence: the sentence before any operation.
        forms: the written form of each of its tokens.
        order: the numbers of the tokens that are written, in the order of the new text.
        ending: the text behind the last token.
    """

    sentence: ParsedSentence
    forms: tuple[str, ...]
    order: tuple[int, ...]
    ending: str = ""

    def with_forms(self, changes: Mapping[int, str]) -> Draft:
        """The draft with new forms of some tokens, by token number."""
        forms = tuple(changes.get(number, form) for number, form in enumerate(self.forms))
        return replace(self, forms=forms)

    def render(self) -> tuple[str, dict[int, int]]:
        """The new text, and by token number the index of the character at which a token starts."""
        tokens = self.sentence.tokens
        text = ""
        starts: dict[int, int] = {}
        for number in self.order:
            if text and (number == 0 or tokens[number - 1].end < tokens[number].start):
                text += " "
            starts[number] = len(text)
            text += self.forms[number]
        return text + self.ending, starts


Operation = Callable[[Draft], Draft]


@lru_cache(_CACHED_TEXTS)
def apply_operations(
    sentence: ParsedSentence, names: tuple[str, ...]
) -> tuple[str, Mapping[int, int]]:
    """Carry out operations, or a reply, on a sentence.

    Args:
        sentence: the sentence with its tokens and tree.
        names: keys of `OPERATIONS` in the order in which they are carried out, or one of `REPLIES`.

    Returns:
        The new text, and by token number the index of the character at which a token starts.

    Raises:
        NotApplicableError: an operation does not apply; the message says why.
    """
    tokens = sentence.tokens
    if not names:
        return sentence.text, {number: token.start for number, token in enumerate(tokens)}
    draft = Draft(sentence, tuple(token.text for token in tokens), tuple(range(len(tokens))))
    for name in names:
        draft = (OPERATIONS.get(name) or REPLIES[name])(draft)
    return draft.render()


class _MainClause(NamedTuple):
    """A main clause; ``verb`` is the token number of its finite verb."""

    subject: Node
    predicate: Node
    verb: int


def _main_clause(draft: Draft) -> _MainClause:
    """The only main clause of a sentence, if changing its verb changes the whole statement."""
    tree = draft.sentence.tree
    tokens = draft.sentence.tokens
    labels = [label for label in tree.child_labels if label not in (".", "''", "``")]
    if tree.label != "S" or "VP" not in labels:
        raise NotApplicableError("it is no sentence with a subject and a predicate")
    if labels not in (["NP", "VP"], ["NP", "ADVP", "VP"]):
        raise NotApplicableError("its main clause has more than a subject and a predicate")
    subject = next(child for child in tree.children if child.label == "NP")
    predicate = next(child for child in tree.children if child.label == "VP")
    if tokens[subject.start].text.lower() in _QUANTIFIERS:
        raise NotApplicableError("its subject begins with a quantifier")
    if any(token.text.lower().replace("’", "'") in _NEGATIVE_WORDS for token in tokens):
        raise NotApplicableError("it is negated already")
    verbs = (child for child in predicate.children if child.is_word)
    finite = next((verb for verb in verbs if verb.label in FINITE_VERBS), None)
    if finite is None:
        raise NotApplicableError("its predicate has no finite verb of its own")
    phrase: Node | None = predicate
    while phrase is not None:
        _check_is_simple(phrase)
        phrase = next((child for child in phrase.children if child.label == "VP"), None)
    return _MainClause(subject, predicate, finite.start)


def _check_is_simple(verb_phrase: Node) -> None:
    """Refuse a verb phrase with coordinated parts or with a clause in it."""
    for index, child in enumerate(verb_phrase.children):
        follows_comma = index > 0 and verb_phrase.children[index - 1].label == ","
        if child.label in ("CC", ":") or (follows_comma and child.label != "NP"):
            raise NotApplicableError("its predicate has several parts")
        has_subject = child.label == "S" and child.children[0].label == "NP"
        if child.label in _SUBORDINATE or has_subject:
            raise NotApplicableError("its predicate has a clause in it")


def _has_adverb_before_verb(draft: Draft) -> bool:
    return "ADVP" in draft.sentence.tree.child_labels


def _is_auxiliary(draft: Draft, clause: _MainClause) -> bool:
    """Whether the finite verb is negated and asked without *do*: *isn't*, *can't*, *has not seen*.

    *Have* is an auxiliary before a participle alone.
    """
    token = draft.sentence.tokens[clause.verb]
    lemma = verb_lemma(token)
    if token.tag == "MD" or lemma == "be":
        return True
    verb_phrases = [child for child in clause.predicate.children if child.label == "VP"]
    if lemma == "have" and verb_phrases:
        return draft.sentence.tokens[verb_phrases[0].start].tag in ("VBN", "RB", "VBD")
    return lemma == "do" and bool(verb_phrases)


def _form_of_do(token: Token) -> str:
    """The form of *do* in a finite verb's tense and number: *does* for *works*."""
    return {"VBZ": "does", "VBP": "do"}.get(token.tag, "did")


def _full_form(form: str) -> str:
    """A verb in lower case without contraction: *is* for *'s*.

    *'d* is refused: it may stand for *had* or *would*.
    """
    lower = form.lower().replace("’", "'")
    if lower == "'d":
        raise NotApplicableError("its verb is shortened to 'd")
    return _FULL_FORMS.get(lower.lstrip("'"), lower) if lower.startswith("'") else lower


def _refuse_unclear_contraction(draft: Draft, number: int) -> None:
    """Refuse *it's made …*, where *'s* is *is* or *has*."""
    token, *following = draft.sentence.tokens[number : number + 2]
    if token.text in ("'s", "’s") and following and following[0].tag in ("VBN", "VBD"):
        raise NotApplicableError("'s may stand for is or has")


def negate(draft: Draft, *, contracted: bool = True) -> Draft:
    """Negate the main clause, contracted (*isn't*, *can't*) or fully (*is not*, *cannot*)."""
    clause = _main_clause(draft)
    token, *following = draft.sentence.tokens[clause.verb : clause.verb + 2]
    if any(adverb.tag in ADVERBS for adverb in following) or _has_adverb_before_verb(draft):
        raise NotApplicableError("an adverb stands where the negation goes")
    form = draft.forms[clause.verb]
    if not _is_auxiliary(draft, clause):
        do = _form_of_do(token)
        negation = f"{do}n't" if contracted else f"{do} not"
        return draft.with_forms({clause.verb: f"{negation} {verb_lemma(token)}"})
    if form in _CONTRACTIONS:
        if form[1:] == "d":
            raise NotApplicableError("its verb is shortened to 'd")
        return draft.with_forms({clause.verb: f"{form} not"})
    if not contracted or form.lower() in _WITHOUT_NEGATIVE_CONTRACTION:
        return draft.with_forms({clause.verb: "cannot" if form == "can" else f"{form} not"})
    return draft.with_forms({clause.verb: _IRREGULAR_NEGATIONS.get(form, f"{form}n't")})


def make_clause(draft: Draft) -> Draft:
    """Make a sentence a clause of another one: *The film is dull.* → *the film is dull*."""
    labels = draft.sentence.tree.child_labels
    if draft.sentence.tree.label != "S" or labels[:1] != ("NP",) or "VP" not in labels:
        raise NotApplicableError("it does not begin with the subject of its one main clause")
    return _without_capital_and_stop(draft)


def _without_capital_and_stop(draft: Draft) -> Draft:
    """Drop the first word's capital and the full stop.

    A bare noun before the verb may be a title, which keeps its capital: *Wedding feels …*.
    """
    first, second = draft.sentence.tokens[:2]
    if first.tag in ("NN", "NNS", "VBG", "JJ", "CD") and second.tag in FINITE_VERBS:
        raise NotApplicableError("its first word may be a title, which keeps its capital")
    draft = drop_full_stop(draft)
    number = draft.order[0]
    form = draft.forms[number]
    tag = draft.sentence.tokens[number].tag
    is_i = form == "I" or form.startswith(("I'", "I’"))
    has_inner_capital = form[1:] != form[1:].lower()
    is_proper_adjective = tag == "JJ" and form.lower() in proper_words()
    if (
        tag in PROPER_NOUNS
        or is_i
        or not form[:1].isalpha()
        or has_inner_capital
        or is_proper_adjective
    ):
        return draft
    return draft.with_forms({number: form[0].lower() + form[1:]})


def drop_full_stop(draft: Draft) -> Draft:
    """Drop the full stop: *The film is dull.* → *The film is dull*."""
    last = draft.order[-1]
    if draft.forms[last] == ".":
        return replace(draft, order=draft.order[:-1])
    if draft.forms[last] in ("!", "?", "…", "..."):
        raise NotApplicableError("it ends in an exclamation, a question or dots")
    return draft


def backshift(draft: Draft) -> Draft:
    """Put every verb into the past, as reported opinions are: *is* → *was*, *can* → *could*."""
    changes: dict[int, str] = {}
    for number in draft.order:
        token = draft.sentence.tokens[number]
        form = draft.forms[number]
        if token.tag == "MD":
            past = _PAST_MODALS.get(form.lower().replace("’", "'"), form)
            is_joined = draft.sentence.text[token.end :].lower().startswith("not")  # cannot
            changes[number] = f"{past} " if is_joined else past
        elif token.tag in ("VBZ", "VBP"):
            _refuse_unclear_contraction(draft, number)
            past = _past_form(token, form)
            changes[number] = f" {past}" if form in _CONTRACTIONS else past
        if number in changes and form[:1].isupper():
            changes[number] = changes[number][0].upper() + changes[number][1:]
    return draft.with_forms(changes)


def _past_form(token: Token, form: str) -> str:
    """The past tense of a verb in the present: *were* for *are*, *felt* for *feels*."""
    lemma = verb_lemma(token)
    if lemma == "be":
        return "were" if form.lower().replace("’", "'") in ("are", "'re") else "was"
    if lemma == "have":
        return "had"
    past = past_tense(lemma)
    if past is None or not form.isalpha():
        raise NotApplicableError(f"the past of {form!r} is not known")
    return past


def make_question(draft: Draft) -> Draft:
    """Turn a statement into a question: *The film is dull.* → *Is the film dull?*."""
    clause = _main_clause(draft)
    token = draft.sentence.tokens[clause.verb]
    if _has_adverb_before_verb(draft):
        raise NotApplicableError("an adverb stands before its verb")
    _refuse_unclear_contraction(draft, clause.verb)
    inner_draft = _without_capital_and_stop(draft)
    if _is_auxiliary(draft, clause):
        verb = _full_form(inner_draft.forms[clause.verb]).capitalize()
        rest = tuple(number for number in inner_draft.order if number != clause.verb)
        question_draft = inner_draft.with_forms({clause.verb: verb})
        return replace(question_draft, order=(clause.verb, *rest), ending="?")
    first = inner_draft.order[0]
    do = _form_of_do(token).capitalize()
    question_draft = inner_draft.with_forms(
        {clause.verb: verb_lemma(token), first: f"{do} {inner_draft.forms[first]}"}
    )
    return replace(question_draft, ending="?")


def make_infinitive(draft: Draft) -> Draft:
    """Make a clause for *I expected …*: *The film is dull.* → *the film to be dull*."""
    clause = _main_clause(draft)
    token = draft.sentence.tokens[clause.verb]
    if token.tag == "MD" or _has_adverb_before_verb(draft):
        raise NotApplicableError("its verb has no infinitive")
    _refuse_unclear_contraction(draft, clause.verb)
    inner_draft = _without_capital_and_stop(draft)
    verb = f"to {verb_lemma(token)}"
    changes = {clause.verb: f" {verb}" if draft.forms[clause.verb] in _CONTRACTIONS else verb}
    subject = clause.subject
    if subject.end - subject.start == 1:
        word = inner_draft.forms[subject.start]
        changes[subject.start] = _OBJECT_FORMS.get(word.lower(), word)
    return inner_draft.with_forms(changes)


OPERATIONS: Mapping[str, Operation] = {
    "unstopped": drop_full_stop,
    "clause": make_clause,
    "negate": negate,
    "negate fully": partial(negate, contracted=False),
    "question": make_question,
    "backshift": backshift,
    "infinitive": make_infinitive,
}
"""Operations on a slot's sentence, by the name that a template has behind the slot."""
VERB_OPERATIONS = frozenset({"negate", "negate fully", "question", "backshift", "infinitive"})
"""Operations that change the finite verb; a slot may have one of them."""


def reply(draft: Draft, *, denies: bool, past: bool) -> Draft:
    """Deny or confirm a sentence in two words: *it isn't*, *they did*."""
    clause = _main_clause(draft)
    _refuse_unclear_contraction(draft, clause.verb)
    tokens = draft.sentence.tokens
    pronoun = _pronoun_for(tokens, clause.subject)
    token = tokens[clause.verb]
    if not _is_auxiliary(draft, clause):
        verb = "did" if past else _form_of_do(token)
    else:
        verb = _full_form(token.text)
        if past:
            verb = _PAST_BE.get(verb, _PAST_MODALS.get(verb, verb))
            verb = "had" if verb in ("has", "have") else verb
    if pronoun == "they" and verb in ("is", "was", "does", "has"):
        pronoun = "it"
    if denies:
        if verb in _WITHOUT_NEGATIVE_CONTRACTION:
            raise NotApplicableError(f"{verb} has no short negation")
        verb = _IRREGULAR_NEGATIONS.get(verb, f"{verb}n't")
    return Draft(draft.sentence, (f"{pronoun} {verb}",), (0,))


def _pronoun_for(tokens: tuple[Token, ...], subject: Node) -> str:
    """The pronoun that stands for a subject: *it* for *the film*, *they* for *its jokes*."""
    first = tokens[subject.start].text.lower()
    if subject.end - subject.start == 1:
        if first in ("it", "he", "she", "they", "we", "there"):
            return first
        if first in ("this", "that"):
            return "it"
    head = _head(tokens, subject)
    if first in ("these", "those") or head.tag == "NNS":
        return "they"
    if head.tag == "NN" and head.lemma.lower() in thing_nouns() and first in ("the", "this", "its"):
        return "it"
    raise NotApplicableError("no pronoun is sure to stand for its subject")


def _head(tokens: tuple[Token, ...], noun_phrase: Node) -> Token:
    """The head of a noun phrase: *plot* in *the dull plot of it*; a plural if nouns are joined."""
    node = noun_phrase
    while "NP" in node.child_labels:
        if "CC" in node.child_labels:
            return replace(tokens[node.start], tag="NNS", lemma="")
        node = next(child for child in node.children if child.label == "NP")
    nouns = [child for child in node.children if child.is_word and child.label.startswith("NN")]
    return tokens[nouns[-1].start] if nouns else tokens[node.end - 1]


REPLIES: Mapping[str, Operation] = {
    "denial": partial(reply, denies=True, past=False),
    "past denial": partial(reply, denies=True, past=True),
    "assent": partial(reply, denies=False, past=False),
    "past assent": partial(reply, denies=False, past=True),
}
"""Replies to a sentence that the template has elsewhere, by the name behind the slot."""
