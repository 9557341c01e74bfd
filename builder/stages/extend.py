"""Extend: sentences with words or phrases inserted, from three origins (S²LCT, Algorithm 1).

*Masked* words come from the masked language model, *phrases* from the bank of what reviewers write,
and *attested* ones stood in the author's own sentence, which was shortened to be a seed's. Whatever
the origin, an extension must have the right tags, be neutral, and be parsed as it was meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.fluency import clashes
from s2lct.builder.language.grammar import (
    Node,
    Phrase,
    PhraseBank,
    ReferenceGrammar,
    connectives,
    neighbour_label,
)
from s2lct.builder.language.lexicon import Lexicon, fitting_words
from s2lct.builder.records import (
    Extension,
    InsertedWord,
    MaskedSentence,
    Production,
    Seed,
    Source,
    Token,
    sentence_id,
)
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages.mask import Fillings, Problem, fill, mask, mask_offset
from s2lct.builder.stages.shorten import head_of, paired
from s2lct.labels import Label

MAX_WORDS_OF_MASK = 3
SHORTEST_REPEATED_WORD = 4
"""Shorter words of a phrase may stand in its sentence, too."""


def sources_of(seeds: Mapping[str, Sequence[Seed]]) -> list[Source]:
    """The sentences of seeds, of distinct texts, with all attested extensions of a text."""
    sources: dict[str, Source] = {}
    for source in (source for group in seeds.values() for seed in group for source in seed.sources):
        others = sources.get(source.text, source).extensions
        extensions = tuple(dict.fromkeys((*others, *source.extensions)))
        sources[source.text] = replace(source, extensions=extensions)
    return list(sources.values())


def extend(
    sources: Sequence[Source], models: KeptModels, rules: BuildRules
) -> list[list[Extension]]:
    """The extensions of each sentence that may stand in cases, not tagged or parsed yet.

    One text may be there from several origins and with several tags for its word: what the tagger
    and the parser confirm decides.
    """
    extended: list[list[Extension]] = []
    for source, masked in zip(sources, masked_extensions(sources, models, rules), strict=True):
        phrases = phrase_extensions(source, rules.phrases, rules.barred_words)
        distinct = {
            (each.text, each.origin, tuple(word.tag for word in each.inserted)): each
            for each in (*masked, *phrases, *source.extensions)
            if each.text != source.text
        }
        label = source.sentence.label
        usable = [each for each in distinct.values() if _may_stand(each, label, rules)]
        if rules.inserts_in_pairs:
            usable += [e for e in paired(source.text, usable) if _may_stand(e, label, rules)]
        extended.append([each for each in usable if each.id in rules.accepted_extensions])
    return extended


def _may_stand(extension: Extension, label: Label, rules: BuildRules) -> bool:
    part = extension.id, label
    if part in rules.accepted_parts:
        return True
    is_tried = extension.origin != "phrase" and extension.second is None
    return is_tried and part in rules.undecided_parts


def masked_extensions(
    sources: Sequence[Source], models: KeptModels, rules: BuildRules
) -> list[list[Extension]]:
    """Extensions by the masked language model, the likeliest words of each masked sentence.

    Of the words suggested for a mask some are taken, beside those that annotators found faultless:
    words of the mask's tag that stood beside the sentence's words before, as the rules demand.
    """
    words, lexicon = tuple(models.words), Lexicon.load()
    of_tag = {tag: fitting_words(words, tag, lexicon) - connectives() for tag in rules.mask_tags}
    chosen: dict[Problem, Sequence[frozenset[str]]] = {}
    masked: list[list[MaskedSentence]] = []
    for source in sources:
        drawn = mask(
            sentence_id(source.text),
            source.parsed,
            ReferenceGrammar.load(),
            most=rules.masks if rules.collocations is None else None,
            masks_per_sentence=rules.masks_per_sentence,
            tags=rules.mask_tags,
            seed=rules.seed,
        )
        drawn = [each for each in drawn if sentence_id(each.text) in rules.worth_processing]
        for each in drawn:
            chosen[each.text, each.tags] = _fitting(source, each, of_tag, rules)
        masked.append([each for each in drawn if all(chosen[each.text, each.tags])][: rules.masks])
    flat = [each for of_source in masked for each in of_source]
    fillings = iter(fill(flat, models, fitting=chosen))
    return [
        [e for each in of_source for e in _filled(source, each, next(fillings), rules)]
        for source, of_source in zip(sources, masked, strict=True)
    ]


def _fitting(
    source: Source, masked: MaskedSentence, of_tag: Mapping[str, frozenset[str]], rules: BuildRules
) -> list[frozenset[str]]:
    """The words that each mask of a sentence may be."""
    if rules.collocations is None:
        return [of_tag[tag] for tag in masked.tags]
    return [
        of_tag[tag] & rules.collocations.fitting(source.parsed.tokens, place, tag)
        for place, tag in zip(masked.places, masked.tags, strict=True)
    ]


def _filled(
    source: Source, masked: MaskedSentence, fillings: Fillings, rules: BuildRules
) -> Iterator[Extension]:
    unwanted = _forms(source) | rules.barred_words
    number = 0
    for words, score in fillings:
        text, inserted = masked.filled(words)
        if number >= MAX_WORDS_OF_MASK and sentence_id(text) not in rules.faultless:
            continue
        if not unwanted.isdisjoint(word.lower() for word in words):
            continue
        pieces = zip(masked.places, words, strict=True)
        if any(_clashes(source.parsed.tokens, place, word) for place, word in pieces):
            continue
        number += 1
        first, *others = masked.productions
        yield Extension(text, inserted, "masked", first, score, tuple(others))


def _forms(source: Source) -> set[str]:
    """The words of a sentence and their lemmas, in lower case."""
    return {form.lower() for token in source.parsed.tokens for form in (token.text, token.lemma)}


def phrase_extensions(source: Source, bank: PhraseBank, barred: frozenset[str]) -> list[Extension]:
    """Extensions by phrases that reviewers add to the same head at such a place.

    No phrase has a barred word, or one that the sentence has.
    """
    forms, tokens = _forms(source), source.parsed.tokens
    extensions: list[Extension] = []
    if not bank:
        return extensions
    for node in source.parsed.tree.nodes():
        for number in range(1, len(node.children) + 1):
            place = node.children[number].start if number < len(node.children) else node.end
            for phrase, production in _phrases_at(tokens, node, number, bank):
                words = phrase.text.lower().replace(",", " ").split()
                if " ".join(words) in connectives() or not barred.isdisjoint(words):
                    continue
                if any(word in forms and len(word) >= SHORTEST_REPEATED_WORD for word in words):
                    continue
                if extension := _with_phrase(source, place, phrase, production):
                    extensions.append(extension)
    return extensions


def _phrases_at(
    tokens: Sequence[Token], node: Node, number: int, bank: PhraseBank
) -> Iterator[tuple[Phrase, Production]]:
    """The phrases that stand on a head before child ``number``, and that the grammar licenses."""
    grammar, labels = ReferenceGrammar.load(), node.child_labels
    left_label, heads = labels[number - 1], _heads_at(tokens, node, number)
    licensed: dict[tuple[str, bool], Production | None] = {}
    banked = {
        head: bank.get((node.label, neighbour_label(left_label), head or ""), ()) for head in heads
    }
    for head, phrase in ((head, phrase) for head, phrases in banked.items() for phrase in phrases):
        if heads[_is_modifier(phrase)] != head:
            continue
        if left_label == node.label and phrase.label not in ("PP", "SBAR", "VP", "ADVP"):
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
