"""Shorten: take neutral modifiers and adjuncts out of an author's sentence (Algorithm 1 backwards).

A modifier may go if the reference grammar has the production both with it and without it. The
shortened sentence then serves as a seed, and the author's own sentence as its expansion.

Where an adjunct opens the sentence, the next word takes over its capital: *At times, it works.*
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.fluency import DEGREE_WORDS, clashes
from s2lct.builder.language.grammar import Node, ReferenceGrammar, connectives, shipped_attachments
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

_MODIFIER_LABELS: Mapping[str, frozenset[str]] = {
    "NP": frozenset({"JJ", "NN", "VBN", "VBG", "ADJP", "PP", "SBAR", "VP", "ADVP", "PRN", "NP"}),
    "VP": frozenset({"PP", "ADVP", "SBAR", "RB", "PRN"}),
    "S": frozenset({"PP", "ADVP", "SBAR", "PRN"}),
    "ADJP": frozenset({"RB", "PP", "ADVP"}),
    "ADVP": frozenset({"RB", "PP"}),
    "PP": frozenset({"ADVP", "RB"}),
}
"""The labels of children that may be modifiers or adjuncts, by the label of their node."""
_PROPER_NOUN_TAGS = frozenset({"NNP", "NNPS"})
"""The tags of proper nouns."""
_PREDICATE_LABELS = frozenset({"ADJP", "NP", "VP", "SBAR", "S", "PP", "ADVP"})
"""The labels of children of a verb phrase that may be its complement."""
_ADJUNCT_CLAUSE_OPENERS = frozenset(
    {"that", "which", "who", "whose", "where", "when", "as", "while"}
)
"""The words that may open a clause that is no complement."""
_CONJUNCT_LABELS = frozenset(
    {"NP", "NN", "NNS", "NNP", "VP", "ADJP", "JJ", "PP", "S", "SBAR", "ADVP"}
)
"""The labels of conjuncts that may be removed."""
_LABELS_AFTER_VERB_GROUP = frozenset({"PP", "SBAR", "S", "ADVP", ",", ".", "CC"})
"""The labels that show that an adverb before them does not belong to a verb group."""
_QUOTES_AND_PARENTHESES = frozenset("\"“”'()")
"""Characters in and beside which nothing is removed."""
_CONJUNCTION_LENGTH = 3
"""The number of children of a conjunction: conjunct, conjunction word, conjunct."""
MAX_MODIFIER_SHARE = 0.15
"""If a head occurs with a phrase more often than this, the phrase is a complement and stays."""
MIN_REMAINING_TOKENS = 4
"""The number of tokens of the shortest shortened sentence."""
MAX_REMOVED_PARTS = 3
"""The largest number of parts that are removed from a sentence at once."""
MAX_SHORTER_FORMS = 4
"""The number of shorter forms of a sentence that seeds may use."""


def shorten(
    sources: Sequence[Source], models: CachedModels, rules: BuildRules
) -> list[list[Source]]:
    """For each sentence, its usable shorter forms, followed by itself if it may be used."""
    texts_and_forms: list[tuple[str, Source]] = []
    for source in {source.text: source for source in sources}.values():
        if sentence_id(source.text) in rules.worth_processing:
            texts_and_forms += [(source.text, form) for form in _shorter_forms(source, rules)]
    parsed = models.parse_texts([form.text for _, form in texts_and_forms])
    complete = [
        (text, replace(form, parsed=sentence))
        for (text, form), sentence in zip(texts_and_forms, parsed, strict=True)
        if sentence is not None and is_complete_sentence(sentence)
    ]
    if rules.soundness != "ignored":
        sound = sound_sources([form for _, form in complete])
        complete = [(text, form) for text, form in complete if form in sound]
    forms_of_text: dict[str, list[Source]] = {source.text: [] for source in sources}
    for text, form in complete:
        forms_of_text[text].append(form)
    return [
        # The forms may stem from another sentence with the same text.
        [replace(form, sentence=source.sentence) for form in forms_of_text[source.text]]
        + [source] * rules.is_allowed_in_cases(sentence_id(source.text), source.sentence.label)
        for source in sources
    ]


def _shorter_forms(source: Source, rules: BuildRules) -> list[Source]:
    """The shorter forms of a sentence that the rules allow in cases, not parsed yet."""
    extensions_of_text = shorter_forms_with_extensions(
        source.parsed,
        ReferenceGrammar.load(),
        Lexicon.load(),
        shipped_attachments(),
        keeps_complements=rules.keeps_complements,
    )
    label = source.sentence.label
    usable_texts = [
        text for text in extensions_of_text if rules.is_allowed_in_cases(sentence_id(text), label)
    ]
    return [
        Source(source.sentence, replace(source.parsed, text=text), extensions_of_text[text])
        for text in usable_texts[:MAX_SHORTER_FORMS]
    ]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A shortened sentence and the part that was removed from it.

    Attributes:
        text: the shortened sentence.
        removed: the removed words as in the author's sentence, with adjacent commas.
        label: the phrase label or tag of the removed part.
        start_token, end_token: token numbers in the author's sentence, end exclusive.
        node: the node that held the part.
        index: the number of the part among the node's children.
        production: ``seed_rhs`` is the production without the part, ``reference_rhs`` with it.
    """

    text: str
    removed: str
    label: str
    start_token: int
    end_token: int
    node: Node
    index: int
    production: Production


