"""A corpus's sentences, on disk once they are many: a temporary Arrow file, mapped into memory.

The file has no name from the start where the system allows that, so that nothing is left of it
whatever ends the process. ``TMPDIR`` says in which folder its bytes lie.
"""

from __future__ import annotations

import functools
import itertools
import mmap
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from s2lct.errors import CorpusError
from s2lct.suite.records import Sentence

if TYPE_CHECKING:
    import pyarrow

IN_MEMORY = 20_000
"""Sentences that are kept in memory; with one more, all of them go to disk."""
ROWS_A_BATCH = 1_000
_BATCHES_AT_HAND = 64
_FIELDS = ("id", "text", "label", "split", "score", "raw")


class SentenceWriter:
    """Takes a corpus's sentences one by one, and gives them back as a sequence."""

    def __init__(
        self, corpus: str, *, in_memory: int | None = None, rows_a_batch: int | None = None
    ) -> None:
        self._corpus = corpus
        self._in_memory = IN_MEMORY if in_memory is None else in_memory
        self._rows_a_batch = rows_a_batch or ROWS_A_BATCH
        self._sentences: list[Sentence] = []
        self._places: list[str] = []
        self._file: _BatchFile | None = None

    def append(self, sentence: Sentence, where: str) -> None:
        """Take a sentence, whose texts UTF-8 can write, and where it stands in the corpus's file.

        Raises:
            CorpusError: the disk is full.
        """
        self._sentences.append(sentence)
        self._places.append(where)
        if self._file is None and len(self._sentences) > self._in_memory:
            self._file = _BatchFile()
        if self._file is not None and len(self._sentences) >= self._rows_a_batch:
            self._write(self._file, to_the_end=False)

    def finish(self) -> tuple[Sequence[Sentence], Callable[[int], str]]:
        """The sentences, and what says where each of them stands; nothing can be added any more.

        Raises:
            CorpusError: the disk is full.
        """
        if self._file is None:
            return tuple(self._sentences), self._places.__getitem__
        self._write(self._file, to_the_end=True)
        stored = StoredSentences(self._corpus, self._file.mapped(self._rows_a_batch))
        return stored, stored.where

    def _write(self, file: _BatchFile, *, to_the_end: bool) -> None:
        size, end = self._rows_a_batch, len(self._sentences)
        for start in range(0, end if to_the_end else end - end % size, size):
            rows = slice(start, start + size)
            file.write(self._sentences[rows], self._places[rows])
        written = end if to_the_end else end - end % size
        del self._sentences[:written], self._places[:written]


class _BatchFile:
    """An Arrow file that is written."""

    def __init__(self) -> None:
        import pyarrow as pa

        kinds = {name: pa.float64() if name == "score" else pa.string() for name in _FIELDS}
        self._schema = pa.schema([*kinds.items(), ("where", pa.string())])
        with _disk_told():
            self._file: IO[bytes] = tempfile.TemporaryFile(prefix="s2lct-corpus-")  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, self._schema)

    def write(self, sentences: Sequence[Sentence], places: Sequence[str]) -> None:
        import pyarrow as pa

        columns: list[Sequence[Any]] = [[getattr(s, name) for s in sentences] for name in _FIELDS]
        arrays = [
            pa.array(column, field.type)
            for column, field in zip([*columns, places], self._schema, strict=True)
        ]
        with _disk_told():
            self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def mapped(self, rows_a_batch: int) -> _MappedFile:
        """The file, whole, to be read."""
        with _disk_told(), self._file:
            self._writer.close()
            self._file.flush()
            content = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return _MappedFile(content, rows_a_batch)


class _MappedFile:
    """An Arrow file that is read: its pages come from the disk, and go again."""

    def __init__(self, content: mmap.mmap, rows_a_batch: int) -> None:
        import pyarrow as pa

        self.rows_a_batch = rows_a_batch
        self._content = content
        self._reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content)))
        self._read = 0
        self.batch = functools.lru_cache(_BATCHES_AT_HAND)(self._batch)
        last = self._reader.num_record_batches - 1
        self.rows = last * rows_a_batch + self.batch(last).num_rows

    def _batch(self, number: int) -> pyarrow.RecordBatch:
        self._read += 1
        # What was read would otherwise count as this process's memory until others need it.
        if self._read % _BATCHES_AT_HAND == 0 and hasattr(mmap, "MADV_DONTNEED"):
            self._content.madvise(mmap.MADV_DONTNEED)
        return self._reader.get_batch(number)


