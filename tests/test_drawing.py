"""Sentences are drawn as far as they are needed, and as if the whole corpus had been searched."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from conftest import SENTENCES
from hypothesis import given
from hypothesis import strategies as st
from stub_models import StubParser, StubTagger

from s2lct.builder.build_stages import Models
from s2lct.builder.capabilities.schema import SearchRule
from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.config import BuildConfig
from s2lct.builder.drawing import DrawnSentences, Pool, Search
from s2lct.builder.fluent_stages import FluentStages
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.looking import Slot
from s2lct.builder.sources import Source
from s2lct.builder.stages import search
from s2lct.engines import InProcess
from s2lct.progress import Progress
from s2lct.suite.records import Sentence, Token

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


class CountingTagger(StubTagger):
    """Counts the texts that it tags."""

    def __init__(self) -> None:
        self.tagged = 0

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        self.tagged += len(texts)
        return super().tag(texts)


def corpus_of(labelled: Sequence[tuple[str, str, float | None]]) -> list[Sentence]:
    return [
        Sentence("made up", str(number), text, label, "", score)  # type: ignore[arg-type]
        for number, (text, label, score) in enumerate(labelled)
    ]


def search_of(
    sentences: Sequence[Sentence],
    rules: Sequence[SearchRule],
    tagger: StubTagger,
    folder: Path,
    *more: Slot,
) -> tuple[Search, Slot]:
    """A search for one slot, beside others."""
    config = BuildConfig.checked(out=folder)
    models = Models(config)
    models.__dict__.update(tagger=tagger, parser=StubParser())
    stages = FluentStages(config, (), Lexicon.load(), ReferenceGrammar.load(), models, None)
    slot = Slot("LC4", "N", tuple(rules))
    stages.__dict__["slots"] = {one.name: one for one in (slot, *more)}
    return Search(sentences, stages, InProcess(stages), Checkpoints(folder), Progress()), slot


def searched(sentences: Sequence[Sentence], rules: Sequence[SearchRule]) -> list[Sentence]:
    """What the whole corpus holds, in drawing order."""
    tagger, trees = StubTagger(), search.Trees(StubParser)
    tokens = tagger.tag([one.text for one in sentences])
    tagged = [search.TaggedSentence(*pair) for pair in zip(sentences, tokens, strict=True)]
    found = search.find(tagged, rules, Lexicon.load())
    meet = trees.meet(found)
    fitting = [one.sentence for (one, _), meets in zip(found, meet, strict=True) if meets]
    return search.in_drawing_order(fitting, 0, "LC4")


@given(st.lists(LABELLED, max_size=30), RULES, RULES, st.integers(1, 7))
def test_what_is_drawn_is_what_a_search_of_the_whole_corpus_finds(
    labelled: list[tuple[str, str, float | None]],
    rules: list[SearchRule],
    others: list[SearchRule],
    size: int,
) -> None:
    sentences = corpus_of(labelled)
    tagger = CountingTagger()
    with tempfile.TemporaryDirectory() as folder:
        other = Slot("LC4", "P", tuple(others))
        looked, slot = search_of(sentences, rules, tagger, Path(folder), other)
        drawn = {
            one.name: DrawnSentences(looked, one, most=None, at_once=size) for one in (slot, other)
        }
        found = {name: one.sources(0, len(sentences)) for name, one in drawn.items()}
        assert [one.sentence for one in found["LC4-N"]] == searched(sentences, rules)
        assert [one.sentence for one in found["LC4-P"]] == searched(sentences, others)
        # Two slots that want the same sentence have it tagged once.
        assert tagger.tagged <= len(sentences)
        tagged = tagger.tagged
        everything, _ = search_of(sentences, rules, tagger, Path(folder) / "all", other)
        everything.look_at_all()
        for name, one in found.items():
            rows = everything.candidates[name]
            fitting = [everything.source(row) for row in everything.fitting(name, rows).tolist()]
            assert fitting == one
        assert tagger.tagged == 2 * tagged


@given(st.lists(LABELLED, max_size=30), RULES)
def test_what_may_not_meet_a_rule_does_not_meet_it(
    labelled: list[tuple[str, str, float | None]], rules: list[SearchRule]
) -> None:
    for sentence in corpus_of(labelled):
        (tokens,) = StubTagger().tag([sentence.text])
        for rule in rules:
            if search.meets_words(sentence, tokens, rule, Lexicon.load()):
                assert search.may_meet(sentence, rule)


@pytest.fixture
def positive() -> list[Sentence]:
    return corpus_of([(f"The film {word} long.", "positive", None) for word in "abcdefgh" * 50])


def pool_of(
    folder: Path,
    sentences: Sequence[Sentence],
    tagger: StubTagger,
    most: int = 1_000,
) -> Pool:
    def forms(sources: Sequence[Source]) -> dict[str, list[Source]]:
        return {one.text: [] if re.search(" [ab] ", one.text) else [one, one] for one in sources}

    looked, slot = search_of(sentences, [SearchRule(label="positive")], tagger, folder)
    return Pool(looked, slot, forms, most=most, seeds=5)


def test_a_pool_gives_each_sentence_then_each_again(
    tmp_path: Path, positive: list[Sentence]
) -> None:
    pool = pool_of(tmp_path, positive, StubTagger())
    texts = [one.text for one in pool]
    assert len(texts) == 2 * len(set(texts)) == 12
    assert texts[:6] == texts[6:]
    assert [one.text for one in pool] == texts
    assert pool.found == 8
    few = pool_of(tmp_path / "few", positive, StubTagger(), most=3)
    assert {one.text for one in few} <= set(texts)
    assert few.found == 3


def test_no_more_is_tagged_than_is_asked_for_and_none_again_after_a_stop(tmp_path: Path) -> None:
    texts = [f"The film is {number} minutes long." for number in range(400)]
    sentences = corpus_of([(text, "positive", None) for text in texts])
    tagger = CountingTagger()
    first = list(islice(pool_of(tmp_path, sentences, tagger), 5))
    assert 5 <= tagger.tagged < 100
    tagged = tagger.tagged
    assert list(islice(pool_of(tmp_path, sentences, tagger), 5)) == first
    assert tagger.tagged == tagged