def reductions(
    sentence: ParsedSentence,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attachment_shares: Mapping[Attachment, float],
    *,
    keeps_complements: bool = False,
) -> list[Reduction]:
    """Every way to shorten a sentence by one neutral modifier or adjunct.

    Args:
        sentence: the author's sentence.
        grammar: the reference grammar.
        lexicon: decides which words are neutral.
        attachment_shares: for each head and opening word, the share of the head's occurrences that
            have such a phrase. A phrase above `MAX_MODIFIER_SHARE` is a complement
            and stays.
        keeps_complements: whether everything stays that a verb or noun may need.
    """

    def is_neutral(removed: Sequence[Token]) -> bool:
        return all(lexicon.keeps_label(token.text, token.tag, token.lemma) for token in removed)

    reduction_of_text: dict[str, Reduction] = {}
    for node in sentence.tree.nodes():
        for index, child in enumerate(node.children):
            if child.label not in _MODIFIER_LABELS.get(node.label, frozenset()):
                continue
            if _must_stay(sentence.tokens, node, index, attachment_shares):
                continue
            if keeps_complements and _is_needed(sentence.tokens, node, index):
                continue
            if not is_neutral(sentence.tokens[child.start : child.end]):
                continue
            reduction = _without_child(sentence, node, index, grammar)
            if reduction is not None:
                reduction_of_text.setdefault(reduction.text, reduction)
        reduction = _without_conjunct(sentence, node, grammar, is_neutral)
        if reduction is not None:
            reduction_of_text.setdefault(reduction.text, reduction)
    return list(reduction_of_text.values())


def _without_conjunct(
    sentence: ParsedSentence,
    node: Node,
    grammar: ReferenceGrammar,
    is_neutral: Callable[[Sequence[Token]], bool],
) -> Reduction | None:
    """The sentence without its second conjunct.

    None where there is none, or a verb or a determiner would have to agree with both conjuncts.
    """
    labels = node.child_labels
    has_comma = len(labels) > _CONJUNCTION_LENGTH and labels[-3] == ","
    if len(labels) < _CONJUNCTION_LENGTH + has_comma or labels[-2] != "CC":
        return None
    if labels[-1] not in _CONJUNCT_LABELS or labels[-1] != labels[-3 - has_comma]:
        return None
    if labels.count("CC") > 1 or labels.count(",") > has_comma or _is_subject(sentence.tree, node):
        return None
    if node.start and sentence.tokens[node.start - 1].text.lower() in ("between", "both"):
        return None
    first_removed = node.children[-2 - has_comma]
    removed = sentence.tokens[first_removed.start : node.end]
    if sentence.tokens[node.children[-2].start].text.lower() not in ("and", "or"):
        return None
    if not is_neutral(removed):
        return None
    remaining = labels[: -2 - has_comma]
    is_adjunct = remaining == (node.label,) and grammar.counts.get((node.label, labels))
    if not (is_adjunct or grammar.counts.get((node.label, remaining))):
        return None
    return _without_tokens(
        sentence, node, len(labels) - 1, first_removed.start, node.end, remaining, grammar
    )


