"""What of a corpus is read: all of it, its first rows, some texts drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from s2lct.builder.corpus.sample import Draw


def _tell_nobody(rows: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Part:
    """What of a corpus is read.

    Attributes:
        rows: no more than the first so many rows of a table; None for all.
        draw: what is drawn of them; None for all.
        stream: whether rows of a data set of the Hub are fetched as they are read.
        told: told now and then how many rows were read.
    """

    rows: int | None = None
    draw: Draw | None = None
    stream: bool = False
    told: Callable[[int], None] = _tell_nobody


ALL = Part()
