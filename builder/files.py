"""Opening files that may be anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def regular_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file, or of one that a link leads to; nothing else is opened.

    Args:
        path: the file.
        most: so many bytes it may have.

    Raises:
        OSError: it is missing, larger, or a folder, pipe or device.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(None, "is no regular file", str(path))
    # It may have become a pipe since: not to wait for one, and to look again.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_NOCTTY", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "is no regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(None, f"has more than {most >> 20} MiB", str(path))
    return content


def is_folder(path: Path) -> bool:
    """Whether a folder of that name is here; a name that can be none is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_here(path: Path) -> bool:
    """Whether anything of that name is here."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
