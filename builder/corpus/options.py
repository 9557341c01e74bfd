"""Options that say what of a corpus is read; see `part`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from s2lct.options import Count, Option, Options

MOST_DRAWN = 1_000_000
_PANEL = "Corpus"


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
