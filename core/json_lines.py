"""Files of JSON lines: a value a line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jsonlines


def read_json_lines(
    lines: Iterable[str | bytes], refused: Callable[[int, BaseException], Exception]
) -> Iterator[tuple[int, Any]]:
    """The value of each line that is not blank, with the line's number.

    Args:
        lines: of a file, from the first on.
        refused: makes, of a line's number and of what is wrong with it, the error to raise.

    Raises:
        OSError: the file ends too early, or cannot be read.
    """
    read = 0

    def counted() -> Iterator[str | bytes]:
        nonlocal read
        try:
            for line in lines:
                read += 1
                yield line
        except EOFError as error:  # of a file that was cut: the reader would take it for the end
            raise OSError(str(error)) from error

    try:
        # Half characters are for the caller to refuse: other decoders than Python's do it here.
        reader = jsonlines.Reader(counted(), loads=json.loads)
        for value in reader.iter(allow_none=True, skip_empty=True):
            yield read, value
    except jsonlines.InvalidLineError as error:
        raise refused(read, error.__cause__ or error) from error
    except RecursionError as error:
        raise refused(read, error) from error


def as_json_lines(values: Iterable[Any]) -> str:
    """Values as the text of such a file."""
    file = io.StringIO()
    jsonlines.Writer(file).write_all(values)
    return file.getvalue()
