"""Sheets: what readers have still to read of a corpus, in three rounds.

First the sentences, whole and shortened; then the cases made of sentences that passed; then the
sentences of these cases with something inserted. A reader sees the text, never how it was made nor
what others said of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from s2lct.builder.curation.verdicts import LEAST_READERS, Verdicts
from s2lct.files import write_text
from s2lct.identity import content_id, rng_for
from s2lct.json_lines import as_json_lines

Round = Literal["sentences", "cases", "extensions"]
TRAPS = 0.05
"""Share of a sheet that is made up of broken sentences: a reader who passes them is not reading."""
TRAP = "trap"


class Item(BaseModel):
    """Something to read.

    Attributes:
        id: content id of the text.
        text: what is read.
        capability: its id, for cases.
        description: what the case is to test, for cases.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    capability: str = ""
    description: str = ""


def unread(items: Iterable[Item], verdicts: Verdicts, reader: str = "") -> list[Item]:
    """The items that a reader, or that too few readers, have judged.

    An item that a reader found wrong is not read again: it cannot pass any more.
    """
    left = []
    for item in items:
        found = verdicts.of(item.id)
        if any(verdict.natural == 0 for verdict in found):
            continue
        mine = any(verdict.reader == reader for verdict in found)
        if not mine and (reader or len(found) < LEAST_READERS):
            left.append(item)
    return left


def with_traps(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in a random order, among traps: sentences with three words in the wrong order."""
    rng = rng_for(seed, "traps", *(item.id for item in items))
    long = [item for item in items if len(item.text.split()) > _LEAST_WORDS]
    wanted = min(len(long), round(TRAPS * len(items)))
    traps = [_broken(item, rng) for item in rng.sample(long, wanted)]
    mixed = [*items, *traps]
    rng.shuffle(mixed)
    return mixed


_LEAST_WORDS = 7


def _broken(item: Item, rng: random.Random) -> Item:
    words = item.text.split()
    at = rng.randrange(1, len(words) - 3)
    words[at : at + 3] = reversed(words[at : at + 3])
    text = " ".join(words)
    return item.model_copy(update={"id": f"{TRAP}-{content_id(text)}", "text": text})


def write_sheets(items: Sequence[Item], folder: Path, *, size: int, seed: int) -> list[Path]:
    """Write items as JSON lines, so many a sheet; the sheets' paths."""
    paths: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(items), size), start=1):
        sheet = with_traps(items[start : start + size], seed)
        path = folder / f"sheet-{number:03}.jsonl"
        write_text(path, as_json_lines(item.model_dump(exclude_defaults=True) for item in sheet))
        paths.append(path)
    return paths


def numbered(items: Sequence[Item]) -> Iterator[str]:
    """Each item as a line of a prompt."""
    for number, item in enumerate(items, start=1):
        about = f" [{item.description}]" if item.description else ""
        yield f"{number}{about} {' '.join(item.text.split())}"
