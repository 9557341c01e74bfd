"""Grammatical operations on a parsed sentence: negate, question, clause, backshift and their like.

A template names them behind a slot, ``{P|negate}``, in the order in which they are carried out.
Each is a pure function of a sentence's words, tags and tree. It applies where the tree makes it
safe, and says why where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from s2lct.builder.language.tree import Node
from s2lct.builder.records import Token
from s2lct.plain_text import words

_FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
_NAMES = frozenset({"NNP", "NNPS"})
_NEGATORS = words(
    "not n't n’t never no none nobody nothing neither nor nowhere cannot without hardly barely "
    "scarcely rarely seldom"
)
_QUANTIFIERS = words("all every some many most both each everyone everybody everything few several")
_LOOSE_CLAUSES = frozenset({"SBAR", "S", "SINV", "PRN", "FRAG"})
_CONTRACTIONS = {"'s", "'re", "'ve", "'ll", "'d", "'m", "’s", "’re", "’ve", "’ll", "’d", "’m"}
_FULL = {"s": "is", "re": "are", "ve": "have", "ll": "will", "m": "am"}
NEGATIVE_FORMS = {"can": "can't", "will": "won't", "shall": "shan't"}
WITHOUT_CONTRACTION = frozenset({"am", "may", "might"})
PAST_MODALS = {
    **{"can": "could", "will": "would", "'ll": "'d", "may": "might"},
    **{"ca": "could", "wo": "would"},  # of can't and won't
}
_OBJECT_FORMS = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us"}


class NotApplicableError(ValueError):
    """An operation does not apply to a sentence; the message says why."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A sentence with its words and its constituency tree, whose leaves are token numbers."""

    text: str
    tokens: tuple[Token, ...]
    tree: Node


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence on its way through operations.

    Attributes:
        analysis: the sentence as it was.
        forms: how each token is written now.
        order: the numbers of the tokens that are written, in their order.
        tail: what stands behind them.
    """

    analysis: Analysis
    forms: tuple[str, ...]
    order: tuple[int, ...]
    tail: str = ""

    def written(self, changes: Mapping[int, str]) -> Draft:
        """The draft with some tokens written otherwise."""
        forms = tuple(changes.get(number, form) for number, form in enumerate(self.forms))
        return replace(self, forms=forms)

    def render(self) -> tuple[str, dict[int, int]]:
        """The text, and at which character of it each token starts."""
        tokens = self.analysis.tokens
        text = ""
        starts: dict[int, int] = {}
        for number in self.order:
            if text and (number == 0 or tokens[number - 1].end < tokens[number].start):
                text += " "
            starts[number] = len(text)
            text += self.forms[number]
        return text + self.tail, starts


Operation = Callable[[Draft], Draft]


def drafted(analysis: Analysis) -> Draft:
    """A sentence as it stands, for operations to change."""
    tokens = analysis.tokens
    return Draft(analysis, tuple(token.text for token in tokens), tuple(range(len(tokens))))


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause: its subject, its predicate and the number of its finite verb."""

    subject: Node
    predicate: Node
    finite: int


def main_clause(draft: Draft) -> Clause:
    """The one main clause of a sentence in which a change of its verb reaches everything.

    Raises:
        NotApplicableError: there is no such clause.
    """
    tree = draft.analysis.tree
    tokens = draft.analysis.tokens
    labels = [label for label in tree.child_labels if label not in (".", "''", "``")]
    if tree.label != "S" or "VP" not in labels:
        raise NotApplicableError("it is no sentence with a subject and a predicate")
    if labels not in (["NP", "VP"], ["NP", "ADVP", "VP"]):
        raise NotApplicableError("more than a subject and a predicate stands in its main clause")
    subject = next(child for child in tree.children if child.label == "NP")
    predicate = next(child for child in tree.children if child.label == "VP")
    if tokens[subject.start].text.lower() in _QUANTIFIERS:
        raise NotApplicableError("its subject counts")
    if any(token.text.lower() in _NEGATORS for token in tokens):
        raise NotApplicableError("it is negated already")
    finite = next((c for c in predicate.children if c.is_word and c.label in _FINITE), None)
    if finite is None:
        raise NotApplicableError("its predicate has no finite verb of its own")
    node = predicate
    while True:
        for place, child in enumerate(node.children):
            loose = child.label in _LOOSE_CLAUSES or child.label == "ADVP"
            behind_comma = place > 0 and node.children[place - 1].label == ","
            if child.label in ("CC", ":") or (behind_comma and child.label != "NP"):
                raise NotApplicableError("its predicate has several parts")
            if loose and child.label != "ADVP" and child.label != "S":
                raise NotApplicableError("a clause hangs on its predicate")
            if child.label == "S" and child.children[0].label == "NP":
                raise NotApplicableError("a clause hangs on its predicate")
        inner = [child for child in node.children if child.label == "VP"]
        if not inner:
            break
        node = inner[0]
    return Clause(subject, predicate, finite.start)


