"""Grammatical operations on a parsed sentence: negate, question, clause, backshift and their like.

A template names them behind a slot, ``{P|negate}``, in the order in which they are carried out. A
reply takes up a sentence that stands elsewhere in the template, ``{N|denial}``: *it isn't*. Each is
a pure function of a sentence's words, tags and tree. It applies where the tree makes it safe, and
says why where it does not.
"""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.language import listed
from s2lct.builder.language.fluency import proper_words
from s2lct.builder.language.grammar import Node
from s2lct.plain_text import words

if TYPE_CHECKING:
    from s2lct.builder.records import ParsedSentence, Token

things = partial(listed, "things.txt")
"""Nouns of the things that reviews speak of: *it* stands for them."""

_FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
_NAMES = frozenset({"NNP", "NNPS"})
_NEGATORS = words(
    "not n't n’t never no none nobody nothing neither nor nowhere cannot without hardly barely "
    "scarcely rarely seldom"
)
_QUANTIFIERS = words("all every some many most both each everyone everybody everything few several")
_LOOSE_CLAUSES = frozenset({"SBAR", "SINV", "PRN", "FRAG"})
_CONTRACTIONS = {"'s", "'re", "'ve", "'ll", "'d", "'m", "’s", "’re", "’ve", "’ll", "’d", "’m"}
_FULL = {"s": "is", "re": "are", "ve": "have", "ll": "will", "m": "am"}
_NEGATIVE_FORMS = {"can": "can't", "will": "won't", "shall": "shan't"}
_WITHOUT_CONTRACTION = frozenset({"am", "may", "might"})
_PAST_MODALS = {
    **{"can": "could", "will": "would", "'ll": "'d", "may": "might"},
    **{"ca": "could", "wo": "would"},  # of can't and won't
}
_PAST_BE = {"is": "was", "'s": "was", "’s": "was", "am": "was", "'m": "was", "are": "were"}
_OBJECT_FORMS = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us"}


class NotApplicableError(ValueError):
    """An operation does not apply to a sentence; the message says why."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence on its way through operations.

    Attributes:
        sentence: the sentence as it was.
        forms: how each token is written now.
        order: the numbers of the tokens that are written, in their order.
        tail: what stands behind them.
    """

    sentence: ParsedSentence
    forms: tuple[str, ...]
    order: tuple[int, ...]
    tail: str = ""

    def written(self, changes: Mapping[int, str]) -> Draft:
        """The draft with some tokens written otherwise."""
        forms = tuple(changes.get(number, form) for number, form in enumerate(self.forms))
        return replace(self, forms=forms)

    def render(self) -> tuple[str, dict[int, int]]:
        """The text, and at which character of it each token starts."""
        tokens = self.sentence.tokens
        text = ""
        starts: dict[int, int] = {}
        for number in self.order:
            if text and (number == 0 or tokens[number - 1].end < tokens[number].start):
                text += " "
            starts[number] = len(text)
            text += self.forms[number]
        return text + self.tail, starts


Operation = Callable[[Draft], Draft]
KEPT = 16_384
"""Texts made of sentences: one is asked for in several wordings, and for contrasts."""


@lru_cache(KEPT)
def operated(sentence: ParsedSentence, names: tuple[str, ...]) -> tuple[str, Mapping[int, int]]:
    """The text that operations make of a sentence, and at which character each token starts.

    ``names`` are those of operations, in their order, or that of a reply; a `NotApplicableError`
    says why one of them does not apply.
    """
    tokens = sentence.tokens
    if not names:
        return sentence.text, {number: token.start for number, token in enumerate(tokens)}
    draft = Draft(sentence, tuple(token.text for token in tokens), tuple(range(len(tokens))))
    for name in names:
        draft = (OPERATIONS.get(name) or REPLIES[name])(draft)
    return draft.render()


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause: its subject, its predicate and the number of its finite verb."""

    subject: Node
    predicate: Node
    finite: int


def _main_clause(draft: Draft) -> Clause:
    """The one main clause of a sentence in which a change of its verb reaches everything."""
    tree = draft.sentence.tree
    tokens = draft.sentence.tokens
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
            behind_comma = place > 0 and node.children[place - 1].label == ","
            if child.label in ("CC", ":") or (behind_comma and child.label != "NP"):
                raise NotApplicableError("its predicate has several parts")
            has_subject = child.label == "S" and child.children[0].label == "NP"
            if child.label in _LOOSE_CLAUSES or has_subject:
                raise NotApplicableError("a clause hangs on its predicate")
        inner = [child for child in node.children if child.label == "VP"]
        if not inner:
            break
        node = inner[0]
    return Clause(subject, predicate, finite.start)


class _Table:
    """A table of lemminflect's of which its reader gets only what is asked: all takes a second."""

    def __init__(self, path: str, load: Callable[[BytesIO], Mapping[str, Any]]) -> None:
        self._load = load
        self._lines: defaultdict[bytes, bytes] = defaultdict(bytes)
        for line in gzip.decompress(Path(path).read_bytes()).splitlines(keepends=True):
            self._lines[line[: line.index(b",")]] += line

    def get(self, word: str, default: Any) -> Any:
        """The table's entry of a word."""
        lines = self._lines.get(word.encode(), b"")
        return self._load(BytesIO(gzip.compress(lines, 1))).get(word, default)


