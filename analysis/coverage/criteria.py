"""Coverage criteria: bitsets that texts fill, merge, save and load.

A criterion is a set of things that a test may cover (a neuron beyond its bounds, a section of a
neuron's range, an active neuron), kept as bits: what is held depends on the neurons, never on the
suite, and order, batches and splits of the texts change nothing.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.arrays import Arrays, load_arrays, save_arrays, unreadable
from s2lct.analysis.coverage.encoder import Activations, Booleans, EncoderModel, Floats
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.neurons import Bits, Layers, Marks, SectionNeurons, Units
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

Own = TypeVar("Own", bound="Coverage")
UPPER, LOWER = np.uint8(1), np.uint8(2)
_KIND, _FORMAT = "coverage", 1
_BITS_OF_BYTE = np.array([bin(n).count("1") for n in range(256)], dtype=np.uint8)


def count_bits(bits: Bits) -> int:
    """How many bits are set."""
    flat = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
    return int(_BITS_OF_BYTE[flat].sum(dtype=np.int64))


class Coverage(ABC):
    """A criterion with what texts have covered so far.

    Attributes:
        model: fingerprint of the model.
        settings: what defines the criterion, as plain JSON values.
        constants: the arrays that define it, such as bounds.
        state: what is covered, as bits, by part.
        texts: how many texts were added.
        name: of the main figure.
        weights: what a bit of a part counts, by part.
    """

    kind: ClassVar[str]
    name: str

    def __init__(
        self, model: str, settings: Mapping[str, Any], constants: Arrays, state: dict[str, Bits]
    ) -> None:
        self.model, self.settings, self.constants, self.state = model, settings, constants, state
        self.weights = dict.fromkeys(state, 1.0)
        self.texts = 0

    @abstractmethod
    def marks(self, one: Activations) -> Marks:
        """What a text covers."""

    @property
    @abstractmethod
    def total(self) -> float:
        """What all bits together count."""

    @property
    def value(self) -> float:
        """The main figure, in [0, 1]."""
        counts = (self.weights[part] * count_bits(bits) for part, bits in self.state.items())
        return sum(counts) / self.total

    @property
    def values(self) -> dict[str, float]:
        """The figures by name, the main one first, each in [0, 1]."""
        return {self.name: self.value}

    def growth(self, marks: Marks) -> float:
        """By how much the main figure would grow if these were added."""
        return float(
            sum(
                self.weights[part] / self.total * count_bits(bits & ~self.state[part][where])
                for part, (where, bits) in marks.items()
            )
        )

    def add(self, marks: Marks) -> None:
        """Cover what a text covers."""
        self.texts += 1
        for part, (where, bits) in marks.items():
            self.state[part][where] |= bits

    def cover(
        self: Own, encoder: EncoderModel, texts: Iterable[str], advance: Advance = silently
    ) -> Own:
        """Cover what texts cover, in one pass, and return itself.

        Raises:
            AnalysisError: the model is another one than the criterion was made for.
        """
        self.check_model(encoder)
        for one in encoder.activations(texts, advance):
            self.add(self.marks(one))
        return self

    def check_model(self, encoder: EncoderModel) -> None:
        """Refuse a model that the criterion was not made for.

        Raises:
            AnalysisError: its weights or tokenizer are others.
        """
        if encoder.fingerprint != self.model:
            raise AnalysisError(
                f"{self.name}: was made for another model than {encoder.name}",
                mend="make the coverage anew for this model",
            )

    def emptied(self: Own) -> Own:
        """The same criterion, nothing covered."""
        other = copy(self)
        other.state = {part: np.zeros_like(bits) for part, bits in self.state.items()}
        other.texts = 0
        return other

    def merge(self: Own, other: Coverage) -> Own:
        """Cover what the other has covered, and return itself.

        Raises:
            AnalysisError: the other is another criterion, of another model or with other bounds.
        """
        if other.identity() != self.identity():
            raise AnalysisError(
                f"coverage of {other.kind} and of {self.kind} with other settings, bounds or model",
                mend="merge states of one metric, one model and one reference corpus",
            )
        for part, bits in other.state.items():
            self.state[part] |= bits
        self.texts += other.texts
        return self

    def identity(self) -> str:
        """SHA-256 over all that defines the criterion, not what is covered."""
        described = json.dumps([self.kind, self.model, self.settings], sort_keys=True)
        digest = hashlib.sha256(described.encode())
        for name, array in sorted(self.constants.items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write criterion and state as safetensors, whole or not at all."""
        arrays = {f"state/{part}": bits for part, bits in self.state.items()}
        arrays |= {f"constants/{name}": array for name, array in self.constants.items()}
        described = {name: getattr(self, name) for name in ("kind", "model", "texts", "settings")}
        save_arrays(path, _KIND, arrays, {"format": _FORMAT, **described})

    @staticmethod
    def load(path: Path) -> Coverage:
        """Read what `save` wrote.

        Raises:
            AnalysisError: the file is missing or holds no coverage.
        """
        with unreadable(
            f"coverage {path}: cannot be read", "pass a file that a coverage was saved to"
        ):
            arrays, described = load_arrays(path, _KIND)
            kinds = {kind.kind: kind for kind in CRITERIA}
            if described.get("kind") not in kinds or described.get("format") != _FORMAT:
                raise ValueError("it holds no coverage")
            parts: dict[str, dict[str, npt.NDArray[Any]]] = {"state": {}, "constants": {}}
            for name, array in arrays.items():
                of, _, part = name.partition("/")
                parts[of][part] = array
            kind, settings = kinds[described["kind"]], described["settings"]
            coverage: Coverage = kind(described["model"], settings, parts["constants"])
            for part, bits in coverage.state.items():
                found = parts["state"][part]
                if found.shape != bits.shape or found.dtype != bits.dtype:
                    raise ValueError(f"state {part} is of another shape")
                coverage.state[part] = found.copy()
            coverage.texts = int(described["texts"])
            return coverage


