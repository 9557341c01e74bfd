"""Coverage criteria: what texts exercise of a model's neurons, kept as flags.

A criterion has a flag for each part of a neuron that a text can cover: values beyond the neuron's
range, or a section of the range. Ranges are those of a reference corpus, best the training set.
Memory depends on the neurons, not on the number of texts, and the order of texts changes nothing.

Boundary coverage (Ma et al. 2018, DeepGauge, section III-A; equations 3 and 4 of S²LCT): neurons
are dimensions of the encoder layers' hidden states, with a value at each token, special tokens
included. A value above a neuron's range covers its upper corner, one below its lower corner; a
value equal to a bound is within. BoundCov = (|upper| + |lower|) / 2N, SActCov = |upper| / N.

COVER and MNCOVER (Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron
Coverage, Findings of NAACL 2022, sections 3.1 and 3.2, equations 4 to 7):

- A word-level neuron h_{d,t}^l is dimension d of layer l's hidden state at place t. An attention
  neuron α_{ij}^{l,k} is the weight that place i gives place j in head k of layer l.
- Each neuron's range [low, high] is cut into B = 10 sections of equal width. A value v lies in
  section ⌊(v - low) · B / (high - low)⌋, high itself in the last one. A value outside the range
  covers nothing, nor does a neuron whose value never varied or that was never reached.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)), λ = 1: C counts covered sections and N neurons, of
  words and of attention (equations 4 to 6).
- MNCOVER (equation 7): the word x_t covers sections only where M_W[x_t] = 1, and the pair
  (x_i, x_j) only where M_A[x_i, x_j] = 1.

N_w and N_a count all neurons of 128 places, reached or not, masked or not, and the embeddings are
a layer like the encoder's: 13 for BERT-base, N_w = 128 · 768 · 13 = 1,277,952 and
N_a = 128² · 12 · 12 = 2,359,296. No text can then add more than 0.1, and a short one adds far less.
Texts are not padded. (The authors' code pads them to 128 places that count, and gives values
outside the range two sections of their own.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TypeVar

import numpy as np

from s2lct.analysis.coverage.encoder import (
    Activations,
    Booleans,
    EncoderModel,
    Floats,
    Integers,
    Text,
)
from s2lct.analysis.coverage.wimask import Masks, entries_of_tokens
from s2lct.analysis.kept import kept_arrays
from s2lct.errors import AnalysisError
from s2lct.plain_text import did_you_mean

CRITERIA = ("boundary", "cover", "mncover")
SECTIONS = 10
COUNTED_PLACES = 128
Same = TypeVar("Same", bound="Criterion")


class Criterion(ABC):
    """A coverage criterion, with what texts have covered so far.

    Attributes:
        name: of the main figure.
        low: each neuron's least value on the reference corpus, shape (neurons,).
        high: its greatest value.
        covered: whether each flag is set.
        denominator: how many flags count as a coverage of 1.
    """

    def __init__(self, name: str, neurons: int, flags_per_neuron: int) -> None:
        self.name = name
        self.low: Floats = np.full(neurons, np.inf, dtype=np.float32)
        self.high: Floats = -self.low
        self.covered: Booleans = np.zeros(neurons * flags_per_neuron, dtype=bool)
        self.denominator = len(self.covered)

    @abstractmethod
    def extremes(self, activations: Activations) -> tuple[Integers | slice, Floats, Floats]:
        """The neurons that have values in a text, with their least and greatest ones."""

    @abstractmethod
    def flags_of(self, activations: Activations) -> Integers:
        """The flags that a text sets, each once."""

    @property
    def figures(self) -> dict[str, float]:
        """Shares of what is covered, by name, the main one first."""
        return {self.name: float(np.count_nonzero(self.covered) / self.denominator)}

    @property
    def value(self) -> float:
        """The main figure, in [0, 1]."""
        return self.figures[self.name]

    def growth(self, flags: Integers) -> float:
        """By how much the main figure would grow if these flags were set."""
        return float(np.count_nonzero(~self.covered[flags]) / self.denominator)

    def add(self, flags: Integers) -> None:
        """Set flags."""
        self.covered[flags] = True

    def merge(self, other: Criterion) -> None:
        """Set the flags that the same criterion has set for other texts."""
        self.covered |= other.covered

    def copy(self: Same) -> Same:
        """The same criterion, whose coverage grows apart from this one's."""
        other = copy(self)
        other.covered = self.covered.copy()
        return other


class BoundaryCoverage(Criterion):
    """BoundCov and SActCov; the flags of upper corners come before those of lower ones."""

    def __init__(self, encoder: EncoderModel) -> None:
        super().__init__("BoundCov", encoder.layers * int(encoder.model.config.hidden_size), 2)

    def extremes(self, activations: Activations) -> tuple[slice, Floats, Floats]:
        """Each dimension's least and greatest value at any token."""
        layers = activations.hidden[1:]
        least = np.concatenate([layer.min(axis=0) for layer in layers])
        return slice(None), least, np.concatenate([layer.max(axis=0) for layer in layers])

    def flags_of(self, activations: Activations) -> Integers:
        """The corners that a text reaches."""
        _, least, greatest = self.extremes(activations)
        return np.flatnonzero(np.concatenate([greatest > self.high, least < self.low]))

    @property
    def figures(self) -> dict[str, float]:
        """BoundCov and SActCov."""
        return super().figures | {"SActCov": float(self.covered[: len(self.high)].mean())}


