"""The paper's running example: "Or both." becomes "Or both ways." and "Or both things."."""

from __future__ import annotations

import pytest

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tree import Node, read_tree
from s2lct.builder.models import load_parser, load_tagger
from s2lct.builder.stages.mask import mask
from s2lct.builder.stages.parse import parse
from s2lct.builder.stages.validate import Rejection, validate
from s2lct.suite.records import (
    FilledSentence,
    MaskedSentence,
    ParsedSeed,
    Region,
    Seed,
    Sentence,
    Suggestion,
)

pytestmark = pytest.mark.shipped_models

TEXT = "Or both."


@pytest.fixture(scope="module")
def parsed() -> ParsedSeed:
    sentence = Sentence("example", "1", TEXT, "neutral")
    region = Region("S", 0, len(TEXT), 0)
    seed = Seed("seed", "LC1", TEXT, ("neutral",), "neutral", "", (sentence,), (region,))
    (result,) = parse([seed], load_tagger(), load_parser())
    return result


@pytest.fixture(scope="module")
def masked(parsed: ParsedSeed) -> MaskedSentence:
    drawn = mask(
        [parsed],
        ReferenceGrammar.load(),
        masked_per_seed=10_000,
        masks_per_sentence=1,
        order="probability",
        tags=["NNS"],
        seed=0,
    )
    return next(one for one in drawn if one.text == "Or both {mask}.")


def test_it_parses_as_in_the_paper(parsed: ParsedSeed) -> None:
    (region,) = parsed.regions

    def brackets(node: Node) -> str:
        inside = (
            region.tokens[node.start].text
            if node.is_word
            else " ".join(map(brackets, node.children))
        )
        return f"({node.label} {inside})"

    assert brackets(read_tree(region.tree)) == "(FRAG (CC Or) (NP (DT both)) (. .))"


def test_the_noun_phrase_meets_a_longer_reference_production(masked: MaskedSentence) -> None:
    assert masked.production.lhs == "NP"
    assert masked.production.seed_rhs == ("DT",)
    assert masked.production.reference_rhs == ("DT", "NNS")
    assert [mask.tag for mask in masked.masks] == ["NNS"]


@pytest.mark.parametrize(
    ("word", "rejection"),
    [
        ("ways", None),
        ("things", None),
        ("film", Rejection.PART_OF_SPEECH),
        ("quickly", Rejection.PART_OF_SPEECH),
        ("pleasures", Rejection.NOT_NEUTRAL),
        ("disasters", Rejection.NOT_NEUTRAL),
    ],
)
def test_the_three_criteria_judge_its_fillers(
    parsed: ParsedSeed, masked: MaskedSentence, word: str, rejection: Rejection | None
) -> None:
    (capability,) = load_capabilities(["LC2"])
    forms = {"LC1": capability.form("paper").model_copy(update={"keep_search_rule": False})}
    filled = FilledSentence(masked, (Suggestion((word,), -1.0),))
    expansions, rejected = validate(
        [filled], {"seed": parsed}, forms, load_tagger(), Lexicon.load()
    )
    if rejection is None:
        assert [expansion.text for expansion in expansions] == [f"Or both {word}."]
        assert not rejected
    else:
        assert not expansions
        assert rejected == {("LC1", rejection): 1}
