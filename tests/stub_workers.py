"""Workers with stub models, which note their process and take a moment; workers import this."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from stub_models import StubTagger, stub_models

from s2lct.builder import pipeline
from s2lct.builder.records import Token

_FOREVER: list[Any] = []


@dataclass(frozen=True)
class SlowStubs:
    """Makes a worker whose tagger leaves a file named by its process behind for each call."""

    make: Callable[[], Any]
    notes: Path

    def __call__(self) -> Any:
        stubs = stub_models()
        stubs.__enter__()
        _FOREVER.append(stubs)
        tag, notes = StubTagger.tag, self.notes

        def slowly(tagger: StubTagger, texts: Sequence[str]) -> list[tuple[Token, ...]]:
            (notes / f"{os.getpid()}-{os.environ.get('S2LCT_TEST_NODE', '')}").touch()
            time.sleep(0.2)
            return tag(tagger, texts)

        StubTagger.tag = slowly  # type: ignore[method-assign]
        return self.make()


@contextmanager
def slow_stub_workers(notes: Path) -> Iterator[None]:
    """Meanwhile builds on Ray have such workers."""
    plain = pipeline.RayEngine

    notes.mkdir(exist_ok=True)
    with patch.object(pipeline, "RayEngine", lambda make: plain(SlowStubs(make, notes))):
        yield
