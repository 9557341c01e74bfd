"""Which texts stand more than once, known from hashes of 16 bytes instead of the texts."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
_BYTES = 16


class Hashes:
    """A hash of one text a row."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def append(self, text: str) -> None:
        """Take the text of the next row."""
        self._bytes += _hash(text)

    def __len__(self) -> int:
        return len(self._bytes) // _BYTES

    def __contains__(self, text: str) -> bool:
        """Whether the text was taken. It goes through all of them: not to be asked of each row."""
        return bool((self._pairs() == np.frombuffer(_hash(text), np.uint64)).all(axis=1).any())

    def repeats(self, of: Rows | None = None) -> tuple[Rows, Rows]:
        """The rows whose text stands in a row before.

        Args:
            of: look at these rows alone, which are in ascending order.

        Returns:
            These rows, and for each the first row that has its text.
        """
        pairs = self._pairs()
        halves = pairs[:, 0] if of is None else pairs[of, 0]
        # Half a hash tells most texts apart; the whole of it is looked at where it does not.
        order = np.argsort(halves, kind="stable")
        halves = halves[order]
        alike = halves[1:] == halves[:-1]
        in_doubt = np.zeros(len(halves), dtype=bool)
        in_doubt[order[1:][alike]] = True
        in_doubt[order[:-1][alike]] = True
        rows = np.flatnonzero(in_doubt) if of is None else of[in_doubt]
        rows = rows[np.lexsort((pairs[rows, 1], pairs[rows, 0]))]  # stable: in order within a text
        again = np.zeros(len(rows), dtype=bool)
        again[1:] = (pairs[rows[1:]] == pairs[rows[:-1]]).all(axis=1)
        first = rows[~again][np.cumsum(~again) - 1]
        return rows[again], first[again]

    def _pairs(self) -> NDArray[np.uint64]:
        return np.frombuffer(self._bytes, np.uint64).reshape(-1, 2)


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
