"""Lines of a user's file, one after the other, however large the file is; compressed too."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Literal, cast

from s2lct.builder.corpus.bytes import MAX_BYTES
from s2lct.errors import CorpusError

GZIPPED = ".gz"


def lines_of(path: Path, *, ended_by: Literal["\n", ""], mend_empty: str) -> Iterator[str]:
    """The lines of a file of UTF-8 text, with their ends; a byte order mark is left out.

    Args:
        path: of the file; unpacked if its name ends in ``.gz``.
        ended_by: a line feed, or empty for line feeds, carriage returns and both together.
        mend_empty: what to give instead of a file without anything but blanks.

    Raises:
        CorpusError: it cannot be read or unpacked, is no UTF-8, is empty, or has a line of more
            than `MAX_BYTES` characters.
    """
    empty, number = True, 0
    try:
        with TextIOWrapper(_opened(path), "utf-8-sig", newline=ended_by) as file:
            while line := file.readline(MAX_BYTES + 1):
                number += 1
                if len(line) > MAX_BYTES:
                    raise CorpusError(
                        f"{path}: line {number} is larger than {MAX_BYTES >> 20} MB",
                        hint="split the line",
                    )
                empty = empty and not line.strip()
                yield line
    except UnicodeDecodeError as error:
        line_number, reason = _no_text(path) or (number + 1, error.reason)
        raise CorpusError(
            f"{path}: line {line_number} is not UTF-8 ({reason})", hint="save the file as UTF-8"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} cannot be unpacked: {error}", hint="compress the file again, or unpack it"
        ) from error
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"{path} cannot be read: {error}", hint="check the path and its rights"
        ) from error
    if empty:
        raise CorpusError(f"{path} is empty", hint=mend_empty)


def _opened(path: Path) -> IO[bytes]:
    if path.name.endswith(GZIPPED):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _no_text(path: Path) -> tuple[int, str] | None:
    """The number of the first line that is no UTF-8, and why: what is read in blocks has none."""
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return number, error.reason
    return None
