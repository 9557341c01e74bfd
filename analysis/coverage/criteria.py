"""What every coverage metric has in common: bitsets that texts fill, merge, save and load.

A metric is a set of things that a test may cover (a neuron beyond its bounds, a section of a
neuron's range, a neuron that is active). They are kept as bits: what is held depends on the neurons
and their sections, never on the suite, and order, batches and splits of the texts change nothing.
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
from s2lct.analysis.coverage.activations import Activations
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

Bits = npt.NDArray[Any]
Index = Any
Marks = Mapping[str, tuple[Index, Bits]]
"""What one text covers: for each part of a metric's state, where, and which bits."""
Own = TypeVar("Own", bound="Coverage")

_KIND, _FORMAT = "coverage", 1
_BITS_OF_BYTE = np.array([bin(n).count("1") for n in range(256)], dtype=np.uint8)


def count_bits(bits: Bits) -> int:
    """How many bits are set."""
    flat = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
    return int(_BITS_OF_BYTE[flat].sum(dtype=np.int64))


class Coverage(ABC):
    """A metric with what texts have covered so far.

    Attributes:
        model: fingerprint of the model.
        state: what is covered, as bits, by part.
        texts: how many texts were added.
    """

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Coverage]]] = {}

    def __init__(self, model: str, state: dict[str, Bits]) -> None:
        self.model, self.state, self.texts = model, state, 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Coverage._kinds[cls.kind] = cls

    @abstractmethod
    def marks(self, activations: Activations) -> Marks:
        """What one text covers, given its activations alone (an axis of length 1)."""

    @abstractmethod
    def weight(self, part: str) -> float:
        """How much a bit of that part of the state adds to the coverage."""

    @property
    @abstractmethod
    def values(self) -> dict[str, float]:
        """The figures by name, the main one first, each in [0, 1]."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What defines the metric, as plain JSON values."""

    def constants(self) -> Arrays:
        """The arrays that define the metric, such as bounds."""
        return {}

    @classmethod
    @abstractmethod
    def rebuilt(cls, model: str, settings: Mapping[str, Any], constants: Arrays) -> Coverage:
        """The metric of which `settings` and `constants` are, nothing covered."""

    @property
    def name(self) -> str:
        """Of the main figure."""
        return next(iter(self.values))

    @property
    def value(self) -> float:
        """The main figure."""
        return next(iter(self.values.values()))

    def growth(self, marks: Marks) -> float:
        """By how much the main figure would grow if these were added."""
        return float(
            sum(
                self.weight(part) * count_bits(bits & ~self.state[part][where])
                for part, (where, bits) in marks.items()
            )
        )

    def add(self, marks: Marks) -> None:
        """Cover what a text covers."""
        self.texts += 1
        for part, (where, bits) in marks.items():
            self.state[part][where] |= bits

    def update(self, activations: Activations) -> None:
        """Cover what a batch of texts covers."""
        for row in range(len(activations.numbers)):
            self.add(self.marks(activations.one(row)))

    def cover(
        self: Own, encoder: EncoderModel, texts: Iterable[str], advance: Advance = silently
    ) -> Own:
        """Cover what texts cover, in one pass, and return itself.

        Raises:
            AnalysisError: the model is another one than the metric was made for.
        """
        self.check_model(encoder)
        for _, one in encoder.each(texts, advance):
            self.add(self.marks(one))
        return self

    def check_model(self, encoder: EncoderModel) -> None:
        """Refuse a model that the metric was not made for.

        Raises:
            AnalysisError: its weights or tokenizer are others.
        """
        if encoder.fingerprint != self.model:
            raise AnalysisError(
                f"{self.name}: was made for another model than {encoder.name}",
                mend="make the coverage anew for this model",
            )

    def emptied(self: Own) -> Own:
        """The same metric, nothing covered."""
        other = copy(self)
        other.state = {part: np.zeros_like(bits) for part, bits in self.state.items()}
        other.texts = 0
        return other

    def merge(self: Own, other: Coverage) -> Own:
        """Cover what the other has covered, and return itself.

        Raises:
            AnalysisError: the other is another metric, of another model or with other bounds.
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
        """SHA-256 over all that defines the metric, not what is covered."""
        digest = hashlib.sha256(
            json.dumps([self.kind, self.model, self.settings()], sort_keys=True).encode()
        )
        for name, array in sorted(self.constants().items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write metric and state as safetensors, whole or not at all."""
        arrays = {f"state/{part}": bits for part, bits in self.state.items()}
        arrays |= {f"constants/{name}": array for name, array in self.constants().items()}
        described = {
            "kind": self.kind,
            "format": _FORMAT,
            "model": self.model,
            "texts": self.texts,
            "settings": self.settings(),
        }
        save_arrays(path, _KIND, arrays, described)

    @classmethod
    def load(cls, path: Path) -> Coverage:
        """Read what `save` wrote.

        Raises:
            AnalysisError: the file is missing or holds no coverage.
        """
        with unreadable(
            f"coverage {path}: cannot be read", "pass a file that a coverage was saved to"
        ):
            arrays, described = load_arrays(path, _KIND)
            kind = described.get("kind")
            if kind not in cls._kinds or described.get("format") != _FORMAT:
                raise ValueError("it holds no coverage")
            coverage = cls._kinds[kind].rebuilt(
                described["model"],
                described["settings"],
                {
                    name.removeprefix("constants/"): array
                    for name, array in arrays.items()
                    if name.startswith("constants/")
                },
            )
            for part, bits in coverage.state.items():
                found = arrays[f"state/{part}"]
                if found.shape != bits.shape or found.dtype != bits.dtype:
                    raise ValueError(f"state {part} is of another shape")
                coverage.state[part] = found.copy()
            coverage.texts = int(described["texts"])
            return coverage


def reference_texts(texts: Iterable[str]) -> list[str]:
    """Texts that bounds can be taken from.

    Raises:
        AnalysisError: fewer than two different ones.
    """
    found = list(texts)
    if len(set(found)) < 2:
        raise AnalysisError(
            f"reference corpus of {len(set(found))} sentence{'' if found else 's'}: no neuron "
            "has a range",
            mend="pass the corpus that the model was trained on, or another large one",
        )
    return found
