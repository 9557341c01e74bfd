"""Coverage criteria: what texts may cover of a model's neurons, kept as bits.

A criterion is a set of things that a text may cover (a neuron beyond its bounds, a section of a
neuron's range). What is held depends on the neurons, never on the number of texts, and the order of
texts changes nothing. Bounds and ranges are those of a reference corpus, best the training set.

BoundCov and SActCov: Ma et al. 2018 (DeepGauge), section III-A; equations 3 and 4 of S²LCT. The
upper corner holds the neurons that some text drives above their greatest value on the reference
corpus, the lower corner those driven below their least (a value equal to a bound is within):
BoundCov = (|upper| + |lower|) / 2N, SActCov = |upper| / N. Neurons are dimensions of the encoder
layers' hidden states, with a value at each token, special tokens included.

COVER and MNCOVER: Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron
Coverage (Findings of NAACL 2022), sections 3.1 and 3.2, equations 4 to 7.

- A word-level neuron is h_{d,t}^l: dimension d of layer l's hidden state at place t. An attention
  neuron is α_{ij}^{l,k}: how much place j weighs for place i in head k of layer l.
- Each neuron's range [low, high] on the reference corpus is cut into B = 10 sections of equal
  width. A value v lies in section ⌊(v - low) · B / (high - low)⌋, and high itself in the last one.
  A value outside covers nothing, nor does a neuron that never varied or was never reached.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)), λ = 1: C counts covered sections, N neurons, of words
  and of attention (eq. 4 to 6).
- MNCOVER (eq. 7): the word x_t covers sections only where M_W[x_t] = 1, and the pair (x_i, x_j)
  only where M_A[x_i, x_j] = 1.

N_w and N_a count all neurons of 128 places, reached or not, masked or not, and the embeddings are
a layer like the encoder's: 13 for BERT-base, N_w = 128 · 768 · 13 = 1,277,952 and
N_a = 128² · 12 · 12 = 2,359,296. No text can then add more than 0.1, and a short one adds far less.
Texts are not padded. (The authors' code pads them to 128 places that count, and gives values
outside the range two sections of their own.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.coverage.encoder import Activations, EncoderModel, Floats, Text
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.kept import kept_arrays
from s2lct.errors import AnalysisError
from s2lct.identity import fingerprint_of
from s2lct.plain_text import did_you_mean

METRICS = ("boundary", "cover", "mncover")
BINS = 10
PLACES = 128
UPPER, LOWER = np.uint8(1), np.uint8(2)
_BITS_OF_BYTE = np.array([bin(n).count("1") for n in range(256)], dtype=np.uint8)
Bits = npt.NDArray[Any]
Marks = Mapping[str, tuple[Any, Bits]]
"""What a text covers, by part: where (an index of the part's array), and which bits."""
Same = TypeVar("Same", bound="Coverage")


def count_bits(bits: Bits) -> int:
    """How many bits are set."""
    flat = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
    return int(_BITS_OF_BYTE[flat].sum(dtype=np.int64))


class Coverage(ABC):
    """A criterion with what texts have covered so far.

    Attributes:
        name: of the main figure.
        low, high: ranges of the neurons on the reference corpus, by part.
        state: what is covered, as bits, by part; of the shape of the ranges.
    """

    name: str
    bits_type: npt.DTypeLike = np.uint8

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.low: dict[str, Floats] = {
            part: np.full(shape, np.inf, dtype=np.float32) for part, shape in shapes.items()
        }
        self.high: dict[str, Floats] = {part: -low for part, low in self.low.items()}
        self.state: dict[str, Bits] = {
            part: np.zeros(shape, dtype=self.bits_type) for part, shape in shapes.items()
        }

    @abstractmethod
    def extent(self, computed: Activations) -> Mapping[str, tuple[Any, Floats, Floats]]:
        """Where neurons have values in a text, by part, and their least and greatest there."""

    @abstractmethod
    def marks(self, computed: Activations) -> Marks:
        """What a text covers."""

    @property
    @abstractmethod
    def total(self) -> float:
        """How many bits there are to cover."""

    @property
    def value(self) -> float:
        """The main figure, in [0, 1]."""
        return sum(map(count_bits, self.state.values())) / self.total

    @property
    def values(self) -> dict[str, float]:
        """The figures by name, the main one first, each in [0, 1]."""
        return {self.name: self.value}

    def widen(self, computed: Activations) -> None:
        """Take a text of the reference corpus into the ranges."""
        for part, (where, least, greatest) in self.extent(computed).items():
            self.low[part][where] = np.minimum(self.low[part][where], least)
            self.high[part][where] = np.maximum(self.high[part][where], greatest)

    def growth(self, marks: Marks) -> float:
        """By how much the main figure would grow if these were added."""
        new = (count_bits(bits & ~self.state[part][at]) for part, (at, bits) in marks.items())
        return sum(new) / self.total

    def add(self, marks: Marks) -> None:
        """Cover what a text covers."""
        for part, (where, bits) in marks.items():
            self.state[part][where] |= bits

    def cover(self: Same, encoder: EncoderModel, texts: Iterable[Text]) -> Same:
        """Cover what texts cover, and return itself."""
        for computed in encoder.activations(texts):
            self.add(self.marks(computed))
        return self

    def emptied(self: Same) -> Same:
        """The same criterion, nothing covered."""
        other = copy(self)
        other.state = {part: np.zeros_like(bits) for part, bits in self.state.items()}
        return other

    def merge(self: Same, other: Coverage) -> Same:
        """Cover what the same criterion has covered elsewhere, and return itself."""
        for part, bits in other.state.items():
            self.state[part] |= bits
        return self


class BoundaryCoverage(Coverage):
    """BoundCov, and SActCov beside it."""

    name = "BoundCov"

    def __init__(self, encoder: EncoderModel) -> None:
        width = int(encoder.model.config.hidden_size)
        super().__init__({"corners": (encoder.layers, width)})

    def extent(self, computed: Activations) -> Mapping[str, tuple[Any, Floats, Floats]]:
        """Each dimension's least and greatest value at any token."""
        least = np.stack([state.min(axis=0) for state in computed.hidden[1:]])
        greatest = np.stack([state.max(axis=0) for state in computed.hidden[1:]])
        return {"corners": (slice(None), least, greatest)}

    def marks(self, computed: Activations) -> Marks:
        """The corners that a text reaches."""
        where, least, greatest = self.extent(computed)["corners"]
        above, below = greatest > self.high["corners"], least < self.low["corners"]
        return {"corners": (where, above * UPPER | below * LOWER)}

    @property
    def total(self) -> float:
        """Two corners a neuron."""
        return 2 * self.state["corners"].size

    @property
    def values(self) -> dict[str, float]:
        """BoundCov and SActCov."""
        corners = self.state["corners"]
        return super().values | {"SActCov": np.count_nonzero(corners & UPPER) / corners.size}


class SectionCoverage(Coverage):
    """COVER, and MNCOVER where masks are given.

    Held are the neurons of as many places as the longest text of the reference corpus has.
    """

    bits_type = np.uint16

    def __init__(self, encoder: EncoderModel, reference: Iterable[Text]) -> None:
        config, layers = encoder.model.config, encoder.layers
        heads, width = int(config.num_attention_heads), int(config.hidden_size)
        places = min(PLACES, max(len(encoder.token_ids(text)) for text in reference))
        super().__init__(
            {"words": (layers + 1, places, width), "pairs": (layers, heads, places, places)}
        )
        self.name, self.places = "COVER", places
        self._neurons = (layers + 1) * PLACES * width + layers * heads * PLACES**2
        self._entries = np.zeros(0, dtype=np.int64)
        self._masks: Masks | None = None

    def masked(self, encoder: EncoderModel, masks: Masks) -> SectionCoverage:
        """MNCOVER of the same neurons and ranges."""
        other = self.emptied()
        other.name, other._masks = "MNCOVER", masks
        other._entries = masks.vocabulary.table(encoder.tokenizer)
        return other

    def extent(self, computed: Activations) -> Mapping[str, tuple[Any, Floats, Floats]]:
        """The value of each token, and of each pair of them."""
        words = np.stack([state[: self.places] for state in computed.hidden])
        pairs = np.stack([layer[:, : self.places, : self.places] for layer in computed.attentions])
        at = slice(words.shape[1])
        return {"words": ((slice(None), at), words, words), "pairs": ((..., at, at), pairs, pairs)}

    def marks(self, computed: Activations) -> Marks:
        """The sections that a text lies in."""
        found = {
            part: (where, self._sections(part, where, values))
            for part, (where, values, _) in self.extent(computed).items()
        }
        if self._masks is not None:
            words, pairs = found["words"][1], found["pairs"][1]
            tokens = self._entries[computed.input_ids[: words.shape[1]]]
            words *= self._masks.words[tokens][:, None]
            pairs *= self._masks.pairs[np.ix_(tokens, tokens)]
        return found

    def _sections(self, part: str, where: Any, values: Floats) -> Bits:
        """The sections that values lie in, a bit each; none where a value is outside."""
        low, high = self.low[part][where], self.high[part][where]
        # In double precision: the difference of two floats is then (nearly always) exact.
        span = np.subtract(high, low, dtype=np.float64)
        within = (values >= low) & (values <= high) & (span > 0)
        section = np.subtract(values, low, dtype=np.float64) * BINS / np.where(within, span, 1.0)
        numbers = np.where(within, np.minimum(section, BINS - 1), 0).astype(np.uint8)
        sections = (1 << np.arange(BINS)).astype(self.bits_type)
        return np.asarray(sections[numbers] * within)

    @property
    def total(self) -> float:
        """B (N_w + N_a)."""
        return BINS * self._neurons


def build_metrics(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Iterable[Text],
    *,
    masks: Masks | None = None,
) -> dict[str, Coverage]:
    """Metrics of `METRICS` with nothing covered, by name; one pass over a corpus sets their ranges.

    The ranges are kept.

    Raises:
        AnalysisError: an unknown metric, or arguments that do not fit.
    """
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise AnalysisError(
            f"--metric {', '.join(unknown) or '(none)'}: no such metric",
            hint=f"{did_you_mean(''.join(unknown[:1]), METRICS)}choose among {', '.join(METRICS)}",
        )
    if "mncover" in names and masks is None:
        raise AnalysisError(
            "mncover needs masks", hint="learn them with `s2lct masks`, then pass --masks FILE"
        )
    reference = list(reference)
    if len(set(reference)) < 2:
        raise AnalysisError(
            "reference corpus: fewer than two different sentences, so no neuron has a range",
            hint="pass the corpus that the model was trained on, or another large one",
        )
    made: dict[str, Coverage] = {}
    if "boundary" in names:
        made["boundary"] = BoundaryCoverage(encoder)
    if {"cover", "mncover"} & {*names}:
        made["cover"] = SectionCoverage(encoder, reference)

    def ranges() -> dict[str, Floats]:
        for computed in encoder.shown_activations(reference, "bounds"):
            for metric in made.values():
                metric.widen(computed)
        return {
            f"{name} {part} {end}": array
            for name, metric in made.items()
            for end in ("low", "high")
            for part, array in getattr(metric, end).items()
        }

    decides = [str(encoder.device), reference, sorted(made)]
    found = kept_arrays(encoder.fingerprint, f"ranges {fingerprint_of(decides)}", ranges)
    for name, metric in made.items():
        for part in metric.state:
            metric.low[part] = found[f"{name} {part} low"]
            metric.high[part] = found[f"{name} {part} high"]
    if "mncover" in names and isinstance(cover := made["cover"], SectionCoverage) and masks:
        made["mncover"] = cover.masked(encoder, masks)
    return {name: made[name] for name in names}
