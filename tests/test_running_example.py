"""The paper's running example: "Or both." becomes "Or both ways." and "Or both things."."""

from __future__ import annotations

import pytest

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import form_defaults
from s2lct.builder.language.grammar import Node, ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.records import MaskedSentence, ParsedSentence, Seed, Sentence
from s2lct.builder.stages import search
from s2lct.builder.stages.compose import seeds_in_paper_form
from s2lct.builder.stages.confirm import confirmed_in_paper_form
from s2lct.builder.stages.mask import Filling, fill, mask

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
    models = load_tagger(), load_parser(), Lexicon.load()
    found = {
        slot: search.draw(sentences, rules, *models, most=10, seed=0)
        for slot, rules in FORM.search.items()
    }
    (seed,) = seeds_in_paper_form("LC1", FORM, found, most=10, seed=0)
    assert (seed.text, seed.template, seed.labels) == (TEXT, "", ("neutral",))
    return seed


@pytest.fixture(scope="module")
def parsed() -> ParsedSentence:
    (found,) = parsed_sentences([TEXT], load_tagger(), load_parser())
    assert found
    return found


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
    filled = [(seed, masked, [Filling((word,), -1.0)])]
    expansions = confirmed_in_paper_form(filled, {"LC1": FORM}, load_tagger(), Lexicon.load())
    assert [one.text for one in expansions] == [f"Or both {word}."] * passes


def test_it_is_filled_to_the_papers_two_sentences(seed: Seed, masked: MaskedSentence) -> None:
    (fillings,) = fill([masked], load_masked_language_model(), suggestions=1_000)
    expansions = confirmed_in_paper_form(
        [(seed, masked, fillings)], {"LC1": FORM}, load_tagger(), Lexicon.load()
    )
    assert {"Or both ways.", "Or both things."} <= {one.text for one in expansions}
    assert len(expansions) < len(fillings)
