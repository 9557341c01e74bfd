"""Shorten: take neutral modifiers and adjuncts out of an author's sentence (Algorithm 1 backwards).

Where a production of the sentence's parse stands in the reference grammar, and stands there without
one of its modifiers too, the shortened sentence is a seed's, and the author's own is its expansion.
Where an adjunct opens the sentence, what follows takes over its capital: *At times, it works.*
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.fluency import DEGREE_WORDS, clashes
from s2lct.builder.language.grammar import (
    Node,
    ReferenceGrammar,
    connectives,
    shipped_attachments,
)
from s2lct.builder.language.lexicon import POSTDETERMINERS, Lexicon
from s2lct.builder.language.reach import pronoun_has_referent
from s2lct.builder.language.tags import WORD_TAGS
from s2lct.builder.records import (
    Extension,
    InsertedWord,
    Origin,
    ParsedSentence,
    Production,
    Source,
    Token,
    sentence_id,
)
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.search import is_complete_sentence
from s2lct.builder.stages.soundness import sound_sources
from s2lct.suite.tables import without

Attachment = tuple[str, str]
"""The lemma of a head and the word that opens a phrase on it: ("suffer", "from")."""

_MODIFIERS: Mapping[str, frozenset[str]] = {
    "NP": frozenset({"JJ", "NN", "VBN", "VBG", "ADJP", "PP", "SBAR", "VP", "ADVP", "PRN", "NP"}),
    "VP": frozenset({"PP", "ADVP", "SBAR", "RB", "PRN"}),
    "S": frozenset({"PP", "ADVP", "SBAR", "PRN"}),
    "ADJP": frozenset({"RB", "PP", "ADVP"}),
    "ADVP": frozenset({"RB", "PP"}),
    "PP": frozenset({"ADVP", "RB"}),
}
"""What may be a modifier or an adjunct under a node."""
_NAMES = frozenset({"NNP", "NNPS"})
_PREDICATES = frozenset({"ADJP", "NP", "VP", "SBAR", "S", "PP", "ADVP"})
_ADJUNCT_CLAUSES = frozenset({"that", "which", "who", "whose", "where", "when", "as", "while"})
_CONJUNCTS = frozenset({"NP", "NN", "NNS", "NNP", "VP", "ADJP", "JJ", "PP", "S", "SBAR", "ADVP"})
_ADJUNCTS = frozenset({"PP", "SBAR", "S", "ADVP", ",", ".", "CC"})
_QUOTES = frozenset("\"“”'()")
_CONJUNCTION = 3
"""Conjunct, conjunction, conjunct."""
MAX_SHARE_OF_MODIFIER = 0.15
"""A phrase that a head has in a larger share of its occurrences is its complement."""
MIN_TOKENS_LEFT = 4
MAX_PARTS_LEFT_OUT = 3
MAX_SHORTER_FORMS = 4
"""Shorter forms of a sentence that seeds use."""


def shorten(sources: Sequence[Source], models: KeptModels, rules: BuildRules) -> list[list[Source]]:
    """What seeds may use of each sentence: its shorter forms, then itself."""
    shorter: list[tuple[str, Source]] = []
    for source in {source.text: source for source in sources}.values():
        if sentence_id(source.text) in rules.worth_processing:
            shorter += [(source.text, form) for form in _shorter_forms(source, rules)]
    parsed = models.parsed([form.text for _, form in shorter])
    complete = [
        (text, replace(form, parsed=sentence))
        for (text, form), sentence in zip(shorter, parsed, strict=True)
        if sentence is not None and is_complete_sentence(sentence)
    ]
    if rules.soundness != "ignored":
        sound = sound_sources([form for _, form in complete])
        complete = [(text, form) for text, form in complete if form in sound]
    forms: dict[str, list[Source]] = {source.text: [] for source in sources}
    for text, form in complete:
        forms[text].append(form)
    return [
        # Another sentence of the same text may have been shortened.
        [replace(form, sentence=source.sentence) for form in forms[source.text]]
        + [source] * rules.may_stand(sentence_id(source.text), source.sentence.label)
        for source in sources
    ]


def _shorter_forms(source: Source, rules: BuildRules) -> list[Source]:
    """The shorter forms of a sentence that may stand in cases, not parsed yet."""
    extensions = shortened(
        source.parsed,
        ReferenceGrammar.load(),
        Lexicon.load(),
        shipped_attachments(),
        keeps_complements=rules.keeps_complements,
    )
    label = source.sentence.label
    usable = [text for text in extensions if rules.may_stand(sentence_id(text), label)]
    return [
        Source(source.sentence, replace(source.parsed, text=text), extensions[text])
        for text in usable[:MAX_SHORTER_FORMS]
    ]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A shortened sentence and what was taken out of it.

    Attributes:
        text: the shortened sentence.
        removed: the words, as they stand in the author's sentence, with commas of theirs.
        label: phrase label or tag of what was removed.
        first, last: token numbers of the author's sentence, end exclusive.
        node, number: the node that held it, and which of its children it was.
        production: ``seed_rhs`` is the production without it, ``reference_rhs`` with it.
    """

    text: str
    removed: str
    label: str
    first: int
    last: int
    node: Node
    number: int
    production: Production


