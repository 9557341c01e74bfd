"""Opens strangers' files: regular ones of a bounded size, no link, no pipe, no device."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 50_000


class RefusedError(Exception):
    """Something of a stranger's that is not looked at any further.

    Attributes:
        reasons: a line each.
    """

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__("; ".join(reasons))


def bytes_of(path: Path, most: int) -> bytes:
    """A regular file's bytes, if they are not too many; no link is followed, no pipe waited for.

    A file in huggingface_hub's cache is a link that its client made: the blob is read instead.

    Raises:
        RefusedError: it is another kind of file, larger, or cannot be read.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            blob = _blob_of(path)
            if blob is None:
                raise RefusedError(f"{path.name}: is no plain file (a link, folder or device)")
            descriptor = os.open(blob, flags)
        else:
            descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RefusedError(f"{path.name}: is no plain file (a link, folder or device)")
            if found.st_size > most:
                raise RefusedError(f"{path.name}: has {found.st_size:,} bytes, at most {most:,}")
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a name of a file"
        raise RefusedError(f"{path.name}: cannot be read ({said})") from error
    if len(data) > most:
        raise RefusedError(f"{path.name}: grew to more than {most:,} bytes while it was read")
    return data


def _blob_of(path: Path) -> Path | None:
    """What a link of huggingface_hub's cache stands for; None for every other link.

    The cache has ``REPO/snapshots/COMMIT/FILE`` as links into ``REPO/blobs``, and links nowhere
    else: a link that leaves the folder it came in is none of those.
    """
    if not path.is_symlink():
        return None
    parents = path.absolute().parents
    snapshots = next((one for one in parents if one.name == "snapshots"), None)
    if snapshots is None:
        return None
    real = path.resolve()
    return real if real.parent == snapshots.parent.resolve() / "blobs" else None


def files_below(folder: Path, suffix: str | tuple[str, ...]) -> Iterator[Path]:
    """Files with a suffix (or one of several), by path; none below hidden folders and links.

    Raises:
        RefusedError: there are too many.
    """
    found: list[Path] = []
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if name.endswith(suffix)]
        if len(found) > MOST_FILES:
            raise RefusedError(f"holds more than {MOST_FILES:,} files")
    yield from sorted(found)
