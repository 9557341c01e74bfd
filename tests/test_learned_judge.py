"""The judge learned from annotations: what goes together, and what precision costs."""

from __future__ import annotations

import pytest
from test_judge import extended

from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.records import Extended
from s2lct.builder.stages.judge import Judge, figures

pytestmark = [pytest.mark.shipped_models]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("The [front] door is broken.", "The [minute] door is broken."),
        ("I like the [main] character.", "I like the [numbers] character."),
        ("The soup was [still] warm.", "The soup was [much] warm."),
    ],
)
def test_the_judge_tells_what_goes_together(better: str, worse: str) -> None:
    tagger, parser = load_tagger(), load_parser()
    pairs = []
    for marked in (better, worse):
        one = extended(marked).extension
        text = marked[: marked.index("[")] + marked[marked.index("]") + 2 :]
        base, longer = parsed_sentences([text, one.text], tagger, parser)
        assert base is not None
        assert longer is not None
        pairs.append((base, Extended(one, longer)))
    found = figures(pairs, load_masked_language_model(), ReferenceGrammar.load())
    more, less = Judge.load().probabilities(found)
    assert more > less


def test_more_precision_is_asked_of_what_is_more_likely() -> None:
    judge = Judge.load()
    asked = [judge.least(precision / 100) for precision in range(50, 100)]
    assert asked == sorted(asked)
    assert 0 < asked[0] < judge.least(0.85) < 1 < asked[-1]
