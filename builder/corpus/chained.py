"""Sentences of several corpora as one sequence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import overload

from s2lct.suite.records import Sentence


class Chained(Sequence[Sentence]):
    """The sentences of corpora one behind the other, none of them copied."""

    def __init__(self, parts: Sequence[Sequence[Sentence]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        """Return how many sentences there are."""
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Sentence]:
        """Go through the corpora one by one."""
        return chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, place: int) -> Sentence: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Sentence, ...]: ...

    def __getitem__(self, place: int | slice) -> Sentence | tuple[Sentence, ...]:
        """Give a sentence, or those of a slice."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                return tuple(self[number] for number in range(start, stop, step))
            found: list[Sentence] = []
            for part, end in zip(self._parts, self._ends, strict=True):
                first = end - len(part)
                found += part[max(start - first, 0) : max(stop - first, 0)]
            return tuple(found)
        number = range(len(self))[place]
        which = bisect_right(self._ends, number)
        sentences = self._parts[which]
        return sentences[number - self._ends[which] + len(sentences)]
