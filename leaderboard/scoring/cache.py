"""What models said, kept between runs, so that scoring again costs nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.classifier import Classifier

ANSWERS = 1
"""Raise it when a change of this package changes what a model says: older answers count no more."""

_PATIENCE = 10.0  # seconds to wait for another process that is writing
_TABLE = "answers"
_FORMER_TABLES = ("outcomes",)  # answered by a case's id, whatever its text was


class CacheWarning(S2lctWarning):
    """Answers are not kept; the figures are what they would be."""


class Kept:
    """Probabilities by model and text, in SQLite: several processes may write, batch by batch.

    An answer is that of a text, of all that decides what a model says (`model_fingerprint`, the
    prompt of a language model among it) and of this package's way to ask (`ANSWERS`); no id of a
    case and no name of a model takes part. A cache that cannot be used for now (a full disk, a
    folder that nobody may write to, another process that holds it) is done without, with a
    `CacheWarning`.

    Args:
        path: the file; None keeps nothing.

    Raises:
        ScoringError: the file is no cache, or a damaged one.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._writes = self._told = False
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE)
            self._prepare(self._connection)
            self._writes = True
        except (OSError, sqlite3.Error) as error:
            self._do_without(error)

    @staticmethod
    def _prepare(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {_TABLE} (model BLOB, text BLOB, probabilities BLOB, "
            "PRIMARY KEY (model, text)) WITHOUT ROWID"
        )
        for name in _FORMER_TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.commit()

    def read(self, model: Classifier, texts: Sequence[str]) -> dict[str, Array]:
        """What is kept of what a model says of texts."""
        if self._connection is None:
            return {}
        text_of = {_text_key(text): text for text in texts}
        known: dict[str, Array] = {}
        try:
            rows = self._connection.execute(
                f"SELECT text, probabilities FROM {_TABLE} WHERE model = ?", (_model_key(model),)
            )
            for key, blob in rows:
                row = _as_row(blob, len(model.classes))
                if key in text_of and row is not None:
                    known[text_of[key]] = row
        except sqlite3.Error as error:
            self._do_without(error)
        return known

    def write(self, model: Classifier, said: Mapping[str, Array]) -> None:
        """Keep what a model said of texts."""
        if self._connection is None or not self._writes:
            return
        key = _model_key(model)
        rows = [(key, _text_key(text), row.astype("<f8").tobytes()) for text, row in said.items()]
        try:
            with self._connection:
                self._connection.executemany(
                    f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?)", rows
                )
        except sqlite3.Error as error:
            self._do_without(error)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()

    def _do_without(self, error: Exception) -> None:
        """Go on without keeping more, or refuse a file that is no cache."""
        if type(error) is sqlite3.DatabaseError:  # of all, this one is for broken contents
            self.close()
            raise ScoringError(
                f"cache {self._path}: is damaged ({error})",
                mend=f"delete {self._path}; it is made anew",
            ) from error
        if self._told:
            return
        self._told = True
        self._writes = False
        warnings.warn(
            f"cache {self._path}: answers are not kept ({error}); make room or set S2LCT_CACHE to "
            "a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )


def _as_row(blob: object, classes: int) -> Array | None:
    """Kept probabilities; None for what is none of ours, so that it is asked anew."""
    if not isinstance(blob, bytes) or len(blob) != classes * np.dtype("<f8").itemsize:
        return None
    row = np.frombuffer(blob, dtype="<f8")
    return row if np.isfinite(row).all() else None


def _model_key(model: Classifier) -> bytes:
    described = json.dumps([ANSWERS, model.fingerprint, list(model.classes)])
    return hashlib.sha256(described.encode()).digest()


def _text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
