"""Where a suite is put: checked before any work, reached without loss at the end."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from s2lct.errors import BuildError
from s2lct.files import refill
from s2lct.suite.tables import SUITE_FILE

_MEND = "choose another folder for --out"
_LONGEST_NAME = 255
_LONGEST_PATH = 4_095
_LONGEST_WITHIN = 150
"""Bytes for the path of a file within a suite or a work folder, and more than that."""
_CANNOT_BE_RENAMED = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)
_PLACING = "placing"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for a suite, and the one in which it is made.

    Attributes:
        named: as the user named it.
        out: the folder itself, where ``named`` is a link to it.
        work: keeps the checkpoints of an unfinished build. It lies beside ``out``, or within where
            nothing can be put beside, as for a folder that is mounted.
    """

    named: Path
    out: Path
    work: Path

    @property
    def lock(self) -> Path:
        """The file that is locked while a build uses the folder."""
        return self.work.with_name(self.work.name + ".lock")

    @property
    def is_taken(self) -> bool:
        """Whether anything lies there that is not an unfinished build's."""
        return bool(self._entries()) and not (self.work / _PLACING).exists()

    @property
    def holds_suite(self) -> bool:
        """Whether a suite lies there."""
        return (self.out / SUITE_FILE).is_file()

    def check(self, *, overwrite: bool) -> None:
        """Refuse a folder whose files are none of a suite, and would be lost.

        Raises:
            BuildError: it is one.
        """
        if self.is_taken and not self.holds_suite:
            raise BuildError(
                f"--out {self.named}: is there already, and is no suite",
                hint=_MEND + (", or empty this one" if overwrite else ""),
            )

    def put(self, suite: Path) -> None:
        """Move a finished suite from the work folder to its place.

        A folder that can be renamed is replaced at one stroke. Of one that cannot, such as a
        mounted one, the files are replaced, `SUITE_FILE` last: a folder without it is no suite.

        Raises:
            OSError: it cannot be written.
        """
        self.out.parent.mkdir(parents=True, exist_ok=True)
        if self.work.parent != self.out:
            try:
                self._replace(suite)
            except OSError as error:
                if error.errno not in _CANNOT_BE_RENAMED or not self.out.is_dir():
                    raise
            else:
                return
        (self.work / _PLACING).touch()
        refill(self.out, suite, keep=[self.work, self.lock], last=SUITE_FILE)

    def _replace(self, suite: Path) -> None:
        replaced = self.work / "replaced"
        shutil.rmtree(replaced, ignore_errors=True)
        if not self.out.exists():
            suite.rename(self.out)
            return
        self.out.rename(replaced)
        try:
            suite.rename(self.out)
        except OSError:
            replaced.rename(self.out)
            raise

    def _entries(self) -> list[Path]:
        """What lies in the folder and is not a build's work or lock."""
        try:
            return [path for path in self.out.iterdir() if path not in (self.work, self.lock)]
        except FileNotFoundError:
            return []


def place_of(named: Path) -> Place:
    """The place that ``--out`` names, as far as can be told before it is written.

    Raises:
        BuildError: no suite can be written there.
    """
    try:
        out = named.resolve()
        is_there = _first_present(out) == out
        _check_length(out)
        within = is_there and (out.is_mount() or not os.access(out.parent, os.W_OK | os.X_OK))
        work = out / ".partial" if within else out.with_name(out.name + ".partial")
        if is_there and not os.access(out, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _check_writable(_first_present(work.parent))
    except OSError as error:
        raise BuildError(f"--out {named}: {error.strerror or error}", hint=_MEND) from error
    except (ValueError, RuntimeError) as error:  # a NUL, or links in a circle
        raise BuildError(f"--out {named}: {error}", hint=_MEND) from error
    if work.is_symlink() or (work.exists() and not work.is_dir()):
        raise BuildError(f"{work}: is no folder, and is where a build keeps its work", hint=_MEND)
    return Place(named, out, work)


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
    name = len(os.fsencode(out.name + ".partial.lock"))
    if name > _LONGEST_NAME or len(os.fsencode(out)) + _LONGEST_WITHIN > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