def _is_subject(tree: Node, noun_phrase: Node) -> bool:
    """Whether a verb phrase follows a noun phrase and would have to agree with its remainder."""
    return noun_phrase.label == "NP" and any(
        (child.start, child.end) == (noun_phrase.start, noun_phrase.end)
        and any(sibling.label == "VP" for sibling in node.children[index + 1 :])
        for node in tree.nodes()
        for index, child in enumerate(node.children)
    )


def _must_stay(
    tokens: Sequence[Token], node: Node, index: int, attachment_shares: Mapping[Attachment, float]
) -> bool:
    """Whether a child must stay: a head, a complement, part of a name, or a word such as *only*."""
    child = node.children[index]
    before = node.children[:index]
    after = node.children[index + 1 :]
    first_word = tokens[child.start].text.lower()
    if node.label == "NP":
        if child.is_word or child.label == "ADJP":
            # A modifier stands before the head: a word of a name, or the head itself, stays.
            nouns_after = [c for c in after if c.is_word and c.label.startswith("NN")]
            if not nouns_after or after[0].label in _PROPER_NOUN_TAGS | {"POS", "HYPH"}:
                return True
            if before and before[-1].label in _PROPER_NOUN_TAGS | {"HYPH"}:
                return True
            return first_word in ("such", "other", "own", "same", "only", "first", "last")
        if not any(c.label in ("NP", "NN", "NNS", "NNP") for c in before):
            return True
        if child.label == "NP" and (not before or before[-1].label != ","):
            return True
    if node.label == "VP" and not any(c.label in _PREDICATE_LABELS for c in (*before, *after)):
        verb = next((tokens[c.start] for c in before if c.is_word), None)
        if verb is None or verb.lemma in ("be", "'s", "become", "seem", "feel", "look", "sound"):
            return True
    if node.label in ("ADJP", "ADVP") and not (before or after):
        return True
    if child.label == "SBAR" and first_word not in _ADJUNCT_CLAUSE_OPENERS:
        return True
    if child.label == "SBAR" and node.label == "VP" and first_word in ("that", "which", "who"):
        return True
    if tokens[child.start].tag == "RP" or (child.label == "PP" and child.end - child.start == 1):
        return True
    if child.label in ("PP", "SBAR", "VP"):
        head = head_of(tokens, node, index)
        if first_word == "of" or head is None:
            return first_word == "of" or child.start > 0
        return attachment_shares.get((head, first_word), 0.0) > MAX_MODIFIER_SHARE
    return False


def _is_needed(tokens: Sequence[Token], node: Node, index: int) -> bool:
    """Whether the sentence might be incomplete without a child.

    It might be for the child directly after a verb, a noun before a noun, an adverb before an
    adjective, and the clause of a degree word: *so … that*.
    """
    child, labels = node.children[index], node.child_labels
    if node.label == "VP":
        is_before = child.label in ("ADVP", "RB") and not _LABELS_AFTER_VERB_GROUP.issuperset(
            labels[index + 1 :][:1]
        )
        return not is_before and _PREDICATE_LABELS.isdisjoint({*labels[:index]} - {"ADVP"})
    first_word = tokens[child.start].text.lower()
    neighbours = {token.text for token in tokens[max(child.start - 1, 0) : child.end + 1]}
    return (
        (child.is_word and WORD_TAGS.isdisjoint(labels[index + 1 :]))
        or child.label == "NN"
        or (child.is_word and index > 0 and tokens[child.start - 1].tag in ("RB", "RBR", "RBS"))
        or first_word in DEGREE_WORDS
        or (node.label == "NP" and first_word in POSTDETERMINERS)
        or not _QUOTES_AND_PARENTHESES.isdisjoint(neighbours)
    )


def head_of(tokens: Sequence[Token], node: Node, index: int) -> str | None:
    """The lemma of the head that a child modifies; None if the tree shows none."""
    if node.label == "NP" and (node.children[index].is_word or index == 0):
        nouns = [c for c in node.children if c.is_word and c.label.startswith("NN")]
        return tokens[nouns[-1].start].lemma.lower() if nouns else None
    return head_before(tokens, node.children[:index])