@cache
def _lemminflect() -> tuple[Any, Any]:
    """Lemminflect's lemmas and inflections. The package itself would import spaCy: it waits."""
    spec = importlib.util.find_spec("lemminflect")
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    present = sys.modules.setdefault("lemminflect", package)
    try:
        core = importlib.import_module("lemminflect.core.Lemmatizer")
        lemmas = core.Lemmatizer()
        lemmas.lemma_dict = _Table(lemmas.lemma_lu_fn, core.LemmaLUCodec.load)
        core = importlib.import_module("lemminflect.core.Inflections")
        inflections = core.Inflections()
        inflections.infl_dict = _Table(inflections.infl_lu_fn, core.InflectionLUCodec.load)
    finally:
        if present is package:
            del sys.modules["lemminflect"]
    return lemmas, inflections


@cache
def _verb_lemmas(word: str) -> tuple[str, ...]:
    found: tuple[str, ...] = _lemminflect()[0].getLemma(word, upos="VERB")
    return found


def _lemma(token: Token) -> str:
    lower = token.text.lower().replace("’", "'")
    if lower in ("is", "are", "was", "were", "am", "'re", "'m", "be") or token.lemma == "be":
        return "be"
    if token.lemma == "have" or lower in ("have", "has", "had", "'ve"):
        return "have"
    found = _verb_lemmas(lower)
    if token.tag in ("VB", "VBP") and lower in found:
        return lower  # "bore" may be of "bear" too
    return found[0] if found else token.lemma.lower()


def _is_auxiliary(draft: Draft, clause: Clause) -> bool:
    """Whether the finite verb takes "not" and goes before the subject by itself."""
    token = draft.sentence.tokens[clause.finite]
    lemma = _lemma(token)
    if token.tag == "MD" or lemma == "be":
        return True
    predicates = [child for child in clause.predicate.children if child.label == "VP"]
    if lemma == "have" and predicates:
        return draft.sentence.tokens[predicates[0].start].tag in ("VBN", "RB", "VBD")
    return lemma == "do" and bool(predicates)


def _form_of_do(token: Token) -> str:
    """The form of "do" that has a finite verb's tense and number."""
    return {"VBZ": "does", "VBP": "do"}.get(token.tag, "did")


def _full_form(form: str) -> str:
    """A verb in lower case without contraction: *is* for *'s*."""
    bare = form.lower().replace("’", "'")
    return _FULL.get(bare.lstrip("'"), bare) if bare.startswith("'") else bare


def negate(draft: Draft, *, contracted: bool = True) -> Draft:
    """Negate the main clause, contracted (*isn't*, *can't*) or fully (*is not*, *cannot*)."""
    clause = _main_clause(draft)
    token, *behind = draft.sentence.tokens[clause.finite : clause.finite + 2]
    is_behind = any(each.tag in ("RB", "RBR", "RBS") for each in behind)
    if is_behind or "ADVP" in draft.sentence.tree.child_labels:
        raise NotApplicableError("an adverb stands where the negation goes")
    form = draft.forms[clause.finite]
    if not _is_auxiliary(draft, clause):
        verb = _form_of_do(token)
        negation = f"{verb}n't" if contracted else f"{verb} not"
        return draft.written({clause.finite: f"{negation} {_lemma(token)}"})
    if form in _CONTRACTIONS:
        if form[1:] == "d":
            raise NotApplicableError("its verb is shortened to 'd")
        return draft.written({clause.finite: f"{form} not"})
    if not contracted or form.lower() in _WITHOUT_CONTRACTION:
        return draft.written({clause.finite: "cannot" if form == "can" else f"{form} not"})
    return draft.written({clause.finite: _NEGATIVE_FORMS.get(form, f"{form}n't")})


