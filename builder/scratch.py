"""Scratch: what a build looks up again and again, on disk while the build runs and not after."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from s2lct.errors import BuildError

Key = TypeVar("Key", int, str)
Item = TypeVar("Item")


class Scratch(Generic[Key, Item]):
    """Items by key, in a file without a name that SQLite keeps as far as memory does not do."""

    def __init__(self, adapter: TypeAdapter[Item]) -> None:
        self._adapter = adapter
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("CREATE TABLE items (key PRIMARY KEY, item BLOB) WITHOUT ROWID")

    def put(self, items: Iterable[tuple[Key, Item]]) -> None:
        """Keep items; an earlier one of the same key is replaced.

        Raises:
            BuildError: there is no room for them.
        """
        rows = ((key, self._adapter.dump_json(item)) for key, item in items)
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                self._connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise BuildError(
                f"the scratch file in {tempfile.gettempdir()} cannot be written: {error}",
                hint="make room there, or set TMPDIR to another folder; the same command goes on",
            ) from error

    def get(self, key: Key) -> Item | None:
        """The item of that key; None if there is none."""
        found = self._connection.execute("SELECT item FROM items WHERE key = ?", (key,)).fetchone()
        return None if found is None else self._adapter.validate_json(found[0])

    def __contains__(self, key: Key) -> bool:
        """Whether there is an item of that key."""
        found = self._connection.execute("SELECT 1 FROM items WHERE key = ?", (key,)).fetchone()
        return found is not None
