"""What of a corpus is read: all of it, its first rows, some texts drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from s2lct.builder.corpus.sample import Draw
from s2lct.options import Count, Option, Options

MOST_DRAWN = 1_000_000
_PANEL = "Corpus"


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


class PartOfCorpus(Options):
    """Options that say what of a corpus is read."""

    sample: Annotated[
        Annotated[int, Field(ge=1, le=MOST_DRAWN)] | None,
        Option(
            "Draw so many texts of the corpus evenly, by --seed; hf: is streamed "
            r"\[default: take all].",
            _PANEL,
        ),
    ] = None
    rows: Annotated[
        Count | None,
        Option(
            "Read no more than the first so many rows, of a table without end "
            r"\[default: read all].",
            _PANEL,
        ),
    ] = None
    stream: Annotated[
        bool,
        Option("hf: fetch rows as they are read, instead of the whole data set first.", _PANEL),
    ] = False
