"""Draw: the sentences of each slot in drawing order, tagged and parsed as far as seeds need them.

The corpus and what was found of its sentences stay on disk: in memory are a few numbers a sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from s2lct.builder.checkpoint import Checkpoints
from s2lct.builder.looking import Asked, Candidates, Looked, Slot
from s2lct.builder.scratch import Scratch
from s2lct.builder.sources import Source
from s2lct.engines import Engine
from s2lct.identity import content_id
from s2lct.progress import Progress
from s2lct.suite.records import Sentence

if TYPE_CHECKING:
    from s2lct.builder.fluent_stages import FluentStages

SCREENED_AT_ONCE = 5_000
"""Sentences of which a worker says at once what they may fill."""
LOOKED_AT_ONCE = 100
"""Sentences that a worker tags and parses together."""
LEAST_DRAWN = 32
MOST_DRAWN = 1_000
"""Sentences of a slot that are looked at together, on all workers."""
LEAST_SHORTENED = 8
OF_A_SENTENCE = 2
"""Forms of a sentence in a pool."""
_REMEMBERED = 4_096
_CANDIDATES = TypeAdapter(Candidates)
_LOOKED = TypeAdapter(list[Looked])
Rows = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
_NONE: Rows = np.zeros(0, dtype=np.int64)


class Search:
    """Searches a corpus for what may fill slots: no sentence is tagged or parsed twice."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        stages: FluentStages,
        engine: Engine[FluentStages],
        checkpoints: Checkpoints,
        progress: Progress,
    ) -> None:
        """Search sentences of a corpus.

        Args:
            sentences: of the corpus.
            stages: has the slots, and does what is done here rather than by a worker.
            engine: has the workers.
            checkpoints: keep what they find.
            progress: is told how many sentences were screened.
        """
        self.sentences = sentences
        self.slots = stages.slots
        self._seed = stages.config.seed
        self._engine = engine
        self._checkpoints = checkpoints
        self._progress = progress
        self._looked: Scratch[int, Looked] = Scratch(TypeAdapter(Looked))
        shape = (len(self.slots), len(sentences))
        self._number = {name: number for number, name in enumerate(self.slots)}
        self._may_fill, self._fits, self._decided = (np.zeros(shape, dtype=bool) for _ in range(3))
        self._seen = np.zeros(len(sentences), dtype=bool)

    @cached_property
    def candidates(self) -> dict[str, Rows]:
        """The rows that may fill each slot, in its drawing order."""
        self._progress.start("search", len(self.sentences))
        shards: dict[str, dict[str, tuple[Rows, Keys]]] = {}
        for name, found in self._checkpoints.results(
            _CANDIDATES, self._engine, _screen, self._shards(SCREENED_AT_ONCE)
        ):
            shards[name] = {
                slot: (
                    np.array([row for row, _ in pairs], dtype=np.int64),
                    np.array([key for _, key in pairs], dtype=np.uint64),
                )
                for slot, pairs in found.items()
            }
            done = min(SCREENED_AT_ONCE, len(self.sentences) - SCREENED_AT_ONCE * (len(shards) - 1))
            self._progress.advance("search", done)
        ordered: dict[str, Rows] = {}
        for slot, number in self._number.items():
            own = [shards[name][slot] for name in sorted(shards)]
            rows = np.concatenate([_NONE, *(rows for rows, _ in own)])
            keys = np.concatenate([_NONE.astype(np.uint64), *(keys for _, keys in own)])
            self._may_fill[number, rows] = True
            ordered[slot] = rows[np.argsort(keys, kind="stable")]
        return ordered

    def _shards(self, size: int) -> Iterator[tuple[str, tuple[int, Sequence[Sentence]]]]:
        for start in range(0, len(self.sentences), size):
            yield f"search/{start // size:06}", (start, self.sentences[start : start + size])

    def look(self, wanted: Mapping[str, Rows]) -> None:
        """Find out which of a slot's rows fit it, for several slots at once."""
        asked = {
            self._number[slot]: rows[~self._decided[self._number[slot], rows]]
            for slot, rows in wanted.items()
        }
        every = np.unique(np.concatenate([_NONE, *asked.values()]))

        def wants(rows: Rows) -> npt.NDArray[np.bool_]:
            wanted = np.zeros((len(self.slots), len(rows)), dtype=bool)
            for number, some in asked.items():
                wanted[number] = np.isin(rows, some)
            return wanted

        for _ in self._found_of(every, wants):
            pass

    def look_at_all(self) -> None:
        """Find out which rows fit which slots, all of them."""
        if not self.candidates:
            return
        every = np.flatnonzero(self._may_fill.any(axis=0))
        self._progress.start("look", len(every))
        for number in self._found_of(
            every, lambda rows: self._may_fill[:, rows] & ~self._decided[:, rows]
        ):
            self._progress.advance("look", number)

    def _found_of(
        self, every: Rows, wants: Callable[[Rows], npt.NDArray[np.bool_]]
    ) -> Iterator[int]:
        """Look at rows, so many at once; ``wants`` says what for, shape (slots, rows)."""

        def shards() -> Iterator[tuple[str, list[Asked]]]:
            for start in range(0, len(every), LOOKED_AT_ONCE):
                rows = every[start : start + LOOKED_AT_ONCE]
                asked = list(self._asked(rows, wants(rows)))
                told = [f"{one.row} {' '.join(one.wanted)} {' '.join(one.others)}" for one in asked]
                yield f"look/{content_id(*told)}", asked

        for _, found in self._checkpoints.results(_LOOKED, self._engine, _look, shards()):
            self._take(found)
            yield len(found)

    def _asked(self, rows: Rows, wants: npt.NDArray[np.bool_]) -> Iterator[Asked]:
        names = list(self.slots)
        later = self._may_fill[:, rows] & ~self._decided[:, rows] & ~wants
        for place, row in enumerate(rows.tolist()):
            alike = self._alike.get(row, (row,))
            before = self._looked.get(row) if self._seen[row] else None
            yield Asked(
                row,
                tuple(self.sentences[one] for one in alike),
                alike.index(row),
                tuple(names[number] for number in np.flatnonzero(wants[:, place])),
                tuple(names[number] for number in np.flatnonzero(later[:, place])),
                None if before is None else before.tokens,
                None if before is None else before.tree,
            )

    def _take(self, found: Sequence[Looked]) -> None:
        for one in found:
            self._seen[one.row] = True
            open_ones = [self._number[name] for name in one.undecided]
            self._decided[:, one.row] |= self._may_fill[:, one.row]
            self._decided[open_ones, one.row] = False
            self._fits[[self._number[name] for name in one.fits], one.row] = True
        self._looked.put((one.row, one) for one in found)

    @cached_property
    def _alike(self) -> dict[int, tuple[int, ...]]:
        """The rows of each text that stands in the corpus more than once, by each of them."""
        digests = np.fromiter((_digest(one.text) for one in self.sentences), dtype=np.uint64)
        _, inverse, counts = np.unique(digests, return_inverse=True, return_counts=True)
        of_text: dict[int, list[int]] = {}
        for row in np.flatnonzero(counts[inverse] > 1).tolist():
            of_text.setdefault(int(inverse[row]), []).append(row)
        alike = {}
        for rows in of_text.values():
            for row in rows:
                text = self.sentences[row].text
                alike[row] = tuple(one for one in rows if self.sentences[one].text == text)
        return alike

    def fitting(self, slot: str, rows: Rows) -> Rows:
        """Those of a slot's rows that fit it, in their order."""
        self.look({slot: rows})
        fit: Rows = rows[self._fits[self._number[slot], rows]]
        return fit

    @property
    def found(self) -> Rows:
        """The rows that fit any slot, as far as they were looked at."""
        return np.flatnonzero(self._fits.any(axis=0))

    def source(self, row: int) -> Source:
        """A sentence that fits a slot, parsed."""
        looked = self._looked.get(row)
        if looked is None or looked.tree is None:
            raise KeyError(row)
        sentence = self.sentences[row]
        return Source(sentence, sentence.text, looked.tokens, looked.tree)


