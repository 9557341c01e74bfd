"""Words are inserted beside words that they stand beside in English or in a user's own texts."""

from __future__ import annotations

import pytest
from stage_settings import models, rules_for
from stub_models import StubParser, StubTagger

from s2lct.builder.language.collocations import Collocations, pairs_of
from s2lct.builder.models import parsed_sentences
from s2lct.builder.records import Sentence, Source, sentence_id
from s2lct.builder.stages.extend import MAX_FILLINGS, masked_extensions


def test_pairs_are_of_neighbours_within_a_clause() -> None:
    assert set(pairs_of("The Battery-door broke, 2 days later.")) == {
        ("the", "battery-door"),
        ("battery-door", "broke"),
        ("days", "later"),
    }


@pytest.mark.shipped_models
def test_words_are_inserted_that_stood_there_in_english_or_in_the_corpus() -> None:
    texts = ["The plot is dull.", "It has a plot."]
    definite, indefinite = parsed_sentences(texts, StubTagger(), StubParser())
    assert definite is not None and indefinite is not None
    source, filler = Source(Sentence("c", "1", definite.text, "negative"), definite), models()

    def inserted(
        collocations: Collocations | None, faultless: frozenset[str] = frozenset()
    ) -> list[str]:
        rules = rules_for(
            mask_tags=("JJ",),
            masks=1,
            masks_per_sentence=1,
            collocations=collocations,
            faultless=faultless,
        )
        (extensions,) = masked_extensions([source], filler, rules)
        return [extension.inserted[0].word for extension in extensions]

    *_, last = likeliest = inserted(None)
    assert len(likeliest) == MAX_FILLINGS
    # What annotators found faultless is inserted however many words are likelier.
    every = frozenset(sentence_id(f"The {word} plot is dull.") for word in filler.words)
    assert inserted(None, every)[:MAX_FILLINGS] == likeliest
    assert len(inserted(None, every)) > MAX_FILLINGS
    in_corpus = Collocations({}, dict.fromkeys(pairs_of(f"A {last} plot."), 1))
    assert inserted(in_corpus) == [last]
    in_english = Collocations.of_texts([])
    adjectives = in_english.fitting_words(indefinite.tokens, 3, "JJ")
    assert "central" in adjectives and "cinematic" not in adjectives
    # It would say which plot is meant, or make another thing of it, unless the corpus has it so.
    assert not in_english.fitting_words(definite.tokens, 1, "JJ")
    assert not in_english.fitting_words(indefinite.tokens, 3, "NN")
    assert in_corpus.fitting_words(indefinite.tokens, 3, "NN") == {last}
    assert not in_english.fitting_words(definite.tokens, 2, "JJ")
    # Words that take up something that was said before never fit.
    anaphoric = Collocations.of_texts(["A third plot, another plot, also dull."])
    assert anaphoric.fitting_words(definite.tokens, 1, "JJ").isdisjoint({"third", "another"})
    assert "also" not in anaphoric.fitting_words(definite.tokens, 3, "RB")
    assert in_english.log_gain("central", "plot") > 0 == in_english.log_gain("cinematic", "plot")