class BoundaryCoverage(Coverage):
    """BoundCov = (|upper corner| + |lower corner|) / 2N and SActCov = |upper corner| / N.

    Ma et al. 2018 (DeepGauge), section III-A; equations 3 and 4 of S²LCT. The upper corner holds
    the neurons that some text drove above ``high``, the lower corner those driven below ``low``,
    which are the constants (see `ranges_of`); the settings are those of `Units`. A value equal to a
    bound is within. A neuron that never varied counts like any other: every other value is beyond.
    """

    kind, name = "boundary", "BoundCov"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        state = {"corners": np.zeros(constants["low"].shape, dtype=np.uint8)}
        super().__init__(model, settings, constants, state)
        self.units = Units.of(settings)

    def marks(self, one: Activations) -> Marks:
        """The corners that a text reaches."""
        where, highest = self.units.extremes(one, np.maximum)[""]
        _, lowest = self.units.extremes(one, np.minimum)[""]
        above, below = highest > self.constants["high"], lowest < self.constants["low"]
        return {"corners": (where, above * UPPER | below * LOWER)}

    @property
    def total(self) -> float:
        """Two corners a neuron."""
        return 2 * len(self.state["corners"])

    @property
    def values(self) -> dict[str, float]:
        """BoundCov and SActCov."""
        upper = int(np.count_nonzero(self.state["corners"] & UPPER))
        return super().values | {"SActCov": upper / len(self.state["corners"])}


class NeuronCoverage(Coverage):
    """Neurons whose scaled value exceeds a threshold (Pei et al. 2017, DeepXplore, section 4.1).

    A neuron's value for a text is its mean over the text's tokens, as the mean over a feature map
    is DeepXplore's value of a convolution's filter. Values are scaled to [0, 1] within a layer and
    text; where all are equal, none is active.

    The settings are those of `Units`, ``units`` (numbers of neurons, by layer) and ``threshold``,
    in [0, 1).
    """

    kind, name = "neurons", "NC"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        state = {"active": np.zeros(sum(settings["units"]), dtype=np.uint8)}
        super().__init__(model, settings, constants, state)
        self.units = Units.of(settings)
        if not 0 <= settings.get("threshold", 0) < 1:
            raise AnalysisError(
                f"threshold {settings['threshold']}", mend="pass 0 or more and below 1"
            )

    @property
    def total(self) -> float:
        """All neurons."""
        return len(self.state["active"])

    def marks(self, one: Activations) -> Marks:
        """The neurons that are active in a text."""
        layers = self.units.of_layers(one)
        active = [self.active(layer.mean(axis=0, dtype=np.float64)) for layer in layers]
        return {"active": (slice(None), np.concatenate(active).astype(np.uint8))}

    def active(self, values: npt.NDArray[np.float64]) -> Booleans:
        """Which of a layer's neurons are active, by their values in a text, shape (units,)."""
        low, high = values.min(), values.max()
        scaled = (values - low) / ((high - low) or 1.0)
        return np.asarray(scaled > self.settings["threshold"])


class TopNeuronCoverage(NeuronCoverage):
    """Neurons that are among the k greatest of their layer in some text.

    Ma et al. 2018 (DeepGauge), section III-B: top-k neuron coverage. Of equal values the neuron of
    the lower number comes first. The settings are those of `NeuronCoverage`, ``k`` for a threshold.
    """

    kind, name = "top neurons", "TKNC"

    def active(self, values: npt.NDArray[np.float64]) -> Booleans:
        """Among the k greatest."""
        active = np.zeros(len(values), dtype=bool)
        active[np.argsort(-values, kind="stable")[: self.settings["k"]]] = True
        return active