def _lemma(token: Token) -> str:
    from lemminflect import getLemma

    lower = token.text.lower().replace("’", "'")
    if lower in ("is", "are", "was", "were", "am", "'re", "'m", "be") or token.lemma == "be":
        return "be"
    if token.lemma == "have" or lower in ("have", "has", "had", "'ve"):
        return "have"
    found = getLemma(lower, upos="VERB")
    if token.tag in ("VB", "VBP") and lower in found:
        return lower  # "bore" may be of "bear" too
    return str(found[0]) if found else token.lemma.lower()


def is_auxiliary(draft: Draft, clause: Clause) -> bool:
    """Whether the finite verb takes "not" and goes before the subject by itself."""
    token = draft.analysis.tokens[clause.finite]
    lemma = _lemma(token)
    if token.tag == "MD" or lemma == "be":
        return True
    predicates = [child for child in clause.predicate.children if child.label == "VP"]
    if lemma == "have" and predicates:
        return draft.analysis.tokens[predicates[0].start].tag in ("VBN", "RB", "VBD")
    return lemma == "do" and bool(predicates)


def form_of_do(token: Token) -> str:
    """The form of "do" that has a finite verb's tense and number."""
    return {"VBZ": "does", "VBP": "do"}.get(token.tag, "did")


def full_form(form: str) -> str:
    """A verb in lower case without contraction: *is* for *'s*."""
    bare = form.lower().replace("’", "'")
    return _FULL.get(bare.lstrip("'"), bare) if bare.startswith("'") else bare


def _no_adverb_behind(draft: Draft, clause: Clause) -> None:
    tokens = draft.analysis.tokens
    behind = tokens[clause.finite + 1 : clause.finite + 2]
    if any(token.tag in ("RB", "RBR", "RBS") for token in behind) or any(
        child.label == "ADVP" for child in draft.analysis.tree.children
    ):
        raise NotApplicableError("an adverb stands where the negation goes")


def _negated(draft: Draft, contracted: bool) -> Draft:
    clause = main_clause(draft)
    _no_adverb_behind(draft, clause)
    token = draft.analysis.tokens[clause.finite]
    form = draft.forms[clause.finite]
    if not is_auxiliary(draft, clause):
        verb = form_of_do(token)
        negation = f"{verb}n't" if contracted else f"{verb} not"
        return draft.written({clause.finite: f"{negation} {_lemma(token)}"})
    if form in _CONTRACTIONS:
        if form[1:] == "d":
            raise NotApplicableError("its verb is shortened to 'd")
        return draft.written({clause.finite: f"{form} not"})
    if not contracted or form.lower() in WITHOUT_CONTRACTION:
        return draft.written({clause.finite: "cannot" if form == "can" else f"{form} not"})
    return draft.written({clause.finite: NEGATIVE_FORMS.get(form, f"{form}n't")})


def negate(draft: Draft) -> Draft:
    """Negate the main clause, with a contraction: *isn't*, *can't*, *doesn't work*."""
    return _negated(draft, contracted=True)


def negate_fully(draft: Draft) -> Draft:
    """Negate the main clause without contraction: *is not*, *cannot*, *does not work*."""
    return _negated(draft, contracted=False)


def clause(draft: Draft) -> Draft:
    """Make it a clause for a sentence to hold: no capital but a name's, no full stop."""
    labels = draft.analysis.tree.child_labels
    if draft.analysis.tree.label != "S" or labels[:1] != ("NP",) or "VP" not in labels:
        raise NotApplicableError("it does not begin with the subject of its one main clause")
    if _may_be_title(draft):
        raise NotApplicableError("its first word may be a title, which keeps its capital")
    return _stopless(_uncapitalised(draft))


def _may_be_title(draft: Draft) -> bool:
    """Whether a bare noun stands before the verb: *Wedding feels …*, *Sayles is …*."""
    first, second = draft.analysis.tokens[:2]
    return first.tag in ("NN", "NNS", "VBG", "JJ", "CD") and second.tag in _FINITE


def unstopped(draft: Draft) -> Draft:
    """Drop the full stop."""
    return _stopless(draft)


def _stopless(draft: Draft) -> Draft:
    if not draft.order:
        return draft
    last = draft.order[-1]
    if draft.forms[last] == ".":
        return replace(draft, order=draft.order[:-1])
    if draft.forms[last] in ("!", "?", "…", "..."):
        raise NotApplicableError("it ends in an exclamation, a question or dots")
    return draft


