"""Plain neuron coverage and top-k neuron coverage, which need no reference corpus.

A neuron's value for a text is its mean over the text's tokens, as the mean over a feature map is
DeepXplore's value of a convolution's filter; with ``cls``, its value at the first token.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.arrays import Arrays
from s2lct.analysis.coverage.activations import Activations
from s2lct.analysis.coverage.boundary import NeuronValues
from s2lct.analysis.coverage.criteria import Bits, Coverage, Marks
from s2lct.errors import AnalysisError


class _ActiveNeurons(Coverage):
    """The share of neurons that were active in some text.

    ``option`` names the attribute that says when they are: `threshold` or `k`.
    """

    kind = "active neurons"
    figure: ClassVar[str]
    option: ClassVar[str]

    def __init__(self, model: str, neurons: NeuronValues, units: tuple[int, ...]) -> None:
        super().__init__(model, {"active": np.zeros(sum(units), dtype=np.uint8)})
        self.neurons, self.units = neurons, units

    def marks(self, activations: Activations) -> Marks:
        """The neurons that are active in one text."""
        active = [
            self.active(layer.mean(axis=0, dtype=np.float64))
            for layer in self.neurons.of_layers(activations)
        ]
        return {"active": (slice(None), np.concatenate(active).astype(np.uint8))}

    @abstractmethod
    def active(self, values: npt.NDArray[np.float64]) -> Bits:
        """Which of a layer's neurons are active, by their values in a text, shape (units,)."""

    def weight(self, part: str) -> float:
        """A neuron's share of all."""
        return 1 / sum(self.units)

    @property
    def values(self) -> dict[str, float]:
        """The share of the neurons."""
        return {self.figure: int(self.state["active"].sum(dtype=np.int64)) / sum(self.units)}

    def settings(self) -> dict[str, Any]:
        """Which neurons, and when they are active."""
        own = {"units": list(self.units), self.option: getattr(self, self.option)}
        return self.neurons.settings() | own

    @classmethod
    def rebuilt(cls, model: str, settings: Mapping[str, Any], constants: Arrays) -> Coverage:
        """See `Coverage.rebuilt`."""
        neurons, units = NeuronValues.of_settings(settings), tuple(settings["units"])
        return cls(model, neurons, units, **{cls.option: settings[cls.option]})


class NeuronCoverage(_ActiveNeurons):
    """Neurons whose scaled value exceeds a threshold (Pei et al. 2017, DeepXplore, section 4.1).

    Values are scaled to [0, 1] within a layer and text. In a layer whose neurons all have one
    value, none is active, nor is one whose value equals the threshold, which is in [0, 1).
    ``units`` says how many neurons there are in each layer.
    """

    kind, figure, option = "neurons", "NC", "threshold"

    def __init__(
        self, model: str, neurons: NeuronValues, units: tuple[int, ...], threshold: float = 0.5
    ) -> None:
        super().__init__(model, neurons, units)
        if not 0 <= threshold < 1:
            raise AnalysisError(f"threshold {threshold}", mend="pass 0 or more and below 1")
        self.threshold = threshold

    def active(self, values: npt.NDArray[np.float64]) -> Bits:
        """Scaled value above the threshold."""
        low, high = values.min(), values.max()
        if low == high:
            return np.zeros(len(values), dtype=bool)
        return np.asarray((values - low) / (high - low) > self.threshold)


class TopNeuronCoverage(_ActiveNeurons):
    """Neurons that are among the k greatest of their layer in some text.

    Ma et al. 2018 (DeepGauge), section III-B: top-k neuron coverage. Of equal values the neuron of
    the lower number comes first. ``units`` says how many neurons there are in each layer.
    """

    kind, figure, option = "top neurons", "TKNC", "k"

    def __init__(
        self, model: str, neurons: NeuronValues, units: tuple[int, ...], k: int = 2
    ) -> None:
        super().__init__(model, neurons, units)
        if k < 1:
            raise AnalysisError(f"k is {k}", mend="pass 1 or more")
        self.k = k

    def active(self, values: npt.NDArray[np.float64]) -> Bits:
        """Among the k greatest."""
        active = np.zeros(len(values), dtype=bool)
        active[np.argsort(-values, kind="stable")[: self.k]] = True
        return active