def clause(draft: Draft) -> Draft:
    """Make it a clause for a sentence to hold: no capital but a name's, no full stop."""
    labels = draft.sentence.tree.child_labels
    if draft.sentence.tree.label != "S" or labels[:1] != ("NP",) or "VP" not in labels:
        raise NotApplicableError("it does not begin with the subject of its one main clause")
    return _to_be_held(draft)


def _to_be_held(draft: Draft) -> Draft:
    """Drop the first word's capital and the full stop.

    A bare noun before the verb may be a title, which keeps it: *Wedding feels …*, *Sayles is …*.
    """
    first, second = draft.sentence.tokens[:2]
    if first.tag in ("NN", "NNS", "VBG", "JJ", "CD") and second.tag in _FINITE:
        raise NotApplicableError("its first word may be a title, which keeps its capital")
    return unstopped(_uncapitalised(draft))


def unstopped(draft: Draft) -> Draft:
    """Drop the full stop."""
    last = draft.order[-1]
    if draft.forms[last] == ".":
        return replace(draft, order=draft.order[:-1])
    if draft.forms[last] in ("!", "?", "…", "..."):
        raise NotApplicableError("it ends in an exclamation, a question or dots")
    return draft


def _uncapitalised(draft: Draft) -> Draft:
    first = draft.order[0]
    form = draft.forms[first]
    tag = draft.sentence.tokens[first].tag
    if tag in _NAMES or form == "I" or form.startswith(("I'", "I’")) or not form[:1].isalpha():
        return draft
    if form[1:] != form[1:].lower():
        return draft
    if tag == "JJ" and form.lower() in proper_words():
        return draft
    return draft.written({first: form[0].lower() + form[1:]})


@cache
def _past_forms(lemma: str) -> tuple[str, ...]:
    found: tuple[str, ...] = _lemminflect()[1].getInflection(lemma, "VBD")
    return found


def backshift(draft: Draft) -> Draft:
    """Put it into the past, as a report of an opinion does: *is* → *was*, *can* → *could*."""
    changes: dict[int, str] = {}
    for number in draft.order:
        token = draft.sentence.tokens[number]
        form = draft.forms[number]
        lower = form.lower().replace("’", "'")
        if token.tag == "MD":
            past = _PAST_MODALS.get(lower, form)
            glued = draft.sentence.text[token.end :].lower().startswith("not")
            changes[number] = f"{past} " if glued else past
        elif token.tag in ("VBZ", "VBP"):
            _refuse_unclear_contraction(draft, number)
            if _lemma(token) == "be":
                past = "were" if lower in ("are", "'re") else "was"
            elif _lemma(token) == "have":
                past = "had"
            elif (found := _past_forms(_lemma(token))) and form.isalpha():
                past = found[0]
            else:
                raise NotApplicableError(f"the past of {form!r} is not known")
            changes[number] = f" {past}" if form in _CONTRACTIONS else past
        if number in changes and form[:1].isupper():
            changes[number] = changes[number][0].upper() + changes[number][1:]
    return draft.written(changes)


def _refuse_unclear_contraction(draft: Draft, number: int) -> None:
    """Refuse *it's made …*, where *'s* is *is* or *has*, with a `NotApplicableError`."""
    token, *behind = draft.sentence.tokens[number : number + 2]
    if token.text in ("'s", "’s") and behind and behind[0].tag in ("VBN", "VBD"):
        raise NotApplicableError("'s may stand for is or has")


