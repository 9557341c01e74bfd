"""What models say does not hang on how many threads a process has: workers have one each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.records import MASK

pytestmark = pytest.mark.shipped_models

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


def test_a_batch_of_the_masked_language_model_is_computed_by_one(threads: set[int]) -> None:
    model = load_masked_language_model(batch_size=2)
    said = model.suggest(TEXTS, 5)
    assert threads == {1} and torch.get_num_threads() == 3
    torch.set_num_threads(1)
    assert model.suggest(TEXTS, 5) == said


def test_a_batch_of_the_parser_is_computed_by_one(threads: set[int]) -> None:
    tokens = load_tagger().tag([text.replace(MASK, "old") for text in TEXTS])
    parser = load_parser()
    threads.clear()
    trees = parser.parse(tokens)
    assert threads == {1} and torch.get_num_threads() == 3
    torch.set_num_threads(1)
    assert parser.parse(tokens) == trees
