"""Have a model answer texts in words: equal texts once, every answer kept the moment it comes.

Answers are kept as they came, and read anew each time: a better reader asks nothing again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np

from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.text_model import TextModel
from s2lct.leaderboard.scoring.ask import Advance

_PATIENCE = 30.0  # seconds to wait for another process that is writing
_PREPARE = (
    "PRAGMA journal_mode=WAL",
    # What a killed process wrote is there; only a power cut may cost the last answers.
    "PRAGMA synchronous=NORMAL",
    "CREATE TABLE IF NOT EXISTS written (model TEXT, text TEXT, answer TEXT, "
    "PRIMARY KEY (model, text)) WITHOUT ROWID",
)
_KNOWN = "SELECT text, answer FROM written WHERE model = ?"
_KEEP = "INSERT OR REPLACE INTO written VALUES (?, ?, ?)"


class KeptWords:
    """What models wrote, by model and text, in SQLite; several processes may write.

    Answers cost money: a file that cannot be written is a ScoringError before anything is asked.
    None keeps nothing.
    """

    def __init__(self, path: Path | None, model: TextModel) -> None:
        self._path, self._model = path, model.fingerprint
        self._connection: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Answers come in threads, one at a time.
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            for statement in _PREPARE:
                self._connection.execute(statement)
            self._connection.commit()
        except (OSError, sqlite3.Error) as error:
            raise self._told(error) from error

    def read(self, texts: Sequence[str]) -> dict[str, TextAnswer]:
        """What is kept of what the model wrote to texts."""
        known: dict[str, TextAnswer] = {}
        if self._connection is None:
            return known
        text_of = {fingerprint_of(text): text for text in texts}
        try:
            for key, answer in self._connection.execute(_KNOWN, (self._model,)):
                if key in text_of:
                    with suppress(TypeError):  # kept by another version: asked anew
                        known[text_of[key]] = TextAnswer(**json.loads(answer))
        except (sqlite3.Error, ValueError) as error:
            raise self._told(error) from error
        return known

    def write(self, text: str, answer: TextAnswer) -> None:
        """Keep an answer; it is in the file when this returns."""
        if self._connection is None:
            return
        row = (self._model, fingerprint_of(text), json.dumps(asdict(answer)))
        try:
            with self._connection:
                self._connection.execute(_KEEP, row)
        except sqlite3.Error as error:
            raise self._told(error) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()

    def _told(self, error: Exception) -> ScoringError:
        return ScoringError(
            f"cache {self._path}: answers cannot be kept ({error})",
            hint="set S2LCT_CACHE to a folder that can be written; answers that are not kept would "
            "be paid for again",
        )


def answers_of(
    model: TextModel,
    texts: Sequence[str],
    cache: Path | None = None,
    advance: Advance | None = None,
) -> tuple[dict[str, TextAnswer], int]:
    """What a model writes to each text, and how many of these answers were kept before.

    Answers are kept in the file ``cache``; ``advance`` is told how many distinct texts were done.
    Of a server's model one question is asked first, and kept answers of another model, or that are
    old, are asked again. Raises a ScoringError where the model does not answer all of them: how
    many are kept is told.
    """
    wanted = list(dict.fromkeys(texts))
    with closing(KeptWords(cache, model)) as kept:
        known = kept.read(wanted)

        def ask(some: Sequence[str]) -> None:
            def came(number: int, answer: TextAnswer) -> None:
                kept.write(some[number], answer)
                known[some[number]] = answer
                if advance:
                    advance(1)

            model.answer(some, came)

        try:
            fresh = None
            if isinstance(model, EndpointModel) and known:
                if model.server.keeps_answers:
                    model.goes_on(known.values())
                else:
                    fresh = next((text for text in wanted if text not in known), wanted[0])
                    ask([fresh])
                    old = [text for text, answer in known.items() if not model.is_current(answer)]
                    for text in old:
                        del known[text]
            reused = len(known) - (fresh in known)
            if advance and reused:
                advance(reused)
            if missing := [text for text in wanted if text not in known]:
                ask(missing)
        except ScoringError as error:
            told = f"{len(known):,} of {len(wanted):,} answers are kept"
            if cache is None:
                raise
            raise ScoringError(
                f"{error.problem}; {told}",
                hint=f"{error.hint}; the same command goes on where this one stopped",
            ) from error
    return known, reused


def read_labels(model: TextModel, texts: Sequence[str], answers: dict[str, TextAnswer]) -> Labels:
    """What answers to texts mean: ids of labels, or those of `text_answers`, shape (texts,)."""
    classes, words = model.asks.classes, model.asks.words
    meanings = [LABELS.index(name) for name in classes]
    read = {text: label_of(answers[text], words, meanings) for text in dict.fromkeys(texts)}
    return np.array([read[text] for text in texts], dtype=np.int64)
