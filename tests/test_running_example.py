"""The paper's running example: "Or both." becomes "Or both ways." and "Or both things."."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from stage_settings import models

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import form_defaults
from s2lct.builder.language.grammar import Node, ReferenceGrammar
from s2lct.builder.paper_form import confirm_expansions, draw, paper_seeds
from s2lct.builder.records import Extension, MaskedSentence, ParsedSentence, Seed, Sentence
from s2lct.builder.stages.mask import fill, mask

pytestmark = pytest.mark.shipped_models

TEXT = "Or both."
FORM = load_capabilities(["LC1"])[0].form("paper")


@pytest.fixture(scope="module")
def seed() -> Seed:
    """The sentence as LC1 finds it and makes a seed of it."""
    sentences = [
        Sentence("example", "1", TEXT, "neutral"),
        Sentence("example", "2", "Or both wonderful actors.", "neutral"),
    ]
    corpus: Any = SimpleNamespace(sentences=sentences, config=SimpleNamespace(seed=0))
    drawn = {slot: draw(corpus, rules, models(), 10) for slot, rules in FORM.search.items()}
    (seed,) = paper_seeds("LC1", FORM, drawn, max_seeds=10, random_seed=0)
    assert (seed.text, seed.template, seed.labels) == (TEXT, "", ("neutral",))
    return seed


@pytest.fixture(scope="module")
def parsed() -> ParsedSentence:
    (sentence,) = models().parse_texts([TEXT])
    assert sentence
    return sentence


@pytest.fixture(scope="module")
def masked(parsed: ParsedSentence) -> MaskedSentence:
    defaults = form_defaults("paper")
    drawn = mask(
        TEXT,
        parsed,
        ReferenceGrammar.load(),
        max_sentences=10_000,
        masks_per_sentence=defaults["masks_per_sentence"],
        tags=defaults["mask_tags"],
        random_seed=0,
        is_paper_form=True,
    )
    return next(one for one in drawn if (one.text, one.tags) == ("Or both {mask}.", ("NNS",)))


def test_its_noun_phrase_meets_a_longer_reference_production(
    parsed: ParsedSentence, masked: MaskedSentence
) -> None:
    def brackets(node: Node) -> str:
        word = parsed.tokens[node.start].text
        return f"({node.label} {word if node.is_word else ' '.join(map(brackets, node.children))})"

    assert brackets(parsed.tree) == "(FRAG (CC Or) (NP (DT both)) (. .))"
    production = masked.productions[0]
    assert (production.lhs, production.seed_rhs) == ("NP", ("DT",))
    assert production.reference_rhs == ("DT", "NNS")


def confirmed(
    seed: Seed, masked: MaskedSentence, fillings: list[tuple[tuple[str, ...], float]]
) -> list[Any]:
    """The expansions with these words in place of the mask that meet the three criteria."""
    extensions = [
        Extension(*masked.filled(words), "masked", masked.productions[0], score)
        for words, score in fillings
    ]
    return confirm_expansions([(seed, extensions)], {"LC1": FORM}, models())


@pytest.mark.parametrize(
    ("word", "passes"),
    [
        ("ways", True),
        ("things", True),
        ("film", False),
        ("pleasures", False),
    ],
)
def test_the_three_criteria_decide(
    seed: Seed, masked: MaskedSentence, word: str, passes: bool
) -> None:
    expansions = confirmed(seed, masked, [((word,), -1.0)])
    assert [one.text for one in expansions] == [f"Or both {word}."] * passes


def test_it_is_filled_to_the_papers_two_sentences(seed: Seed, masked: MaskedSentence) -> None:
    (fillings,) = fill([masked], models(), suggestions=1_000)
    expansions = confirmed(seed, masked, fillings)
    assert {"Or both ways.", "Or both things."} <= {one.text for one in expansions}
    assert len(expansions) < len(fillings)
