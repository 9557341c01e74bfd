"""A tagger, a parser and a masked language model that take no time: tables and a few rules.

They do what the protocols of `s2lct.builder.models` ask, as well as plain sentences about films
need it, so that tests of a build, and not of its models, load no weights. As a script it is the
command line with them: ``python stub_models.py build …``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from unittest.mock import patch
from zlib import crc32

from s2lct.builder.language.lexicon import vader
from s2lct.builder.models import EMBEDDED
from s2lct.builder.records import Token

_WORDS = {
    "DT": "a an the this that these those some all both every another",
    "IN": "of in by with for from about at on between through than as into",
    "TO": "to",
    "CC": "and or but",
    "PRP": "i you he she it we they",
    "PRP$": "my your his her its our their",
    "MD": "can could will would may must",
    "VB": "be have see do",
    "VBZ": "is has does makes gives tells ruins takes follows shows arrives reads",
    "VBP": "are give travel",
    "VBD": "was were had did filmed said",
    "VBN": "shot seen",
    "RB": "not n't never very too so also now here indeed again",
    "JJ": "beautiful brilliant dull ugly lovely charming happy fine small young great funny bad "
    "second awful wonderful boring horrible stupid terrible excellent touching gorgeous "
    "delightful former wise central worse old new unusual honest unique usual short rural other",
    "NN": "evening acting writing opening series mess",
}
_FILLINGS = (
    *("also", "camera", "central", "distinctly", "family", "feature", "female", "gas", "indeed"),
    *("local", "never", "opening", "police", "radio", "rural", "school", "service", "short"),
    *("student", "supporting", "the", "two", "ultimately", "wooden"),
)
_TAG_OF = {word: tag for tag, words in _WORDS.items() for word in words.split()}
_TAG_BY_SUFFIX = {"ly": "RB", "ing": "VBG", "ed": "VBN", "ous": "JJ", "ful": "JJ", "s": "NNS"}
_LEMMAS = {"n't": "not", "'s": "'s", "has": "have", "had": "have", "did": "do", "does": "do"}
_LEMMAS |= dict.fromkeys(("is", "are", "was", "were", "be"), "be")
_TOKEN = re.compile(r"n't|\w+?(?=n't)|'s|\w+(?:-\w+)*|[^\w\s]")
_PUNCTUATION = {".": ".", "!": ".", "?": ".", ",": ",", ":": ":", ";": ":", "(": "-LRB-"}
_NOUNS = ("NN", "NNS", "NNP", "CD")


class StubTagger:
    fingerprint = "stub tagger"

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        return [tuple(_token(match) for match in _TOKEN.finditer(text)) for text in texts]


def _token(match: re.Match[str]) -> Token:
    word, form = match[0], match[0].lower()
    if not word[0].isalnum() and form not in _TAG_OF:
        tag = _PUNCTUATION.get(word, "''")
    elif form.isdigit():
        tag = "CD"
    elif form in _TAG_OF:
        tag = _TAG_OF[form]
    elif word[0].isupper() and match.start() > 0:
        tag = "NNP"
    else:
        tag = next((tag for end, tag in _TAG_BY_SUFFIX.items() if form.endswith(end)), "NN")
    lemma = form.removesuffix("s") if tag in ("NNS", "VBZ") else form
    return Token(word, tag, _LEMMAS.get(form, lemma), match.start(), match.end())


class StubParser:
    fingerprint = "stub parser"

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        return [
            _Phrases([token.tag for token in sentence]).sentence()
            if 0 < len(sentence) <= 200
            else None
            for sentence in sentences
        ]


class _Phrases:
    """Reads tags from left to right, every phrase as long as it can be."""

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags, self.at = tags, 0

    def sees(self, *tags: str, ahead: int = 0) -> bool:
        return self.at + ahead < len(self.tags) and self.tags[self.at + ahead] in tags

    def word(self) -> str:
        self.at += 1
        return f"({self.tags[self.at - 1]} {self.at - 1})"

    def words(self, *tags: str) -> list[str]:
        found = []
        while self.sees(*tags):
            found.append(self.word())
        return found

    def sentence(self) -> str:
        parts: list[str] = []
        while self.at < len(self.tags):
            parts.append(self.verb_phrase() or self.noun_phrase() or self.word())
        labels = [part[1:].split()[0] for part in parts]
        is_clause = ("NP", "VP") in pairwise(labels)
        return f"({'S' if is_clause else 'FRAG'} {' '.join(parts)})"

    def verb_phrase(self) -> str:
        if not self.sees("MD", "VB", "VBZ", "VBP", "VBD", "VBN"):
            return ""
        parts = [self.word(), *self.words("RB")]
        parts.append(self.verb_phrase() or self.noun_phrase() or self.prepositional_phrase())
        return f"(VP {' '.join(filter(None, parts))})"

    def prepositional_phrase(self) -> str:
        if not self.sees("IN", "TO"):
            return ""
        return f"(PP {self.word()} {self.noun_phrase()})".replace(" )", ")")

    def noun_phrase(self) -> str:
        """A noun phrase with what belongs to it, or adjectives alone."""
        start = self.at
        parts = self.words("PRP") or self.words("DT", "PRP$", "CD")
        while self.sees("JJ", "VBG", "VBN", *_NOUNS) or (
            self.sees("RB") and self.sees("JJ", "VBN", ahead=1)
        ):
            parts.append(self.word())
            if self.sees("CC", ",") and self.sees("JJ", ahead=1):
                parts.append(self.word())
        if not parts:
            return ""
        nominal = self.tags[start] not in ("JJ", "RB") or self.tags[self.at - 1] in _NOUNS
        phrase = f"({'NP' if nominal else 'ADJP'} {' '.join(parts)})"
        if rest := self.prepositional_phrase():
            phrase = f"({'NP' if nominal else 'ADJP'} {phrase} {rest})"
        return phrase


class StubMaskedLM:
    """The same words for every mask, in an order of each text's own."""

    fingerprint = "stub masked language model"
    words: Sequence[str] = _FILLINGS

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        allowed_words: Sequence[frozenset[str] | None] | None = None,
    ) -> list[tuple[tuple[str, float], ...]]:
        return [
            tuple(sorted(self._scored(text, chosen), key=lambda one: (-one[1], one[0]))[:top])
            if len(text) < 2_000
            else ()
            for text, chosen in zip(texts, allowed_words or [None] * len(texts), strict=True)
        ]

    def _scored(self, text: str, chosen: frozenset[str] | None) -> list[tuple[str, float]]:
        return [
            (word, -0.1 - crc32(f"{word} {text}".encode()) % 50_000 / 10_000)
            for word in self.words
            if chosen is None or word in chosen
        ]