def _uncapitalised(draft: Draft) -> Draft:
    first = draft.order[0]
    form = draft.forms[first]
    tag = draft.analysis.tokens[first].tag
    if tag in _NAMES or form == "I" or form.startswith(("I'", "I’")) or not form[:1].isalpha():
        return draft
    if form[1:] != form[1:].lower():
        return draft
    if tag == "JJ" and _is_proper(form):
        return draft
    return draft.written({first: form[0].lower() + form[1:]})


@cache
def _is_proper(form: str) -> bool:
    from s2lct.builder.language.fluency import proper_words

    return form.lower() in proper_words()


def backshift(draft: Draft) -> Draft:
    """Put it into the past, as a report of an opinion does: *is* → *was*, *can* → *could*."""
    from lemminflect import getInflection

    changes: dict[int, str] = {}
    for number in draft.order:
        token = draft.analysis.tokens[number]
        form = draft.forms[number]
        lower = form.lower().replace("’", "'")
        if token.tag == "MD":
            past = PAST_MODALS.get(lower, form)
            glued = draft.analysis.text[token.end :].lower().startswith("not")
            changes[number] = f"{past} " if glued else past
        elif token.tag in ("VBZ", "VBP"):
            refuse_unclear_contraction(draft, number)
            if _lemma(token) == "be":
                past = "were" if lower in ("are", "'re") else "was"
            elif _lemma(token) == "have":
                past = "had"
            elif (found := getInflection(_lemma(token), "VBD")) and form.isalpha():
                past = str(found[0])
            else:
                raise NotApplicableError(f"the past of {form!r} is not known")
            changes[number] = f" {past}" if form in _CONTRACTIONS else past
        if number in changes and form[:1].isupper():
            changes[number] = changes[number][0].upper() + changes[number][1:]
    return draft.written(changes)


def refuse_unclear_contraction(draft: Draft, number: int) -> None:
    """Refuse *it's made …*, where *'s* is *is* or *has*, with a `NotApplicableError`."""
    token, *behind = draft.analysis.tokens[number : number + 2]
    if token.text in ("'s", "’s") and behind and behind[0].tag in ("VBN", "VBD"):
        raise NotApplicableError("'s may stand for is or has")


def question(draft: Draft) -> Draft:
    """Ask whether it is so: *Is the film …?*, *Does it work?*."""
    found = main_clause(draft)
    token = draft.analysis.tokens[found.finite]
    if any(child.label == "ADVP" for child in draft.analysis.tree.children):
        raise NotApplicableError("an adverb stands before its verb")
    if _may_be_title(draft):
        raise NotApplicableError("its first word may be a title, which keeps its capital")
    refuse_unclear_contraction(draft, found.finite)
    stopped = _stopless(_uncapitalised(draft))
    if is_auxiliary(draft, found):
        verb = full_form(stopped.forms[found.finite])
        if verb.startswith("'"):
            raise NotApplicableError("its verb is shortened to 'd")
        order = tuple(number for number in stopped.order if number != found.finite)
        asked = stopped.written({found.finite: verb.capitalize()})
        return replace(asked, order=(found.finite, *order), tail="?")
    first = stopped.order[0]
    asked = stopped.written(
        {
            found.finite: _lemma(token),
            first: f"{form_of_do(token).capitalize()} {stopped.forms[first]}",
        }
    )
    return replace(asked, tail="?")


def infinitive(draft: Draft) -> Draft:
    """What somebody expects: *the film to be dull*, *him to disappoint*."""
    found = main_clause(draft)
    tokens = draft.analysis.tokens
    token = tokens[found.finite]
    if token.tag == "MD" or any(c.label == "ADVP" for c in draft.analysis.tree.children):
        raise NotApplicableError("its verb has no infinitive")
    if _may_be_title(draft):
        raise NotApplicableError("its first word may be a title, which keeps its capital")
    refuse_unclear_contraction(draft, found.finite)
    bare = _stopless(_uncapitalised(draft))
    changes = {found.finite: f"to {_lemma(token)}"}
    if draft.forms[found.finite] in _CONTRACTIONS:
        changes[found.finite] = f" {changes[found.finite]}"
    subject = found.subject
    if subject.end - subject.start == 1:
        word = bare.forms[subject.start]
        changes[subject.start] = _OBJECT_FORMS.get(word.lower(), word)
    return bare.written(changes)


OPERATIONS: Mapping[str, Operation] = {
    "unstopped": unstopped,
    "clause": clause,
    "negate": negate,
    "negate fully": negate_fully,
    "question": question,
    "backshift": backshift,
    "infinitive": infinitive,
}
"""What a template may do to a slot's sentence, by the name that stands behind the slot."""
OF_THE_VERB = frozenset({"negate", "negate fully", "question", "backshift", "infinitive"})
"""Operations that write the finite verb anew: one would undo what another did."""