def question(draft: Draft) -> Draft:
    """Ask whether it is so: *Is the film …?*, *Does it work?*."""
    found = _main_clause(draft)
    token = draft.sentence.tokens[found.finite]
    if "ADVP" in draft.sentence.tree.child_labels:
        raise NotApplicableError("an adverb stands before its verb")
    _refuse_unclear_contraction(draft, found.finite)
    stopped = _to_be_held(draft)
    if _is_auxiliary(draft, found):
        verb = _full_form(stopped.forms[found.finite])
        if verb.startswith("'"):
            raise NotApplicableError("its verb is shortened to 'd")
        order = tuple(number for number in stopped.order if number != found.finite)
        question_draft = stopped.written({found.finite: verb.capitalize()})
        return replace(question_draft, order=(found.finite, *order), tail="?")
    first = stopped.order[0]
    question_draft = stopped.written(
        {
            found.finite: _lemma(token),
            first: f"{_form_of_do(token).capitalize()} {stopped.forms[first]}",
        }
    )
    return replace(question_draft, tail="?")


def infinitive(draft: Draft) -> Draft:
    """What somebody expects: *the film to be dull*, *him to disappoint*."""
    found = _main_clause(draft)
    tokens = draft.sentence.tokens
    token = tokens[found.finite]
    if token.tag == "MD" or "ADVP" in draft.sentence.tree.child_labels:
        raise NotApplicableError("its verb has no infinitive")
    _refuse_unclear_contraction(draft, found.finite)
    bare = _to_be_held(draft)
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
    "negate fully": partial(negate, contracted=False),
    "question": question,
    "backshift": backshift,
    "infinitive": infinitive,
}
"""What a template may do to a slot's sentence, by the name that stands behind the slot."""
OF_THE_VERB = frozenset({"negate", "negate fully", "question", "backshift", "infinitive"})
"""Operations that write the finite verb anew: one would undo what another did."""


def reply(draft: Draft, *, denied: bool, past: bool) -> Draft:
    """What denies or confirms it in short: *it isn't*, *they did*."""
    found = _main_clause(draft)
    _refuse_unclear_contraction(draft, found.finite)
    tokens = draft.sentence.tokens
    pronoun = _pronoun(tokens, found.subject)
    token = tokens[found.finite]
    if _is_auxiliary(draft, found):
        verb = _full_form(token.text)
        if past:
            verb = _PAST_BE.get(verb, _PAST_MODALS.get(verb, verb))
            verb = "had" if verb in ("has", "have") else verb
    else:
        verb = "did" if past else _form_of_do(token)
    if verb.startswith("'"):
        raise NotApplicableError("its verb is shortened to 'd")
    if pronoun == "they" and verb in ("is", "was", "does", "has"):
        pronoun = "it"
    if denied:
        if verb in _WITHOUT_CONTRACTION:
            raise NotApplicableError(f"{verb} has no short negation")
        verb = _NEGATIVE_FORMS.get(verb, f"{verb}n't")
    return Draft(draft.sentence, (f"{pronoun} {verb}",), (0,))


def _pronoun(tokens: tuple[Token, ...], subject: Node) -> str:
    first = tokens[subject.start]
    lower = first.text.lower()
    is_alone = subject.end - subject.start == 1
    if is_alone and lower in ("it", "he", "she", "they", "we", "there"):
        return lower
    if is_alone and lower in ("this", "that"):
        return "it"
    head = _head(tokens, subject)
    if lower in ("these", "those") or head.tag == "NNS":
        return "they"
    if head.tag == "NN" and head.lemma.lower() in things() and lower in ("the", "this", "its"):
        return "it"
    raise NotApplicableError("no pronoun is sure to stand for its subject")


def _head(tokens: tuple[Token, ...], phrase: Node) -> Token:
    """The head of a noun phrase: the last noun before what follows it."""
    node = phrase
    while any(child.label == "NP" for child in node.children):
        if any(child.label == "CC" for child in node.children):
            return replace(tokens[node.start], tag="NNS", lemma="")
        node = next(child for child in node.children if child.label == "NP")
    nouns = [c for c in node.children if c.is_word and c.label.startswith("NN")]
    return tokens[nouns[-1].start] if nouns else tokens[node.end - 1]


REPLIES: Mapping[str, Operation] = {
    "denial": partial(reply, denied=True, past=False),
    "past denial": partial(reply, denied=True, past=True),
    "assent": partial(reply, denied=False, past=False),
    "past assent": partial(reply, denied=False, past=True),
}
"""What takes up a sentence that stands elsewhere in the template."""
