"""Files of JSON lines: a value a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any


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
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, json.loads(line)
    except (ValueError, RecursionError) as error:
        raise refused(number, error) from error
    except EOFError as error:  # of a compressed file that was cut
        raise OSError(str(error)) from error


def as_json_lines(values: Iterable[Any]) -> str:
    """Values as the text of such a file."""
    return "".join(json.dumps(value) + "\n" for value in values)
