"""Tables as corpora: CSV, JSON lines and Parquet files, folders of them, data sets of the Hub.

Rows are read one after the other: a table may be larger than memory.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.lines import lines_of
from s2lct.builder.corpus.part import ALL, Part
from s2lct.builder.corpus.rows import Columns, Row, corpus_of_rows
from s2lct.builder.corpus.spec import SPEC_FORMS, CorpusSpec, local_path
from s2lct.errors import CorpusError
from s2lct.hub_calls import data_set, hub_call, said_by
from s2lct.json_lines import read_json_lines
from s2lct.plain_text import plain

MAX_BATCH_BYTES = 1 << 28
_MAX_CELL_CHARACTERS = 1 << 24
_OWN_COLUMNS = ("id", "split", "score")
_ROWS_AT_ONCE = 1_000
_BUFFER_BYTES = 1 << 20
"""Without a buffer a whole column of a group of rows, however many, would be read at once."""
_ENDINGS = {
    "csv": (".csv", ".csv.gz"),
    "jsonl": (".jsonl", ".jsonl.gz"),
    "parquet": (".parquet",),
}
Rows = Iterator[tuple[Row, str]]
"""Each with where it stands."""


def read_table_file(spec: CorpusSpec, columns: Columns, part: Part = ALL) -> Corpus:
    """Read rows of a file, or of the files of a folder as if they were one.

    Raises:
        CorpusError: a file cannot be read, the folder has none, or rows do not fit.
    """
    path = local_path(spec)
    reader = _READERS[spec.kind]
    rows = (row for file in _files(path, spec.kind) for row in reader(file, columns))
    return corpus_of_rows(
        f"{spec.kind}:{path.name}",
        rows,
        columns,
        where=str(path),
        description=f"sentences of {plain(path.name)}",
        licence="not stated",
        part=part,
    )


def _files(path: Path, kind: str) -> list[Path]:
    """The file, or a folder's files of the kind in the order of their names."""
    if path.is_file():
        return [path]
    endings = _ENDINGS[kind]
    if not path.is_dir():
        raise CorpusError(f"{path} is not a file", hint=f"write {kind}:PATH of a file or folder")
    try:
        found = sorted(
            file
            for file in path.iterdir()
            if file.name.endswith(endings) and not file.name.startswith(".") and file.is_file()
        )
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error}", hint="check its rights") from error
    if not found:
        raise CorpusError(
            f"{path} holds no file whose name ends in {' or '.join(endings)}",
            hint=f"write {kind}:PATH of a file, or of a folder that has such files in itself",
        )
    return found


def csv_rows(path: Path, columns: Columns | None = None) -> Rows:
    """The rows of a CSV file with a header; a `CorpusError` if it cannot be read."""
    lines = lines_of(path, ended_by="", mend_empty="give a CSV file with a header and rows")
    records = _csv_records(path, lines)
    header = next(records)
    if len(set(header)) < len(header):
        raise CorpusError(
            f"{path}: the header names a column twice: {', '.join(map(repr, header))}",
            hint="rename one of the columns",
        )
    for number, cells in enumerate(records, start=2):
        where = f"{path}, row {number}"
        if not cells:
            continue
        if len(cells) != len(header):
            raise CorpusError(
                f"{where} has {len(cells)} cells, the header {len(header)}",
                hint="put texts with commas in double quotes, and check the row",
            )
        yield dict(zip(header, cells, strict=True)), where


def _csv_records(path: Path, lines: Iterator[str]) -> Iterator[list[str]]:
    # Python 3.10 refuses NUL; any other control character has the row skipped all the same.
    reader = csv.reader((line.replace("\0", "\x01") for line in lines), strict=True)
    limit = csv.field_size_limit()
    while True:
        csv.field_size_limit(_MAX_CELL_CHARACTERS)
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise CorpusError(
                f"{path}, line {reader.line_num}: {error}", hint="mend the quotes of this row"
            ) from error
        finally:
            csv.field_size_limit(limit)
        if record is None:
            return
        yield record