class SectionCoverage(Coverage):
    """COVER, or MNCOVER where masks are given: k-multisection coverage of words and attention.

    Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
    NAACL 2022), sections 3.1 and 3.2, equations 4 to 7, after Ma et al. 2018 (DeepGauge).

    - A word-level neuron is h_{d,t}^l: dimension d of layer l's hidden state at t. An attention
      neuron is α_{ij}^{l,k}: how much j weighs for i in head k of layer l.
    - Each neuron's range [low, high] on a reference corpus is cut into B sections of equal width. A
      value v lies in section ⌊(v - low) · B / (high - low)⌋, and high itself in the last one. A
      value outside covers nothing.
    - COVER = (C_w + λ C_a) / (B (N_w + λ N_a)): C counts covered sections, N neurons, of words and
      of attention (eq. 4 to 6).
    - MNCOVER (eq. 7): the word x_t covers sections only where M_W[x_t] = 1, and the pair (x_i, x_j)
      only where M_A[x_i, x_j] = 1.

    The paper leaves open, and is read here, as follows. t, i and j are places in the text, or, with
    a ``vocabulary``, entries of it: then the neurons of what the masks leave out do not exist. λ
    weighs attention neurons above and below, so that coverage stays in [0, 1]. A neuron that never
    varied on the reference corpus has no range to cut: it is in neither C nor N. Ranges are taken
    over all tokens, special and masked ones too.
    """

    kind = "sections"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        own = {name: settings[name] for name in ("bins", "places", "vocabulary")}
        layers, table = Layers(**settings["layers"]), constants["neurons_table"]
        self.neurons = SectionNeurons(layers, table=table, **own)
        state = {
            part: np.zeros(constants[f"{part}_low"].shape, dtype=self.neurons.bits_type)
            for part in ("words", "pairs")
        }
        super().__init__(model, settings, constants, state)
        self.weights["pairs"] = settings["attention_weight"]
        self.masked = settings["masked"] is not None
        self.name = "MNCOVER" if self.masked else "COVER"

    @classmethod
    def of(
        cls,
        encoder: EncoderModel,
        neurons: Mapping[str, Any],
        ranges: Arrays,
        masks: Masks | None = None,
        attention_weight: float = 1.0,
    ) -> SectionCoverage:
        """The criterion of a model, with ranges of neurons that have these settings.

        With neurons of words, the masks' vocabulary has to be theirs.
        """
        masked = None if masks is None else list(masks.vocabulary.pieces)
        settings = {**neurons, "attention_weight": attention_weight, "masked": masked}
        constants = {**ranges, "masks_table": np.zeros(0, dtype=np.int64)}
        if masks is not None:
            constants |= {
                "masks_table": masks.vocabulary.table(encoder.tokenizer),
                "mask_words": masks.words,
                "mask_pairs": masks.pairs,
            }
        return cls(encoder.fingerprint, settings, constants)

    def marks(self, one: Activations) -> Marks:
        """The sections that a text lies in."""
        found = {
            part: (where, self._bits(part, where, values))
            for part, (where, values) in self.neurons.of_text(one).items()
        }
        if self.masked:
            words, pairs = found["words"][1], found["pairs"][1]
            tokens = self.constants["masks_table"][one.input_ids[: words.shape[1]]]
            words *= self.constants["mask_words"][tokens][:, None]
            pairs *= self.constants["mask_pairs"][np.ix_(tokens, tokens)]
        return self.neurons.together(found, np.bitwise_or)

    def _bits(self, part: str, where: Any, values: Floats) -> Bits:
        """The sections that values lie in, a bit each; none where a value is outside."""
        low, high = (self.constants[f"{part}_{end}"][where] for end in ("low", "high"))
        bins = self.neurons.bins
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

    @cached_property
    def total(self) -> float:
        """B (N_w + λ N_a)."""
        count = 0.0
        for part, weight in self.weights.items():
            varying = self.constants[f"{part}_low"] < self.constants[f"{part}_high"]
            if self.masked and self.neurons.vocabulary is not None:
                mask = self.constants[f"mask_{part}"]
                varying &= mask[:, None] if part == "words" else mask
            count += weight * int(varying.sum())
        if not count:
            raise AnalysisError(
                "no neuron has a range to cut", mend="pass a larger reference corpus, other masks"
            )
        return self.neurons.bins * count


CRITERIA = (BoundaryCoverage, NeuronCoverage, TopNeuronCoverage, SectionCoverage)