def head_before(tokens: Sequence[Token], children: Sequence[Node]) -> str | None:
    """The lemma of the last head among children that stand in front of a modifier."""
    for child in reversed(children):
        if child.is_word and child.label[:2] in ("NN", "VB", "JJ"):
            return tokens[child.start].lemma.lower()
        if child.label == "NP":
            nouns = [t for t in tokens[child.start : child.end] if t.tag[:2] in ("NN", "PR")]
            return nouns[-1].lemma.lower() if nouns else None
    return None


def _without_child(
    sentence: ParsedSentence, node: Node, index: int, grammar: ReferenceGrammar
) -> Reduction | None:
    """The sentence without a child of a node; None where the grammar or the text forbids it."""
    labels = node.child_labels
    start_child, end_child = index, index + 1
    if index > 0 and labels[index - 1] == ",":
        is_closed = end_child == len(labels) or labels[end_child] in (",", ".")
        if not is_closed:
            return None
        start_child -= 1
        end_child += end_child < len(labels) and labels[end_child] == ","
    elif node.children[index].start == 0:
        end_child += labels[end_child : end_child + 1] == (",",)
    remaining = labels[:start_child] + labels[end_child:]
    is_adjunct = remaining == (node.label,) and grammar.counts.get((node.label, labels))
    if not remaining or not (is_adjunct or grammar.counts.get((node.label, remaining))):
        return None
    start_token, end_token = node.children[start_child].start, node.children[end_child - 1].end
    return _without_tokens(sentence, node, index, start_token, end_token, remaining, grammar)


def _without_tokens(
    sentence: ParsedSentence,
    node: Node,
    index: int,
    start_token: int,
    end_token: int,
    remaining: tuple[str, ...],
    grammar: ReferenceGrammar,
) -> Reduction | None:
    """The sentence without the tokens from ``start_token`` up to ``end_token``, exclusive.

    None where too few tokens remain, two words clash, or the remainder cannot start a sentence.
    """
    tokens, labels = sentence.tokens, node.child_labels
    if len(tokens) - (end_token - start_token) < MIN_REMAINING_TOKENS:
        return None
    next_word = tokens[end_token].text if end_token < len(tokens) else "."
    if start_token and clashes(tokens[start_token - 1].text, next_word):
        return None
    start_offset, end_offset = tokens[start_token].start, tokens[end_token - 1].end
    text = without(sentence.text, [(start_offset, end_offset)])
    removed = sentence.text[start_offset:end_offset]
    if not start_token and not _can_start_sentence(
        sentence, node.label, remaining, end_token, text
    ):
        return None
    production = Production(
        node.label, remaining, labels, round(grammar.probability(node.label, labels), 8)
    )
    label = node.children[index].label
    return Reduction(text, removed, label, start_token, end_token, node, index, production)


def _can_start_sentence(
    sentence: ParsedSentence, node_label: str, remaining: Sequence[str], end_token: int, text: str
) -> bool:
    """Whether a sentence is complete after its opening words are removed.

    The remainder must begin with a subject or a clause, and no *it* may refer to the removed words.
    """
    remaining_sentence = ParsedSentence(text, sentence.tokens[end_token:], "")
    is_clause = node_label == "S" and remaining[0] in ("NP", "S")
    return is_clause and pronoun_has_referent(text, remaining_sentence) >= pronoun_has_referent(
        text, sentence
    )


