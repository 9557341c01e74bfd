"""The folder that a suite is written to: looked at before any work."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from s2lct.errors import BuildError
from s2lct.files import check_only_ours
from s2lct.suite.tables import SUITE_FILE
from s2lct.suite.write import files_of_suite

_HINT = "choose another folder for --out"
_LONGEST_NAME = 200
_LONGEST_PATH = 4_095
_LONGEST_WITHIN = 200
"""Bytes for the path of a file within a suite, and more than that."""


def place_of(named: Path, *, overwrite: bool) -> Path:
    """The folder that ``--out`` names, where it is a link the one that it leads to.

    Args:
        named: as the user named it; it need not exist.
        overwrite: whether a suite in it is to be replaced.

    Raises:
        BuildError: no suite can be written there.
        OutputError: files that belong to no suite are there.
    """
    try:
        out = named.resolve()
        is_there = _first_present(out) == out
        _check_length(out)
        if is_there and not os.access(out, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _check_writable(out if is_there else _first_present(out.parent))
        is_suite = (out / SUITE_FILE).is_file()
    except OSError as error:
        raise BuildError(f"--out {named}: {error.strerror or error}", hint=_HINT) from error
    except (ValueError, RuntimeError) as error:  # a NUL, or links in a circle
        raise BuildError(f"--out {named}: {error}", hint=_HINT) from error
    if overwrite or not is_suite:
        check_only_ours(out, files_of_suite(out), option="--out")
    return out


def _check_writable(folder: Path) -> None:
    """Write a file and take it away: rights, file systems and disks have too many reasons."""
    descriptor, name = tempfile.mkstemp(prefix=".s2lct-", dir=folder)
    os.close(descriptor)
    Path(name).unlink()


def _first_present(out: Path) -> Path:
    """The folder itself if it is there, or the nearest above it that is."""
    for path in (out, *out.parents):
        with suppress(FileNotFoundError):
            mode = path.stat().st_mode
            if not stat.S_ISDIR(mode):
                which = "is" if path == out else f"{path} is"
                raise NotADirectoryError(errno.ENOTDIR, f"{which} a file, not a folder")
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _check_length(out: Path) -> None:
    name = len(os.fsencode(out.name))
    if name > _LONGEST_NAME or len(os.fsencode(out)) + _LONGEST_WITHIN > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
