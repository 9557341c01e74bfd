"""What models predicted, kept in one file: whoever asks a model again for a text is answered here.

The file is never needed: it can be deleted at any time, and what is missing is computed anew. Work
that was interrupted is fast the second time because of it. Where it cannot be opened a line says
so, and work goes on without. Each row carries a checksum: a damaged one counts as missing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from s2lct.errors import OutputError
from s2lct.files import cache_folder, is_on_network

logger = logging.getLogger(__name__)
FILE = "predictions.sqlite"
_WARNED: set[Path] = set()
"""Files that a line was said of."""
_SECONDS_FOR_OTHERS = 60.0
CHECK_BYTES = 8
"""Of a row: its checksum, before the prediction."""
_AT_ONCE = 500
"""Variables of one statement: SQLite takes no more than 999 everywhere."""
_TABLE = """
create table if not exists predictions (
    model blob not null, text blob not null, prediction blob not null,
    primary key (model, text)
) without rowid
"""


class Cache:
    """Predictions by model and text, as bytes, for several threads and processes.

    Args:
        path: of the file; by default `FILE` in the cache folder (``$S2LCT_CACHE``). Where it cannot
            be opened, predictions are kept in memory until it is closed, and a warning says so.

    Raises:
        OutputError: what is given as the path can be none, such as a number.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise OutputError(f"cache: {path!r:.60} is no path", hint="name a file, or True")
        self.path = cache_folder() / FILE if path is None else Path(path)
        self._lock = Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # What servers answer is nobody else's business.
            self.path.touch(mode=0o600)
            self.path.chmod(0o600)
            self._file = _opened(self.path)
        except (sqlite3.Error, OSError, ValueError) as error:
            if self.path not in _WARNED:
                _WARNED.add(self.path)
                logger.warning(
                    "%s: what models predict cannot be kept there (%s), so this run keeps nothing; "
                    "make room, delete the file, or name another folder in S2LCT_CACHE",
                    self.path,
                    error,
                )
            self._file = _opened(":memory:")

    def kept(self, model: str, texts: Iterable[str]) -> dict[str, bytes]:
        """What a model predicted of texts, as far as it is known.

        Args:
            model: everything that a prediction depends on, apart from the text.
            texts: asked for.
        """
        by_key = {_key(text): text for text in texts}
        of, keys = _key(model), list(by_key)
        found: dict[str, bytes] = {}
        with self._errors_named(), self._lock:
            for start in range(0, len(keys), _AT_ONCE):
                part = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._file.execute(
                    "select text, prediction from predictions "
                    f"where model = ? and text in ({marks})",
                    [of, *part],
                )
                for key, row in rows:
                    check, prediction = row[:CHECK_BYTES], row[CHECK_BYTES:]
                    if check == checksum(of, key, prediction):
                        found[by_key[key]] = prediction
        return found

    def keep(self, model: str, predictions: Mapping[str, bytes]) -> None:
        """Keep what a model predicted; all of it or, if this process dies, nothing."""
        of, texts = _key(model), list(predictions)
        with self._errors_named(), self._lock, self._file:  # which commits, or rolls back
            self._file.execute("begin immediate")
            # Rows together: after every statement another thread may take its turn.
            for start in range(0, len(texts), _AT_ONCE // 3):
                part = texts[start : start + _AT_ONCE // 3]
                marks = ",".join(["(?, ?, ?)"] * len(part))
                values: list[bytes] = []
                for key, prediction in ((_key(text), predictions[text]) for text in part):
                    values += of, key, checksum(of, key, prediction) + prediction
                self._file.execute(f"insert or replace into predictions values {marks}", values)

    def close(self) -> None:
        """Close the file; whoever asks afterwards gets an error."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise OutputError(
                f"{self.path}: what models predict cannot be kept there ({error})",
                hint="make room, delete the file, or name another folder in S2LCT_CACHE",
            ) from error


def predictions(
    cache: Cache,
    model: str,
    texts: Sequence[str],
    predict: Callable[[Sequence[str]], Iterable[tuple[str, bytes]]],
    *,
    kept_at_once: int = 256,
    holds: Callable[[bytes], bool] = lambda prediction: True,
) -> dict[str, bytes]:
    """The prediction of each text: what is kept, and what is computed and kept from now on.

    Args:
        cache: of all models.
        model: everything that a prediction depends on, apart from the text.
        texts: distinct or not.
        predict: given the texts that are not kept, yields each with its prediction, in any order.
        kept_at_once: how many predictions are written together; so many can be lost.
        holds: whether a kept prediction still counts; what does not is computed anew.

    Raises:
        OutputError: the cache cannot be written.
    """
    found = {text: kept for text, kept in cache.kept(model, texts).items() if holds(kept)}
    missing = [text for text in dict.fromkeys(texts) if text not in found]
    fresh: dict[str, bytes] = {}
    try:
        for text, prediction in predict(missing) if missing else ():
            fresh[text] = prediction
            if len(fresh) >= kept_at_once:
                cache.keep(model, fresh)
                found |= fresh
                fresh = {}
    finally:
        if fresh:
            cache.keep(model, fresh)
    return found | fresh


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def checksum(model: bytes, text: bytes, prediction: bytes) -> bytes:
    """The first bytes of a row: what tells whether the others are what was kept.

    Args:
        model: the hash of what decides predictions.
        text: the hash of the text.
        prediction: as it is kept.
    """
    return hashlib.sha256(model + text + prediction).digest()[:CHECK_BYTES]


def _opened(path: str | Path) -> sqlite3.Connection:
    file = sqlite3.connect(
        path, timeout=_SECONDS_FOR_OTHERS, isolation_level=None, check_same_thread=False
    )
    try:
        # A process that is killed loses nothing that was kept, and leaves the file whole.
        file.execute(f"pragma journal_mode = {'delete' if is_on_network(Path(path)) else 'wal'}")
        file.execute("pragma synchronous = normal")
        file.execute(_TABLE)
    except BaseException:
        file.close()
        raise
    return file
