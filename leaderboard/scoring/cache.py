"""What models said, kept between runs, so that scoring again costs nothing."""

from __future__ import annotations

import hashlib
import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import Classifier

ANSWERS = 1
"""Raise it when a change of this package changes what a model says: older answers count no more."""

_PATIENCE = 10.0  # seconds to wait for another process that is writing
_PREPARE = (
    "PRAGMA journal_mode=WAL",
    "CREATE TABLE IF NOT EXISTS answers (model BLOB, text BLOB, probabilities BLOB, "
    "PRIMARY KEY (model, text)) WITHOUT ROWID",
    "DROP TABLE IF EXISTS outcomes",  # answered by a case's id, whatever its text was
)
_KEEP = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)"


class CacheWarning(S2lctWarning):
    """Answers are not kept; the figures are what they would be."""


class Kept:
    """Probabilities by model and text, in SQLite: several processes may write, batch by batch.

    An answer is that of a text, of all that decides what a model says (`model_fingerprint`, a
    language model's prompt) and of `ANSWERS`; no case's id or model's name takes part. What cannot
    be used for now (a full disk, another process that holds it) is done without, with a
    `CacheWarning`; what is no cache, or a damaged one, is a ScoringError. None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._writes = path is not None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE)
            for statement in _PREPARE:
                self._connection.execute(statement)
            self._connection.commit()
        except (OSError, sqlite3.Error) as error:
            self._do_without(error)

    def read(self, model: Classifier, texts: Sequence[str]) -> dict[str, Array]:
        """What is kept of what a model says of texts."""
        if self._connection is None:
            return {}
        text_of = {_text_key(text): text for text in texts}
        known: dict[str, Array] = {}
        try:
            for key, blob in self._connection.execute(
                "SELECT text, probabilities FROM answers WHERE model = ?", (_model_key(model),)
            ):
                whole = isinstance(blob, bytes) and len(blob) == 8 * len(model.classes)
                row = np.frombuffer(blob if whole else b"", dtype="<f8")
                # What is none of ours is asked anew.
                if key in text_of and whole and np.isfinite(row).all():
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
                    "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows
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
        if not self._writes:
            return
        self._writes = False
        warnings.warn(
            f"cache {self._path}: answers are not kept ({error}); make room or set S2LCT_CACHE to "
            "a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )


def _model_key(model: Classifier) -> bytes:
    return bytes.fromhex(fingerprint_of([ANSWERS, model.fingerprint, list(model.classes)]))


def _text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