class SectionCoverage(Criterion):
    """COVER, or MNCOVER where there are masks.

    Kept are the neurons of as many places as the longest text of the reference corpus has.
    """

    def __init__(self, encoder: EncoderModel, reference: Iterable[Text]) -> None:
        config, layers = encoder.model.config, encoder.layers
        heads, width = int(config.num_attention_heads), int(config.hidden_size)
        places = min(COUNTED_PLACES, max(len(encoder.token_ids(text)) for text in reference))
        shapes = (layers + 1, places, width), (layers * heads, places, places)
        words, attention = (math.prod(shape) for shape in shapes)
        super().__init__("COVER", words + attention, SECTIONS)
        neurons = np.arange(words + attention)
        self._words = neurons[:words].reshape(shapes[0])
        self._attention = neurons[words:].reshape(shapes[1])
        counted = (layers + 1) * width + layers * heads * COUNTED_PLACES
        self.denominator = SECTIONS * COUNTED_PLACES * counted
        self._masks: Masks | None = None
        self._entry_of_token = np.zeros(0, dtype=np.int64)

    def masked(self, encoder: EncoderModel, masks: Masks) -> SectionCoverage:
        """MNCOVER of the same neurons and ranges."""
        other = self.copy()
        other.name, other._masks = "MNCOVER", masks
        other._entry_of_token = entries_of_tokens(masks.pieces, encoder.tokenizer)
        return other

    def extremes(self, activations: Activations) -> tuple[Integers, Floats, Floats]:
        """The word-level and attention neurons of a text; each has one value."""
        places = self._words.shape[1]
        words = np.stack([layer[:places] for layer in activations.hidden])
        attention = np.concatenate([w[:, :places, :places] for w in activations.attentions])
        length = words.shape[1]
        neurons = [self._words[:, :length].ravel(), self._attention[:, :length, :length].ravel()]
        values = np.concatenate([words.ravel(), attention.ravel()])
        return np.concatenate(neurons), values, values

    def flags_of(self, activations: Activations) -> Integers:
        """The sections that values lie in, of words and pairs that the masks let through."""
        neurons, values, _ = self.extremes(activations)
        low, high = self.low[neurons], self.high[neurons]
        counted = (values >= low) & (values <= high) & (low < high)
        if self._masks is not None:
            entries = self._entry_of_token[activations.input_ids[: self._words.shape[1]]]
            words = np.repeat(self._masks.words[entries], self._words.shape[2])
            pairs = self._masks.pairs[np.ix_(entries, entries)].ravel()
            layers, heads = len(self._words), len(self._attention)
            counted &= np.concatenate([np.tile(words, layers), np.tile(pairs, heads)])
        # In double precision: the difference of two floats is then (nearly always) exact.
        least, greatest, value = (of[counted].astype(float) for of in (low, high, values))
        sections = ((value - least) * SECTIONS / (greatest - least)).astype(np.int64)
        flags: Integers = neurons[counted] * SECTIONS + np.minimum(sections, SECTIONS - 1)
        return flags


def build_criteria(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Iterable[Text],
    *,
    masks: Masks | None = None,
) -> dict[str, Criterion]:
    """Build criteria, names of `CRITERIA`, with ranges of reference texts and nothing covered.

    One pass over the texts sets the ranges, which the cache keeps. ``mncover`` needs masks.

    Raises:
        AnalysisError: a criterion is unknown or lacks masks, or the reference has one text.
    """
    unknown = [name for name in names if name not in CRITERIA]
    if unknown or not names:
        raise AnalysisError(
            f"--metric {', '.join(unknown) or '(none)'}: no such metric",
            hint=f"{did_you_mean(''.join(unknown[:1]), CRITERIA)}choose of {', '.join(CRITERIA)}",
        )
    if "mncover" in names and masks is None:
        raise AnalysisError(
            "mncover needs masks", hint="learn them with `s2lct masks`, then pass --masks FILE"
        )
    texts = list(reference)
    if len(set(texts)) < 2:
        raise AnalysisError(
            "reference corpus: fewer than two different sentences, so no neuron has a range",
            hint="pass the corpus that the model was trained on, or another large one",
        )
    criteria: dict[str, Criterion] = {}
    if "boundary" in names:
        criteria["boundary"] = BoundaryCoverage(encoder)
    if {"cover", "mncover"} & {*names}:
        criteria["cover"] = SectionCoverage(encoder, texts)

    def ranges() -> dict[str, Floats]:
        for activations in encoder.activations(texts, "bounds"):
            for criterion in criteria.values():
                neurons, least, greatest = criterion.extremes(activations)
                criterion.low[neurons] = np.minimum(criterion.low[neurons], least)
                criterion.high[neurons] = np.maximum(criterion.high[neurons], greatest)
        return {f"{name} {end}": getattr(criteria[name], end) for name, end in ends}

    ends = [(name, end) for name in criteria for end in ("low", "high")]
    inputs = ["ranges", str(encoder.device), texts, sorted(criteria)]
    arrays = kept_arrays(encoder.fingerprint, inputs, ranges)
    for name, end in ends:
        setattr(criteria[name], end, arrays[f"{name} {end}"])
    cover = criteria.get("cover")
    if "mncover" in names and isinstance(cover, SectionCoverage) and masks is not None:
        criteria["mncover"] = cover.masked(encoder, masks)
    return {name: criteria[name] for name in names}
