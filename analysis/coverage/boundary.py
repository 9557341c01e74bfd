"""Boundary coverage: neurons that a test drives beyond what they do on the training set.

Ma et al. 2018, DeepGauge: Multi-Granularity Testing Criteria for Deep Learning Systems, section
III-A: neuron boundary coverage and strong neuron activation coverage; equations 3 and 4 of S²LCT.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from s2lct.analysis.arrays import Arrays
from s2lct.analysis.coverage.activations import Activations, Floats
from s2lct.analysis.coverage.criteria import Bits, Coverage, Marks, reference_texts
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.layers import Layers
from s2lct.errors import AnalysisError

Tokens = Literal["all", "cls"]
UPPER, LOWER = np.uint8(1), np.uint8(2)


@dataclass(frozen=True, slots=True)
class NeuronValues:
    """Which neurons there are, and their values for a text.

    A neuron is one output unit of a layer: a dimension of a hidden state, or of the pooler.

    Attributes:
        layers: whose units.
        tokens: ``all``: a unit has a value at each token of the text, special tokens included;
            ``cls``: its value at the first token alone.
    """

    layers: Layers
    tokens: Tokens = "all"

    def __post_init__(self) -> None:
        if self.tokens not in get_args(Tokens):
            raise AnalysisError(f"--tokens {self.tokens}: no such choice", mend="pass all or cls")
        if not self.layers.hidden and not self.layers.pooler:
            raise AnalysisError("--layers: names no layer", mend="pass --layers encoder")

    def of_layers(self, activations: Activations) -> list[Floats]:
        """One text's values, an array of shape (tokens, units) for each layer."""
        rows = slice(0, 1) if self.tokens == "cls" else slice(None)
        values = [activations.hidden[number][0, rows] for number in self.layers.hidden]
        if self.layers.pooler:
            assert activations.pooled is not None
            values.append(activations.pooled[:1])
        return values

    def extremes(self, activations: Activations) -> Bounds:
        """Each neuron's least and greatest value in one text."""
        values = self.of_layers(activations)
        return Bounds(
            np.concatenate([layer.min(axis=0) for layer in values]),
            np.concatenate([layer.max(axis=0) for layer in values]),
        )

    def settings(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"layers": asdict(self.layers), "tokens": self.tokens}

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> NeuronValues:
        """The inverse of `settings`."""
        return cls(Layers.of_settings(settings["layers"]), settings["tokens"])


@dataclass(frozen=True)
class Bounds:
    """Each neuron's range on a reference corpus.

    Attributes:
        low: low_n, the least value of each neuron, shape (neurons,).
        high: high_n, the greatest, likewise.
    """

    low: Floats
    high: Floats

    @classmethod
    def of_texts(cls, encoder: EncoderModel, texts: Iterable[str], neurons: NeuronValues) -> Bounds:
        """Bounds from a reference corpus, in one pass.

        Raises:
            AnalysisError: fewer than two different texts.
        """
        each = encoder.each(reference_texts(texts))
        return functools.reduce(cls.merged, (neurons.extremes(one) for _, one in each))

    def merged(self, other: Bounds) -> Bounds:
        """The bounds of both corpora together."""
        return Bounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class BoundaryCoverage(Coverage):
    """BoundCov = (|upper corner| + |lower corner|) / 2N and SActCov = |upper corner| / N.

    The upper corner holds the neurons that some text drove above high_n, the lower corner those
    driven below low_n. A value equal to a bound is within. A neuron that never varied on the
    reference corpus has low_n = high_n and counts like any other: every other value is beyond.
    """

    kind = "boundary"

    def __init__(self, model: str, neurons: NeuronValues, bounds: Bounds) -> None:
        super().__init__(model, {"corners": np.zeros(bounds.low.shape, dtype=np.uint8)})
        self.neurons, self.bounds = neurons, bounds

    def marks(self, activations: Activations) -> Marks:
        """The corners that one text reaches."""
        own = self.neurons.extremes(activations)
        above, below = own.high > self.bounds.high, own.low < self.bounds.low
        corners: Bits = above * UPPER | below * LOWER
        return {"corners": (slice(None), corners)}

    def weight(self, part: str) -> float:
        """A corner's share of all."""
        return 1 / (2 * len(self.bounds.low))

    @property
    def values(self) -> dict[str, float]:
        """BoundCov and SActCov."""
        neurons = len(self.bounds.low)
        upper = int(np.count_nonzero(self.state["corners"] & UPPER))
        lower = int(np.count_nonzero(self.state["corners"] & LOWER))
        return {"BoundCov": (upper + lower) / (2 * neurons), "SActCov": upper / neurons}

    def settings(self) -> dict[str, Any]:
        """Which neurons."""
        return self.neurons.settings()

    def constants(self) -> Arrays:
        """The bounds."""
        return {"low": self.bounds.low, "high": self.bounds.high}

    @classmethod
    def rebuilt(
        cls, model: str, settings: Mapping[str, Any], constants: Arrays
    ) -> BoundaryCoverage:
        """See `Coverage.rebuilt`."""
        bounds = Bounds(constants["low"], constants["high"])
        return cls(model, NeuronValues.of_settings(settings), bounds)
