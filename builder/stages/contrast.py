"""Contrast: change cases so that no label passes both, with the same sentence or another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.capabilities.schema import Form, SearchRule
from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.reach import is_negation
from s2lct.builder.records import Case, Expansion, Seed, Sentence, sentence_id
from s2lct.builder.rules import BuildRules
from s2lct.builder.stages import reword
from s2lct.builder.stages.compose import contrast_of, expansion_of, is_sensible
from s2lct.builder.stages.expand import shuns_negation
from s2lct.builder.stages.search import candidates
from s2lct.builder.stages.select import select
from s2lct.identity import shuffle_key
from s2lct.suite.tables import CONTRAST

MAX_OTHER_SENTENCES = 12
"""The number of sentences that are tried in the contrast of a case instead of its own."""


def contrast(
    seeds: Mapping[str, Sequence[Seed]],
    expansions: Mapping[str, Sequence[Expansion]],
    forms: Mapping[str, Form],
    sentences: Sequence[Sentence],
    models: CachedModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """The contrasts of cases, by the ids of the cases.

    Args:
        seeds: the seeds of each capability, by its id.
        expansions: the expansions of each seed, by its id.
        forms: the form of each capability, by its id.
        sentences: the sentences of the corpus.
        models: tag, parse and fill masks.
        rules: the rules of the build.
    """
    contrasts: dict[str, Case] = {}
    to_replace: defaultdict[tuple[str, str], list[tuple[str, str, Seed]]]
    to_replace = defaultdict(list)
    to_reword: list[Seed] = []
    for seed in (seed for group in seeds.values() for seed in group):
        template = seed.composed_by
        if template.contrast is not None and template.contrast.reword:
            to_reword.append(seed)
        elif template.slots_of_contrast:
            (slot,) = template.slots_of_contrast
            texts = {case.id: case.extension.text for case in expansions[seed.id]}
            texts = {seed.id: seed.sources[0].text} | texts
            to_replace[seed.capability, slot] += [(id, text, seed) for id, text in texts.items()]
        elif (opposite := contrast_of(seed)) is not None and is_sensible(opposite, rules):
            insertable = expansions[seed.id]
            if is_negation(opposite.template):
                insertable = [
                    each for each in insertable if not shuns_negation(each.extension, rules)
                ]
            contrasts |= {seed.id: opposite, **_of_expansions(insertable, opposite)}
    for (capability, slot), cases in to_replace.items():
        search_rules = forms[capability].search[slot]
        contrasts |= _with_other_sentences(slot, cases, search_rules, sentences, models, rules)
    return contrasts | _contrasts_by_rewording(to_reword, expansions, models, rules)


def _of_expansions(expansions: Sequence[Expansion], opposite: Seed) -> dict[str, Case]:
    """The contrasts of expansions, by their ids: the seed's contrast with the same insertions."""
    contrasts = {
        each.id: expansion_of(opposite, each.slot, each.extension, CONTRAST) for each in expansions
    }
    return {id: contrast for id, contrast in contrasts.items() if contrast is not None}


def _with_other_sentences(
    slot: str,
    cases: Sequence[tuple[str, str, Seed]],
    search_rules: Sequence[SearchRule],
    sentences: Sequence[Sentence],
    models: CachedModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """Contrasts with another sentence of about the same length.

    The sentence fills a slot that only contrasts have.

    Args:
        slot: the slot.
        cases: the id of each case, the text of its sentence, and its seed.
        search_rules: the search rules of the slot.
        sentences: the sentences of the corpus.
        models: tag and parse.
        rules: the rules of the build.
    """
    by_length: defaultdict[int, list[Sentence]] = defaultdict(list)
    for sentence in candidates(sentences, search_rules, 0):
        if rules.is_allowed_in_cases(sentence_id(sentence.text), sentence.label):
            by_length[len(sentence.text.split())].append(sentence)
    partners = {id: _by_similar_length(text, by_length) for id, text, _ in cases}
    contrasts: dict[str, Case] = {}
    for _ in range(MAX_OTHER_SENTENCES):
        tried = {id: next(partners[id], None) for id, _, _ in cases if id not in contrasts}
        distinct = {sentence.text: sentence for sentence in tried.values() if sentence is not None}
        (selected,) = select([(search_rules, list(distinct.values()))], models, rules)
        sources = {source.sentence.text: source for source in selected}
        for id, _, seed in cases:
            partner = tried.get(id)
            if partner is not None and partner.text in sources:
                opposite = contrast_of(seed, {slot: sources[partner.text]})
                if opposite is not None and is_sensible(opposite, rules):
                    contrasts[id] = opposite
    return contrasts


def _by_similar_length(
    text: str, by_length: Mapping[int, Sequence[Sentence]]
) -> Iterator[Sentence]:
    """All sentences, those whose number of words is most similar to a text's first."""
    word_count = len(text.split())
    for length in sorted(by_length, key=lambda length: (abs(length - word_count), length)):
        yield from sorted(
            by_length[length], key=lambda sentence: shuffle_key(0, "contrast", text, sentence.text)
        )


def _contrasts_by_rewording(
    seeds: Sequence[Seed],
    expansions: Mapping[str, Sequence[Expansion]],
    models: CachedModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """Contrasts in which one word is replaced or inserted, by the ids of their cases."""
    places = [
        (seed, place)
        for seed in seeds
        if (
            place := reword.find_place(
                seed.sources[0], models, relaxed=rules.rewords_beside_adjectives
            )
        )
    ]
    if not places:
        return {}
    in_sources = [(seed.sources[0], place) for seed, place in places]
    words = reword.words_for(
        in_sources, models, reword.evaluative_adjectives(models, Lexicon.load())
    )
    contrasts: dict[str, Case] = {}
    for (seed, place), word in zip(places, words, strict=True):
        if word is None:
            continue
        (source,), (slot,) = seed.sources, seed.slots
        changed = replace(source, parsed=reword.reworded(source.parsed, place, word))
        opposite = contrast_of(seed, {slot: changed}, place.target_label)
        if opposite is not None:
            longer = (reword.reword_expansion(each, place, word) for each in expansions[seed.id])
            contrasts |= {seed.id: opposite}
            contrasts |= _of_expansions(list(filter(None, longer)), opposite)
    return contrasts
