"""Tagger, parser and masked language model whose answers are kept, and given by an engine.

They are the models of `s2lct.builder.models` to whoever calls them. What was asked before, by this
build or another, is looked up; the rest is asked of workers, a few texts of one length at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from threading import Lock, Thread, main_thread
from typing import Any, TypeVar

from pydantic import TypeAdapter

from s2lct.builder.language.lexicon import scores
from s2lct.builder.models import (
    EMBEDDED,
    ConstituencyParser,
    Kind,
    MaskedLanguageModel,
    Tagger,
    Words,
    load_masked_language_model,
    load_parser,
    load_tagger,
    same_lengths,
)
from s2lct.builder.models.shipped import embedded_fingerprint
from s2lct.builder.records import Extended, Source, Token
from s2lct.cache import Cache, predictions
from s2lct.engines import Engine
from s2lct.identity import predicting_versions, source_fingerprint

AT_ONCE = 64
"""Texts that a worker is asked about together."""
Given = TypeVar("Given")
Made = TypeVar("Made")
Request = tuple[str, "frozenset[str] | None"]
Confirmed = tuple[int, list[Extended]]
"""How many extensions of a sentence were confirmed, and those that may be used."""
_TOKENS = TypeAdapter(tuple[Token, ...])
_WORDS = TypeAdapter(Words)
_SOURCE = TypeAdapter(Source)
_CONFIRMED = TypeAdapter(Confirmed)


class LoadedModels:
    """The models of a build, each loaded when it is first needed; what a worker has.

    Args:
        tagger: name of the tagger.
        parser: name of the constituency parser.
        mlm: name of the masked language model.
    """

    def __init__(self, tagger: str, parser: str, mlm: str) -> None:
        self._names: dict[Kind, str] = {"tagger": tagger, "parser": parser, "mlm": mlm}
        self._loaded: dict[Kind, Any] = {}
        self._locks = {kind: Lock() for kind in self._names}
        # One at a time: what they import must not be imported by two threads at once.
        self._importing = Lock()
        self._beginning, self._loading = Lock(), Thread(target=self._load_all)

    def begin(self) -> None:
        """Load all of them meanwhile, one after the other."""
        with self._beginning:
            if not self._loading.ident:
                self._loading.start()

    def _load_all(self) -> None:
        for kind in self._names:
            # What cannot be loaded is an error where it is asked.
            with suppress(Exception):
                if main_thread().is_alive():
                    getattr(self, kind)

    def _once(self, kind: Kind, load: Callable[[str], Any]) -> Any:
        if kind not in self._loaded:
            with self._locks[kind]:
                if kind not in self._loaded:
                    with self._importing:
                        self._loaded[kind] = load(self._names[kind])
        return self._loaded[kind]

    @property
    def tagger(self) -> Tagger:
        """The tagger."""
        tagger: Tagger = self._once("tagger", load_tagger)
        return tagger

    @property
    def parser(self) -> ConstituencyParser:
        """The constituency parser."""
        parser: ConstituencyParser = self._once("parser", load_parser)
        return parser

    @property
    def mlm(self) -> MaskedLanguageModel:
        """The masked language model."""
        mlm: MaskedLanguageModel = self._once("mlm", load_masked_language_model)
        return mlm

    def fingerprint(self, kind: Kind) -> str:
        """What identifies a model; those that are shipped are not loaded for it."""
        if self._names[kind] == EMBEDDED:
            return embedded_fingerprint(kind)
        model: Tagger | ConstituencyParser | MaskedLanguageModel = getattr(self, kind)
        return model.fingerprint

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The tokens of each text; the other models are loaded meanwhile."""
        self.begin()
        return self.tagger.tag(texts)

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """The tree of each sentence."""
        return self.parser.parse(sentences)

    def suggest(self, requests: Sequence[Request], top: int) -> list[Words]:
        """So many words for the first mask of each text, among those that it may be."""
        texts, among = zip(*requests, strict=True)
        return self.mlm.suggest(texts, top, among)


