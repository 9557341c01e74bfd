"""Parser, tagger and masked language model behind small protocols, loaded once, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from s2lct.builder.records import ParsedSentence, Token

EMBEDDED = "embedded"
Kind = Literal["tagger", "parser", "mlm"]
Words = tuple[tuple[str, float], ...]
"""Words for a mask, each with its log probability."""


class Model(Protocol):
    """What is loaded by name."""

    @property
    def fingerprint(self) -> str:
        """What identifies the weights."""


class Tagger(Model, Protocol):
    """Splits natural text into tokens with Penn Treebank part-of-speech tags and lemmas."""

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text, offsets into it, white space left out; none goes across a space."""


class ConstituencyParser(Model, Protocol):
    """Turns tokens into constituency trees."""

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees whose leaves are token numbers: ``(NP (DT 0) (NN 1))``.

        None for a sentence that is empty or longer than the parser takes.
        """


class MaskedLanguageModel(Model, Protocol):
    """Proposes words for masked places."""

    @property
    def words(self) -> Sequence[str]:
        """Every word that it can suggest: the whole words of letters in its vocabulary."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How long each text is to the model: equally long ones are read fastest together."""

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        among: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """The ``top`` words for the first ``{mask}`` of each text, best first.

        Each comes with its natural log probability, rounded to 4 places, which depends on the text
        alone. ``among`` holds for each text the words to choose from, None for all. There are none
        for a text that is longer than the model takes.
        """


def load_tagger(name: str = EMBEDDED) -> Tagger:
    """The embedded tagger, or a spaCy pipeline by package name or path."""
    from s2lct.builder.models.spacy_tagger import SpacyTagger

    return SpacyTagger.load(name)


def load_parser(name: str = EMBEDDED) -> ConstituencyParser:
    """The embedded parser, or a benepar model by name or path."""
    from s2lct.builder.models.benepar_parser import BeneparParser

    return BeneparParser.load(name)


def load_masked_language_model(name: str = EMBEDDED) -> MaskedLanguageModel:
    """The embedded masked language model, or one from the Hub or a local folder."""
    from s2lct.builder.models.masked_lm import TransformersMaskedLM

    return TransformersMaskedLM.load(name)


def parsed_sentences(
    texts: Sequence[str], tagger: Tagger, parser: ConstituencyParser
) -> list[ParsedSentence | None]:
    """Each text with its tokens and its tree; None where the parser gives none."""
    from s2lct.builder.records import ParsedSentence

    tokens = tagger.tag(texts)
    return [
        None if tree is None else ParsedSentence(text, words, tree)
        for text, words, tree in zip(texts, tokens, parser.parse(tokens), strict=True)
    ]


def same_lengths(
    numbers: Iterable[int], lengths: Sequence[int], most: Callable[[int], int]
) -> Iterator[list[int]]:
    """Numbers of equally long texts, the short ones first: batches in which nothing is padded.

    ``most`` says how many texts of a length are taken at once; at least one is.
    """
    order = sorted(numbers, key=lengths.__getitem__)
    for length, group in groupby(order, key=lengths.__getitem__):
        equal, size = list(group), max(1, most(length))
        for start in range(0, len(equal), size):
            yield equal[start : start + size]
