"""The models of a build, whose answers are kept, so that nothing is asked twice.

What this build or another asked before is looked up; an engine asks the models for the rest, a few
texts of one length at a time.
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
"""Texts that a worker is asked about together."""
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Request = tuple[str, "frozenset[str] | None"]
"""A text with a mask, and the words that may fill it; None for any word."""
Extended = tuple[int, list[Extension]]
"""How many extensions of a sentence were confirmed, and those that may be used."""
_TOKENS = TypeAdapter(tuple[Token, ...])
_TREE = TypeAdapter(str | None)
_WORDS = TypeAdapter(Words)
_VOCABULARY = TypeAdapter(list[str])
_SCORES = TypeAdapter(tuple[float, ...])
_SOURCE = TypeAdapter(Source)
_EXTENDED = TypeAdapter(Extended)
_LOADERS: dict[Kind, Callable[[str], Any]] = {
    "tagger": load_tagger,
    "parser": load_parser,
    "mlm": load_masked_language_model,
}


class LoadedModels:
    """The models of a build, each loaded when it is first needed; what a worker has.

    Args:
        tagger, parser, mlm: names of the models.
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
        """What identifies a model; those that are shipped are not loaded for it."""
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

    def suggest(self, requests: Sequence[Request], top: int) -> list[Words]:
        """The likeliest words for the first mask of each text, ``top`` of those it may be."""
        texts, among = zip(*requests, strict=True)
        words: list[Words] = self.model("mlm").suggest(texts, top, among)
        return words


