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
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.arrays import Arrays, load_arrays, save_arrays, unreadable
from s2lct.analysis.coverage.encoder import Activations, Booleans, EncoderModel, Floats, Text
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

Bits = npt.NDArray[Any]
Marks = Mapping[str, tuple[Any, Bits]]
"""Bits, or values of neurons, by part: where (an index of the part's array), and which."""
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
    kinds: ClassVar[dict[str, type[Coverage]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Coverage.kinds[cls.kind] = cls

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

    def extremes(self, one: Activations, extreme: np.ufunc) -> Marks:
        """Each neuron's least or greatest value in a text, for criteria with ranges."""
        return {}

    def widen(self, one: Activations) -> None:
        """Take a text of a reference corpus into the ranges, which are among the constants."""
        for end, extreme in (("low", np.minimum), ("high", np.maximum)):
            for part, (where, values) in self.extremes(one, extreme).items():
                known = self.constants[part + end]
                known[where] = extreme(known[where], values)

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
        self: Own, encoder: EncoderModel, texts: Iterable[Text], advance: Advance = silently
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
                hint="make the coverage anew for this model",
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
                hint="merge states of one metric, one model and one reference corpus",
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
            if described.get("kind") not in Coverage.kinds or described.get("format") != _FORMAT:
                raise ValueError("it holds no coverage")
            parts: dict[str, dict[str, npt.NDArray[Any]]] = {"state": {}, "constants": {}}
            for name, array in arrays.items():
                of, _, part = name.partition("/")
                parts[of][part] = array
            kind: Any = Coverage.kinds[described["kind"]]
            coverage: Coverage = kind(described["model"], described["settings"], parts["constants"])
            for part, bits in coverage.state.items():
                found = parts["state"][part]
                if found.shape != bits.shape or found.dtype != bits.dtype:
                    raise ValueError(f"state {part} is of another shape")
                coverage.state[part] = found.copy()
            coverage.texts = int(described["texts"])
            return coverage


class UnitCoverage(Coverage):
    """Criteria of output units of layers: dimensions of hidden states, and of the pooler.

    Their settings are ``layers`` (see `parse_layers`) and ``tokens``: ``all``, then a unit has a
    value at each token of a text, special tokens included, or ``cls``, its value at the first.
    """

    kind = "units"

    @staticmethod
    def of_layers(settings: Mapping[str, Any], one: Activations) -> list[Floats]:
        """A text's values, an array of shape (tokens, units) for each layer."""
        rows = slice(0, 1 if settings["tokens"] == "cls" else None)
        values = [one.hidden[number][rows] for number in settings["layers"]["hidden"]]
        if settings["layers"]["pooler"] and one.pooled is not None:
            values.append(one.pooled[None])
        return values


class BoundaryCoverage(UnitCoverage):
    """BoundCov = (|upper corner| + |lower corner|) / 2N and SActCov = |upper corner| / N.

    Ma et al. 2018 (DeepGauge), section III-A; equations 3 and 4 of S²LCT. The upper corner holds
    the neurons that some text drove above ``high``, the lower corner those driven below ``low``;
    both are constants, shape (units,). A value equal to a bound is within. A neuron that never
    varied counts like any other: every other value is beyond.
    """

    kind, name = "boundary", "BoundCov"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        state = {"corners": np.zeros(constants["low"].shape, dtype=np.uint8)}
        super().__init__(model, settings, constants, state)

    @classmethod
    def unset(cls, model: str, settings: Mapping[str, Any], units: int) -> BoundaryCoverage:
        """Without bounds yet, for `widen`."""
        low = np.full(units, np.inf, dtype=np.float32)
        return cls(model, settings, {"low": low, "high": -low})

    def extremes(self, one: Activations, extreme: np.ufunc) -> Marks:
        """Each unit's least or greatest value in a text."""
        layers = self.of_layers(self.settings, one)
        return {"": (slice(None), np.concatenate([extreme.reduce(one, axis=0) for one in layers]))}

    def marks(self, one: Activations) -> Marks:
        """The corners that a text reaches."""
        where, highest = self.extremes(one, np.maximum)[""]
        _, lowest = self.extremes(one, np.minimum)[""]
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


class NeuronCoverage(UnitCoverage):
    """Neurons whose scaled value exceeds a threshold (Pei et al. 2017, DeepXplore, section 4.1).

    A neuron's value for a text is its mean over the text's tokens, as the mean over a feature map
    is DeepXplore's value of a convolution's filter. Values are scaled to [0, 1] within a layer and
    text; where all are equal, none is active.

    Further settings are ``units`` (numbers of neurons, by layer) and ``threshold``, in [0, 1).
    """

    kind, name = "neurons", "NC"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        state = {"active": np.zeros(sum(settings["units"]), dtype=np.uint8)}
        super().__init__(model, settings, constants, state)
        if not 0 <= settings.get("threshold", 0) < 1:
            raise AnalysisError(
                f"threshold {settings['threshold']}", hint="pass 0 or more and below 1"
            )

    @property
    def total(self) -> float:
        """All neurons."""
        return len(self.state["active"])

    def marks(self, one: Activations) -> Marks:
        """The neurons that are active in a text."""
        layers = self.of_layers(self.settings, one)
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


def parse_layers(text: str, encoder: EncoderModel) -> dict[str, Any]:
    """Read what ``--layers`` says: parts with commas between.

    A part is ``encoder`` (every encoder layer), ``embeddings``, ``pooler``, a number from 1 on, or
    a range such as ``4-6``.

    Returns:
        ``hidden``, numbers of hidden states (0 is the embeddings), and whether ``pooler`` counts.

    Raises:
        AnalysisError: a part that means nothing, or a layer that the model lacks.
    """
    named = {"encoder": range(1, encoder.layers + 1), "embeddings": range(1)}
    hidden: set[int] = set()
    pooler = False
    for part in (part.strip() for part in text.split(",")):
        first, dash, last = part.partition("-")
        found = named.get(part, range(0))
        if part == "pooler" and encoder.pooler is not None:
            pooler = True
            continue
        if first.isdecimal() and (last.isdecimal() or not dash) and int(first):
            found = range(int(first), int(last or first) + 1)
        if not found or found[-1] > encoder.layers:
            raise AnalysisError(
                f"--layers {part}: model {encoder.name} has no such layer",
                hint=f"name encoder, embeddings, 1 to {encoder.layers}, a range such as "
                f"1-{encoder.layers}"
                + (" (it has no pooler)" if encoder.pooler is None else " or pooler"),
            )
        hidden |= set(found)
    return {"hidden": sorted(hidden), "pooler": pooler}


def set_ranges(
    encoder: EncoderModel,
    texts: Iterable[Text],
    *criteria: Coverage,
    advance: Advance = silently,
) -> None:
    """Give criteria the ranges of their neurons on a reference corpus, in one pass.

    Raises:
        AnalysisError: fewer than two different texts.
    """
    texts = list(texts)
    if len(set(texts)) < 2:
        raise AnalysisError(
            f"reference corpus of {len(set(texts))} sentence{'' if texts else 's'}: no neuron "
            "has a range",
            hint="pass the corpus that the model was trained on, or another large one",
        )
    for one in encoder.activations(texts, advance):
        for criterion in criteria:
            criterion.widen(one)
