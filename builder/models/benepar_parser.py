"""Constituency parsing by benepar: the embedded head on MiniLM, or a published model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.models import EMBEDDED
from s2lct.builder.models.shipped import shipped
from s2lct.builder.records import Token
from s2lct.errors import ModelError
from s2lct.files import sha256_of

if TYPE_CHECKING:
    import nltk

WEIGHTS = Path(__file__).parent / "weights" / "parser.safetensors"


class BeneparParser:
    """A chart parser; trees carry token numbers at their leaves."""

    def __init__(self, parser: Any, name: str, weights: Path) -> None:
        self._parser = parser  # parses words with the spaces behind them
        self.name = name
        self._weights = weights

    @classmethod
    def load(cls, name: str) -> BeneparParser:
        """Load the embedded parser, a benepar model such as ``benepar_en3``, or a folder.

        Raises:
            ModelError: it is not installed or cannot be loaded.
        """
        if name == EMBEDDED:
            from s2lct.builder.models.chart_parser import ChartConstituencyParser

            return cls(ChartConstituencyParser(shipped(WEIGHTS)), name, WEIGHTS)
        from s2lct.builder.models.published_benepar import PublishedBenepar, model_folder

        folder = model_folder(name)
        return cls(PublishedBenepar(folder), name, folder / "benepar_model.bin")

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' file."""
        try:
            return sha256_of(self._weights)
        except OSError as error:
            raise ModelError(
                f"{self._weights}: {error}", hint="install the parser again"
            ) from error

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees over token numbers; see `ConstituencyParser.parse`."""
        words = [[token.text for token in sentence] for sentence in sentences]
        spaces = [
            [left.end < right.start for left, right in pairwise(sentence)]
            + [False] * bool(sentence)
            for sentence in sentences
        ]
        trees = self._parser.parse(words, spaces)
        return [None if tree is None else _numbered(tree, count()) for tree in trees]


def _numbered(node: nltk.Tree | str, numbers: count[int]) -> str:
    """A tree in brackets with token numbers for words."""
    if isinstance(node, str):
        return str(next(numbers))
    return f"({node.label() or 'TOP'} {' '.join(_numbered(child, numbers) for child in node)})"
