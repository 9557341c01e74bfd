"""Extend: sentences with words or phrases inserted, from three origins (S²LCT, Algorithm 1).

*Masked* words come from the masked language model, *phrases* from the bank of what reviewers write,
and *attested* ones stood in the author's own sentence, which was shortened to be a seed's. Whatever
the origin, an extension must have the right tags, be neutral, and be parsed as it was meant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from s2lct.builder.language.collocations import Collocations
from s2lct.builder.language.fluency import clashes
from s2lct.builder.language.grammar import (
    Node,
    Phrase,
    PhraseBank,
    ReferenceGrammar,
    connectives,
    neighbour,
)
from s2lct.builder.language.lexicon import Lexicon, fitting_words
from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.records import (
    Extension,
    InsertedWord,
    MaskedSentence,
    Production,
    Source,
    Token,
    sentence_id,
)
from s2lct.builder.stages.mask import Filling, Problem, fill, mask, mask_offset
from s2lct.builder.stages.reduce import head_of
from s2lct.plain_text import words

WORDS_OF_A_MASK = 3
LONGEST_FUNCTION_WORD = 3

ABOUT_GROUPS = words(
    "african arab asian black catholic christian fat gay hispanic islamic jew jewish latino "
    "lesbian muslim naked nazi negro nude porn porno queer racial rape sex sexual sexy slave "
    "transgender white"
)
"""Not inserted: a case about a film does not become one about a group of people, or about sex."""


def fitting(
    mlm: MaskedLanguageModel, tags: Sequence[str], lexicon: Lexicon
) -> dict[str, frozenset[str]]:
    """The words for masks that may be inserted with each tag; see `fitting_words`."""
    words = tuple(mlm.words)
    return {tag: fitting_words(words, tag, lexicon) - connectives() for tag in tags}


def masked_extensions(
    sources: Sequence[Source],
    grammar: ReferenceGrammar,
    fitting: Mapping[str, frozenset[str]],
    mlm: MaskedLanguageModel,
    *,
    tags: Sequence[str],
    masks: int,
    masks_per_sentence: int | None,
    suggestions: int,
    barred: AbstractSet[str] = ABOUT_GROUPS,
    collocations: Collocations | None = None,
    tried: Callable[[str], bool] = lambda text: True,
    passed: Callable[[str], bool] = lambda text: False,
    seed: int,
) -> list[list[Extension]]:
    """Extensions by the masked language model, the likeliest words of each masked sentence.

    At most ``masks`` texts are drawn a sentence, see `mask`, of those that are to be ``tried``. Of
    so many ``suggestions`` for a mask `WORDS_OF_A_MASK` are taken, beside those that annotators
    ``passed``: words that are ``fitting`` for the mask's tag and not ``barred``, and that, by
    ``collocations`` if they are given, stood beside the words of the sentence before.
    """
    masked = [
        [
            each
            for each in mask(
                sentence_id(source.text),
                source.parsed,
                grammar,
                most=masks if collocations is None else sys.maxsize,
                masks_per_sentence=masks_per_sentence,
                tags=tags,
                seed=seed,
            )
            if tried(each.text)
        ]
        for source in sources
    ]

    chosen: dict[Problem, Sequence[frozenset[str]]] = {}
    for source, of_source in zip(sources, masked, strict=True):
        for each in of_source:
            chosen[each.text, each.tags] = [
                fitting[tag]
                if collocations is None
                else fitting[tag] & collocations.fitting(source.parsed.tokens, place, tag)
                for place, tag in zip(each.places, each.tags, strict=True)
            ]
        of_source[:] = [each for each in of_source if all(chosen[each.text, each.tags])][:masks]
    fillings = fill(
        [each for of_source in masked for each in of_source],
        mlm,
        suggestions=suggestions,
        fitting=lambda problem, number: chosen[problem][number],
    )
    found = iter(fillings)
    return [
        [e for each in of_source for e in _filled(source, each, next(found), barred, passed)]
        for source, of_source in zip(sources, masked, strict=True)
    ]


def _filled(
    source: Source,
    masked: MaskedSentence,
    fillings: Sequence[Filling],
    barred: AbstractSet[str],
    passed: Callable[[str], bool],
) -> Iterator[Extension]:
    unwanted = _forms(source) | barred
    taken = 0
    for filling in fillings:
        text, inserted = masked.filled(filling.words)
        if taken >= WORDS_OF_A_MASK and not passed(text):
            continue
        if not unwanted.isdisjoint(word.lower() for word in filling.words):
            continue
        pieces = zip(masked.places, filling.words, strict=True)
        if any(_clashes(source.parsed.tokens, place, word) for place, word in pieces):
            continue
        taken += 1
        first, *others = masked.productions
        yield Extension(text, inserted, "masked", first, filling.score, tuple(others))


def _forms(source: Source) -> set[str]:
    """The words of a sentence and their lemmas, in lower case."""
    return {form.lower() for token in source.parsed.tokens for form in (token.text, token.lemma)}


def phrase_extensions(
    source: Source,
    bank: PhraseBank,
    grammar: ReferenceGrammar,
    *,
    barred: AbstractSet[str] = ABOUT_GROUPS,
) -> list[Extension]:
    """Extensions by phrases that reviewers add to the same head at such a place.

    None of them has a word of ``barred``, or one that the sentence has.
    """
    forms = _forms(source)
    tokens = source.parsed.tokens
    found: list[Extension] = []
    for node in source.parsed.tree.nodes():
        for number in range(1, len(node.children) + 1):
            place = node.children[number].start if number < len(node.children) else node.end
            for phrase, production in _phrases_at(tokens, node, number, bank, grammar):
                words = phrase.text.lower().replace(",", " ").split()
                if " ".join(words) in connectives() or not barred.isdisjoint(words):
                    continue
                if any(word in forms and len(word) > LONGEST_FUNCTION_WORD for word in words):
                    continue
                if extension := _with_phrase(source, place, phrase, production):
                    found.append(extension)
    return found


def _phrases_at(
    tokens: Sequence[Token], node: Node, number: int, bank: PhraseBank, grammar: ReferenceGrammar
) -> Iterator[tuple[Phrase, Production]]:
    """The phrases that stand on a head before child ``number``, and that the grammar licenses."""
    labels = node.child_labels
    left, heads = labels[number - 1], _heads_at(tokens, node, number)
    licensed: dict[tuple[str, bool], Production | None] = {}
    found = {head: bank.get((node.label, neighbour(left), head or ""), ()) for head in heads}
    for head, phrase in ((head, phrase) for head, some in found.items() for phrase in some):
        if heads[_is_modifier(phrase)] != head:
            continue
        if left == node.label and phrase.label not in ("PP", "SBAR", "VP", "ADVP"):
            continue
        key = (phrase.label, phrase.text.startswith(","))
        if key not in licensed:
            rhs = (*labels[:number], phrase.label, *labels[number:])
            share = grammar.probability(node.label, rhs)
            production = Production(node.label, labels, rhs, round(share, 8))
            licensed[key] = production if share else None
        if (licence := licensed[key]) is not None:
            yield phrase, licence


def _is_modifier(phrase: Phrase) -> bool:
    """Whether it would stand before a noun, not behind its head."""
    return " " not in phrase.text and phrase.label != "ADVP"


def _heads_at(tokens: Sequence[Token], node: Node, number: int) -> tuple[str | None, str | None]:
    """The lemma of the head that a phrase at a place hangs on, and that of a modifier there."""
    behind = head_of(tokens, Node(node.label, (*node.children[:number], node), 0, 1), number)
    if node.label != "NP":
        return behind, behind
    nouns = [c for c in node.children[number:] if c.is_word and c.label.startswith("NN")]
    return behind, tokens[nouns[-1].start].lemma.lower() if nouns else None


def _with_phrase(
    source: Source, place: int, phrase: Phrase, production: Production
) -> Extension | None:
    """The sentence with a phrase before one of its tokens; None where it cannot stand."""
    tokens, text = source.parsed.tokens, source.text
    spot = mask_offset(tokens, place)
    if spot is None or _clashes(tokens, place, phrase.text):
        return None
    offset, before = spot
    if phrase.text.startswith(","):
        offset, space, behind = tokens[place - 1].end, "", ""
    else:
        space, behind = ("", " ") if before else (" ", "")
    start = offset + len(space)
    inserted = InsertedWord(phrase.text, phrase.label, start, start + len(phrase.text))
    longer = text[:offset] + space + phrase.text + behind + text[offset:]
    return Extension(longer, (inserted,), "phrase", production)


def _clashes(tokens: Sequence[Token], place: int, inserted: str) -> bool:
    """Whether what is inserted cannot stand beside one of its neighbours."""
    left = tokens[place - 1].text.lower()
    right = tokens[place].text.lower() if place < len(tokens) else ""
    words = inserted.strip(", ").lower().split()
    return clashes(left, words[0]) or clashes(words[-1], right)
