"""The models of a build with a cache of their answers, so that no answer is computed twice.

An engine computes only those answers that neither this build nor an earlier one computed, in
batches of equally long texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from s2lct.builder.language.lexicon import scores
from s2lct.builder.models import (
    EMBEDDED,
    Kind,
    Words,
    batches_by_length,
    load_masked_language_model,
    load_parser,
    load_tagger,
)
from s2lct.builder.models.shipped import embedded_fingerprint
from s2lct.builder.records import Extension, ParsedSentence, Source, Token
from s2lct.cache import Cache, predictions
from s2lct.engines import Engine
from s2lct.identity import predicting_versions, source_fingerprint

TEXTS_PER_TASK = 64
"""The maximum number of texts in a batch for a worker."""
Query = TypeVar("Query")
Answer = TypeVar("Answer")
FillRequest = tuple[str, "frozenset[str] | None"]
"""A text with a mask, and the words that may fill it; None for any word."""
ConfirmedExtensions = tuple[int, list[Extension]]
"""(number of confirmed extensions of a sentence, its usable extensions)."""
_TOKENS_JSON = TypeAdapter(tuple[Token, ...])
_TREE_JSON = TypeAdapter(str | None)
_WORDS_JSON = TypeAdapter(Words)
_VOCABULARY_JSON = TypeAdapter(list[str])
_SCORES_JSON = TypeAdapter(tuple[float, ...])
_SOURCE_JSON = TypeAdapter(Source)
_EXTENDED_JSON = TypeAdapter(ConfirmedExtensions)
_LOADERS: dict[Kind, Callable[[str], Any]] = {
    "tagger": load_tagger,
    "parser": load_parser,
    "mlm": load_masked_language_model,
}


class LazyModels:
    """The models of a build, each loaded on first use; every worker has one instance.

    Args:
        tagger, parser, mlm: the names of the models.
    """

    def __init__(self, tagger: str, parser: str, mlm: str) -> None:
        self._names: dict[Kind, str] = {"tagger": tagger, "parser": parser, "mlm": mlm}
        self._loaded: dict[Kind, Any] = {}
        # One at a time: two threads must not import the same libraries at once.
        self._lock = Lock()

    def model(self, kind: Kind) -> Any:
        """A tagger, parser or masked language model; see `s2lct.builder.models`."""
        with self._lock:
            if kind not in self._loaded:
                self._loaded[kind] = _LOADERS[kind](self._names[kind])
            return self._loaded[kind]

    def fingerprint(self, kind: Kind) -> str:
        """A model's fingerprint; shipped models are not loaded for it."""
        if self._names[kind] == EMBEDDED:
            return embedded_fingerprint(kind)
        return str(self.model(kind).fingerprint)

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The tokens of each text."""
        tokens: list[tuple[Token, ...]] = self.model("tagger").tag(texts)
        return tokens

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """The tree of each sentence."""
        trees: list[str | None] = self.model("parser").parse(sentences)
        return trees

    def suggest(self, requests: Sequence[FillRequest], top: int) -> list[Words]:
        """The ``top`` likeliest of the allowed words for the first mask of each text."""
        texts, among = zip(*requests, strict=True)
        words: list[Words] = self.model("mlm").suggest(texts, top, among)
        return words


class Memo(Generic[Query, Answer]):
    """A function with a cache; each answer depends only on its query and on ``dependencies``.

    Args:
        cache: stores the answers.
        dependencies: identifies everything that an answer depends on, apart from the query.
        compute: the function: yields (index of the query, answer), in any order.
        key: the cache key of a query.
        encoding: the JSON encoding of answers.
    """

    def __init__(
        self,
        cache: Cache,
        dependencies: str,
        compute: Callable[[Sequence[Query]], Iterable[tuple[int, Answer]]],
        key: Callable[[Query], str],
        encoding: TypeAdapter[Answer],
    ) -> None:
        self._cache, self._dependencies, self._encoding = cache, dependencies, encoding
        self._compute, self._key = compute, key

    def __call__(self, queries: Sequence[Query]) -> list[Answer]:
        """The answer to each query, in order."""
        keys = [self._key(query) for query in queries]
        query_of_key = dict(zip(keys, queries, strict=True))
        answers: dict[str, Answer] = {}

        def compute_missing(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            for index, answer in self._compute([query_of_key[key] for key in missing]):
                answers[missing[index]] = answer
                yield missing[index], self._encoding.dump_json(answer)

        cached = predictions(self._cache, self._dependencies, keys, compute_missing)
        for key in query_of_key.keys() - answers.keys():
            answers[key] = self._encoding.validate_json(cached[key])
        return [answers[key] for key in keys]


class CachedModels:
    """The models of a build with a cache of their answers.

    Args:
        loaded: the models in this process.
        engine: runs models, in this process or in workers.
        cache: stores the answers.
    """

    def __init__(self, models: LazyModels, engine: Engine[LazyModels], cache: Cache) -> None:
        self._models, self._engine, self._cache = models, engine, cache

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text; see `Tagger.tag`."""
        compute = self._with_engine(LazyModels.tag, lambda texts: [0] * len(texts))
        return self._memo("tags", "tagger", compute, str, _TOKENS_JSON)(texts)

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees; see `ConstituencyParser.parse`."""
        compute = self._with_engine(LazyModels.parse, lambda sentences: list(map(len, sentences)))
        return self._memo("parses", "parser", compute, _tokens_key, _TREE_JSON)(sentences)

    def parse_texts(self, texts: Sequence[str]) -> list[ParsedSentence | None]:
        """The tagged and parsed text for each text; None if the parser finds no tree."""
        tokens = self.tag(texts)
        return [
            None if tree is None else ParsedSentence(text, words, tree)
            for text, words, tree in zip(texts, tokens, self.parse(tokens), strict=True)
        ]

    @cached_property
    def words(self) -> Sequence[str]:
        """Every word that the masked language model can suggest."""

        def list_words(queries: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
            yield from ((n, list(self._models.model("mlm").words)) for n in range(len(queries)))

        return self._memo("words", "mlm", list_words, str, _VOCABULARY_JSON)(["all"])[0]

    def suggest(
        self, texts: Sequence[str], top: int, among: Sequence[frozenset[str] | None] | None = None
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        compute = self._with_engine(
            partial(LazyModels.suggest, top=top),
            lambda requests: self._models.model("mlm").lengths([text for text, _ in requests]),
        )
        memo = self._memo(f"first {top} words", "mlm", compute, _request_key, _WORDS_JSON)
        requests = list(zip(texts, among or [None] * len(texts), strict=True))
        # Requests about one text stand side by side: it is read once for them.
        order = sorted(range(len(requests)), key=lambda index: _request_key(requests[index]))
        answers = dict(zip(order, memo([requests[index] for index in order]), strict=True))
        return [answers[index] for index in range(len(requests))]

    def scores(self, texts: Iterable[str]) -> list[tuple[float, ...]]:
        """The sentiment scores of each text, one per scorer; see `lexicon.scores`."""
        dependencies = f"{predicting_versions()} {source_fingerprint('s2lct.builder.language')}"

        def score_texts(texts: Sequence[str]) -> Iterator[tuple[int, tuple[float, ...]]]:
            yield from enumerate(map(tuple, scores(texts)))

        memo = Memo(self._cache, f"scores {dependencies}", score_texts, str, _SCORES_JSON)
        return memo(list(texts))

    def cached_extensions(
        self,
        dependencies: str,
        sources: Sequence[Source],
        extend: Callable[[Sequence[Source]], Iterable[tuple[int, ConfirmedExtensions]]],
    ) -> list[ConfirmedExtensions]:
        """The extensions of each sentence, from the cache or else computed by ``extend``.

        Args:
            dependencies: identifies everything that extensions depend on, apart from the sentence.
            sources: the sentences.
            extend: yields (index of the sentence, its extensions), in any order.
        """
        dependencies = f"extended {dependencies} {predicting_versions()} {self._engine.device}"
        return Memo(self._cache, dependencies, extend, _source_key, _EXTENDED_JSON)(sources)

    def _memo(
        self,
        answers: str,
        kind: Kind,
        compute: Callable[[Sequence[Query]], Iterable[tuple[int, Answer]]],
        key: Callable[[Query], str],
        encoding: TypeAdapter[Answer],
    ) -> Memo[Query, Answer]:
        """A `Memo` for a model, whose key covers weights, code, package versions and device."""
        code = source_fingerprint("s2lct.builder.models")
        weights = self._models.fingerprint(kind)
        dependencies = f"{answers} {weights} {code} {predicting_versions()} {self._engine.device}"
        return Memo(self._cache, dependencies, compute, key, encoding)

    def _with_engine(
        self,
        ask: Callable[[LazyModels, Sequence[Query]], Sequence[Answer]],
        lengths: Callable[[Sequence[Query]], Sequence[int]],
    ) -> Callable[[Sequence[Query]], Iterator[tuple[int, Answer]]]:
        """Wrap ``ask`` so that the engine runs it on batches of equally long queries."""

        def compute(queries: Sequence[Query]) -> Iterator[tuple[int, Answer]]:
            batches = _batches_for_workers(lengths(queries))
            batches_of_queries = ([queries[index] for index in batch] for batch in batches)
            for number, answers in self._engine.map(ask, batches_of_queries):
                yield from zip(batches[number], answers, strict=True)

        return compute


def _tokens_key(sentence: Sequence[Token]) -> str:
    return _TOKENS_JSON.dump_json(tuple(sentence)).decode()


def _source_key(source: Source) -> str:
    return _SOURCE_JSON.dump_json(source).decode()


@lru_cache(maxsize=256)
def _digest(words: frozenset[str] | None) -> str:
    if words is None:
        return ""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:16]


def _request_key(request: FillRequest) -> str:
    return json.dumps([request[0], _digest(request[1])])


def _batches_for_workers(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of texts in batches of at most `TEXTS_PER_TASK`, equally long texts together."""
    batches: list[list[int]] = []
    for same_length in batches_by_length(range(len(lengths)), lengths, lambda _: TEXTS_PER_TASK):
        if not batches or len(batches[-1]) + len(same_length) > TEXTS_PER_TASK:
            batches.append([])
        batches[-1] += same_length
    return batches
