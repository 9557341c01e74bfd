"""Contrast: cases changed so that no label passes both, with their own sentence or another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from s2lct.builder.capabilities.schema import Form, SearchRule
from s2lct.builder.kept_models import KeptModels
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
"""Sentences that are tried in a case's contrast instead of its own."""


def contrast(
    seeds: Mapping[str, Sequence[Seed]],
    expansions: Mapping[str, Sequence[Expansion]],
    forms: Mapping[str, Form],
    sentences: Sequence[Sentence],
    models: KeptModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """The contrasts of cases, by the cases' ids.

    Args:
        seeds: of each capability, by its id.
        expansions: of each seed, by its id.
        forms: of each capability.
        sentences: of the corpus.
        models: tag, parse and fill masks.
        rules: of the build.
    """
    contrasts: dict[str, Case] = {}
    of_other_sentences: defaultdict[tuple[str, str], list[tuple[str, str, Seed]]]
    of_other_sentences = defaultdict(list)
    to_reword: list[Seed] = []
    for seed in (seed for group in seeds.values() for seed in group):
        template = seed.composed_by
        if template.contrast is not None and template.contrast.reword:
            to_reword.append(seed)
        elif template.slots_of_contrast:
            (slot,) = template.slots_of_contrast
            texts = {case.id: case.extension.text for case in expansions[seed.id]}
            texts = {seed.id: seed.sources[0].text} | texts
            of_other_sentences[seed.capability, slot] += [
                (id, text, seed) for id, text in texts.items()
            ]
        elif (opposite := contrast_of(seed)) is not None and is_sensible(opposite, rules):
            longer = expansions[seed.id]
            if is_negation(opposite.template):
                longer = [each for each in longer if not shuns_negation(each.extension, rules)]
            contrasts |= {seed.id: opposite, **_of_expansions(longer, opposite)}
    for (capability, slot), cases in of_other_sentences.items():
        searched = forms[capability].search[slot]
        contrasts |= _of_other_sentences(slot, cases, searched, sentences, models, rules)
    return contrasts | _reworded(to_reword, expansions, models, rules)


def _of_expansions(expansions: Sequence[Expansion], opposite: Seed) -> dict[str, Case]:
    """For each expansion, by its id, the contrast of its seed with the same words inserted."""
    contrasts = {
        each.id: expansion_of(opposite, each.slot, each.extension, CONTRAST) for each in expansions
    }
    return {id: contrast for id, contrast in contrasts.items() if contrast is not None}


def _of_other_sentences(
    slot: str,
    cases: Sequence[tuple[str, str, Seed]],
    searched: Sequence[SearchRule],
    sentences: Sequence[Sentence],
    models: KeptModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """Contrasts with another sentence, about as long, in a slot that only they have.

    Args:
        slot: the slot.
        cases: the id of each case, the text of its sentence, and its seed.
        searched: the search rules of the slot.
        sentences: of the corpus.
        models: tag and parse.
        rules: of the build.
    """
    by_length: defaultdict[int, list[Sentence]] = defaultdict(list)
    for sentence in candidates(sentences, searched, 0):
        if rules.may_stand(sentence_id(sentence.text), sentence.label):
            by_length[len(sentence.text.split())].append(sentence)
    others = {id: _about_as_long(text, by_length) for id, text, _ in cases}
    contrasts: dict[str, Case] = {}
    for _ in range(MAX_OTHER_SENTENCES):
        tried = {id: next(others[id], None) for id, _, _ in cases if id not in contrasts}
        distinct = {sentence.text: sentence for sentence in tried.values() if sentence is not None}
        (selected,) = select([(searched, list(distinct.values()))], models, rules)
        sources = {source.sentence.text: source for source in selected}
        for id, _, seed in cases:
            other = tried.get(id)
            if other is not None and other.text in sources:
                opposite = contrast_of(seed, {slot: sources[other.text]})
                if opposite is not None and is_sensible(opposite, rules):
                    contrasts[id] = opposite
    return contrasts


def _about_as_long(text: str, by_length: Mapping[int, Sequence[Sentence]]) -> Iterator[Sentence]:
    """Sentences by their number of words, those about as long as a text first."""
    words = len(text.split())
    for length in sorted(by_length, key=lambda length: (abs(length - words), length)):
        yield from sorted(
            by_length[length], key=lambda sentence: shuffle_key(0, "contrast", text, sentence.text)
        )


def _reworded(
    seeds: Sequence[Seed],
    expansions: Mapping[str, Sequence[Expansion]],
    models: KeptModels,
    rules: BuildRules,
) -> dict[str, Case]:
    """Contrasts of which a word is another one, by the ids of their cases."""
    places = [
        (seed, place)
        for seed in seeds
        if (place := reword.find_place(seed.sources[0], models, relaxed=rules.rewords_freely))
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
        other = replace(source, parsed=reword.reworded(source.parsed, place, word))
        opposite = contrast_of(seed, {slot: other}, place.target_label)
        if opposite is not None:
            longer = (reword.reword_expansion(each, place, word) for each in expansions[seed.id])
            contrasts |= {seed.id: opposite}
            contrasts |= _of_expansions(list(filter(None, longer)), opposite)
    return contrasts
