"""Forms of verbs by the SPECIALIST lexicon, which the package lemminflect carries.

`import lemminflect` would import spaCy and read whole tables, which would take a fifth of the time
of a build whose predictions are cached. Here its modules are imported alone, and parse only the
lines of a word that is looked up.
"""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2lct.builder.records import Token


def verb_lemma(token: Token) -> str:
    """The base form of a verb: *be* of *'s*, *shine* of *shines*."""
    form = token.text.lower().replace("’", "'")
    if form in ("is", "are", "was", "were", "am", "'re", "'m", "be") or token.lemma == "be":
        return "be"
    if token.lemma == "have" or form in ("have", "has", "had", "'ve"):
        return "have"
    lemmas = _verb_lemmas(form)
    if token.tag in ("VB", "VBP") and form in lemmas:
        return form  # "bore" may be of "bear" too
    return lemmas[0] if lemmas else token.lemma.lower()


@cache
def past_tense(lemma: str) -> str | None:
    """The past tense of a verb: *gave* of *give*; None if unknown."""
    forms: tuple[str, ...] = _lemminflect()[1].getInflection(lemma, "VBD")
    return forms[0] if forms else None


@cache
def _verb_lemmas(form: str) -> tuple[str, ...]:
    lemmas: tuple[str, ...] = _lemminflect()[0].getLemma(form, upos="VERB")
    return lemmas


class _LazyTable:
    """A table of lemminflect that parses only the lines of a word that is looked up."""

    def __init__(self, path: str, parse: Callable[[BytesIO], Mapping[str, Any]]) -> None:
        self._parse = parse
        self._lines: defaultdict[bytes, bytes] = defaultdict(bytes)
        for line in gzip.decompress(Path(path).read_bytes()).splitlines(keepends=True):
            self._lines[line[: line.index(b",")]] += line

    def get(self, word: str, default: Any) -> Any:
        """The entry of a word, or the default."""
        lines = self._lines.get(word.encode(), b"")
        return self._parse(BytesIO(gzip.compress(lines, 1))).get(word, default)


@cache
def _lemminflect() -> tuple[Any, Any]:
    """The lemmatizer and the inflector of lemminflect."""
    spec = importlib.util.find_spec("lemminflect")
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    loaded_package = sys.modules.setdefault("lemminflect", package)
    try:
        module = importlib.import_module("lemminflect.core.Lemmatizer")
        lemmatizer = module.Lemmatizer()
        lemmatizer.lemma_dict = _LazyTable(lemmatizer.lemma_lu_fn, module.LemmaLUCodec.load)
        module = importlib.import_module("lemminflect.core.Inflections")
        inflector = module.Inflections()
        inflector.infl_dict = _LazyTable(inflector.infl_lu_fn, module.InflectionLUCodec.load)
    finally:
        if loaded_package is package:
            del sys.modules["lemminflect"]
    return lemmatizer, inflector
