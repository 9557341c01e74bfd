"""Coverage criteria: flags for the parts of a model's neurons that texts have exercised.

A criterion has a flag for each part of a neuron that a text can cover: values beyond the neuron's
range, or a section of the range. The ranges come from a reference corpus, best the training set.
Memory depends on the number of neurons, not of texts, and the order of texts changes nothing.

Boundary coverage (Ma et al. 2018, DeepGauge, section III-A; equations 3 and 4 of S²LCT): neurons
are dimensions of the encoder layers' hidden states, with a value at each token, special tokens
included. A value above a neuron's range covers its upper corner, one below its lower corner; a
value equal to a bound is within. BoundCov = (|upper| + |lower|) / 2N, SActCov = |upper| / N.

COVER and MNCOVER (Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron
Coverage, Findings of NAACL 2022, sections 3.1 and 3.2, equations 4 to 7):

- A word-level neuron h_{d,t}^l is dimension d of layer l's hidden state at token position t. An
  attention neuron α_{ij}^{l,k} is the weight that position i gives position j in head k of layer l.
- Each neuron's range [low, high] is cut into B = 10 sections of equal width. A value v lies in
  section ⌊(v - low) · B / (high - low)⌋, high itself in the last one. A value outside the range
  covers nothing; nor does a neuron that had one value or none on the reference corpus.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)), λ = 1: C counts covered sections and N neurons, of
  words and of attention (equations 4 to 6).
- MNCOVER (equation 7): the word x_t covers sections only where M_W[x_t] = 1, and the pair
  (x_i, x_j) only where M_A[x_i, x_j] = 1.

N_w and N_a count all neurons of 128 token positions, reached or not, masked or not. The embeddings
are a layer like the encoder's. So BERT-base has 13 layers, N_w = 128 · 768 · 13 = 1,277,952 and
N_a = 128² · 12 · 12 = 2,359,296. No text can then add more than 0.1, and a short one adds far less.
Texts are not padded. (The authors' code pads them to 128 positions, which count, and gives values
outside the range two sections of their own.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TypeVar

import numpy as np

from s2lct.analysis.cached_results import cached_arrays
from s2lct.analysis.coverage.encoder import (
    Activations,
    Booleans,
    EncoderModel,
    Floats,
    Integers,
    ModelInput,
)
from s2lct.analysis.coverage.wimask import Masks, entries_of_tokens
from s2lct.errors import AnalysisError
from s2lct.plain_text import did_you_mean

CRITERIA = ("boundary", "cover", "mncover")
SECTIONS = 10
COUNTED_POSITIONS = 128
"""Token positions whose neurons COVER and MNCOVER count in the denominator."""
CriterionType = TypeVar("CriterionType", bound="Criterion")


class Criterion(ABC):
    """A coverage criterion, with the flags that texts have set so far.

    Attributes:
        name: the name of the main figure.
        low: each neuron's least value on the reference corpus, shape (neurons,).
        high: each neuron's greatest value on the reference corpus, shape (neurons,).
        covered: whether each flag is set, shape (flags,).
        denominator: the number of set flags that would be a coverage of 1.
    """

    def __init__(self, name: str, n_neurons: int, flags_per_neuron: int) -> None:
        self.name = name
        self.low: Floats = np.full(n_neurons, np.inf, dtype=np.float32)
        self.high: Floats = -self.low
        self.covered: Booleans = np.zeros(n_neurons * flags_per_neuron, dtype=bool)
        self.denominator = len(self.covered)

    @abstractmethod
    def extremes(self, activations: Activations) -> tuple[Integers | slice, Floats, Floats]:
        """The neurons that have values in a text, and the least and greatest value of each."""

    @abstractmethod
    def flags_of(self, activations: Activations) -> Integers:
        """The numbers of the flags that a text sets, each once."""

    @property
    def figures(self) -> dict[str, float]:
        """Shares of covered flags, in [0, 1], by name; the main figure is first."""
        return {self.name: float(np.count_nonzero(self.covered) / self.denominator)}

    @property
    def value(self) -> float:
        """The main figure, in [0, 1]."""
        return self.figures[self.name]

    def growth(self, flags: Integers) -> float:
        """The increase of the main figure if these flags were set, too."""
        return float(np.count_nonzero(~self.covered[flags]) / self.denominator)

    def add(self, flags: Integers) -> None:
        """Set flags."""
        self.covered[flags] = True

    def merge(self, other: Criterion) -> None:
        """Set the flags that the same criterion has set for other texts."""
        self.covered |= other.covered

    def copy(self: CriterionType) -> CriterionType:
        """A copy with flags of its own; adding to it leaves this criterion as it is."""
        copied = copy(self)
        copied.covered = self.covered.copy()
        return copied


class BoundaryCoverage(Criterion):
    """BoundCov and SActCov; flags of upper corners come before those of lower ones."""

    def __init__(self, encoder: EncoderModel) -> None:
        super().__init__("BoundCov", encoder.layer_count * int(encoder.model.config.hidden_size), 2)

    def extremes(self, activations: Activations) -> tuple[slice, Floats, Floats]:
        """Every neuron, with its least and greatest value over the tokens of a text."""
        layers = activations.hidden_states[1:]
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
    """COVER, or with masks MNCOVER.

    Flags are stored for as many token positions as the longest reference text has, at most
    `COUNTED_POSITIONS`.
    """

    def __init__(self, encoder: EncoderModel, reference: Iterable[ModelInput]) -> None:
        config, layers = encoder.model.config, encoder.layer_count
        heads, width = int(config.num_attention_heads), int(config.hidden_size)
        longest = max(len(encoder.token_ids(text)) for text in reference)
        positions = min(COUNTED_POSITIONS, longest)
        word_shape = (layers + 1, positions, width)
        attention_shape = (layers * heads, positions, positions)
        n_words = math.prod(word_shape)
        neurons = np.arange(n_words + math.prod(attention_shape))
        super().__init__("COVER", len(neurons), SECTIONS)
        self._word_neurons = neurons[:n_words].reshape(word_shape)
        self._attention_neurons = neurons[n_words:].reshape(attention_shape)
        neurons_per_position = (layers + 1) * width + layers * heads * COUNTED_POSITIONS
        self.denominator = SECTIONS * COUNTED_POSITIONS * neurons_per_position
        self._masks: Masks | None = None
        self._entry_of_token = np.zeros(0, dtype=np.int64)

    def with_masks(self, encoder: EncoderModel, masks: Masks) -> SectionCoverage:
        """MNCOVER of the same neurons and ranges."""
        mncover = self.copy()
        mncover.name, mncover._masks = "MNCOVER", masks
        mncover._entry_of_token = entries_of_tokens(masks.pieces, encoder.tokenizer)
        return mncover

    def extremes(self, activations: Activations) -> tuple[Integers, Floats, Floats]:
        """The word-level and attention neurons of a text; each has a single value."""
        stored = self._word_neurons.shape[1]
        words = np.stack([layer[:stored] for layer in activations.hidden_states])
        attention = np.concatenate([w[:, :stored, :stored] for w in activations.attentions])
        length = words.shape[1]
        word_neurons = self._word_neurons[:, :length].ravel()
        attention_neurons = self._attention_neurons[:, :length, :length].ravel()
        values = np.concatenate([words.ravel(), attention.ravel()])
        return np.concatenate([word_neurons, attention_neurons]), values, values

    def flags_of(self, activations: Activations) -> Integers:
        """The flags of the sections that hold a text's values, of unmasked words and pairs."""
        neurons, values, _ = self.extremes(activations)
        low, high = self.low[neurons], self.high[neurons]
        is_counted = (values >= low) & (values <= high) & (low < high)
        if self._masks is not None:
            entries = self._entry_of_token[activations.input_ids[: self._word_neurons.shape[1]]]
            words = np.repeat(self._masks.words[entries], self._word_neurons.shape[2])
            pairs = self._masks.pairs[np.ix_(entries, entries)].ravel()
            layers, heads = len(self._word_neurons), len(self._attention_neurons)
            is_counted &= np.concatenate([np.tile(words, layers), np.tile(pairs, heads)])
        # In double precision: the difference of two floats is then (nearly always) exact.
        least, greatest, value = (array[is_counted].astype(float) for array in (low, high, values))
        sections = ((value - least) * SECTIONS / (greatest - least)).astype(np.int64)
        flags: Integers = neurons[is_counted] * SECTIONS + np.minimum(sections, SECTIONS - 1)
        return flags