def reductions(
    sentence: ParsedSentence,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attached: Mapping[Attachment, float],
    *,
    keeps_complements: bool = False,
) -> list[Reduction]:
    """Every way to shorten a sentence by one neutral modifier or adjunct.

    Args:
        sentence: the author's sentence.
        grammar: the reference grammar.
        lexicon: says what is neutral.
        attached: in what share of a head's occurrences a phrase that begins with a word hangs on
            it; those of which it has many are its complements, which stay.
        keeps_complements: whether verbs and nouns keep all that they may need.
    """

    def is_neutral(part: Sequence[Token]) -> bool:
        return all(lexicon.leaves_label(token.text, token.tag, token.lemma) for token in part)

    by_text: dict[str, Reduction] = {}
    for node in sentence.tree.nodes():
        for number, child in enumerate(node.children):
            if child.label not in _MODIFIERS.get(node.label, frozenset()):
                continue
            if _stays(sentence.tokens, node, number, attached):
                continue
            if keeps_complements and _is_needed(sentence.tokens, node, number):
                continue
            if not is_neutral(sentence.tokens[child.start : child.end]):
                continue
            reduction = _without(sentence, node, number, grammar)
            if reduction is not None:
                by_text.setdefault(reduction.text, reduction)
        reduction = _without_conjunct(sentence, node, grammar, is_neutral)
        if reduction is not None:
            by_text.setdefault(reduction.text, reduction)
    return list(by_text.values())


def _without_conjunct(
    sentence: ParsedSentence,
    node: Node,
    grammar: ReferenceGrammar,
    is_neutral: Callable[[Sequence[Token]], bool],
) -> Reduction | None:
    """The sentence without the second of two conjuncts, where nothing agrees with both."""
    labels = node.child_labels
    comma = len(labels) > _CONJUNCTION and labels[-3] == ","
    if len(labels) < _CONJUNCTION + comma or labels[-2] != "CC":
        return None
    if labels[-1] not in _CONJUNCTS or labels[-1] != labels[-3 - comma]:
        return None
    if labels.count("CC") > 1 or labels.count(",") > comma or _is_subject(sentence.tree, node):
        return None
    if node.start and sentence.tokens[node.start - 1].text.lower() in ("between", "both"):
        return None
    first = node.children[-2 - comma]
    removed = sentence.tokens[first.start : node.end]
    if sentence.tokens[node.children[-2].start].text.lower() not in ("and", "or"):
        return None
    if not is_neutral(removed):
        return None
    rest = labels[: -2 - comma]
    adjoined = rest == (node.label,) and grammar.counts.get((node.label, labels))
    if not (adjoined or grammar.counts.get((node.label, rest))):
        return None
    return _cut(sentence, node, len(labels) - 1, first.start, node.end, rest, grammar)


def _is_subject(tree: Node, noun_phrase: Node) -> bool:
    """Whether a verb phrase follows it, which would have to agree with what is left of it."""
    return noun_phrase.label == "NP" and any(
        (child.start, child.end) == (noun_phrase.start, noun_phrase.end)
        and any(behind.label == "VP" for behind in node.children[number + 1 :])
        for node in tree.nodes()
        for number, child in enumerate(node.children)
    )


def _stays(
    tokens: Sequence[Token], node: Node, number: int, attached: Mapping[Attachment, float]
) -> bool:
    """Whether a child is a head, a complement, or counts."""
    child = node.children[number]
    before, behind = node.children[:number], node.children[number + 1 :]
    first = tokens[child.start].text.lower()
    if node.label == "NP":
        if child.is_word or child.label == "ADJP":
            # A modifier stands before the head: a word of a name, or the head itself, stays.
            rest = [c for c in behind if c.is_word and c.label.startswith("NN")]
            if not rest or behind[0].label in _NAMES | {"POS", "HYPH"}:
                return True
            if before and before[-1].label in _NAMES | {"HYPH"}:
                return True
            return first in ("such", "other", "own", "same", "only", "first", "last")
        if not any(c.label in ("NP", "NN", "NNS", "NNP") for c in before):
            return True
        if child.label == "NP" and (not before or before[-1].label != ","):
            return True
    if node.label == "VP" and not any(c.label in _PREDICATES for c in (*before, *behind)):
        verb = next((tokens[c.start] for c in before if c.is_word), None)
        if verb is None or verb.lemma in ("be", "'s", "become", "seem", "feel", "look", "sound"):
            return True
    if node.label in ("ADJP", "ADVP") and not (before or behind):
        return True
    if child.label == "SBAR" and first not in _ADJUNCT_CLAUSES:
        return True
    if child.label == "SBAR" and node.label == "VP" and first in ("that", "which", "who"):
        return True
    if tokens[child.start].tag == "RP" or (child.label == "PP" and child.end - child.start == 1):
        return True
    if child.label in ("PP", "SBAR", "VP"):
        head = head_of(tokens, node, number)
        if first == "of" or head is None:
            return first == "of" or child.start > 0
        return attached.get((head, first), 0.0) > MAX_SHARE_OF_MODIFIER
    return False


