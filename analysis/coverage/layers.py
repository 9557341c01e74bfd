"""Which layers' neurons count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.errors import AnalysisError


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

        Parts with commas between: ``encoder`` (every encoder layer), ``embeddings``, ``pooler``, a
        number from 1 on, or a range such as ``4-6``.

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

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Layers:
        """The inverse of `dataclasses.asdict`, read from JSON."""
        return cls(tuple(settings["hidden"]), settings["pooler"])
