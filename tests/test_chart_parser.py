"""The embedded constituency parser, with the weights that ship."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from nltk import Tree

from s2lct.builder.models import chart_parser
from s2lct.builder.models.chart_parser import ChartConstituencyParser
from s2lct.errors import ModelError

pytestmark = pytest.mark.shipped_models

WEIGHTS = Path(chart_parser.__file__).parent / "weights" / "parser.safetensors"
SENTENCES = [
    "Or both .",
    "A gorgeous , witty , seductive movie .",
    "These are stories that matter .",
    "Terrific",
    "The plot is thin and the jokes are old , but the cast saves it .",
    "I laughed .",
    "We cried .",
]


@pytest.fixture(scope="module")
def parser() -> ChartConstituencyParser:
    return ChartConstituencyParser(WEIGHTS)


def parse(parser: ChartConstituencyParser, sentences: Sequence[str]) -> list[str | None]:
    """Trees on one line each, of sentences whose tokens are separated by spaces."""
    words = [sentence.split() for sentence in sentences]
    spaces = [[w[i + 1 : i + 2] not in ([], ["."], [","]) for i in range(len(w))] for w in words]
    return [
        None if tree is None else " ".join(str(tree).split())
        for tree in parser.parse(words, spaces)
    ]


def test_a_fragment_is_parsed_as_one(parser: ChartConstituencyParser) -> None:
    assert parse(parser, ["Or both ."]) == ["(FRAG (CC Or) (NP (DT both)) (. .))"]


def test_a_plain_sentence_has_its_constituents_and_tags(parser: ChartConstituencyParser) -> None:
    (tree,) = parse(parser, ["The plot makes no sense ."])
    assert tree == ("(S (NP (DT The) (NN plot)) (VP (VBZ makes) (NP (DT no) (NN sense))) (. .))")


def test_a_relative_clause_opens_with_a_wh_phrase(parser: ChartConstituencyParser) -> None:
    (tree,) = parse(parser, ["These are stories that matter ."])
    assert tree is not None
    assert "(SBAR (WHNP (WDT that))" in tree


@pytest.mark.parametrize("contraction", [["is", "n't"], ["is", "n’t"]])
def test_contractions_share_a_word_piece(
    parser: ChartConstituencyParser, contraction: list[str]
) -> None:
    words = ["This", *contraction, "a", "good", "film", "."]
    (tree,) = parser.parse([words], [[True, False, True, True, True, False, False]])
    assert isinstance(tree, Tree)
    assert tree.leaves() == words
    assert "RB" in [tag for word, tag in tree.pos() if word == contraction[1]]


def test_trees_do_not_depend_on_the_batch(parser: ChartConstituencyParser) -> None:
    together = parse(parser, SENTENCES)
    assert [parse(parser, [sentence])[0] for sentence in SENTENCES] == together
    assert parse(parser, SENTENCES[::-1])[::-1] == together
    assert parse(ChartConstituencyParser(WEIGHTS, batch_tokens=1), SENTENCES) == together


def test_sentences_out_of_reach_have_no_tree(parser: ChartConstituencyParser) -> None:
    too_many_words = "good " * 400
    too_many_pieces = "incomprehensibilities " * 300
    trees = parse(parser, ["", too_many_words, "I laughed .", too_many_pieces])
    assert [tree is None for tree in trees] == [True, True, False, True]


def test_nothing_in_nothing_out(parser: ChartConstituencyParser) -> None:
    assert parser.parse([], []) == []


def test_words_the_tokenizer_drops_keep_their_leaves(parser: ChartConstituencyParser) -> None:
    words = ["\u200b", "fine", "\u200b", "\u200b"]
    (tree,) = parser.parse([words, ["\u200b"]], [[True] * 4, [False]])[:1]
    assert tree is not None
    assert tree.leaves() == words


def test_a_file_that_holds_no_weights_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "parser.safetensors"
    with pytest.raises(ModelError, match="parser"):
        ChartConstituencyParser(bad)
    bad.write_bytes(b"no weights")
    with pytest.raises(ModelError, match="parser"):
        ChartConstituencyParser(bad)