def _screen(stages: FluentStages, given: tuple[int, Sequence[Sentence]]) -> Candidates:
    return stages.screen(*given)


def _look(stages: FluentStages, asked: Sequence[Asked]) -> list[Looked]:
    return stages.look(asked)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class DrawnSentences:
    """The sentences of a slot in drawing order, searched as far as they are asked for."""

    def __init__(self, search: Search, slot: Slot, *, most: int | None, at_once: int) -> None:
        """Draw from a slot.

        Args:
            search: of the corpus.
            slot: the slot.
            most: sentences drawn in all; None for all that there are.
            at_once: sentences that are looked at together.
        """
        self.search = search
        self.slot = slot
        self._most = most
        self._at_once = at_once
        self._looked = 0
        self._found: list[Rows] = []
        self._number = 0

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return self._number if self._most is None else min(self._number, self._most)

    @property
    def first(self) -> Rows:
        """The rows that are looked at first."""
        return self._candidates[: self._at_once]

    @property
    def _candidates(self) -> Rows:
        return self.search.candidates[self.slot.name]

    def rows(self, start: int, end: int) -> Rows:
        """The rows of those from number ``start`` on and before ``end``, as far as there are."""
        end = end if self._most is None else min(end, self._most)
        while self._number < end and self._looked < len(self._candidates):
            some = self._candidates[self._looked : self._looked + self._at_once]
            self._looked += len(some)
            self._found.append(self.search.fitting(self.slot.name, some))
            self._number += len(self._found[-1])
        if len(self._found) > 1:
            self._found = [np.concatenate(self._found)]
        return self._found[0][start:end] if self._found else _NONE

    def sources(self, start: int, end: int) -> list[Source]:
        """Those from number ``start`` on and before ``end``, as far as there are so many."""
        return [self.search.source(row) for row in self.rows(start, end).tolist()]


