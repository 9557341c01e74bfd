"""COVER and MNCOVER: k-multisection coverage of word-level and attention neurons.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), sections 3.1 and 3.2, equations 4 to 7, after Ma et al. 2018 (DeepGauge).

- A word-level neuron is h_{d,t}^l: dimension d of layer l's hidden state at t. An attention neuron
  is α_{ij}^{l,k}: how much j weighs for i in head k of layer l.
- Each neuron's range [low, high] on a reference corpus is cut into B sections of equal width. A
  value v lies in section ⌊(v − low) · B / (high − low)⌋, and high itself in the last one: an inner
  edge belongs to the upper section. A value outside [low, high] covers nothing.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)): C counts covered sections, N neurons, of words and of
  attention (eq. 4 to 6).
- MNCOVER (eq. 7) is the same, but the word x_t covers sections only where M_W[x_t] = 1, and the
  pair (x_i, x_j) only where M_A[x_i, x_j] = 1.

The paper's text leaves open, and is read here, as follows. t, i and j are places in the text
(``places``), as in the notation h_{d,t}: memory does not depend on the vocabulary, and masks choose
which occurrences count while the neurons stay the same. In the other reading (``words``) they are
entries of the task vocabulary: the neurons of words and pairs that the masks leave out do not
exist. λ weighs attention neurons in numerator and denominator, so that coverage stays in [0, 1]. A
neuron that never varied on the reference corpus (or was never reached by it: a place behind its
longest text, a word it lacks) has no range to cut: it is counted in neither C nor N. Ranges are
taken over all tokens, masked or not. Special tokens are tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.analysis.coverage.activations import (
    Activations,
    Booleans,
    EncoderModel,
    Floats,
    Integers,
    Vocabulary,
)
from s2lct.analysis.coverage.criteria import (
    Advance,
    Bits,
    Coverage,
    Index,
    Layers,
    Marks,
    count_bits,
    reference_texts,
)
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.memory import check_memory
from s2lct.errors import AnalysisError

BINS = 10
PLACES = 128
MOST_BINS = 64
_BYTES_OF_RANGE = 8  # low and high
_KINDS = ("words", "pairs")


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
    def axis(self) -> str:
        """What t, i and j number: ``places`` or ``words``."""
        return "places" if self.vocabulary is None else "words"

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

    def of_text(self, activations: Activations) -> tuple[_AtPlaces | _AtWords, dict[str, Floats]]:
        """One text's values, and where its tokens stand among the neurons.

        Returns:
            Where, and ``words``, shape (layers, tokens, dim), and ``pairs``, shape (layers, heads,
            tokens, tokens).
        """
        at: _AtPlaces | _AtWords
        if self.vocabulary is None:
            tokens = min(activations.tokens, self.places)
            at = _AtPlaces(tokens)
        else:
            tokens = activations.tokens
            at = _AtWords(self.table[activations.input_ids[0]])
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
        return cls(
            Layers(tuple(settings["layers"]["hidden"]), settings["layers"]["pooler"]),
            settings["bins"],
            settings["places"],
            None if pieces is None else Vocabulary(tuple(pieces)),
            table,
        )


@dataclass(frozen=True)
class TextSections:
    """The sections that one text's values lie in, one bit each; none where a value is outside.

    Attributes:
        at: where its tokens stand among the neurons.
        words: shape (layers, tokens, dim).
        pairs: shape (layers, heads, tokens, tokens).
    """

    at: _AtPlaces | _AtWords
    words: Bits
    pairs: Bits


class _AtPlaces:
    """Where one text's tokens stand among the neurons of places.

    Args:
        tokens: how many of its tokens count, the first ones.
    """

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


class _AtWords:
    """Where one text's tokens stand among the neurons of words; a word may come twice.

    Args:
        entries: the tokens' vocabulary entries, shape (tokens,).
    """

    def __init__(self, entries: Integers) -> None:
        self.words: Index = (slice(None), entries)
        self.pairs: Index = (slice(None), slice(None), entries[:, None], entries[None, :])
        self._order = np.argsort(entries, kind="stable")
        self._distinct, self._starts = np.unique(entries[self._order], return_index=True)

    def by_word(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """As in `_AtPlaces`; values of one word are put ``together``."""
        grouped = together.reduceat(values[:, self._order], self._starts, axis=1)
        return (slice(None), self._distinct), grouped

    def by_pair(self, values: Bits, together: np.ufunc) -> tuple[Index, Bits]:
        """As in `_AtPlaces`."""
        grouped = together.reduceat(values[:, :, self._order], self._starts, axis=2)
        grouped = together.reduceat(grouped[..., self._order], self._starts, axis=3)
        distinct = self._distinct
        return (slice(None), slice(None), distinct[:, None], distinct[None, :]), grouped


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
        layers: Layers,
        *,
        bins: int = BINS,
        places: int = PLACES,
        vocabulary: Vocabulary | None = None,
    ) -> Sections:
        """No neuron has a range yet; `widen` gives them one.

        Args:
            encoder: the model.
            layers: whose neurons; the pooler has none.
            bins: B, 1 to 64.
            places: tokens from this number on do not count.
            vocabulary: for neurons of words; None for neurons of places.

        Raises:
            AnalysisError: neurons that memory cannot hold.
        """
        table = np.zeros(0, dtype=np.int64)
        if vocabulary is not None:
            table = vocabulary.table(encoder.tokenizer)
        neurons = SectionNeurons(layers, bins, places, vocabulary, table)
        config = encoder.model.config
        shapes = neurons.shapes(int(config.hidden_size), int(config.num_attention_heads))
        count = sum(int(np.prod(shape)) for shape in shapes.values())
        check_memory(
            count * (_BYTES_OF_RANGE + neurons.bits_type.itemsize),
            f"{count:,} neurons of {neurons.size:,} {neurons.axis} and their pairs",
            "a smaller --vocab, or --neurons places"
            if vocabulary
            else "a smaller --places or fewer --layers",
        )
        return cls(
            neurons,
            {kind: np.full(shape, np.inf, dtype=np.float32) for kind, shape in shapes.items()},
            {kind: np.full(shape, -np.inf, dtype=np.float32) for kind, shape in shapes.items()},
        )

    @classmethod
    def of_texts(
        cls,
        encoder: EncoderModel,
        texts: Iterable[str],
        layers: Layers,
        *,
        bins: int = BINS,
        places: int = PLACES,
        vocabulary: Vocabulary | None = None,
        advance: Advance | None = None,
    ) -> Sections:
        """Ranges from a reference corpus, in one pass.

        Args:
            encoder: the model.
            texts: the reference corpus, such as the training set.
            layers: see `unset`.
            bins: likewise.
            places: likewise, but never more than the longest reference text has.
            vocabulary: likewise.
            advance: told how many texts were done.

        Raises:
            AnalysisError: fewer than two different texts, or neurons that memory cannot hold.
        """
        texts = reference_texts(texts)
        if vocabulary is None:
            places = min(places, encoder.longest(texts))
        sections = cls.unset(encoder, layers, bins=bins, places=places, vocabulary=vocabulary)
        for batch in encoder.activations(texts):
            for row in range(len(batch.numbers)):
                sections.widen(batch.one(row))
            if advance:
                advance(len(batch.numbers))
        return sections

    def widen(self, activations: Activations) -> None:
        """Take one text into the ranges.

        Args:
            activations: of that text alone.
        """
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


class SectionCoverage(Coverage):
    """COVER, or MNCOVER where masks are given; see the module's text for both.

    Args:
        model: fingerprint of the model.
        sections: of the neurons' ranges.
        masks: which words and pairs count; None for all. With neurons of words, the masks'
            vocabulary has to be theirs.
        attention_weight: λ, 0 or more.
        table: the masks' vocabulary entry of each token id; see `Vocabulary.table`.
    """

    kind = "sections"

    def __init__(
        self,
        model: str,
        sections: Sections,
        masks: Masks | None = None,
        attention_weight: float = 1.0,
        table: Integers | None = None,
    ) -> None:
        neurons = sections.neurons
        state = {
            kind: np.zeros(low.shape, dtype=neurons.bits_type) for kind, low in sections.low.items()
        }
        super().__init__(model, state)
        if not attention_weight >= 0:
            raise AnalysisError(f"λ is {attention_weight}", mend="pass 0 or more")
        if masks is not None and table is None:
            raise AnalysisError("masks without a table of token ids", mend="pass Vocabulary.table")
        if masks and neurons.vocabulary and masks.vocabulary != neurons.vocabulary:
            raise AnalysisError(
                "the masks' vocabulary is not that of the neurons",
                mend="take the neurons' ranges with the masks' vocabulary",
            )
        self.sections, self.masks, self.attention_weight = sections, masks, attention_weight
        self.table = np.zeros(0, dtype=np.int64) if table is None else table

    @classmethod
    def of_model(
        cls,
        encoder: EncoderModel,
        sections: Sections,
        masks: Masks | None = None,
        attention_weight: float = 1.0,
    ) -> SectionCoverage:
        """The metric for a model.

        Raises:
            AnalysisError: masks or λ that do not fit.
        """
        table = masks.vocabulary.table(encoder.tokenizer) if masks else None
        return cls(encoder.fingerprint, sections, masks, attention_weight, table)

    def marks(self, activations: Activations) -> Marks:
        """The sections that one text lies in."""
        text = self.sections.of_text(activations)
        words, pairs = text.words, text.pairs
        if self.masks is not None:
            tokens = self.table[activations.input_ids[0, : words.shape[1]]]
            words = words * self.masks.tokens(tokens)[:, None]
            pairs = pairs * self.masks.token_pairs(tokens)
        return {
            "words": text.at.by_word(words, np.bitwise_or),
            "pairs": text.at.by_pair(pairs, np.bitwise_or),
        }

    @cached_property
    def _sections(self) -> float:
        """B (N_w + λ N_a)."""
        words, pairs = self.sections.varying("words"), self.sections.varying("pairs")
        if self.masks is not None and self.sections.neurons.vocabulary is not None:
            words = words & self.masks.words[:, None]
            pairs = pairs & self.masks.pairs
        count = int(words.sum()) + self.attention_weight * int(pairs.sum())
        if not count:
            raise AnalysisError(
                "no neuron has a range to cut", mend="pass a larger reference corpus, other masks"
            )
        return self.sections.neurons.bins * count

    def weight(self, part: str) -> float:
        """A section's share of all."""
        return (self.attention_weight if part == "pairs" else 1.0) / self._sections

    @property
    def values(self) -> dict[str, float]:
        """COVER or MNCOVER."""
        covered = count_bits(self.state["words"]) + self.attention_weight * count_bits(
            self.state["pairs"]
        )
        return {"COVER" if self.masks is None else "MNCOVER": covered / self._sections}

    def settings(self) -> dict[str, Any]:
        """Which neurons, λ, and the masks' vocabulary."""
        return self.sections.neurons.settings() | {
            "attention_weight": self.attention_weight,
            "masked": None if self.masks is None else list(self.masks.vocabulary.pieces),
        }

    def constants(self) -> dict[str, npt.NDArray[Any]]:
        """Ranges, masks and tables."""
        constants: dict[str, npt.NDArray[Any]] = {
            "neurons_table": self.sections.neurons.table,
            "masks_table": self.table,
        }
        for kind in self.sections.low:
            constants[f"{kind}_low"] = self.sections.low[kind]
            constants[f"{kind}_high"] = self.sections.high[kind]
        if self.masks is not None:
            constants |= {"mask_words": self.masks.words, "mask_pairs": self.masks.pairs}
        return constants

    @classmethod
    def rebuilt(
        cls, model: str, settings: Mapping[str, Any], constants: Mapping[str, npt.NDArray[Any]]
    ) -> SectionCoverage:
        """See `Coverage.rebuilt`."""
        neurons = SectionNeurons.of_settings(settings, constants["neurons_table"])
        sections = Sections(
            neurons,
            {kind: constants[f"{kind}_low"] for kind in _KINDS},
            {kind: constants[f"{kind}_high"] for kind in _KINDS},
        )
        masks = None
        if settings["masked"] is not None:
            masks = Masks(
                Vocabulary(tuple(settings["masked"])),
                constants["mask_words"],
                constants["mask_pairs"],
            )
        return cls(model, sections, masks, settings["attention_weight"], constants["masks_table"])
