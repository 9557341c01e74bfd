"""What stood side by side, in English or in a user's own texts, is inserted."""

from __future__ import annotations

import pytest
from stub_models import StubParser, StubTagger

from s2lct.builder.language.collocations import Collocations, pairs_of
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon, fitting_words
from s2lct.builder.models import load_masked_language_model, parsed_sentences
from s2lct.builder.records import Sentence, Source
from s2lct.builder.stages.extend import WORDS_OF_A_MASK, masked_extensions


def test_pairs_are_of_neighbours_within_a_clause() -> None:
    assert set(pairs_of("The Battery-door broke, 2 days later.")) == {
        ("the", "battery-door"),
        ("battery-door", "broke"),
        ("days", "later"),
    }


@pytest.mark.shipped_models
def test_what_stood_so_in_english_or_in_the_corpus_is_inserted() -> None:
    texts = ["The plot is dull.", "It has a plot."]
    parsed, indefinite = parsed_sentences(texts, StubTagger(), StubParser())
    assert parsed is not None and indefinite is not None
    source = Source(Sentence("c", "1", parsed.text, "negative"), parsed)
    model = load_masked_language_model()

    def inserted(
        collocations: Collocations | None, passed: frozenset[str] = frozenset()
    ) -> list[str]:
        (extensions,) = masked_extensions(
            [source],
            ReferenceGrammar.load(),
            {"JJ": fitting_words(tuple(model.words), "JJ", Lexicon.load())},
            model,
            tags=("JJ",),
            masks=1,
            masks_per_sentence=1,
            suggestions=30,
            collocations=collocations,
            passed=passed.__contains__,
            seed=0,
        )
        return [extension.inserted[0].word for extension in extensions]

    *_, last = likeliest = inserted(None)
    assert len(likeliest) == WORDS_OF_A_MASK
    # What annotators passed is there however many are likelier.
    every = frozenset(f"The {word} plot is dull." for word in model.words)
    assert inserted(None, every)[:WORDS_OF_A_MASK] == likeliest
    assert len(inserted(None, every)) > WORDS_OF_A_MASK
    own = Collocations({}, dict.fromkeys(pairs_of(f"A {last} plot."), 1))
    assert inserted(own) == [last]
    of_english = Collocations.of([])
    beside = of_english.fitting(indefinite.tokens, 3, "JJ")
    assert "central" in beside
    assert "cinematic" not in beside
    # It would say which plot is meant, or make another thing of it, unless it does so there.
    assert not of_english.fitting(parsed.tokens, 1, "JJ")
    assert not of_english.fitting(indefinite.tokens, 3, "NN")
    assert own.fitting(indefinite.tokens, 3, "NN") == {last}
    assert not of_english.fitting(parsed.tokens, 2, "JJ")
    # What takes up something that was said before has nothing to take up.
    seen = Collocations.of(["A third plot, another plot, also dull."])
    assert seen.fitting(parsed.tokens, 1, "JJ").isdisjoint({"third", "another"})
    assert "also" not in seen.fitting(parsed.tokens, 3, "RB")
    assert of_english.log_gain("central", "plot") > 0 == of_english.log_gain("cinematic", "plot")