def _is_needed(tokens: Sequence[Token], node: Node, number: int) -> bool:
    """Whether what is left could lack a child.

    What stands first behind a verb may be its complement, a noun before a noun makes one thing with
    it, an adverb before an adjective goes with it, and a word of degree may have a clause that says
    of what degree: *so … that*.
    """
    child, labels = node.children[number], node.child_labels
    if node.label == "VP":
        is_before = child.label in ("ADVP", "RB") and not _ADJUNCTS.issuperset(
            labels[number + 1 :][:1]
        )
        return not is_before and _PREDICATES.isdisjoint({*labels[:number]} - {"ADVP"})
    first = tokens[child.start].text.lower()
    around = {token.text for token in tokens[max(child.start - 1, 0) : child.end + 1]}
    return (
        (child.is_word and WORD_TAGS.isdisjoint(labels[number + 1 :]))
        or child.label == "NN"
        or (child.is_word and number > 0 and tokens[child.start - 1].tag in ("RB", "RBR", "RBS"))
        or first in DEGREE_WORDS
        or (node.label == "NP" and first in POSTDETERMINERS)
        or not _QUOTES.isdisjoint(around)
    )


def head_of(tokens: Sequence[Token], node: Node, number: int) -> str | None:
    """The lemma of the head that a child modifies, as far as the tree tells."""
    if node.label == "NP" and (node.children[number].is_word or number == 0):
        nouns = [c for c in node.children if c.is_word and c.label.startswith("NN")]
        return tokens[nouns[-1].start].lemma.lower() if nouns else None
    return head_before(tokens, node.children[:number])


def head_before(tokens: Sequence[Token], before: Sequence[Node]) -> str | None:
    """The lemma of the head that what follows hangs on."""
    for child in reversed(before):
        if child.is_word and child.label[:2] in ("NN", "VB", "JJ"):
            return tokens[child.start].lemma.lower()
        if child.label == "NP":
            nouns = [t for t in tokens[child.start : child.end] if t.tag[:2] in ("NN", "PR")]
            return nouns[-1].lemma.lower() if nouns else None
    return None


def _without(
    sentence: ParsedSentence, node: Node, number: int, grammar: ReferenceGrammar
) -> Reduction | None:
    """The sentence without a child of a node; None where the grammar or the text forbid it."""
    labels = node.child_labels
    first, last = number, number + 1
    if number > 0 and labels[number - 1] == ",":
        closed = last == len(labels) or labels[last] in (",", ".")
        if not closed:
            return None
        first -= 1
        last += last < len(labels) and labels[last] == ","
    elif node.children[number].start == 0:
        last += labels[last : last + 1] == (",",)
    rest = labels[:first] + labels[last:]
    adjoined = rest == (node.label,) and grammar.counts.get((node.label, labels))
    if not rest or not (adjoined or grammar.counts.get((node.label, rest))):
        return None
    start, end = node.children[first].start, node.children[last - 1].end
    return _cut(sentence, node, number, start, end, rest, grammar)


def _cut(
    sentence: ParsedSentence,
    node: Node,
    number: int,
    start: int,
    end: int,
    rest: tuple[str, ...],
    grammar: ReferenceGrammar,
) -> Reduction | None:
    """The sentence without some of its words; None where they cannot go."""
    tokens, labels = sentence.tokens, node.child_labels
    if len(tokens) - (end - start) < MIN_TOKENS_LEFT:
        return None
    follows = tokens[end].text if end < len(tokens) else "."
    if start and clashes(tokens[start - 1].text, follows):
        return None
    cut_from, cut_to = tokens[start].start, tokens[end - 1].end
    text, removed = without(sentence.text, [(cut_from, cut_to)]), sentence.text[cut_from:cut_to]
    if not start and not _may_open(sentence, node.label, rest, end, text):
        return None
    production = Production(
        node.label, rest, labels, round(grammar.probability(node.label, labels), 8)
    )
    label = node.children[number].label
    return Reduction(text, removed, label, start, end, node, number, production)


