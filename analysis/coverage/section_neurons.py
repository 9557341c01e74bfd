"""Word-level and attention neurons, and where the tokens of a text stand among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from s2lct.analysis.coverage.activations import Activations, Floats, Integers
from s2lct.analysis.coverage.criteria import Bits, Index
from s2lct.analysis.coverage.layers import Layers
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError

BINS = 10
PLACES = 128
MOST_BINS = 64


class AtPlaces:
    """Where one text's tokens stand among the neurons of places, of which the first count."""

    def __init__(self, tokens: int) -> None:
        at = slice(0, tokens)
        self.words: Index = (slice(None), at)
        self.pairs: Index = (slice(None), slice(None), at, at)

    def by_word(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """Values of tokens, (layers, tokens, dim), as values of distinct neurons, and where."""
        return self.words, values

    def by_pair(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """Values of pairs, (layers, heads, tokens, tokens), likewise."""
        return self.pairs, values


class AtWords:
    """Where one text's tokens, as vocabulary entries, stand; one may come twice."""

    def __init__(self, entries: Integers) -> None:
        self.words: Index = (slice(None), entries)
        self.pairs: Index = (slice(None), slice(None), entries[:, None], entries[None, :])
        self._order = np.argsort(entries, kind="stable")
        self._distinct, self._starts = np.unique(entries[self._order], return_index=True)

    def by_word(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """As in `AtPlaces`; values of one word are put ``together``."""
        grouped = together.reduceat(values[:, self._order], self._starts, axis=1)
        return (slice(None), self._distinct), grouped

    def by_pair(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """As in `AtPlaces`."""
        grouped = together.reduceat(values[:, :, self._order], self._starts, axis=2)
        grouped = together.reduceat(grouped[..., self._order], self._starts, axis=3)
        distinct = self._distinct
        return (slice(None), slice(None), distinct[:, None], distinct[None, :]), grouped


@dataclass(frozen=True, eq=False)
class SectionNeurons:
    """Which word-level and attention neurons there are.

    Attributes:
        layers: whose.
        bins: B, sections of each neuron's range.
        places: for neurons of places: how many.
        vocabulary: for neurons of words; None for neurons of places.
        table: the vocabulary entry of each token id; empty for neurons of places.
    """

    layers: Layers
    bins: int
    places: int
    vocabulary: Vocabulary | None
    table: Integers

    def __post_init__(self) -> None:
        if not 1 <= self.bins <= MOST_BINS:
            raise AnalysisError(f"--bins {self.bins}", mend=f"pass 1 to {MOST_BINS}")
        if self.places < 1:
            raise AnalysisError(f"--places {self.places}", mend="pass 1 or more")
        if self.layers.pooler or not self.layers.attentions:
            raise AnalysisError(
                "--layers: pooler and embeddings have no attention neurons",
                mend="name encoder layers, such as --layers encoder",
            )

    @property
    def size(self) -> int:
        """How many places or words."""
        return self.places if self.vocabulary is None else self.vocabulary.size

    @property
    def bits_type(self) -> np.dtype[Any]:
        """The smallest unsigned integers that hold a bit for each section."""
        return next(
            np.dtype(kind)
            for kind in (np.uint8, np.uint16, np.uint32, np.uint64)
            if np.dtype(kind).itemsize * 8 >= self.bins
        )

    def shapes(self, dim: int, heads: int) -> dict[str, tuple[int, ...]]:
        """Shapes of what is kept for each neuron; see `Sections`."""
        return {
            "words": (len(self.layers.hidden), self.size, dim),
            "pairs": (len(self.layers.attentions), heads, self.size, self.size),
        }

    def of_text(self, activations: Activations) -> tuple[AtPlaces | AtWords, dict[str, Floats]]:
        """One text's values, and where its tokens stand among the neurons.

        Returns:
            Where, and ``words``, shape (layers, tokens, dim), and ``pairs``, shape (layers, heads,
            tokens, tokens).
        """
        tokens = activations.tokens
        at: AtPlaces | AtWords
        if self.vocabulary is None:
            tokens = min(tokens, self.places)
            at = AtPlaces(tokens)
        else:
            at = AtWords(self.table[activations.input_ids[0]])
        return at, {
            "words": np.stack([activations.hidden[n][0, :tokens] for n in self.layers.hidden]),
            "pairs": np.stack(
                [activations.attentions[n][0, :, :tokens, :tokens] for n in self.layers.attentions]
            ),
        }

    def settings(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "layers": asdict(self.layers),
            "bins": self.bins,
            "places": self.places,
            "vocabulary": None if self.vocabulary is None else list(self.vocabulary.pieces),
        }

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any], table: Integers) -> SectionNeurons:
        """The inverse of `settings`."""
        pieces = settings["vocabulary"]
        vocabulary = None if pieces is None else Vocabulary(tuple(pieces))
        layers = Layers.of_settings(settings["layers"])
        return cls(layers, settings["bins"], settings["places"], vocabulary, table)