@contextmanager
def stub_models() -> Iterator[None]:
    """Meanwhile every embedded model is a stub; other names load what they name."""
    from s2lct.builder.models import opinions
    from s2lct.builder.models.benepar_parser import BeneparParser
    from s2lct.builder.models.masked_lm import TransformersMaskedLM
    from s2lct.builder.models.spacy_tagger import SpacyTagger
    from s2lct.builder.stages import soundness

    with ExitStack() as patches:
        for owner, stub in (
            (SpacyTagger, StubTagger()),
            (BeneparParser, StubParser()),
            (TransformersMaskedLM, StubMaskedLM()),
        ):
            load = partial(_loaded, stub, owner.load)
            patches.enter_context(patch.object(owner, "load", load))
        patches.enter_context(patch.object(opinions, "classifier_opinions", _by_vader))
        # The stub parser's trees are flatter than those of treebanks.
        patches.enter_context(patch.object(soundness, "is_sound", lambda *_: True))
        yield


def _by_vader(texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    yield from enumerate(map(vader(), texts))


def _loaded(stub: object, load: Callable[..., object], name: str, **options: object) -> object:
    return stub if name == EMBEDDED else load(name, **options)


if __name__ == "__main__":
    from s2lct.cli.main import main

    with stub_models():
        main()
