"""The embedded constituency parser, and that batches of models are computed by one thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from s2lct.builder.models import (
    chart_parser,
    load_masked_language_model,
    load_parser,
    load_tagger,
)
from s2lct.builder.models.chart_parser import ChartConstituencyParser
from s2lct.builder.records import MASK

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


def test_constituents_and_tags(parser: ChartConstituencyParser) -> None:
    sentences = ["Or both .", "The plot makes no sense .", "These are stories that matter ."]
    fragment, plain, relative = parse(parser, sentences)
    assert fragment == "(FRAG (CC Or) (NP (DT both)) (. .))"
    assert plain == "(S (NP (DT The) (NN plot)) (VP (VBZ makes) (NP (DT no) (NN sense))) (. .))"
    assert "(SBAR (WHNP (WDT that))" in str(relative)


def test_trees_do_not_depend_on_the_batch(parser: ChartConstituencyParser) -> None:
    together = parse(parser, SENTENCES)
    assert [parse(parser, [sentence])[0] for sentence in SENTENCES] == together
    assert parse(parser, SENTENCES[::-1])[::-1] == together
    assert parse(ChartConstituencyParser(WEIGHTS, batch_tokens=1), SENTENCES) == together


def test_odd_sentences(parser: ChartConstituencyParser) -> None:
    too_many_words, too_many_pieces = "good " * 400, "incomprehensibilities " * 300
    trees = parse(parser, ["", too_many_words, "I laughed .", too_many_pieces])
    assert [tree is None for tree in trees] == [True, True, False, True]
    assert parser.parse([], []) == []
    words = ["\u200b", "fine", "\u200b", "\u200b"]  # of these the tokenizer drops three
    tree, _ = parser.parse([words, ["\u200b"]], [[True] * 4, [False]])
    assert tree is not None
    assert tree.leaves() == words


TEXTS = [f"The {MASK} film of number {number} is {'really ' * number}dull." for number in range(9)]


@pytest.fixture
def threads() -> Iterator[set[int]]:
    """How many threads computed a module, in a process that has three."""
    seen: set[int] = set()

    def note(*_: object) -> None:
        seen.add(torch.get_num_threads())

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    hook = register_module_forward_pre_hook(note)
    yield seen
    hook.remove()
    torch.set_num_threads(before)


def test_a_batch_is_computed_by_one(threads: set[int]) -> None:
    tokens = load_tagger().tag([text.replace(MASK, "old") for text in TEXTS])
    parser, model = load_parser(), load_masked_language_model()
    threads.clear()
    predicted = parser.parse(tokens), model.suggest(TEXTS, 5)
    assert threads == {1} and torch.get_num_threads() == 3
    torch.set_num_threads(1)
    assert (parser.parse(tokens), model.suggest(TEXTS, 5)) == predicted
