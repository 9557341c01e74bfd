"""Sentences are drawn as far as they are needed, and as if the whole corpus had been searched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from types import SimpleNamespace
from typing import cast
from unittest.mock import patch

import pytest
from conftest import SENTENCES
from hypothesis import given
from hypothesis import strategies as st
from stub_models import StubParser, StubTagger

from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.config import BuildConfig
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.inputs import Inputs
from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import parsed_sentences
from s2lct.builder.pool import LEAST_AT_ONCE, Pool
from s2lct.builder.records import Sentence, Source
from s2lct.builder.stages import search
from s2lct.identity import shuffle_key

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


@pytest.fixture(autouse=True, scope="module")
def sentences_as_they_are() -> Iterator[None]:
    """Of sentences that nobody read the stub's ones are not sound."""
    with patch.object(FluentForm, "is_unread", False):
        yield


def corpus_of(labelled: Sequence[tuple[str, str, float | None]]) -> list[Sentence]:
    return [
        Sentence("made up", str(number), text, label, "", score)  # type: ignore[arg-type]
        for number, (text, label, score) in enumerate(labelled)
    ]


def form_of(tagger: StubTagger, seeds: int | str = "all") -> FluentForm:
    models = SimpleNamespace(tagger=tagger, parser=StubParser())
    inputs = SimpleNamespace(
        config=BuildConfig.checked(out="out", seeds=seeds),
        lexicon=Lexicon.load(),
        grammar=ReferenceGrammar.load(),
    )
    return FluentForm(cast(Inputs, inputs), (), cast(KeptModels, models), None)


def pool_of(form: FluentForm, sentences: Sequence[Sentence], *rules: SearchRule) -> Pool:
    return Pool(form, rules, search.candidates(sentences, rules, 0, "LC4"))


def searched(sentences: Sequence[Sentence], rules: Sequence[SearchRule]) -> list[Sentence]:
    """What the whole corpus holds, in drawing order."""
    found = []
    for sentence in sentences:
        (parsed,) = parsed_sentences([sentence.text], StubTagger(), StubParser())
        assert parsed
        rule = next(
            (r for r in rules if search.meets_words(sentence, parsed.tokens, r, Lexicon.load())),
            None,
        )
        if rule and (not rule.complete or search.is_complete_sentence(parsed)):
            found.append(sentence)
    return sorted(found, key=lambda one: shuffle_key(0, "LC4", one.corpus, one.id))


@given(st.lists(LABELLED, max_size=30, unique_by=lambda one: one[0]), RULES, st.integers(0, 30))
def test_what_is_drawn_is_what_a_search_of_the_whole_corpus_finds(
    labelled: list[tuple[str, str, float | None]], rules: list[SearchRule], number: int
) -> None:
    sentences = corpus_of(labelled)
    with patch.object(FluentForm, "forms", lambda form, sources: [[one] for one in sources]):
        pool = pool_of(form_of(StubTagger()), sentences, *rules)
        expected = searched(sentences, rules)
        assert [one.sentence for one in islice(pool, number)] == expected[:number]
        assert [one.sentence for one in pool] == expected


@given(st.lists(LABELLED, max_size=30), RULES)
def test_what_may_not_meet_a_rule_does_not_meet_it(
    labelled: list[tuple[str, str, float | None]], rules: list[SearchRule]
) -> None:
    for sentence in corpus_of(labelled):
        (tokens,) = StubTagger().tag([sentence.text])
        for rule in rules:
            if search.meets_words(sentence, tokens, rule, Lexicon.load()):
                assert search.may_meet(sentence, rule)


def test_a_pool_gives_the_forms_of_a_sentence_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def forms(form: FluentForm, sources: Sequence[Source]) -> list[list[Source]]:
        return [[] if re.search(" [ab] ", one.text) else [one, one] for one in sources]

    monkeypatch.setattr(FluentForm, "forms", forms)
    sentences = corpus_of([(f"The film {word} long.", "positive", None) for word in "abcdefghijkl"])
    rule = SearchRule(label="positive")
    pool = pool_of(form_of(StubTagger()), sentences, rule)
    texts = [one.text for one in pool]
    assert len(texts) == 2 * len(set(texts)) == 20
    assert texts[::2] == texts[1::2]
    assert [one.text for one in pool] == texts
    few = {one.text for one in pool_of(form_of(StubTagger(), seeds=1), sentences, rule)}
    assert few <= set(texts)
    assert len(few) <= LEAST_AT_ONCE < len(set(texts))
