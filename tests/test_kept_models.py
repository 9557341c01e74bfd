"""Models whose answers are kept say what the models say, and are asked once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SENTENCES

from s2lct.builder.kept_models import KeptModels, LoadedModels
from s2lct.builder.models import EMBEDDED
from s2lct.cache import Cache
from s2lct.engines import InProcess

pytestmark = [pytest.mark.shipped_models, pytest.mark.usefixtures("own_cache")]
TEXTS = [text for texts in SENTENCES.values() for text in texts]
MASKED = [
    text.replace(" ", " {mask} ", 1) if number % 2 else f"{text[:-1]} {{mask}}."
    for number, text in enumerate(TEXTS * 2)
]
AMONG = [
    (None, frozenset(("long", "new", "short")), frozenset(("film", "scene")))[number % 3]
    for number in range(len(MASKED))
]


class Killed(InProcess[LoadedModels]):
    """Answers so many asks, in any order, and is killed then."""

    def __init__(self, worker: LoadedModels, answers: int) -> None:
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
def loaded() -> LoadedModels:
    return LoadedModels(EMBEDDED, EMBEDDED, EMBEDDED)


def answers_of(models: Any) -> tuple[Any, ...]:
    tokens = models.tagger.tag(TEXTS)
    return tokens, models.parser.parse([*tokens, ()]), models.mlm.suggest(MASKED, 5, AMONG)


def test_an_interrupted_run_goes_on_and_nothing_is_asked_twice(
    loaded: LoadedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TAGGED_AT_ONCE", "PARSED_AT_ONCE", "BATCHES_AT_ONCE"):
        monkeypatch.setattr(f"s2lct.builder.kept_models.{name}", 7)
    plain = answers_of(loaded)
    asks = 0
    with Cache() as cache:
        for answers in (2, 3, 4, 100):
            engine = Killed(loaded, answers)
            try:
                assert answers_of(KeptModels(loaded, engine, cache)) == plain
            except KeyboardInterrupt:
                asks += answers
            else:
                asks += answers - engine.left
        assert asks > 2 + 3 + 4
        assert answers_of(KeptModels(loaded, Killed(loaded, 0), cache)) == plain


def test_a_score_does_not_depend_on_what_was_asked_before(
    loaded: LoadedModels, tmp_path: Path
) -> None:
    with Cache(tmp_path / "cache.sqlite") as cache:
        models = KeptModels(loaded, InProcess(loaded), cache)
        models.mlm.suggest(MASKED[::3], 5)
        assert models.mlm.suggest(MASKED, 5, AMONG) == loaded.mlm.suggest(MASKED, 5, AMONG)