class Pool:
    """What a slot is filled with: a form of every sentence, then another one of each.

    It is drawn while it is gone through, and may be gone through again.
    """

    def __init__(
        self,
        search: Search,
        slot: Slot,
        forms: Callable[[Sequence[Source]], Mapping[str, Sequence[Source]]],
        *,
        most: int | None,
        seeds: int,
    ) -> None:
        """Draw from a slot.

        Args:
            search: of the corpus.
            slot: the slot.
            forms: gives the forms of sentences that may be used, by the sentences' texts.
            most: sentences drawn in all; None for all that there are.
            seeds: how many seeds are wanted; no more than that is drawn at once.
        """
        at_once = min(max(LEAST_DRAWN, 4 * seeds), MOST_DRAWN)
        self.drawn = DrawnSentences(search, slot, most=most, at_once=at_once)
        self._all_forms = forms
        self._at_once = min(max(LEAST_SHORTENED, seeds), MOST_DRAWN)
        self._numbers: list[int] = []
        self._forms = lru_cache(_REMEMBERED)(self._forms_of)

    @property
    def found(self) -> int:
        """How many sentences were found by now."""
        return self.drawn.found

    def __iter__(self) -> Iterator[Source]:
        number = 0
        while number < len(self._numbers) or self._use_more():
            if self._numbers[number]:
                yield self._forms(number)[0]
            number += 1
        for number, forms in enumerate(self._numbers):
            if forms > 1:
                yield from self._forms(number)[1:]

    def _use_more(self) -> bool:
        """Find forms of the next sentences; whether there were any sentences."""
        start = len(self._numbers)
        some = self.drawn.sources(start, start + self._at_once)
        forms = self._all_forms(some)
        self._numbers += [len(forms[source.text][:OF_A_SENTENCE]) for source in some]
        return bool(some)

    def _forms_of(self, number: int) -> Sequence[Source]:
        (source,) = self.drawn.sources(number, number + 1)
        return self._all_forms([source])[source.text][:OF_A_SENTENCE]