def build_criteria(
    names: Sequence[str],
    encoder: EncoderModel,
    reference: Iterable[ModelInput],
    *,
    masks: Masks | None = None,
) -> dict[str, Criterion]:
    """Build the named `CRITERIA`, with neurons' ranges on reference texts and no flag set.

    One pass over the reference texts measures the ranges; they are cached. ``mncover`` needs masks.

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

    def measure_ranges() -> dict[str, Floats]:
        for activations in encoder.activations(texts, "bounds"):
            for criterion in criteria.values():
                neurons, least, greatest = criterion.extremes(activations)
                criterion.low[neurons] = np.minimum(criterion.low[neurons], least)
                criterion.high[neurons] = np.maximum(criterion.high[neurons], greatest)
        return {f"{name} {end}": getattr(criteria[name], end) for name, end in range_ends}

    range_ends = [(name, end) for name in criteria for end in ("low", "high")]
    inputs = ["ranges", str(encoder.device), texts, sorted(criteria)]
    arrays = cached_arrays(encoder.fingerprint, inputs, measure_ranges)
    for name, end in range_ends:
        setattr(criteria[name], end, arrays[f"{name} {end}"])
    cover = criteria.get("cover")
    if "mncover" in names and isinstance(cover, SectionCoverage) and masks is not None:
        criteria["mncover"] = cover.with_masks(encoder, masks)
    return {name: criteria[name] for name in names}