def shorter_forms_with_extensions(
    sentence: ParsedSentence,
    grammar: ReferenceGrammar,
    lexicon: Lexicon,
    attachment_shares: Mapping[Attachment, float],
    *,
    keeps_complements: bool = False,
) -> dict[str, tuple[Extension, ...]]:
    """The shorter forms of an author's sentence, the shortest first, each with its extensions.

    A form leaves out up to `MAX_REMOVED_PARTS` parts. Its extensions restore one or two of them. A
    connective is removed only at the start of the sentence. The arguments are those of
    `reductions`.
    """
    removable = [
        reduction
        for reduction in reductions(
            sentence, grammar, lexicon, attachment_shares, keeps_complements=keeps_complements
        )
        if not reduction.start_token or reduction.removed.strip(", ").lower() not in connectives()
    ]
    parts = sorted(removable, key=lambda reduction: reduction.start_token)
    extensions_of_text: dict[str, tuple[Extension, ...]] = {}
    for part_count in range(MAX_REMOVED_PARTS, 0, -1):
        for removed_parts in combinations(parts, part_count):
            if any(
                previous.end_token >= following.start_token
                for previous, following in pairwise(removed_parts)
            ):
                continue
            text = _without_parts(sentence, removed_parts)
            one_part = [_attested_extension(sentence, n, removed_parts) for n in range(part_count)]
            extensions_of_text.setdefault(text, (*one_part, *pairs_of_extensions(text, one_part)))
    return extensions_of_text


def pairs_of_extensions(text: str, extensions: Sequence[Extension]) -> list[Extension]:
    """Combine every two one-part extensions of a sentence, at different places, into one extension.

    The origin of the pair is `masked` if either is masked, and `attested` only if both are
    attested.

    Args:
        text: the sentence.
        extensions: extensions of it.
    """
    one_part = [
        (_insertion(text, extension), extension)
        for extension in extensions
        if len(extension.inserted) == 1
    ]
    pair_of_text: dict[str, Extension] = {}
    for (first_offset, first_text), first in one_part:
        for (second_offset, second_text), second in one_part:
            if first_offset >= second_offset:
                continue
            # A phrase that opens the first extension has already taken over the capital.
            insertion_offset = second_offset + len(first_text)
            pair_text = first.text[:insertion_offset] + second_text + first.text[insertion_offset:]
            (first_word,), (second_word,) = first.inserted, second.inserted
            second_word = replace(
                second_word,
                start=second_word.start + len(first_text),
                end=second_word.end + len(first_text),
            )
            if not all(
                pair_text[word.start : word.end] == word.word for word in (first_word, second_word)
            ):
                continue
            if not set(first_word.word.lower().split()).isdisjoint(
                second_word.word.lower().split()
            ):
                continue
            scores = [
                extension.score for extension in (first, second) if extension.origin == "masked"
            ]
            pair = Extension(
                pair_text,
                (first_word, second_word),
                min(first.origin, second.origin, key=_ORIGINS_BY_ATTESTATION.index),
                first.production,
                min(scores, default=0.0),
                first.others,
                second.production,
            )
            pair_of_text.setdefault(pair_text, pair)
    return list(pair_of_text.values())


_ORIGINS_BY_ATTESTATION: Sequence[Origin] = ("masked", "phrase", "attested")
"""The origins of insertions, the least attested first."""


def _insertion(text: str, extension: Extension) -> tuple[int, str]:
    """The offset at which an extension departs from its sentence, and the inserted text."""
    added_length = len(extension.text) - len(text)
    offset = next(
        (n for n, (a, b) in enumerate(zip(text, extension.text, strict=False)) if a != b), len(text)
    )
    return offset, extension.text[offset : offset + added_length]


def _without_parts(
    sentence: ParsedSentence, parts: Sequence[Reduction], end: int | None = None
) -> str:
    """The sentence up to character ``end`` without some parts, which must not overlap."""
    tokens = sentence.tokens
    spans = [(tokens[part.start_token].start, tokens[part.end_token - 1].end) for part in parts]
    return without(sentence.text[:end], spans)


def _attested_extension(
    sentence: ParsedSentence, restored: int, parts: Sequence[Reduction]
) -> Extension:
    """The attested extension that restores one of the removed parts, by its number."""
    restored_part = parts[restored]
    removed_parts = [part for n, part in enumerate(parts) if n != restored]
    text = _without_parts(sentence, removed_parts)
    start = len(
        _without_parts(sentence, parts[:restored], sentence.tokens[restored_part.start_token].start)
    )
    inserted = InsertedWord(
        restored_part.removed, restored_part.label, start, start + len(restored_part.removed)
    )
    return Extension(text, (inserted,), "attested", restored_part.production)
