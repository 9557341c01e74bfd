"""The ranges of word-level and attention neurons on a reference corpus, cut into sections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2lct.analysis.coverage.activations import Activations, Booleans, Floats
from s2lct.analysis.coverage.criteria import Bits, Index, reference_texts
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.layers import Layers
from s2lct.analysis.coverage.memory import check_memory
from s2lct.analysis.coverage.section_neurons import BINS, PLACES, AtPlaces, AtWords, SectionNeurons
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError

_BYTES_OF_RANGE = 8  # low and high


@dataclass(frozen=True)
class TextSections:
    """The sections that one text's values lie in, one bit each; none where a value is outside.

    Attributes:
        at: where its tokens stand among the neurons.
        words: shape (layers, tokens, dim).
        pairs: shape (layers, heads, tokens, tokens).
    """

    at: AtPlaces | AtWords
    words: Bits
    pairs: Bits


class Sections:
    """Each neuron's range on a reference corpus, cut into sections.

    Attributes:
        neurons: which.
        low, high: ranges, float32, by kind: ``words``, shape (layers, n, dim), and ``pairs``, shape
            (layers, heads, n, n), where n is the number of places or vocabulary entries. Low is
            above high where the corpus had no value.
    """

    def __init__(
        self, neurons: SectionNeurons, low: dict[str, Floats], high: dict[str, Floats]
    ) -> None:
        self.neurons, self.low, self.high = neurons, low, high
        self._last: tuple[Activations, TextSections] | None = None

    @classmethod
    def unset(
        cls,
        encoder: EncoderModel,
        texts: Iterable[str],
        layers: Layers,
        *,
        bins: int = BINS,
        places: int = PLACES,
        vocabulary: Vocabulary | None = None,
    ) -> Sections:
        """No neuron has a range yet; `widen` gives them one.

        Args:
            encoder: the model.
            texts: that they will be widened by: no text is longer than so many places.
            layers: whose neurons; the pooler has none.
            bins: B, 1 to 64.
            places: tokens from this number on do not count.
            vocabulary: for neurons of words; None for neurons of places.

        Raises:
            AnalysisError: neurons that memory cannot hold.
        """
        if vocabulary is None:
            places = min(places, encoder.longest(texts))
            table, axis = np.zeros(0, dtype=np.int64), "places"
            smaller = "a smaller --places or fewer --layers"
        else:
            table, axis = vocabulary.table(encoder.tokenizer), "words"
            smaller = "a smaller --vocab, or --neurons places"
        neurons = SectionNeurons(layers, bins, places, vocabulary, table)
        config = encoder.model.config
        shapes = neurons.shapes(int(config.hidden_size), int(config.num_attention_heads))
        count = sum(int(np.prod(shape)) for shape in shapes.values())
        check_memory(
            count * (_BYTES_OF_RANGE + neurons.bits_type.itemsize),
            f"{count:,} neurons of {neurons.size:,} {axis} and their pairs",
            smaller,
        )
        return cls(
            neurons,
            {kind: np.full(shape, np.inf, dtype=np.float32) for kind, shape in shapes.items()},
            {kind: np.full(shape, -np.inf, dtype=np.float32) for kind, shape in shapes.items()},
        )

    @classmethod
    def of_texts(
        cls, encoder: EncoderModel, texts: Iterable[str], layers: Layers, **options: Any
    ) -> Sections:
        """Ranges from a reference corpus, in one pass; for the options see `unset`.

        Raises:
            AnalysisError: fewer than two different texts, or neurons that memory cannot hold.
        """
        texts = reference_texts(texts)
        sections = cls.unset(encoder, texts, layers, **options)
        for _, one in encoder.each(texts):
            sections.widen(one)
        return sections

    def widen(self, activations: Activations) -> None:
        """Take one text, whose activations alone these are, into the ranges."""
        at, values = self.neurons.of_text(activations)
        for ranges, extreme in ((self.low, np.minimum), (self.high, np.maximum)):
            for kind, by in (("words", at.by_word), ("pairs", at.by_pair)):
                where, own = by(values[kind], extreme)
                ranges[kind][where] = extreme(ranges[kind][where], own)

    def merged(self, other: Sections) -> Sections:
        """The ranges on both corpora together.

        Raises:
            AnalysisError: they are of other neurons.
        """
        if self.neurons.settings() != other.neurons.settings():
            raise AnalysisError(
                "ranges of different neurons",
                mend="take both with one model, one vocabulary or number of places, one --bins",
            )
        return Sections(
            self.neurons,
            {kind: np.minimum(low, other.low[kind]) for kind, low in self.low.items()},
            {kind: np.maximum(high, other.high[kind]) for kind, high in self.high.items()},
        )

    def varying(self, kind: str) -> Booleans:
        """Which neurons have a range to cut."""
        return np.asarray(self.low[kind] < self.high[kind])

    def of_text(self, activations: Activations) -> TextSections:
        """The sections that each token and pair of one text lies in.

        The last answer is kept: COVER and MNCOVER ask for the same.
        """
        if self._last is None or self._last[0] is not activations:
            at, values = self.neurons.of_text(activations)
            found = TextSections(
                at,
                self._bits(values["words"], "words", at.words),
                self._bits(values["pairs"], "pairs", at.pairs),
            )
            self._last = activations, found
        return self._last[1]

    def _bits(self, values: Floats, kind: str, where: Index) -> Bits:
        low, high, bins = self.low[kind][where], self.high[kind][where], self.neurons.bins
        # In double precision: the difference of two floats is then (nearly always) exact.
        span = np.subtract(high, low, dtype=np.float64)
        within = (values >= low) & (values <= high) & (span > 0)
        np.copyto(span, 1.0, where=~within)
        section = np.subtract(values, low, dtype=np.float64)
        section *= bins
        section /= span
        np.copyto(section, 0.0, where=~within)
        numbers = np.minimum(section, bins - 1).astype(np.uint8)
        one_bit = (np.uint64(1) << np.arange(bins, dtype=np.uint64)).astype(self.neurons.bits_type)
        bits: Bits = one_bit[numbers]
        bits *= within
        return bits