class KeptModels:
    """The models of a build, with what they answered before.

    Args:
        loaded: the models in this process.
        engine: answers what is not known.
        cache: keeps answers.
    """

    def __init__(self, loaded: LoadedModels, engine: Engine[LoadedModels], cache: Cache) -> None:
        self.tagger: Tagger = KeptTagger(loaded, engine, cache)
        self.parser: ConstituencyParser = KeptParser(loaded, engine, cache)
        self.mlm: MaskedLanguageModel = KeptMaskedLM(loaded, engine, cache)
        self._cache, self._engine = cache, engine
        code = source_fingerprint("s2lct.builder.language")
        self._scorers = f"scores {predicting_versions()} {code}"

    def scores(self, texts: Iterable[str]) -> list[tuple[float, ...]]:
        """What scorers find of texts; see `lexicon.scores`."""
        asked = list(texts)

        def scored(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            yield from ((text, json.dumps(scores([text])[0]).encode()) for text in missing)

        found = predictions(self._cache, self._scorers, asked, scored)
        return [tuple(json.loads(found[text])) for text in asked]

    def extended(
        self,
        inputs: str,
        sources: Sequence[Source],
        extend: Callable[[Sequence[Source]], Iterator[tuple[Source, Confirmed]]],
    ) -> dict[str, Confirmed]:
        """What extends sentences of distinct texts, by text; ``extend`` finds what is not kept.

        ``inputs`` stands for everything that it depends on, apart from the sentence.
        """
        keys = {_SOURCE.dump_json(source).decode(): source for source in sources}

        def found(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            key_of = {keys[key].text: key for key in missing}
            for source, confirmed in extend([keys[key] for key in missing]):
                yield key_of[source.text], _CONFIRMED.dump_json(confirmed)

        model = f"extended {inputs} {predicting_versions()} {self._engine.device}"
        kept = predictions(self._cache, model, list(keys), found)
        return {keys[key].text: _CONFIRMED.validate_json(kept[key]) for key in keys}


class _Kept:
    kind: Kind

    def __init__(self, loaded: LoadedModels, engine: Engine[LoadedModels], cache: Cache) -> None:
        self._loaded, self._engine, self._cache = loaded, engine, cache

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self._loaded.fingerprint(self.kind)

    @property
    def _decides(self) -> str:
        """What an answer depends on: weights, code that asks, packages, and where they compute."""
        code = source_fingerprint("s2lct.builder.models")
        return f"{self.fingerprint} {code} {predicting_versions()} {self._engine.device}"

    def _answers(
        self,
        what: str,
        asked: Mapping[str, Given],
        ask: Callable[[LoadedModels, Sequence[Given]], Sequence[Made]],
        as_bytes: Callable[[Made], bytes],
        length: Callable[[Sequence[Given]], Sequence[int]],
    ) -> dict[str, bytes]:
        """What a model answers, by key: what is kept, and the rest, equally long ones together."""

        def answered(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            given = [asked[key] for key in missing]
            parts = _parts(length(given))
            pieces = ([given[number] for number in part] for part in parts)
            for number, made in self._engine.map(ask, pieces):
                for place, answer in zip(parts[number], made, strict=True):
                    yield missing[place], as_bytes(answer)

        return predictions(self._cache, f"{what} {self._decides}", list(asked), answered)


class KeptTagger(_Kept):
    """A tagger whose answers are kept, by text."""

    kind = "tagger"

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text; see `Tagger.tag`."""
        kept = self._answers(
            "tags",
            {text: text for text in texts},
            LoadedModels.tag,
            _TOKENS.dump_json,
            lambda given: [0] * len(given),
        )
        return [_TOKENS.validate_json(kept[text]) for text in texts]


class KeptParser(_Kept):
    """A constituency parser whose answers are kept, by a sentence's tokens."""

    kind = "parser"

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees; see `ConstituencyParser.parse`."""
        keys = [_TOKENS.dump_json(tuple(sentence)).decode() for sentence in sentences]
        kept = self._answers(
            "trees",
            dict(zip(keys, sentences, strict=True)),
            LoadedModels.parse,
            lambda tree: (tree or "").encode(),
            lambda given: list(map(len, given)),
        )
        return [kept[key].decode() or None for key in keys]


class KeptMaskedLM(_Kept):
    """A masked language model whose answers are kept, by text and the words to choose from."""

    kind = "mlm"

    @cached_property
    def words(self) -> Sequence[str]:
        """Every word that it can suggest."""

        def listed(names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            yield from ((name, json.dumps(self._loaded.mlm.words).encode()) for name in names)

        of = f"words {self._decides}"
        words: list[str] = json.loads(predictions(self._cache, of, ["all"], listed)["all"])
        return words

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How long each text is to the model."""
        return self._loaded.mlm.lengths(texts)

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """Words for the first mask of each text; see `MaskedLanguageModel.suggest`."""
        requests = list(zip(texts, among or [None] * len(texts), strict=True))
        keys = [json.dumps([text, _digest(words)]) for text, words in requests]
        # Requests about one text stand side by side: it is read once for them.
        asked = dict(zip(keys, requests, strict=True))
        kept = self._answers(
            f"first {top} words",
            {key: asked[key] for key in sorted(asked)},
            partial(LoadedModels.suggest, top=top),
            _WORDS.dump_json,
            lambda given: self.lengths([text for text, _ in given]),
        )
        return [_WORDS.validate_json(kept[key]) for key in keys]


@lru_cache(maxsize=256)
def _digest(words: frozenset[str] | None) -> str:
    if words is None:
        return ""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:16]


def _parts(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of texts in parts for workers, equally long ones in one part."""
    parts: list[list[int]] = []
    for equal in same_lengths(range(len(lengths)), lengths, lambda _: AT_ONCE):
        if not parts or len(parts[-1]) + len(equal) > AT_ONCE:
            parts.append([])
        parts[-1] += equal
    return parts