class Memo(Generic[Asked, Answer]):
    """A function whose answers are kept; each depends on what is asked alone.

    Args:
        cache: keeps answers.
        decided_by: everything that an answer depends on, apart from what is asked.
        answer: the function: yields the number of each thing asked with the answer, in any order.
        key: stands for what is asked.
        encoding: of answers, as JSON.
    """

    def __init__(
        self,
        cache: Cache,
        decided_by: str,
        answer: Callable[[Sequence[Asked]], Iterable[tuple[int, Answer]]],
        key: Callable[[Asked], str],
        encoding: TypeAdapter[Answer],
    ) -> None:
        self._cache, self._decided_by, self._encoding = cache, decided_by, encoding
        self._answer, self._key = answer, key

    def __call__(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answer to each thing asked."""
        keys = [self._key(each) for each in asked]
        by_key = dict(zip(keys, asked, strict=True))
        answers: dict[str, Answer] = {}

        def computed(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            for number, answer in self._answer([by_key[key] for key in missing]):
                answers[missing[number]] = answer
                yield missing[number], self._encoding.dump_json(answer)

        kept = predictions(self._cache, self._decided_by, keys, computed)
        for key in by_key.keys() - answers.keys():
            answers[key] = self._encoding.validate_json(kept[key])
        return [answers[key] for key in keys]


class KeptModels:
    """The models of a build, with what they answered before.

    Args:
        loaded: the models in this process.
        engine: asks them, here or elsewhere.
        cache: keeps answers.
    """

    def __init__(self, loaded: LoadedModels, engine: Engine[LoadedModels], cache: Cache) -> None:
        self._loaded, self._engine, self._cache = loaded, engine, cache

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text; see `Tagger.tag`."""
        answer = self._asked(LoadedModels.tag, lambda texts: [0] * len(texts))
        return self._memo("tags", "tagger", answer, str, _TOKENS)(texts)

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees; see `ConstituencyParser.parse`."""
        answer = self._asked(LoadedModels.parse, lambda sentences: list(map(len, sentences)))
        return self._memo("parses", "parser", answer, _tokens_key, _TREE)(sentences)

    def parsed(self, texts: Sequence[str]) -> list[ParsedSentence | None]:
        """Each text with its tokens and its tree; None where the parser gives none."""
        tokens = self.tag(texts)
        return [
            None if tree is None else ParsedSentence(text, words, tree)
            for text, words, tree in zip(texts, tokens, self.parse(tokens), strict=True)
        ]

    @cached_property
    def words(self) -> Sequence[str]:
        """Every word that the masked language model can suggest."""

        def listed(names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
            yield from ((n, list(self._loaded.model("mlm").words)) for n in range(len(names)))

        return self._memo("words", "mlm", listed, str, _VOCABULARY)(["all"])[0]

    def suggest(
        self, texts: Sequence[str], top: int, among: Sequence[frozenset[str] | None] | None = None
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        answer = self._asked(
            partial(LoadedModels.suggest, top=top),
            lambda requests: self._loaded.model("mlm").lengths([text for text, _ in requests]),
        )
        memo = self._memo(f"first {top} words", "mlm", answer, _request_key, _WORDS)
        requests = list(zip(texts, among or [None] * len(texts), strict=True))
        # Requests about one text stand side by side: it is read once for them.
        order = sorted(range(len(requests)), key=lambda number: _request_key(requests[number]))
        answers = dict(zip(order, memo([requests[number] for number in order]), strict=True))
        return [answers[number] for number in range(len(requests))]

    def scores(self, texts: Iterable[str]) -> list[tuple[float, ...]]:
        """What scorers of sentiment say of texts; see `lexicon.scores`."""
        decided_by = f"{predicting_versions()} {source_fingerprint('s2lct.builder.language')}"

        def scored(texts: Sequence[str]) -> Iterator[tuple[int, tuple[float, ...]]]:
            yield from enumerate(map(tuple, scores(texts)))

        return Memo(self._cache, f"scores {decided_by}", scored, str, _SCORES)(list(texts))

    def extended(
        self,
        decided_by: str,
        sources: Sequence[Source],
        extend: Callable[[Sequence[Source]], Iterable[tuple[int, Extended]]],
    ) -> list[Extended]:
        """What extends each sentence, computed by ``extend`` where it is not kept.

        Args:
            decided_by: everything that it depends on, apart from the sentence.
            sources: the sentences.
            extend: yields the number of each sentence with what extends it, in any order.
        """
        decided_by = f"extended {decided_by} {predicting_versions()} {self._engine.device}"
        return Memo(self._cache, decided_by, extend, _source_key, _EXTENDED)(sources)

    def _memo(
        self,
        what: str,
        kind: Kind,
        answer: Callable[[Sequence[Asked]], Iterable[tuple[int, Answer]]],
        key: Callable[[Asked], str],
        encoding: TypeAdapter[Answer],
    ) -> Memo[Asked, Answer]:
        """Answers of a model depend on weights, code, packages, and where they are computed."""
        code = source_fingerprint("s2lct.builder.models")
        weights = self._loaded.fingerprint(kind)
        decided_by = f"{what} {weights} {code} {predicting_versions()} {self._engine.device}"
        return Memo(self._cache, decided_by, answer, key, encoding)

    def _asked(
        self,
        ask: Callable[[LoadedModels, Sequence[Asked]], Sequence[Answer]],
        lengths: Callable[[Sequence[Asked]], Sequence[int]],
    ) -> Callable[[Sequence[Asked]], Iterator[tuple[int, Answer]]]:
        """A function that has the engine ask a model, equally long texts together."""

        def answers(asked: Sequence[Asked]) -> Iterator[tuple[int, Answer]]:
            parts = _parts(lengths(asked))
            pieces = ([asked[number] for number in part] for part in parts)
            for part, answered in self._engine.map(ask, pieces):
                yield from zip(parts[part], answered, strict=True)

        return answers


def _tokens_key(sentence: Sequence[Token]) -> str:
    return _TOKENS.dump_json(tuple(sentence)).decode()


def _source_key(source: Source) -> str:
    return _SOURCE.dump_json(source).decode()


@lru_cache(maxsize=256)
def _digest(words: frozenset[str] | None) -> str:
    if words is None:
        return ""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:16]


def _request_key(request: Request) -> str:
    return json.dumps([request[0], _digest(request[1])])


def _parts(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of texts in parts for workers, equally long ones in one part."""
    parts: list[list[int]] = []
    for equal in batches_by_length(range(len(lengths)), lengths, lambda _: TEXTS_PER_TASK):
        if not parts or len(parts[-1]) + len(equal) > TEXTS_PER_TASK:
            parts.append([])
        parts[-1] += equal
    return parts
