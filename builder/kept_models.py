"""Tagger, parser and masked language model whose answers are kept, and given by an engine.

They are the models of `s2lct.builder.models` to whoever calls them. What was asked before, by this
build or another, is looked up; the rest is asked of workers, batch by batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TypeVar

from pydantic import TypeAdapter

from s2lct.builder.models import (
    ConstituencyParser,
    MaskedLanguageModel,
    Tagger,
    load_masked_language_model,
    load_parser,
    load_tagger,
)
from s2lct.builder.records import Token
from s2lct.cache import Cache, predictions
from s2lct.engines import Engine

TAGGED_AT_ONCE = 500
PARSED_AT_ONCE = 64
BATCHES_AT_ONCE = 8
"""Of masked texts: a worker computes several batches beside each other."""
Item = TypeVar("Item")
Words = tuple[tuple[str, float], ...]
Request = tuple[str, "frozenset[str] | None"]
_TOKENS = TypeAdapter(tuple[Token, ...])
_WORDS = TypeAdapter(list[Words])


@dataclass(frozen=True)
class LoadedModels:
    """The models of a build, each loaded when it is first needed; what a worker has.

    Attributes:
        tagger_name: of the tagger.
        parser_name: of the constituency parser.
        mlm_name: of the masked language model.
    """

    tagger_name: str
    parser_name: str
    mlm_name: str

    @cached_property
    def tagger(self) -> Tagger:
        """The tagger."""
        return load_tagger(self.tagger_name)

    @cached_property
    def parser(self) -> ConstituencyParser:
        """The constituency parser."""
        return load_parser(self.parser_name)

    @cached_property
    def mlm(self) -> MaskedLanguageModel:
        """The masked language model."""
        return load_masked_language_model(self.mlm_name)

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The tokens of each text."""
        return self.tagger.tag(texts)

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """The tree of each sentence."""
        return self.parser.parse(sentences)

    def suggest(self, given: tuple[int, Sequence[Request]]) -> list[Words]:
        """So many words for the first mask of each text, among those that it may be."""
        top, requests = given
        return self.mlm.suggest(
            [text for text, _ in requests], top, [among for _, among in requests]
        )


class KeptModels:
    """The models of a build, with what they answered before.

    Args:
        loaded: the models in this process, which are loaded for their fingerprints.
        engine: answers what is not known.
        cache: keeps answers.
    """

    def __init__(self, loaded: LoadedModels, engine: Engine[LoadedModels], cache: Cache) -> None:
        self.tagger: Tagger = KeptTagger(loaded, engine, cache)
        self.parser: ConstituencyParser = KeptParser(loaded, engine, cache)
        self.mlm: MaskedLanguageModel = KeptMaskedLM(loaded, engine, cache)


class _Kept:
    def __init__(self, loaded: LoadedModels, engine: Engine[LoadedModels], cache: Cache) -> None:
        self._loaded, self._engine, self._cache = loaded, engine, cache


class KeptTagger(_Kept):
    """A tagger whose answers are kept, by text."""

    @property
    def fingerprint(self) -> str:
        """The tagger's."""
        return self._loaded.tagger.fingerprint

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text; see `Tagger.tag`."""

        def tagged(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            parts = list(_parts(missing, TAGGED_AT_ONCE))
            for number, tokens in self._engine.map(LoadedModels.tag, parts):
                yield from zip(parts[number], map(_TOKENS.dump_json, tokens), strict=True)

        kept = predictions(self._cache, f"tags {self.fingerprint}", texts, tagged)
        return [_TOKENS.validate_json(kept[text]) for text in texts]


class KeptParser(_Kept):
    """A constituency parser whose answers are kept, by a sentence's tokens."""

    @property
    def fingerprint(self) -> str:
        """The parser's."""
        return self._loaded.parser.fingerprint

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees; see `ConstituencyParser.parse`."""
        keys = [_TOKENS.dump_json(tuple(sentence)).decode() for sentence in sentences]
        tokens_of = dict(zip(keys, sentences, strict=True))

        def parsed(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            parts = list(_parts(missing, PARSED_AT_ONCE))
            given = ([tokens_of[key] for key in part] for part in parts)
            for number, trees in self._engine.map(LoadedModels.parse, given):
                yield from zip(
                    parts[number], ((tree or "").encode() for tree in trees), strict=True
                )

        kept = predictions(self._cache, f"trees {self.fingerprint}", keys, parsed)
        return [kept[key].decode() or None for key in keys]


class KeptMaskedLM(_Kept):
    """A masked language model whose answers are kept, by batches.

    The last digits of a score depend on the texts that share a forward pass: a batch is kept, and
    found again, as a whole.
    """

    @property
    def fingerprint(self) -> str:
        """The masked language model's."""
        return self._loaded.mlm.fingerprint

    @property
    def words(self) -> Sequence[str]:
        """Every word that it can suggest."""
        return self._loaded.mlm.words

    def batches(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of texts that share a forward pass."""
        return self._loaded.mlm.batches(texts)

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        requests = list(zip(texts, among or [None] * len(texts), strict=True))
        of_text: dict[str, dict[Request, None]] = {}
        for request in requests:
            of_text.setdefault(request[0], {})[request] = None
        distinct = list(of_text)
        batches: dict[str, list[Request]] = {}
        for numbers in self.batches(distinct):
            batch = [request for number in numbers for request in of_text[distinct[number]]]
            batches[json.dumps([(text, _digest(words)) for text, words in batch])] = batch

        def suggested(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            parts = list(_parts(missing, BATCHES_AT_ONCE))
            given = ((top, [request for key in part for request in batches[key]]) for part in parts)
            for number, found in self._engine.map(LoadedModels.suggest, given):
                answers = iter(found)
                for key in parts[number]:
                    yield key, _WORDS.dump_json(list(islice(answers, len(batches[key]))))

        model = f"first {top} words {self.fingerprint}"
        kept = predictions(self._cache, model, list(batches), suggested)
        answers: dict[Request, Words] = {}
        for key, batch in batches.items():
            answers.update(zip(batch, _WORDS.validate_json(kept[key]), strict=True))
        # A text that is too long for the model is in no batch.
        return [answers.get(request, ()) for request in requests]


@lru_cache(maxsize=256)
def _digest(words: frozenset[str] | None) -> str:
    if words is None:
        return ""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:16]


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
