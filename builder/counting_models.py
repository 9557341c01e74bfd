"""The models of a build, counting what they are asked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from s2lct.builder.build_stages import Models
from s2lct.builder.config import BuildConfig
from s2lct.builder.models import ConstituencyParser, MaskedLanguageModel, Tagger
from s2lct.suite.records import Token

Made = TypeVar("Made")


class CountingModels(Models):
    """The models of a build, which count what they are asked, and the seconds that they load.

    Attributes:
        asked: how many texts were ``tagged`` and ``parsed``, and how many, ``masked``, the masked
            language model was asked.
        seconds: that loading took so far.
    """

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config)
        self.asked: Counter[str] = Counter()
        self.seconds = 0.0

    def _loaded(self, load: Callable[[], Made]) -> Made:
        start = time.perf_counter()
        model = load()
        self.seconds += time.perf_counter() - start
        return model

    @cached_property
    def tagger(self) -> Tagger:
        """The tagger."""
        return _CountingTagger(self._loaded(lambda: super(CountingModels, self).tagger), self.asked)

    @cached_property
    def parser(self) -> ConstituencyParser:
        """The constituency parser."""
        return _CountingParser(self._loaded(lambda: super(CountingModels, self).parser), self.asked)

    @cached_property
    def mlm(self) -> MaskedLanguageModel:
        """The masked language model."""
        return _CountingMaskedLM(self._loaded(lambda: super(CountingModels, self).mlm), self.asked)


class _CountingTagger:
    def __init__(self, tagger: Tagger, asked: Counter[str]) -> None:
        self._tagger, self._asked = tagger, asked
        self.fingerprint = tagger.fingerprint

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        self._asked["tagged"] += len(texts)
        return self._tagger.tag(texts)


class _CountingParser:
    def __init__(self, parser: ConstituencyParser, asked: Counter[str]) -> None:
        self._parser, self._asked = parser, asked
        self.fingerprint = parser.fingerprint

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        self._asked["parsed"] += len(sentences)
        return self._parser.parse(sentences)


class _CountingMaskedLM:
    def __init__(self, mlm: MaskedLanguageModel, asked: Counter[str]) -> None:
        self._mlm, self._asked = mlm, asked
        self.fingerprint = mlm.fingerprint

    @property
    def words(self) -> Sequence[str]:
        return self._mlm.words

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        self._asked["masked"] += len(texts)
        return self._mlm.suggest(texts, top, among)
