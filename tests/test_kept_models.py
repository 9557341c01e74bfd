"""Models whose answers are kept say what the models say, and are asked once."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from conftest import SENTENCES
from hypothesis import given, settings
from hypothesis import strategies as st

from s2lct.builder.kept_models import CachedModels, FillRequest, LazyModels
from s2lct.builder.models import EMBEDDED, Words
from s2lct.cache import Cache
from s2lct.engines import InProcessEngine

pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]
TEXTS = [text for texts in SENTENCES.values() for text in texts]
MASKED = [
    text.replace(" ", " {mask} ", 1) if number % 2 else f"{text[:-1]} {{mask}}."
    for number, text in enumerate(TEXTS * 2)
]
Answers = dict[FillRequest, Words]
AMONG = [
    (None, frozenset(("long", "new", "short")), frozenset(("film", "scene")))[number % 3]
    for number in range(len(MASKED))
]
REQUESTS = set(zip(MASKED, AMONG, strict=True)) | {(text, None) for text in MASKED}


class Killed(InProcessEngine[LazyModels]):
    """Answers so many asks, in any order, and is killed then."""

    def __init__(self, worker: LazyModels, answers: int) -> None:
        super().__init__(worker)
        self.left = answers

    def map(self, ask: Callable[..., Any], given: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        pieces = list(enumerate(given))
        random.Random(0).shuffle(pieces)
        for number, piece in pieces:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield number, ask(self.worker, piece)


@pytest.fixture(scope="module")
def loaded() -> LazyModels:
    return LazyModels(EMBEDDED, EMBEDDED, EMBEDDED)


@pytest.fixture(scope="module")
def alone(loaded: LazyModels) -> Answers:
    """What fills each text, asked by itself."""
    return {
        request: loaded.model("mlm").suggest([request[0]], 5, [request[1]])[0]
        for request in REQUESTS
    }


def answers_of(models: Any) -> tuple[Any, ...]:
    tokens = models.tag(TEXTS)
    return tokens, models.parse([*tokens, ()]), models.suggest(MASKED, 5, AMONG)


def test_an_interrupted_run_goes_on_and_nothing_is_asked_twice(
    loaded: LazyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s2lct.builder.kept_models.TEXTS_PER_TASK", 7)
    tokens = loaded.tag(TEXTS)
    plain = tokens, loaded.parse([*tokens, ()]), loaded.model("mlm").suggest(MASKED, 5, AMONG)
    asks = 0
    with Cache() as cache:
        for answers in (2, 3, 4, 100):
            engine = Killed(loaded, answers)
            try:
                assert answers_of(CachedModels(loaded, engine, cache)) == plain
            except KeyboardInterrupt:
                asks += answers
            else:
                asks += answers - engine.left
        assert asks > 2 + 3 + 4
        assert answers_of(CachedModels(loaded, Killed(loaded, 0), cache)) == plain


def test_answers_of_other_packages_or_devices_do_not_count(
    loaded: LazyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(InProcessEngine[LazyModels]):
        device, asks = "cpu", 0

        def map(self, ask: Callable[..., Any], given: Iterable[Any]) -> Iterator[tuple[int, Any]]:
            self.asks += 1
            return super().map(ask, given)

    def asks(device: str) -> int:
        engine = Counting(loaded)
        engine.device = device
        with Cache() as cache:
            answers_of(CachedModels(loaded, engine, cache))
        return engine.asks

    assert asks("cpu") == asks("H100") == 3
    assert asks("cpu") == asks("H100") == 0
    for package in ("torch", "spacy", "benepar", "tokenizers", "transformers"):
        known = {"torch": "2.13.0"} | {package: "9.9"}
        monkeypatch.setattr("s2lct.builder.kept_models.predicting_versions", lambda v=known: v)
        assert asks("cpu") == 3
    monkeypatch.setattr("s2lct.builder.kept_models.source_fingerprint", "of {}".format)
    assert asks("cpu") == 3


@settings(max_examples=20)
@given(st.lists(st.sampled_from(sorted(REQUESTS, key=str)), max_size=40), st.data())
def test_fillings_depend_on_their_text_and_its_words_alone(
    loaded: LazyModels, alone: Answers, asked: list[FillRequest], data: st.DataObject
) -> None:
    texts, among = [text for text, _ in asked], [words for _, words in asked]
    size = data.draw(st.sampled_from((1, 8, 32, 128)), "texts of a worker")
    threads = data.draw(st.integers(1, 3), "threads")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    with (
        patch("s2lct.builder.kept_models.TEXTS_PER_TASK", size),
        tempfile.TemporaryDirectory() as folder,
        Cache(Path(folder) / "cache.sqlite") as cache,
    ):
        models = CachedModels(loaded, InProcessEngine(loaded), cache)
        models.suggest(texts[::2], 5, among[::2])
        found = models.suggest(texts, 5, among)
    torch.set_num_threads(before)
    assert found == [alone[request] for request in asked]
    assert found == loaded.model("mlm").suggest(texts, 5, among)


def test_what_fills_a_mask_is_ranked_as_rounded_and_by_alphabet(loaded: LazyModels) -> None:
    model = loaded.model("mlm")
    few = frozenset(model.words[::50])
    for text in MASKED[:6]:
        (found,), (of_few,) = model.suggest([text], 2_000), model.suggest([text], 10_000, [few])
        shared = [each for each in found if each[0] in few]
        assert shared and shared == [each for each in of_few if each in found]
        assert len(of_few) == len(few)
        for answer in (found, of_few):
            assert list(answer) == sorted(answer, key=lambda each: (-each[1], each[0]))
