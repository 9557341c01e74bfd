"""Have language models read: in requests, verdicts kept after each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from s2lct.builder.curation.sheets import (
    ROUNDS,
    Candidate,
    Item,
    Round,
    in_reading_order,
    unread,
    with_traps,
)
from s2lct.builder.curation.verdicts import Verdict, VerdictFile, Verdicts
from s2lct.errors import BuildError
from s2lct.progress import Bars

ITEMS_A_REQUEST = 40
TIMES_ASKED = 2
"""Of an item whose answer cannot be read."""
CandidatesOf = Callable[[Round, Verdicts], Sequence[Candidate]]


class Reader(Protocol):
    """Reads items, of which some are traps."""

    @property
    def name(self) -> str:
        """What it is called in verdicts."""

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        """The verdicts on them; items without a readable answer are left out."""


def read_all_rounds(
    candidates_of: CandidatesOf,
    readers: Sequence[Reader],
    file: VerdictFile,
    *,
    seed: int,
    bars: Bars,
) -> None:
    """Have readers read round after round, until there is nothing more that they can.

    The first reads everything, the others what one before them passed. What stands in the file is
    not asked again.

    Args:
        candidates_of: the candidates of a round, given what was found so far.
        readers: the readers.
        file: takes their verdicts after every request.
        seed: of the order of items and traps.
        bars: shows how far each reader is.

    Raises:
        BuildError: a reader does not answer, calls too many traps natural, or gives answers that
            cannot be read.
    """
    for reader in readers:
        check_care(reader.name, file.verdicts)
    without_answer: set[tuple[str, str]] = set()
    for round in ROUNDS:
        asked = True
        while asked:
            asked = False
            candidates = candidates_of(round, file.verdicts)
            for reader in readers:
                items = [
                    item
                    for item in unread(candidates, file.verdicts, reader.name)
                    if (reader is readers[0] or file.verdicts.of(item.id))
                    and (reader.name, item.id) not in without_answer
                ]
                if items:
                    asked = True
                    left = _read_some(items, round, reader, file, seed=seed, bars=bars)
                    without_answer.update((reader.name, item.id) for item in left)


def _read_some(
    items: Sequence[Item], round: Round, reader: Reader, file: VerdictFile, *, seed: int, bars: Bars
) -> list[Item]:
    """Have a reader read items; those without a readable answer."""
    bar = bars(f"{round}: {reader.name}", len(items))
    left = in_reading_order(items, seed)
    for attempt in range(TIMES_ASKED):
        asked, left = left, []
        for start in range(0, len(asked), ITEMS_A_REQUEST):
            some = asked[start : start + ITEMS_A_REQUEST]
            found = reader.read(with_traps(some, seed))
            if not found and attempt == 0:
                raise BuildError(
                    f"{reader.name}: no line of its answer to {len(some)} texts could be read",
                    hint="choose a model that follows instructions; what was read is kept",
                )
            file.append(found)
            check_care(reader.name, file.verdicts)
            answered = {verdict.id for verdict in found}
            left += [item for item in some if item.id not in answered]
            bar(sum(item.id in answered for item in some))
    return left


def check_care(reader: str, verdicts: Verdicts) -> None:
    """Refuse a reader who calls too many broken sentences natural.

    Raises:
        BuildError: that is so.
    """
    if reader in verdicts.careless:
        care = verdicts.care[reader]
        raise BuildError(
            f"{reader}: called {care.passed} of {care.traps} broken sentences natural, more than a "
            "tenth; what this reader found is not used",
            hint="choose another reader; what others found is kept",
        )
