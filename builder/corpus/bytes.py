"""Reading a user's files whole: of a size that can be, and as the text they should be."""

from __future__ import annotations

from pathlib import Path

from s2lct.errors import CorpusError

MAX_BYTES = 256 * 1024 * 1024


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; a `CorpusError` if it cannot be read or has more than `MAX_BYTES`."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"{path} cannot be read: {error}", hint="check the path and its rights"
        ) from error
    if len(content) > MAX_BYTES:
        raise CorpusError(f"{path} is larger than {MAX_BYTES >> 20} MB", hint="split the file")
    return content


def decode(content: bytes, where: str) -> str:
    """UTF-8 text, a byte order mark left out; a `CorpusError` names the line that is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{where}: line {line} is not UTF-8 ({error.reason})", hint="save the file as UTF-8"
        ) from error
