"""The paper's running example: "Or both." becomes "Or both ways." and "Or both things."."""

from __future__ import annotations

import pytest

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Form
from s2lct.builder.config import form_defaults
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tree import Node, read_tree
from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.records import (
    FilledSentence,
    MaskedSentence,
    ParsedSeed,
    Sentence,
    Suggestion,
)
from s2lct.builder.stages import search
from s2lct.builder.stages.fill import fill
from s2lct.builder.stages.mask import mask, parse
from s2lct.builder.stages.transform import transform
from s2lct.builder.stages.validate import Rejection, validate

pytestmark = pytest.mark.shipped_models

TEXT = "Or both."
ENOUGH_TO_SEE_BOTH_WORDS = 1_000


@pytest.fixture(scope="module")
def form() -> Form:
    return load_capabilities(["LC1"])[0].form("paper")


@pytest.fixture(scope="module")
def parsed(form: Form) -> ParsedSeed:
    """The sentence as LC1 finds it, makes a seed of it and has it parsed."""
    sentences = [
        Sentence("example", "1", TEXT, "neutral"),
        Sentence("example", "2", "Or both wonderful actors.", "neutral"),
    ]
    models = load_tagger(), load_parser(), Lexicon.load()
    found = {
        slot: search.draw(sentences, rules, *models, most=10, seed=0)
        for slot, rules in form.search.items()
    }
    (seed,) = transform(found, load_capabilities(["LC1"])[0], form, seeds=10, seed=0)
    assert (seed.text, seed.template, seed.labels) == (TEXT, "", ("neutral",))
    (result,) = parse([seed], load_tagger(), load_parser())
    return result


@pytest.fixture(scope="module")
def masked(parsed: ParsedSeed) -> MaskedSentence:
    defaults = form_defaults("paper")
    drawn = mask(
        [parsed],
        ReferenceGrammar.load(),
        masked_per_seed=10_000,
        masks_per_sentence=defaults["masks_per_sentence"],
        order="random",
        tags=defaults["mask_tags"],
        seed=0,
        anywhere=True,
    )
    return next(
        one
        for one in drawn
        if one.text == "Or both {mask}." and [mask.tag for mask in one.masks] == ["NNS"]
    )


def test_it_parses_as_in_the_paper(parsed: ParsedSeed) -> None:
    def brackets(node: Node) -> str:
        inside = (
            parsed.tokens[node.start].text
            if node.is_word
            else " ".join(map(brackets, node.children))
        )
        return f"({node.label} {inside})"

    assert parsed.tree is not None
    assert brackets(read_tree(parsed.tree)) == "(FRAG (CC Or) (NP (DT both)) (. .))"


def test_the_noun_phrase_meets_a_longer_reference_production(masked: MaskedSentence) -> None:
    assert masked.production.lhs == "NP"
    assert masked.production.seed_rhs == ("DT",)
    assert masked.production.reference_rhs == ("DT", "NNS")


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
    form: Form,
    parsed: ParsedSeed,
    masked: MaskedSentence,
    word: str,
    rejection: Rejection | None,
) -> None:
    filled = FilledSentence(masked, (Suggestion((word,), -1.0),))
    expansions, rejected = validate(
        [filled], {parsed.seed.id: parsed}, {"LC1": form}, load_tagger(), Lexicon.load()
    )
    if rejection is None:
        assert [expansion.text for expansion in expansions] == [f"Or both {word}."]
        assert not rejected
    else:
        assert not expansions
        assert rejected == {("LC1", rejection): 1}


def test_it_is_filled_and_validated_to_the_papers_two_sentences(
    form: Form, parsed: ParsedSeed, masked: MaskedSentence
) -> None:
    filled = fill([masked], load_masked_language_model(), suggestions=ENOUGH_TO_SEE_BOTH_WORDS)
    expansions, rejected = validate(
        filled, {parsed.seed.id: parsed}, {"LC1": form}, load_tagger(), Lexicon.load()
    )
    assert {"Or both ways.", "Or both things."} <= {one.text for one in expansions}
    assert rejected["LC1", Rejection.PART_OF_SPEECH]
    assert rejected["LC1", Rejection.NOT_NEUTRAL]