@contextmanager
def _disk_told() -> Iterator[None]:
    """Around whatever writes: an error of the disk says how to get more room."""
    try:
        yield
    except OSError as error:
        raise CorpusError(
            f"the corpus cannot be kept in {tempfile.gettempdir()}: {error}",
            hint="set TMPDIR to a folder with more room, or read less: --sample or --rows",
        ) from error


class SentenceView(Sequence[Sentence]):
    """Sentences that are made when they are asked for; a slice of them is a tuple.

    A kind of view says how many there are, and how to go through some of them.
    """

    @abstractmethod
    def between(self, start: int, stop: int) -> Iterator[Sentence]:
        """Those from one number on up to another, of numbers that they have."""

    @overload
    def __getitem__(self, index: int) -> Sentence: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Sentence, ...]: ...

    def __getitem__(self, index: int | slice) -> Sentence | tuple[Sentence, ...]:
        chosen = range(len(self))[index]
        if isinstance(chosen, int):
            return next(self.between(chosen, chosen + 1))
        if chosen.step == 1:
            return tuple(self.between(chosen.start, chosen.stop))
        return tuple(self[at] for at in chosen)

    def __iter__(self) -> Iterator[Sentence]:
        return self.between(0, len(self))


class StoredSentences(SentenceView):
    """Sentences of an Arrow file, all or some of its rows.

    Going through them decodes a batch at a time. They are never pickled: what goes to another
    process is a slice of them.
    """

    def __init__(
        self, corpus: str, file: _MappedFile, rows: NDArray[np.int64] | None = None
    ) -> None:
        self._corpus = corpus
        self._file = file
        self._rows = rows

    def only(self, rows: NDArray[np.int64]) -> StoredSentences:
        """Some of the file's rows, by their numbers in ascending order."""
        return StoredSentences(self._corpus, self._file, rows)

    def where(self, row: int) -> str:
        """Where the sentence in a row of the file stands in the corpus's own file."""
        batch, within = divmod(row, self._file.rows_a_batch)
        told: str = self._file.batch(batch).column("where")[within].as_py()
        return told

    def between(self, start: int, stop: int) -> Iterator[Sentence]:
        """Those from one number on up to another, decoded a batch at a time."""
        size = self._file.rows_a_batch
        while start < stop:
            if self._rows is None:
                number = start // size
                end = min(stop, (number + 1) * size)
                batch = self._file.batch(number).slice(start - number * size, end - start)
            else:
                number = int(self._rows[start]) // size
                end = min(stop, int(np.searchsorted(self._rows, (number + 1) * size)))
                batch = self._file.batch(number).take(self._rows[start:end] - number * size)
            columns = [batch.column(name).to_pylist() for name in _FIELDS]
            for values in zip(*columns, strict=True):
                yield Sentence(self._corpus, *values)
            start = end

    def __len__(self) -> int:
        return self._file.rows if self._rows is None else len(self._rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError("sentences on disk are not pickled: pass a slice of them")


class ChangedSentences(SentenceView):
    """Other sentences, with something changed in each."""

    def __init__(
        self, sentences: Sequence[Sentence], change: Callable[[Sentence], Sentence]
    ) -> None:
        self._sentences = sentences
        self._change = change

    def between(self, start: int, stop: int) -> Iterator[Sentence]:
        """Those from one number on up to another."""
        if isinstance(self._sentences, SentenceView):
            return map(self._change, self._sentences.between(start, stop))
        return map(self._change, itertools.islice(self._sentences, start, stop))

    def __len__(self) -> int:
        return len(self._sentences)


def kept(sentences: Sequence[Sentence], keep: NDArray[np.bool_]) -> Sequence[Sentence]:
    """The sentences of a writer for which ``keep`` holds, in their order."""
    if keep.all():
        return sentences
    if isinstance(sentences, StoredSentences):
        return sentences.only(np.flatnonzero(keep))
    return tuple(itertools.compress(sentences, keep.tolist()))
