"""What the fluent form lets stand without readers is English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast
from unittest.mock import patch

import pytest
from stage_settings import rules_for
from stub_models import StubParser, StubTagger

from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.fluency import breaks_grammar, takes_an
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import scores
from s2lct.builder.models import parsed_sentences
from s2lct.builder.pipeline import extend_batches
from s2lct.builder.records import (
    Extension,
    InsertedWord,
    ParsedSentence,
    Production,
    Sentence,
    Source,
)
from s2lct.builder.stages import confirm, extend
from s2lct.suite.tables import without

TAGGER, PARSER = StubTagger(), StubParser()
WORDS = {
    "DT": "the a an this that these those some all both every another",
    "PRP$": "its his their",
    "JJ": "central old unusual honest unique new small usual short rural opening great other",
    "NN": "family school camera police radio action horror opening love film",
    "RB": "also indeed ultimately unusually increasingly distinctly very so here never again",
}


class EveryWord:
    """A masked language model that takes every word for every mask."""

    fingerprint = "every word"
    words: Sequence[str] = sorted({word for some in WORDS.values() for word in some.split()})

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        allowed_words: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        return [
            tuple((word, -1.0) for word in self.words if chosen is None or word in chosen)
            for chosen in allowed_words or [None] * len(texts)
        ]


class EveryModel(EveryWord):
    """The stub tagger and parser, a model that suggests every word, and the scorers."""

    tag, parse, scores = TAGGER.tag, PARSER.parse, staticmethod(scores)


def parsed(text: str) -> ParsedSentence:
    (found,) = parsed_sentences([text], TAGGER, PARSER)
    assert found
    return found


def source_of(text: str) -> Source:
    return Source(Sentence("test", "0", text, "negative", "train", 0.1), parsed(text))


def extensions_of(text: str) -> list[Extension]:
    """Everything that passes without a reader, of all words at every place."""
    rules = rules_for(masks=10_000, masks_per_sentence=1, mask_tags=tuple(WORDS), collocations=None)
    models, sources = cast(CachedModels, EveryModel()), [source_of(text)]
    with patch.object(extend, "MAX_FILLINGS", 1_000):
        ((_, (_, found)),) = extend_batches(sources, models, rules)
    return found


@pytest.mark.parametrize(
    ("text", "passing", "failing"),
    [
        ("It is a dull film.", "a central dull film", "an central dull film|a a dull|a this dull"),
        ("These films are dull.", "These central films", "These this films|These its films"),
        ("The film is dull.", "The central film", "The the film|film film is"),
        (
            "They are stories.",
            "are these stories",
            "are this stories|are a stories",
        ),
        ("It is an honest union.", "an honest central", "an new|an honest honest"),
    ],
)
def test_what_passes_keeps_articles_determiners_and_number(
    text: str, passing: str, failing: str
) -> None:
    extensions = extensions_of(text)
    texts = "\n".join(extension.text for extension in extensions)
    assert all(part in texts for part in passing.split("|")), texts
    assert not any(part in texts for part in failing.split("|")), texts
    for extension in extensions:
        spans = [(word.start, word.end) for word in extension.inserted]
        assert without(extension.text, spans) == text


@pytest.mark.parametrize(
    ("text", "tag", "stands"),
    [
        ("It is a [so] great film.", "RB", False),
        ("It is [japanese] work.", "JJ", False),
        ("The [second] film is great.", "JJ", True),
        ("It is about the [this] honest work.", "DT", False),
        ("It is about [this] actors.", "DT", False),
        ("It is about [these] actors.", "DT", True),
        ("It is about [all] this actor.", "PDT", False),
        ("It comes from [in] the heart.", "IN", False),
        ("It is a [second] Second film.", "JJ", False),
        ("It is a [school] great film.", "NN", False),
    ],
)
def test_where_a_word_can_stand(text: str, tag: str, stands: bool) -> None:
    word = text[text.index("[") + 1 : text.index("]")]
    (tokens,) = TAGGER.tag([text.replace("[", "").replace("]", "")])
    (place,) = (number for number, token in enumerate(tokens) if token.text == word)
    tagged = [replace(token, tag=tag) if token.text == word else token for token in tokens]
    assert breaks_grammar(tagged, [place]) != stands


@pytest.mark.parametrize("proposed", ["NN", "VBN", "JJ"])
def test_a_word_has_the_tag_that_it_has_in_its_sentence(proposed: str) -> None:
    text = "The central plot is dull."
    noun_phrase = Production("NP", ("DT", "NN"), ("DT", proposed, "NN"), 0.1)
    extension = Extension(text, (InsertedWord("central", proposed, 4, 11),), "masked", noun_phrase)
    base = source_of("The plot is dull.")
    grammar = ReferenceGrammar({("NP", ("DT", "JJ", "NN")): 1, ("NP", ("DT", "NN")): 3})

    def confirmed(grammar: ReferenceGrammar, tags: set[str]) -> list[tuple[str, Production]]:
        models, rules = cast(CachedModels, EveryModel()), rules_for(mask_tags=tags)
        with patch.object(ReferenceGrammar, "load", lambda: grammar):
            (found,) = confirm.confirm_parses([base], [[extension]], models, rules)
        return [(one.inserted[0].tag, one.production) for one in found]

    ((tag, production),) = confirmed(grammar, {"JJ", "NN"})
    assert tag == "JJ"
    assert production.reference_rhs == ("DT", "JJ", "NN")
    if proposed != "JJ":
        assert production.probability == 0.25
        assert not confirmed(grammar, {"NN"})
        assert not confirmed(ReferenceGrammar({("NP", ("DT", "NN")): 1}), {"JJ"})


AN = """
    old hour hourly honest honour heirloom heiress unidentified unimportant unimpressive uninspired
    unironic unintended unillustrated unissued unable uneven unusual unanswered upend usher umbrella
    udder utter onerous only ongoing  MRI FBI NBA HBO LSD SUV X-ray R-rated f-word e-mail
    F.B.I. 8 11 18 80 800 8,000 11,000 11th 18th 1850 1850s 8-year-old 18-wheeler eighth yttrium
    NGO mri
"""
A = """
    young one once oneness one-note once-great oneself university uniform unique unilateral
    unidirectional unanimous unicorn union useful useless usual user utopian utensil ubiquitous
    ukulele Ukrainian uranium European euphoric eulogy ewe house history hotel NATO NASA UFO US URL
    UN U-boat UNESCO T-shirt 1 10 100 110 180 1,100 1,850 12 7th Mr. Mrs yellow
"""


@pytest.mark.parametrize("word", [*AN.split(), *A.split(), "", "…", "--"])
def test_articles_agree_with_the_sound_of_the_word_behind_them(word: str) -> None:
    assert takes_an(word) == (word in AN.split())
    assert takes_an(f'"{word}"') == takes_an(word)
