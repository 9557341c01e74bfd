"""Protocols of taggers, parsers and masked language models, and functions that load them."""

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
    """A model that was loaded by name."""

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the weights."""


class Tagger(Model, Protocol):
    """Splits natural text into tokens with Penn Treebank part-of-speech tags and lemmas."""

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The tokens of each text, without white space; no token has a space in it."""


class ConstituencyParser(Model, Protocol):
    """Turns tokens into constituency trees."""

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """A bracketed tree over token numbers for each sentence: ``(NP (DT 0) (NN 1))``.

        It is None for a sentence that is empty or too long for the parser.
        """


class MaskedLanguageModel(Model, Protocol):
    """Suggests words for masks."""

    @property
    def words(self) -> Sequence[str]:
        """All words that the model can suggest: those of its vocabulary that consist of letters."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The padded length of each text in tokens; batches of one length are the fastest."""

    def suggest(
        self,
        texts: Sequence[str],
        top: int,
        allowed_words: Sequence[frozenset[str] | None] | None = None,
    ) -> list[Words]:
        """The best words for the first ``{mask}`` of each text, each with its log probability.

        Log probabilities are natural, rounded to 4 places, and depend on the text alone.

        Args:
            texts: texts with a mask; one that is too long for the model gets no words.
            top: the number of words.
            allowed_words: for each text, the words to choose from; None for all.
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
    """Each text with its tokens and tree; None where the parser gives no tree."""
    from s2lct.builder.records import ParsedSentence

    tokens = tagger.tag(texts)
    return [
        None if tree is None else ParsedSentence(text, words, tree)
        for text, words, tree in zip(texts, tokens, parser.parse(tokens), strict=True)
    ]


def batches_by_length(
    indices: Iterable[int], lengths: Sequence[int], batch_size: Callable[[int], int]
) -> Iterator[list[int]]:
    """Batches of indices of equally long texts, short ones first, so that nothing is padded.

    Args:
        indices: the texts to batch.
        lengths: the length of each text.
        batch_size: gives the most texts in a batch by their length; a batch has at least one.
    """
    order = sorted(indices, key=lengths.__getitem__)
    for length, group in groupby(order, key=lengths.__getitem__):
        same_length, size = list(group), max(1, batch_size(length))
        for start in range(0, len(same_length), size):
            yield same_length[start : start + size]
