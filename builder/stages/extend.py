"""Extend: insert words or phrases from three origins into sentences (S²LCT, Algorithm 1).

*Masked* words come from the masked language model, and *phrases* from a bank of phrases that
reviewers write. *Attested* words were cut from the author's sentence when it was shortened to a
seed.

Whatever the origin, an extension must have the right tags, be neutral, and have the parse that it
was made with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.fluency import clashes
from s2lct.builder.language.grammar import (
    Node,
    Phrase,
    PhraseBank,
    ReferenceGrammar,
    connectives,
    neighbour_label,
)
from s2lct.builder.language.lexicon import Lexicon, insertable_words
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
from s2lct.builder.stages.mask import Fillings, MaskedText, fill, mask, mask_offset
from s2lct.builder.stages.shorten import head_of, pairs_of_extensions
from s2lct.labels import Label

MAX_FILLINGS = 3
"""The number of fillings used of a masked sentence, without those that annotators judged
faultless."""
MIN_LENGTH_OF_REPETITION = 4
"""A phrase is refused if it repeats a word of the sentence with at least so many letters."""


def sources_of(seeds: Mapping[str, Sequence[Seed]]) -> list[Source]:
    """The source sentences of seeds, one for each text, with the extensions of equal texts."""
    source_of_text: dict[str, Source] = {}
    for source in (source for group in seeds.values() for seed in group for source in seed.sources):
        earlier_extensions = source_of_text.get(source.text, source).extensions
        extensions = tuple(dict.fromkeys((*earlier_extensions, *source.extensions)))
        source_of_text[source.text] = replace(source, extensions=extensions)
    return list(source_of_text.values())


def extend(
    sources: Sequence[Source], models: CachedModels, rules: BuildRules
) -> list[list[Extension]]:
    """The extensions of each sentence that the rules allow, before tagging and parsing.

    A text may occur several times, with different origins or tags of its words. Tagger and parser
    later confirm one.
    """
    extensions_of_sources: list[list[Extension]] = []
    for source, from_masks in zip(sources, masked_extensions(sources, models, rules), strict=True):
        from_phrases = phrase_extensions(source, rules.phrases, rules.barred_words)
        distinct = {
            (
                extension.text,
                extension.origin,
                tuple(word.tag for word in extension.inserted),
            ): extension
            for extension in (*from_masks, *from_phrases, *source.extensions)
            if extension.text != source.text
        }
        label = source.sentence.label
        usable = [
            extension
            for extension in distinct.values()
            if _is_allowed_in_cases(extension, label, rules)
        ]
        if rules.inserts_in_pairs:
            usable += [
                pair
                for pair in pairs_of_extensions(source.text, usable)
                if _is_allowed_in_cases(pair, label, rules)
            ]
        extensions_of_sources.append(
            [extension for extension in usable if extension.id in rules.accepted_extensions]
        )
    return extensions_of_sources


def _is_allowed_in_cases(extension: Extension, label: Label, rules: BuildRules) -> bool:
    """Whether an extension may stand in cases with this label.

    Annotators accepted it, or are still to decide about it.
    """
    case_part = extension.id, label
    if case_part in rules.accepted_parts:
        return True
    is_tried = extension.origin != "phrase" and extension.second is None
    return is_tried and case_part in rules.undecided_parts


def masked_extensions(
    sources: Sequence[Source], models: CachedModels, rules: BuildRules
) -> list[list[Extension]]:
    """Extensions by the masked language model, the likeliest words of each masked sentence first.

    Of each masked sentence at most `MAX_FILLINGS` fillings are used, plus those that annotators
    judged faultless. A word must fit the tag of its mask. If the rules have collocations, it must
    also have stood beside such neighbours before.
    """
    words, lexicon = tuple(models.words), Lexicon.load()
    words_of_tag = {
        tag: insertable_words(words, tag, lexicon) - connectives() for tag in rules.mask_tags
    }
    allowed_words: dict[MaskedText, Sequence[frozenset[str]]] = {}
    masked_groups: list[list[MaskedSentence]] = []
    for source in sources:
        sampled = mask(
            sentence_id(source.text),
            source.parsed,
            ReferenceGrammar.load(),
            max_sentences=rules.masks if rules.collocations is None else None,
            masks_per_sentence=rules.masks_per_sentence,
            tags=rules.mask_tags,
            random_seed=rules.seed,
        )
        sampled = [
            masked for masked in sampled if sentence_id(masked.text) in rules.worth_processing
        ]
        for masked in sampled:
            allowed_words[masked.text, masked.tags] = _allowed_words(
                source, masked, words_of_tag, rules
            )
        masked_groups.append(
            [masked for masked in sampled if all(allowed_words[masked.text, masked.tags])][
                : rules.masks
            ]
        )
    all_masked = [masked for group in masked_groups for masked in group]
    fillings = iter(fill(all_masked, models, allowed_words=allowed_words))
    return [
        [
            extension
            for masked in group
            for extension in _filled_extensions(source, masked, next(fillings), rules)
        ]
        for source, group in zip(sources, masked_groups, strict=True)
    ]


def _allowed_words(
    source: Source,
    masked: MaskedSentence,
    words_of_tag: Mapping[str, frozenset[str]],
    rules: BuildRules,
) -> list[frozenset[str]]:
    """The words that may fill each mask of a masked sentence."""
    if rules.collocations is None:
        return [words_of_tag[tag] for tag in masked.tags]
    return [
        words_of_tag[tag]
        & rules.collocations.fitting_words(source.parsed.tokens, token_number, tag)
        for token_number, tag in zip(masked.places, masked.tags, strict=True)
    ]


def _filled_extensions(
    source: Source, masked: MaskedSentence, fillings: Fillings, rules: BuildRules
) -> Iterator[Extension]:
    """The extensions that the fillings of one masked sentence make.

    Fillings with barred words, with words of the sentence, or that clash with a neighbour are left
    out.
    """
    refused_words = _words_and_lemmas(source) | rules.barred_words
    n_accepted = 0
    for words, score in fillings:
        text, inserted = masked.filled(words)
        if n_accepted >= MAX_FILLINGS and sentence_id(text) not in rules.faultless:
            continue
        if not refused_words.isdisjoint(word.lower() for word in words):
            continue
        pieces = zip(masked.places, words, strict=True)
        if any(_clashes(source.parsed.tokens, token_number, word) for token_number, word in pieces):
            continue
        n_accepted += 1
        first, *others = masked.productions
        yield Extension(text, inserted, "masked", first, score, tuple(others))


def _words_and_lemmas(source: Source) -> set[str]:
    """The words of a sentence and their lemmas, in lower case."""
    return {form.lower() for token in source.parsed.tokens for form in (token.text, token.lemma)}


def phrase_extensions(
    source: Source, bank: PhraseBank, barred_words: frozenset[str]
) -> list[Extension]:
    """Extensions by phrases that reviewers add to the same head in the same position.

    Phrases with a barred word, or with a word of the sentence, are left out.
    """
    sentence_words, tokens = _words_and_lemmas(source), source.parsed.tokens
    extensions: list[Extension] = []
    if not bank:
        return extensions
    for node in source.parsed.tree.nodes():
        for index in range(1, len(node.children) + 1):
            token_number = node.children[index].start if index < len(node.children) else node.end
            for phrase, production in _phrases_at(tokens, node, index, bank):
                words = phrase.text.lower().replace(",", " ").split()
                if " ".join(words) in connectives() or not barred_words.isdisjoint(words):
                    continue
                if any(
                    word in sentence_words and len(word) >= MIN_LENGTH_OF_REPETITION
                    for word in words
                ):
                    continue
                if extension := _with_phrase(source, token_number, phrase, production):
                    extensions.append(extension)
    return extensions


def _phrases_at(
    tokens: Sequence[Token], node: Node, index: int, bank: PhraseBank
) -> Iterator[tuple[Phrase, Production]]:
    """The banked phrases for the head at child ``index`` that the grammar licenses there."""
    grammar, labels = ReferenceGrammar.load(), node.child_labels
    left_label = labels[index - 1]
    phrase_head, modifier_head = _possible_heads(tokens, node, index)
    licensed: dict[tuple[str, bool], Production | None] = {}
    phrases_of_head = {
        head: bank.get((node.label, neighbour_label(left_label), head or ""), ())
        for head in (phrase_head, modifier_head)
    }
    for head, phrase in (
        (head, phrase) for head, phrases in phrases_of_head.items() for phrase in phrases
    ):
        if head != (modifier_head if _is_modifier(phrase) else phrase_head):
            continue
        if left_label == node.label and phrase.label not in ("PP", "SBAR", "VP", "ADVP"):
            continue
        key = (phrase.label, phrase.text.startswith(","))
        if key not in licensed:
            rhs = (*labels[:index], phrase.label, *labels[index:])
            share = grammar.probability(node.label, rhs)
            production = Production(node.label, labels, rhs, round(share, 8))
            licensed[key] = production if share else None
        if (licence := licensed[key]) is not None:
            yield phrase, licence


def _is_modifier(phrase: Phrase) -> bool:
    """Whether a phrase is put in front of a noun, not behind its head."""
    return " " not in phrase.text and phrase.label != "ADVP"


def _possible_heads(
    tokens: Sequence[Token], node: Node, index: int
) -> tuple[str | None, str | None]:
    """The lemmas of two heads for an insertion before child ``index``.

    The first is the head of a phrase, which follows its head; the second the head of a modifier,
    which precedes it.
    """
    phrase_head = head_of(tokens, Node(node.label, (*node.children[:index], node), 0, 1), index)
    if node.label != "NP":
        return phrase_head, phrase_head
    nouns = [c for c in node.children[index:] if c.is_word and c.label.startswith("NN")]
    return phrase_head, tokens[nouns[-1].start].lemma.lower() if nouns else None


def _with_phrase(
    source: Source, token_number: int, phrase: Phrase, production: Production
) -> Extension | None:
    """The sentence with a phrase before token ``token_number``; None where it cannot stand."""
    tokens, text = source.parsed.tokens, source.text
    spot = mask_offset(tokens, token_number)
    if spot is None or _clashes(tokens, token_number, phrase.text):
        return None
    offset, is_before_token = spot
    if phrase.text.startswith(","):
        offset, space_before, space_after = tokens[token_number - 1].end, "", ""
    else:
        space_before, space_after = ("", " ") if is_before_token else (" ", "")
    start = offset + len(space_before)
    inserted = InsertedWord(phrase.text, phrase.label, start, start + len(phrase.text))
    extended_text = text[:offset] + space_before + phrase.text + space_after + text[offset:]
    return Extension(extended_text, (inserted,), "phrase", production)


def _clashes(tokens: Sequence[Token], token_number: int, inserted: str) -> bool:
    """Whether inserted text cannot stand beside one of its neighbours."""
    previous_word = tokens[token_number - 1].text.lower()
    next_word = tokens[token_number].text.lower() if token_number < len(tokens) else ""
    inserted_words = inserted.strip(", ").lower().split()
    return clashes(previous_word, inserted_words[0]) or clashes(inserted_words[-1], next_word)