def _may_open(
    sentence: ParsedSentence, label: str, rest: Sequence[str], end: int, text: str
) -> bool:
    """Whether the rest of a sentence can open it once its first words are taken out.

    It is a clause from its subject on, or clauses, and its *it* does not stand for what is gone.
    """
    rest_of_sentence = ParsedSentence(text, sentence.tokens[end:], "")
    is_clause = label == "S" and rest[0] in ("NP", "S")
    return is_clause and pronoun_has_referent(text, rest_of_sentence) >= pronoun_has_referent(
        text, sentence
    )


def shortened(
    sentence: ParsedSentence,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attached: Mapping[Attachment, float],
    *,
    keeps_complements: bool = False,
) -> dict[str, tuple[Extension, ...]]:
    """Shorter forms of an author's sentence, the shortest first, each with what extends it.

    Up to `MAX_PARTS_LEFT_OUT` parts are left out; the extensions have one or two of them back. Of
    connectives only one that opens the sentence is. The arguments are those of `reductions`.
    """
    removable = [
        reduction
        for reduction in reductions(
            sentence, grammar, lexicon, attached, keeps_complements=keeps_complements
        )
        if not reduction.first or reduction.removed.strip(", ").lower() not in connectives()
    ]
    parts = sorted(removable, key=lambda reduction: reduction.first)
    shorter: dict[str, tuple[Extension, ...]] = {}
    for size in range(MAX_PARTS_LEFT_OUT, 0, -1):
        for removed in combinations(parts, size):
            if any(first.last >= second.first for first, second in pairwise(removed)):
                continue
            text = _without_parts(sentence, removed)
            longer = [_attested(sentence, n, removed) for n in range(size)]
            shorter.setdefault(text, (*longer, *paired(text, longer)))
    return shorter


def paired(text: str, extensions: Sequence[Extension]) -> list[Extension]:
    """Two extensions of a sentence at once, for each two of one part each at different places.

    Such an extension's origin is `masked` if either is, `attested` only if both are.

    Args:
        text: the sentence.
        extensions: extensions of it.
    """
    single = [
        (_insertion(text, extension), extension)
        for extension in extensions
        if len(extension.inserted) == 1
    ]
    pairs: dict[str, Extension] = {}
    for (first_at, first_text), first in single:
        for (second_at, second_text), second in single:
            if first_at >= second_at:
                continue
            # The first has the sentence's first letter as it is behind a phrase that opens it.
            place = second_at + len(first_text)
            longer = first.text[:place] + second_text + first.text[place:]
            (word,), (behind,) = first.inserted, second.inserted
            behind = replace(
                behind, start=behind.start + len(first_text), end=behind.end + len(first_text)
            )
            if not all(longer[w.start : w.end] == w.word for w in (word, behind)):
                continue
            if not set(word.word.lower().split()).isdisjoint(behind.word.lower().split()):
                continue
            scores = [
                extension.score for extension in (first, second) if extension.origin == "masked"
            ]
            pair = Extension(
                longer,
                (word, behind),
                min(first.origin, second.origin, key=_LEAST_ATTESTED.index),
                first.production,
                min(scores, default=0.0),
                first.others,
                second.production,
            )
            pairs.setdefault(longer, pair)
    return list(pairs.values())


_LEAST_ATTESTED: Sequence[Origin] = ("masked", "phrase", "attested")


def _insertion(text: str, extension: Extension) -> tuple[int, str]:
    """Where a sentence goes on in its extension, and what was inserted there, spaces included."""
    added = len(extension.text) - len(text)
    at = next(
        (n for n, (a, b) in enumerate(zip(text, extension.text, strict=False)) if a != b), len(text)
    )
    return at, extension.text[at : at + added]


def _without_parts(
    sentence: ParsedSentence, removed: Sequence[Reduction], end: int | None = None
) -> str:
    """The sentence, as far as a character of it, without some of its parts, which stand apart."""
    tokens = sentence.tokens
    places = [(tokens[part.first].start, tokens[part.last - 1].end) for part in removed]
    return without(sentence.text[:end], places)


def _attested(sentence: ParsedSentence, kept: int, parts: Sequence[Reduction]) -> Extension:
    """The sentence without some parts, as what extends it by one of them."""
    back, removed = parts[kept], [part for n, part in enumerate(parts) if n != kept]
    text = _without_parts(sentence, removed)
    start = len(_without_parts(sentence, parts[:kept], sentence.tokens[back.first].start))
    word = InsertedWord(back.removed, back.label, start, start + len(back.removed))
    return Extension(text, (word,), "attested", back.production)
