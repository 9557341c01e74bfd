"""A cache of model predictions in one SQLite file, so that no prediction is computed twice.

The file may be deleted at any time: missing predictions are computed again. It makes interrupted
work fast the second time. If the file cannot be opened, a warning is logged and predictions are
kept in memory. Each row carries a checksum; a damaged row counts as missing.
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
_UNUSABLE_FILES: set[Path] = set()
"""Cache files that could not be opened and whose warning was logged."""
_LOCK_TIMEOUT_SECONDS = 60.0
CHECKSUM_BYTES = 8
"""The size of the checksum, which precedes the prediction in each row."""
_MAX_VARIABLES = 500
"""The number of variables in one SQL statement; some versions of SQLite allow only 999."""
_TABLE = """
create table if not exists predictions (
    model blob not null, text blob not null, prediction blob not null,
    primary key (model, text)
) without rowid
"""


class Cache:
    """A cache of predictions, as bytes, by model and text; threads and processes can share it.

    Args:
        path: the cache file; by default `FILE` in the cache folder (``$S2LCT_CACHE``). If it cannot
            be opened, a warning is logged and predictions are kept in memory until `close`.

    Raises:
        OutputError: ``path`` is no path but, for example, a number.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise OutputError(f"cache: {path!r:.60} is no path", hint="name a file, or True")
        self.path = cache_folder() / FILE if path is None else Path(path)
        self._lock = Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Answers of servers may be private: only the user may read the file.
            self.path.touch(mode=0o600)
            self.path.chmod(0o600)
            self._database = _open_database(self.path)
        except (sqlite3.Error, OSError, ValueError) as error:
            if self.path not in _UNUSABLE_FILES:
                _UNUSABLE_FILES.add(self.path)
                logger.warning(
                    "%s: what models predict cannot be kept there (%s), so this run keeps nothing; "
                    "make room, delete the file, or name another folder in S2LCT_CACHE",
                    self.path,
                    error,
                )
            self._database = _open_database(":memory:")

    def lookup(self, model: str, texts: Iterable[str]) -> dict[str, bytes]:
        """The cached predictions of a model by text; texts without one are left out.

        Args:
            model: everything that a prediction depends on, apart from the text.
            texts: the texts to look up.
        """
        text_of_key = {_key(text): text for text in texts}
        model_key, keys = _key(model), list(text_of_key)
        predictions: dict[str, bytes] = {}
        with self._explain_errors(), self._lock:
            for start in range(0, len(keys), _MAX_VARIABLES):
                batch = keys[start : start + _MAX_VARIABLES]
                placeholders = ",".join("?" * len(batch))
                rows = self._database.execute(
                    "select text, prediction from predictions "
                    f"where model = ? and text in ({placeholders})",
                    [model_key, *batch],
                )
                for key, row in rows:
                    stored_checksum, prediction = row[:CHECKSUM_BYTES], row[CHECKSUM_BYTES:]
                    if stored_checksum == checksum(model_key, key, prediction):
                        predictions[text_of_key[key]] = prediction
        return predictions

    def store(self, model: str, predictions: Mapping[str, bytes]) -> None:
        """Store a model's predictions by text: all of them or, if this process dies, none."""
        model_key, texts = _key(model), list(predictions)
        with self._explain_errors(), self._lock, self._database:  # which commits, or rolls back
            self._database.execute("begin immediate")
            # Rows together: after every statement another thread may take its turn.
            for start in range(0, len(texts), _MAX_VARIABLES // 3):
                batch = texts[start : start + _MAX_VARIABLES // 3]
                placeholders = ",".join(["(?, ?, ?)"] * len(batch))
                values: list[bytes] = []
                for key, prediction in ((_key(text), predictions[text]) for text in batch):
                    values += model_key, key, checksum(model_key, key, prediction) + prediction
                self._database.execute(
                    f"insert or replace into predictions values {placeholders}", values
                )

    def close(self) -> None:
        """Close the file; any later call raises an error."""
        with self._lock:
            self._database.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *exception_info: object) -> None:
        self.close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
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
    batch_size: int = 256,
    is_valid: Callable[[bytes], bool] = lambda prediction: True,
) -> dict[str, bytes]:
    """The prediction of each text, from the cache or else computed and stored there.

    Args:
        cache: the cache, which may hold predictions of several models.
        model: everything that a prediction depends on, apart from the text.
        texts: the texts, possibly with duplicates.
        predict: takes the texts that the cache lacks and yields (text, prediction) in any order.
        batch_size: the number of predictions that are stored together; a crash loses at most these.
        is_valid: whether a cached prediction may be used; others are computed again.

    Raises:
        OutputError: the cache cannot be written.
    """
    cached = cache.lookup(model, texts)
    known = {text: cached[text] for text in cached if is_valid(cached[text])}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    computed: dict[str, bytes] = {}
    try:
        for text, prediction in predict(missing) if missing else ():
            computed[text] = prediction
            if len(computed) >= batch_size:
                cache.store(model, computed)
                known |= computed
                computed = {}
    finally:
        if computed:
            cache.store(model, computed)
    return known | computed


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def checksum(model_key: bytes, text_key: bytes, prediction: bytes) -> bytes:
    """The checksum of a row, by which `Cache.lookup` detects damaged rows.

    Args:
        model_key: the hash of everything that predictions depend on, apart from the text.
        text_key: the hash of the text.
        prediction: the prediction as stored.
    """
    return hashlib.sha256(model_key + text_key + prediction).digest()[:CHECKSUM_BYTES]


def _open_database(path: str | Path) -> sqlite3.Connection:
    database = sqlite3.connect(
        path, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # A process that is killed loses no stored prediction and leaves the file intact.
        journal_mode = "delete" if is_on_network(Path(path)) else "wal"
        database.execute(f"pragma journal_mode = {journal_mode}")
        database.execute("pragma synchronous = normal")
        database.execute(_TABLE)
    except BaseException:
        database.close()
        raise
    return database