def _jsonl_rows(path: Path, columns: Columns) -> Rows:
    def no_json(number: int, error: BaseException) -> CorpusError:
        return CorpusError(
            f"{path}, line {number} is not JSON: {error}", hint="write one JSON object a line"
        )

    hint = "give a file with one JSON object a line"
    lines = lines_of(path, ended_by="\n", mend_empty=hint)
    for number, row in read_json_lines(lines, no_json):
        where = f"{path}, line {number}"
        if not isinstance(row, dict):
            raise CorpusError(
                f"{where} is not a JSON object: {row!r:.60}",
                hint='write objects such as {"text": "…", "label": "positive"}',
            )
        yield row, where


def _parquet_rows(path: Path, columns: Columns) -> Rows:
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES) as file:
            present = list(file.schema_arrow.names)
            chosen = (*columns.find(present, str(path)), *_OWN_COLUMNS)
            wanted = [name for name in present if name in chosen]
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
                if batch.nbytes > MAX_BATCH_BYTES:
                    raise CorpusError(
                        f"{path}: {batch.nbytes:,} bytes in {batch.num_rows:,} rows, "
                        f"at most {MAX_BATCH_BYTES:,} are read",
                        hint="name the column that holds single sentences with --text-column",
                    )
                for row in batch.to_pylist():
                    number += 1
                    yield row, f"{path}, row {number}"
    except CorpusError:
        raise
    except Exception as error:  # types that Python has not fail in classes of their own
        raise CorpusError(
            f"{path} is not a readable Parquet file: {plain(str(error), 300)}",
            hint="write the file again",
        ) from error


_READERS: dict[str, Callable[[Path, Columns], Rows]] = {
    "csv": csv_rows,
    "jsonl": _jsonl_rows,
    "parquet": _parquet_rows,
}


def read_hub(spec: CorpusSpec, columns: Columns, part: Part = ALL) -> Corpus:
    """Read a split of a data set; a `CorpusError` if it cannot be loaded or its rows do not fit.

    Streamed, its files are fetched as far as they are read; a slice of a split cannot be.
    """
    import datasets

    where = f"hf:{spec.location}" + (f", configuration {spec.config}" if spec.config else "")
    sliced = spec.split.endswith("]")
    if part.stream and sliced:
        raise CorpusError(
            f"--stream: {where}, split {spec.split}: a slice cannot be streamed",
            hint="leave out the slice, and read the first rows with --rows or draw some with "
            "--sample; or leave out --stream",
        )
    streamed = part.stream or (part.draw is not None and not sliced)
    streaming = {"streaming": True} if streamed else {}
    try:
        # Every way in which fetching can fail has its own class, some of other packages.
        dataset = data_set(spec.location, spec.config or None, split=spec.split, **streaming)
    except Exception as error:
        raise CorpusError(
            f"{where}, split {spec.split} cannot be loaded: {said_by(error)}",
            hint="check its name, configuration and split on https://huggingface.co/datasets "
            "and the network; " + SPEC_FORMS,
        ) from error

    def rows() -> Rows:
        number = 0
        try:
            with hub_call():
                for row in dataset:
                    number += 1
                    yield row, f"{where}, row {number}"
        except Exception as error:  # decoding a column can fail in any class
            raise CorpusError(
                f"{where}, row {number + 1} cannot be read: "
                f"{type(error).__name__}: {plain(str(error), 300)}",
                hint="pass its text and labels as csv:PATH, jsonl:PATH or parquet:PATH",
            ) from error

    return corpus_of_rows(
        f"hf:{spec.location}",
        rows(),
        columns,
        where=where,
        description=" ".join((dataset.info.description or "").split())
        or f"dataset {spec.location} of the Hugging Face hub, split {spec.split}",
        licence=dataset.info.license or "not stated",
        class_names={
            column: [str(name) for name in feature.names]
            for column, feature in (dataset.features or {}).items()
            if isinstance(feature, datasets.ClassLabel)
        },
        part=part,
    )
