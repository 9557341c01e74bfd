"""Sentences are drawn as far as they are needed, and as if the whole corpus had been searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from conftest import SENTENCES
from hypothesis import given
from hypothesis import strategies as st
from stage_settings import accepting_rules, models
from stub_models import StubParser, StubTagger

from s2lct.builder.capabilities.schema import Capability, SearchRule
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import parsed_sentences
from s2lct.builder.pipeline import draw_seeds, slots_with_candidates
from s2lct.builder.records import Sentence, seed_source_id, sentence_id
from s2lct.builder.stages import search
from s2lct.builder.stages.select import select
from s2lct.identity import shuffle_key

NAMES = ("Alien", "Brazil", "Casino", "Dune", "Emma", "Fargo", "Gigi", "Heat", "Ikiru", "Jaws")
TEXTS = [text for texts in SENTENCES.values() for text in texts]
LABELLED = st.tuples(
    st.sampled_from(TEXTS), st.sampled_from(["positive", "negative"]), st.sampled_from([None, 0.3])
)
RULES = st.lists(
    st.builds(
        SearchRule,
        label=st.sampled_from(["positive", "negative"]),
        score_at_least=st.sampled_from([None, 0.5]),
        words_at_least=st.sampled_from([1, 5]),
        words_below=st.sampled_from([None, 8]),
        matches_no=st.sampled_from([None, "and"]),
        has_no_words=st.sampled_from([(), ("film",)]),
        complete=st.booleans(),
    ),
    min_size=1,
    max_size=2,
)


def corpus_of(labelled: Sequence[tuple[str, str, float | None]]) -> list[Sentence]:
    return [
        Sentence("made up", str(number), text, label, "", score)  # type: ignore[arg-type]
        for number, (text, label, score) in enumerate(labelled)
    ]


def capability_for(rules: Sequence[SearchRule]) -> Capability:
    form = {"search": {"N": rules}, "templates": [{"text": "{N}", "passes": ["positive"]}]}
    return Capability(id="LC4", title="t", expectation="e", forms={"fluent": form, "paper": form})


def searched(sentences: Sequence[Sentence], rules: Sequence[SearchRule]) -> list[Sentence]:
    """What the whole corpus holds, in drawing order."""
    found = []
    for sentence in sentences:
        (parsed,) = parsed_sentences([sentence.text], StubTagger(), StubParser())
        assert parsed
        rule = next(
            (
                r
                for r in rules
                if search.meets_without_tree(sentence, parsed.tokens, r, Lexicon.load())
            ),
            None,
        )
        if rule and (not rule.complete or search.is_complete_sentence(parsed)):
            found.append(sentence)
    return sorted(found, key=lambda one: shuffle_key(0, "LC4", one.corpus, one.id))


@given(st.lists(LABELLED, max_size=30, unique_by=lambda one: one[0]), RULES)
def test_what_is_selected_is_what_a_search_of_the_whole_corpus_finds(
    labelled: list[tuple[str, str, float | None]], rules: list[SearchRule]
) -> None:
    sentences = corpus_of(labelled)
    (slot,) = slots_with_candidates(sentences, [capability_for(rules)], accepting_rules())
    (selected,) = select([(rules, slot.candidates)], models(), accepting_rules())
    assert [source.sentence for source in selected] == searched(sentences, rules)


@given(st.lists(LABELLED, max_size=30), RULES)
def test_what_may_not_meet_a_rule_does_not_meet_it(
    labelled: list[tuple[str, str, float | None]], rules: list[SearchRule]
) -> None:
    for sentence in corpus_of(labelled):
        (tokens,) = StubTagger().tag([sentence.text])
        for rule in rules:
            if search.meets_without_tree(sentence, tokens, rule, Lexicon.load()):
                assert search.may_meet(sentence, rule)


@pytest.mark.parametrize("seeds", [1, 3, 100])
def test_no_more_sentences_are_drawn_than_seeds_need(seeds: int) -> None:
    sentences = corpus_of([(f"The film {word} is lovely.", "positive", None) for word in NAMES])
    capability, rules = capability_for([SearchRule(label="positive")]), accepting_rules(seeds=seeds)
    rules = replace(rules, batch_size=2)
    slots = slots_with_candidates(sentences, [capability], rules)
    drawn = draw_seeds(slots, [capability], models(), rules)["LC4"]
    assert len(drawn) == min(seeds, len(NAMES))
    assert slots[0].found_count == min(seeds + seeds % 2, len(NAMES))
    every = draw_seeds(
        slots_with_candidates(sentences, [capability], replace(rules, batch_size=1_000)),
        [capability],
        models(),
        rules,
    )
    assert every["LC4"] == drawn


def test_sentences_that_are_not_worth_it_are_not_drawn() -> None:
    sentences = corpus_of([(f"The film {word} is lovely.", "positive", None) for word in NAMES])
    text = sentences[3].text
    ids = {sentence_id(text), seed_source_id("LC4", text), sentence_id(sentences[4].text)}
    capability = capability_for([SearchRule(label="positive")])
    (slot,) = slots_with_candidates(sentences, [capability], accepting_rules(worth_processing=ids))
    assert slot.candidates == [sentences[3]]
