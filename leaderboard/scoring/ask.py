"""The one way to have a model answer texts: in its batches, equal texts once, answers kept.

What models said is kept between runs, so that scoring again costs nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from s2lct.errors import S2lctWarning, ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import Classifier

Advance = Callable[[int], None]
ANSWERS = 1
"""Raise it when a change of this package changes what a model says: older answers count no more."""

_PATIENCE = 10.0  # seconds to wait for another process that is writing
_PREPARE = (
    "PRAGMA journal_mode=WAL",
    "CREATE TABLE IF NOT EXISTS answers (model BLOB, text BLOB, probabilities BLOB, "
    "PRIMARY KEY (model, text)) WITHOUT ROWID",
    "DROP TABLE IF EXISTS outcomes",  # answered by a case's id, whatever its text was
)
_KNOWN = "SELECT text, probabilities FROM answers WHERE model = ?"
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

    def __init__(self, path: Path | None, model: Classifier) -> None:
        self._path, self._classes = path, len(model.classes)
        self._key = fingerprint_of([ANSWERS, model.fingerprint, list(model.classes)])
        self._connection: sqlite3.Connection | None = None
        self._writes = path is not None
        if path is not None:
            with self._or_without():
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(path, timeout=_PATIENCE)
                for statement in _PREPARE:
                    self._connection.execute(statement)
                self._connection.commit()

    def read(self, texts: Sequence[str]) -> dict[str, Array]:
        """What is kept of what the model says of texts."""
        known: dict[str, Array] = {}
        if self._connection is None:
            return known
        text_of = {_text_key(text): text for text in texts}
        with self._or_without():
            for key, blob in self._connection.execute(_KNOWN, (bytes.fromhex(self._key),)):
                whole = isinstance(blob, bytes) and len(blob) == 8 * self._classes
                row = np.frombuffer(blob if whole else b"", dtype="<f8")
                # What is none of ours is asked anew.
                if key in text_of and whole and np.isfinite(row).all():
                    known[text_of[key]] = row
        return known

    def write(self, said: Mapping[str, Array]) -> None:
        """Keep what the model said of texts."""
        if self._connection is None or not self._writes:
            return
        model = bytes.fromhex(self._key)
        rows = [(model, _text_key(text), row.astype("<f8").tobytes()) for text, row in said.items()]
        with self._or_without(), self._connection:
            self._connection.executemany(_KEEP, rows)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()

    @contextmanager
    def _or_without(self) -> Iterator[None]:
        """Go on without keeping more where it cannot be used; refuse a file that is no cache."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if type(error) is sqlite3.DatabaseError:  # of all, this one is for broken contents
                self.close()
                raise ScoringError(
                    f"cache {self._path}: is damaged ({error})",
                    hint=f"delete {self._path}; it is made anew",
                ) from error
            if self._writes:
                warnings.warn(
                    f"cache {self._path}: answers are not kept ({error}); make room or set "
                    "S2LCT_CACHE to a folder that can be written",
                    CacheWarning,
                    stacklevel=2,
                )
            self._writes = False


def _text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def probabilities_of(
    model: Classifier,
    texts: Sequence[str],
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Array:
    """Probabilities of each text, shape (texts, classes).

    What models said is kept in the file ``cache``; ``advance`` is told how many distinct texts were
    done. Raises a ScoringError where the outputs cannot be used.
    """
    wanted = list(dict.fromkeys(texts))
    with closing(Kept(cache if model.fingerprint else None, model)) as kept:
        known = kept.read(wanted)
        missing = [text for text in wanted if text not in known]
        if advance and known:
            advance(len(known))
        for numbers, batch in model.probabilities(missing) if missing else ():
            said = said_of_batch(model, missing, numbers, batch)
            known |= said
            kept.write(said)
            if advance:
                advance(len(numbers))
    return np.array([known[text] for text in texts]).reshape(-1, len(model.classes))


def said_of_batch(
    model: Classifier, texts: Sequence[str], numbers: Sequence[int], batch: Array
) -> dict[str, Array]:
    """What a model said of a batch of texts, by text; a ScoringError where it cannot be used."""
    if batch.shape != (len(numbers), len(model.classes)):
        raise ScoringError(
            f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
            f"{len(model.classes)} classes",
            hint="give one row a text and one column a class",
        )
    if not np.isfinite(batch).all():
        raise ScoringError(
            f"model {model.name}: its output is not a number (NaN or infinite)",
            hint="check the model's weights; in half precision try --dtype float32",
        )
    return {texts[n]: row for n, row in zip(numbers, batch, strict=True)}
