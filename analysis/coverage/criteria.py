"""What every coverage metric has in common: bitsets that texts fill, merge, save and load.

A metric is a set of things that a test may cover (a neuron beyond its bounds, a section of a
neuron's range, a neuron that is active). They are kept as bits: what is held depends on the neurons
and their sections, never on the suite, and order, batches and splits of the texts change nothing.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from s2lct.analysis.coverage.activations import Activations, EncoderModel
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes

Advance = Callable[[int], None]
Bits = npt.NDArray[Any]
Index = Any
Marks = Mapping[str, tuple[Index, Bits]]
"""What one text covers: for each part of a metric's state, where, and which bits."""
Own = TypeVar("Own", bound="Coverage")

_FORMAT = 1
_METADATA = "s2lct coverage"
_BITS_OF_BYTE = np.array([bin(n).count("1") for n in range(256)], dtype=np.uint8)


def count_bits(bits: Bits) -> int:
    """How many bits are set."""
    flat = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
    return int(_BITS_OF_BYTE[flat].sum(dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Layers:
    """Which layers' neurons count.

    Attributes:
        hidden: numbers of hidden states: 0 is the embeddings, n the n-th encoder layer.
        pooler: whether the pooler's output counts.
    """

    hidden: tuple[int, ...]
    pooler: bool = False

    @property
    def attentions(self) -> tuple[int, ...]:
        """Numbers of the encoder layers, counted from 0."""
        return tuple(number - 1 for number in self.hidden if number)

    @classmethod
    def parse(cls, text: str, encoder: EncoderModel) -> Layers:
        """Read what ``--layers`` says.

        Args:
            text: parts with commas between: ``encoder`` (every encoder layer), ``embeddings``,
                ``pooler``, a number from 1 on, or a range such as ``4-6``.
            encoder: the model.

        Raises:
            AnalysisError: a part that means nothing, or a layer that the model lacks.
        """
        most = encoder.layers
        hidden: set[int] = set()
        pooler = False
        for part in (part.strip() for part in text.split(",")):
            first, dash, last = part.partition("-")
            if part == "encoder":
                hidden |= set(range(1, most + 1))
            elif part == "embeddings":
                hidden.add(0)
            elif part == "pooler" and encoder.has_pooler:
                pooler = True
            elif first.isdecimal() and (last.isdecimal() or not dash) and int(first):
                hidden |= set(range(int(first), int(last or first) + 1)) or {-1}
            else:
                hidden.add(-1)
            if hidden and not 0 <= min(hidden) <= max(hidden) <= most:
                raise AnalysisError(
                    f"--layers {part}: model {encoder.name} has no such layer",
                    mend=f"name encoder, embeddings, 1 to {most}, a range such as 1-{most}"
                    + (" or pooler" if encoder.has_pooler else " (it has no pooler)"),
                )
        return cls(tuple(sorted(hidden)), pooler)


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
        """What one text covers.

        Args:
            activations: of that text alone (an axis of length 1).
        """

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

    @abstractmethod
    def constants(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that define the metric, such as bounds."""

    @classmethod
    @abstractmethod
    def rebuilt(
        cls, model: str, settings: Mapping[str, Any], constants: Mapping[str, npt.NDArray[Any]]
    ) -> Coverage:
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
        self: Own, encoder: EncoderModel, texts: Iterable[str], advance: Advance | None = None
    ) -> Own:
        """Cover what texts cover, in one pass.

        Args:
            encoder: the model that the metric was made for.
            texts: any texts.
            advance: told how many texts were done.

        Returns:
            Itself.

        Raises:
            AnalysisError: the model is another one.
        """
        self.check_model(encoder)
        for batch in encoder.activations(texts):
            self.update(batch)
            if advance:
                advance(len(batch.numbers))
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

    def copied(self: Own) -> Own:
        """The same metric, the same covered; changing one leaves the other."""
        return self.emptied().merge(self)

    def merge(self: Own, other: Coverage) -> Own:
        """Cover what the other has covered.

        Returns:
            Itself.

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
        from safetensors.numpy import save

        tensors = {f"state/{part}": bits for part, bits in self.state.items()}
        tensors |= {f"constants/{name}": array for name, array in self.constants().items()}
        described = {
            "kind": self.kind,
            "format": _FORMAT,
            "model": self.model,
            "texts": self.texts,
            "settings": self.settings(),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        # One entry: safetensors orders several at random.
        metadata = {_METADATA: json.dumps(described, sort_keys=True)}
        write_bytes(path, save(arrays, metadata=metadata))

    @classmethod
    def load(cls, path: Path) -> Coverage:
        """Read what `save` wrote.

        Raises:
            AnalysisError: the file is missing or holds no coverage.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads((file.metadata() or {}).get(_METADATA, "{}"))
                kind = described.get("kind")
                if kind not in cls._kinds or described.get("format") != _FORMAT:
                    raise ValueError("it holds no coverage")
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            constants = {
                name.removeprefix("constants/"): array
                for name, array in arrays.items()
                if name.startswith("constants/")
            }
            coverage = cls._kinds[kind].rebuilt(
                described["model"], described["settings"], constants
            )
            for part, bits in coverage.state.items():
                found = arrays[f"state/{part}"]
                if found.shape != bits.shape or found.dtype != bits.dtype:
                    raise ValueError(f"state {part} is of another shape")
                coverage.state[part] = found.copy()
            coverage.texts = int(described["texts"])
            return coverage
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise AnalysisError(
                f"coverage {path}: cannot be read ({error})",
                mend="pass a file that a coverage was saved to",
            ) from error


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
