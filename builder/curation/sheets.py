"""Sheets: what readers have still to read of a corpus, in three rounds.

First the sentences, whole and shortened; then the cases made of sentences that passed; then the
sentences of these cases with something inserted. A reader sees the text, never how it was made nor
what others said of it.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.builder.curation.verdicts import Verdicts, trap_of
from s2lct.errors import BuildError
from s2lct.files import whole_folder, write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.json_lines import as_json_lines, read_json_lines
from s2lct.labels import Label
from s2lct.plain_text import spreadsheet_cell

Round = Literal["sentences", "cases", "extensions"]
ROUNDS: tuple[Round, ...] = get_args(Round)
TRAPS = 0.05
"""Share of a sheet that is made up of broken sentences: a reader who passes them is not reading."""
LEAST_TRAPS = 2
"""In a sheet, however short it is."""
ITEMS_A_SHEET = 200
TABLE_MARK = "i"
"""Before an id in a table: spreadsheets take some ids for numbers."""
TO_FILL = ("label", "natural", "relevant")
_OPENING = frozenset({"a", "an", "the", "this", "of", "to", "in", "with", "for", "and", "but"})


class Item(BaseModel):
    """Something to read.

    Attributes:
        id: content id of the text.
        text: what is read.
        description: what it is to test, if it is a case.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    description: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may get into a suite if readers pass it, and the labels that are right."""

    item: Item
    labels: Collection[Label]


def unread(candidates: Iterable[Candidate], verdicts: Verdicts, reader: str = "") -> list[Item]:
    """What another reader, or a certain one, has still to read.

    What one reader refused is not read again: it cannot pass any more.
    """
    left = []
    for one in candidates:
        if verdicts.state(one.item.id, one.labels) != "open":
            continue
        if not reader or all(v.reader != reader for v in verdicts.of(one.item.id)):
            left.append(one.item)
    return left


def in_reading_order(items: Iterable[Item], seed: int) -> list[Item]:
    """In a random order, so that forms of one sentence stand apart."""
    return sorted(items, key=lambda item: shuffle_key(seed, "read", item.id))


def with_traps(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in a random order, among traps: sentences with three words in the wrong order."""
    rng = rng_for(seed, "traps", *(item.id for item in items))
    long = [item for item in items if _places(item.text.split())]
    wanted = min(len(long), max(LEAST_TRAPS, round(TRAPS * len(items))))
    traps = [_broken(item, rng) for item in rng.sample(long, wanted)]
    mixed = [*items, *traps]
    rng.shuffle(mixed)
    return mixed


def _broken(item: Item, rng: random.Random) -> Item:
    words = item.text.split()
    at = rng.choice(_places(words))
    words[at : at + 3] = reversed(words[at : at + 3])
    return item.model_copy(update={"id": trap_of(item.id), "text": " ".join(words)})


def _places(words: Sequence[str]) -> list[int]:
    """Where three words can be turned round; if possible, from one that opens a phrase."""
    places = [n for n in range(1, len(words) - 3) if words[n].lower() != words[n + 2].lower()]
    return [n for n in places if words[n].lower() in _OPENING] or places


def protocol(*, cases: bool) -> str:
    """The instructions to readers."""
    name = "protocol_cases.md" if cases else "protocol_sentences.md"
    return resources.files("s2lct.builder.curation").joinpath(name).read_text(encoding="utf-8")


def write_sheets(
    items: Sequence[Item], folder: Path, *, round: Round, seed: int, size: int = ITEMS_A_SHEET
) -> list[Path]:
    """Write items as JSON lines and as tables to fill, and the instructions beside them.

    They get a folder of their own, which is named by what is in it: sheets that were handed out
    before stay as they are.

    Args:
        items: what is to be read.
        folder: where the folder of the sheets is made.
        round: of what.
        seed: of the random order.
        size: items of a sheet, traps apart.

    Returns:
        The sheets, JSON lines.
    """
    ordered = in_reading_order(items, seed)
    name = fingerprint_of([item.id for item in ordered])[:8]
    made = folder / f"{round}-{name}"
    starts = range(0, len(ordered), size)
    names = [f"sheet-{number:03}" for number in range(1, len(starts) + 1)]
    if not made.is_dir():
        with whole_folder(made) as place:
            for sheet_name, start in zip(names, starts, strict=True):
                sheet = with_traps(ordered[start : start + size], seed)
                lines = as_json_lines(item.model_dump(exclude_defaults=True) for item in sheet)
                write_text(place / f"{sheet_name}.jsonl", lines)
                # The mark makes spreadsheets read UTF-8.
                table = "\ufeff" + _table(sheet, cases=round == "cases")
                write_text(place / f"{sheet_name}.csv", table)
            write_text(place / "README.md", _instructions(round))
    return [made / f"{sheet_name}.jsonl" for sheet_name in names]


def _table(items: Sequence[Item], *, cases: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    shown = ["id", *(["description"] if cases else []), "text"]
    to_fill = TO_FILL if cases else TO_FILL[:2]
    writer.writerow([*shown, *to_fill])
    for item in items:
        cells = [TABLE_MARK + item.id, *(getattr(item, name) for name in shown[1:])]
        writer.writerow([*map(spreadsheet_cell, cells), *("" for _ in to_fill)])
    return text.getvalue()


def _instructions(round: Round) -> str:
    columns = ", ".join(TO_FILL if round == "cases" else TO_FILL[:2])
    return f"""# What to do

{protocol(cases=round == "cases")}
Fill in {columns} of each row of a sheet's CSV, and save it under a name of your own; or write a
line `{{"id": "…", "label": "…", "natural": …}}` for each. Some sentences were broken on purpose.
"""


def read_sheets(folder: Path) -> dict[Path, list[Item]]:
    """The sheets that were written to a folder, those of earlier rounds too.

    Raises:
        BuildError: one cannot be read.
    """

    def refused(number: int, error: BaseException) -> BuildError:
        return BuildError(
            f"{path}, line {number}: {error}", hint="remove the sheet, and write it again"
        )

    found: dict[Path, list[Item]] = {}
    for path in sorted(folder.glob("*/sheet-*.jsonl")):
        try:
            with path.open(encoding="utf-8") as file:
                rows = list(read_json_lines(file, refused))
        except (OSError, UnicodeDecodeError) as error:
            raise refused(0, error) from error
        found[path] = []
        for number, row in rows:
            try:
                found[path].append(Item.model_validate(row))
            except ValidationError as error:
                raise refused(number, error) from error
    return found


def numbered(items: Sequence[Item]) -> Iterator[str]:
    """Each item as a line of a prompt."""
    for number, item in enumerate(items, start=1):
        about = f" [{item.description}]" if item.description else ""
        yield f"{number}{about} {' '.join(item.text.split())}"
