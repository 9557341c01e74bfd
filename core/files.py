"""Files: read without trust, written whole or not at all, hashed; JSON lines in them."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from s2lct.errors import OptionError, OutputError
from s2lct.hub_calls import HUB, repository_meant
from s2lct.identity import content_id
from s2lct.plain_text import plain

_BLOCK = 1 << 20
_NETWORK_DISKS = (
    *("nfs", "cifs", "smb", "ncp", "afs", "9p", "lustre", "gpfs", "beegfs", "ceph"),
    *("glusterfs", "fuse.glusterfs", "fuse.sshfs"),
)
"""Kinds of file systems, by how their names begin."""
_OF_THE_SYSTEM = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What file managers put into folders that were looked at."""


def cache_folder() -> Path:
    """``$S2LCT_CACHE`` or ``~/.cache/s2lct``: where what can be made or fetched again is kept."""
    if named := os.environ.get("S2LCT_CACHE"):
        return Path(named)
    return Path.home() / ".cache" / "s2lct"


def is_on_network(path: Path) -> bool:
    """Whether a file lies, or would lie, on the disk of another machine, as far as Linux tells.

    Processes of two machines share no memory there, which SQLite's write-ahead log needs.
    """
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    real = Path(os.path.realpath(path))
    kinds = {Path(place): kind for _, place, kind, *_ in mounts}
    nearest = next((place for place in (real, *real.parents) if place in kinds), None)
    return nearest is not None and kinds[nearest].startswith(_NETWORK_DISKS)


def regular_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file, or of one that a link leads to.

    Raises:
        OSError: it is missing, has more bytes than ``most``, or is a folder, pipe or device.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "is no regular file", str(path))
    if found.st_size > most:
        raise OSError(None, f"has more than {most >> 20} MiB", str(path))
    return path.read_bytes()


def named_path(name: str) -> Path:
    """A path as a user names it: ``~`` is a home folder, ``~ada`` that of a user ada."""
    path = Path(name)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_folder(path: Path) -> bool:
    """Whether a folder of that name is here; a name that can be none is none."""
    return os.path.isdir(path)  # noqa: PTH112


def folder_named(name: str | Path, option: str) -> Path | None:
    """The folder that a name stands for; None where it stands for a repository of the Hub.

    ``ORG/NAME[@REVISION]`` and ``NAME``, with or without ``hf:`` in front, are the Hub's, whatever
    folders are here. A folder is named with ``./`` or ``../`` in front, ``/`` behind, by an
    absolute path, or as a `Path`.

    Args:
        name: what the user wrote.
        option: by which; named in the error.

    Raises:
        OptionError: there is no such folder; or the name is the Hub's, and a folder has it too.
    """
    text = str(name)
    may_be = HUB + text.removeprefix(HUB)
    repository = "" if isinstance(name, Path) else repository_meant(may_be, without_owner=True)
    if text.endswith("/"):
        repository = ""
    bare = repository.partition("@")[0]
    # The libraries that fetch a repository take a folder of its name first.
    if repository and (here := [other for other in (text, bare) if is_here(Path(other))]):
        raise OptionError(
            f"{option} {text}: may be a repository of the Hub, and {here[0]} is here, too",
            hint=f"for what is here write ./{here[0]}; for the Hub's, rename what is here or start "
            "the command in another folder",
        )
    if repository:
        return None
    folder = Path(name)
    if not text or not is_folder(folder):
        raise OptionError(
            f"{option} {plain(text, 200)}: there is no such folder",
            hint="check the path; a repository of the Hub is called ORG/NAME",
        )
    return folder


def folder_name(folder: Path) -> str:
    """How a folder is written such that `folder_named` takes it for one."""
    return str(folder) if folder.is_absolute() else f"./{folder}"


def is_here(path: Path) -> bool:
    """Whether anything of that name is here."""
    return os.path.exists(path)  # noqa: PTH110


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, as `whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text as `write_bytes` does."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its name when it is whole, or never.

    It is written beside its place under a random name, so that no two writers meet. The folder it
    is to lie in is made.

    Raises:
        OutputError: there can be no file of that name.
        OSError: it cannot be written; nothing is left behind.
    """
    check_file_out(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    restore(path)
    partial = _partial(path)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(path: Path, *, ours: Collection[str] = ()) -> Iterator[Path]:
    """A folder to fill that takes its name when it is whole, or never.

    It is filled beside its place and replaces what was there before. A link is followed. What a
    process that was killed left behind goes, and a folder that it had moved aside comes back.

    Args:
        path: the folder.
        ours: names of files, relative to it, that were written there before and go now.

    Raises:
        OutputError: there can be no folder of that name, or it holds files that are not ``ours``.
        OSError: it cannot be written; what was there stays.
    """
    check_folder_out(path, replaced=True)
    target = Path(os.path.realpath(path))
    restore(target)
    partial, old = _partial(target), _partial(target, "old")
    partial.mkdir(parents=True)
    try:
        yield partial
        check_only_ours(target, ours)
        if target.exists():
            target.rename(old)
        partial.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(partial, ignore_errors=True)


def restore(target: Path) -> None:
    """Undo what a process that was killed left of a file or folder that it was writing.

    A folder that it had moved aside to replace it takes its name again; what is not whole goes.
    Nothing of a process that still runs, or may run on another machine, is touched.
    """
    leftovers = [path for path in target.parent.glob(f"{_stem(target)}-*") if _is_left(path)]
    for path in sorted(leftovers, key=lambda path: path.suffix == ".old", reverse=True):
        if path.suffix == ".old" and not os.path.lexists(target):
            path.rename(target)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Whether what a name beside a path says was written by a process of this machine, now dead."""
    *_, machine, process, _ = path.stem.split("-")
    if machine != _machine() or os.name != "posix" or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _machine() -> str:
    return content_id(socket.gethostname())[:6]


def files_in(folder: Path) -> list[str]:
    """The names of all files in a folder, relative to it, without those of file managers.

    There are none where there is no folder.
    """
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if (path.is_symlink() or not path.is_dir()) and path.name not in _OF_THE_SYSTEM
    )


def check_only_ours(folder: Path, ours: Collection[str], *, option: str = "") -> None:
    """Refuse a folder with files that we did not write: they would be lost, or mixed with ours.

    Args:
        folder: may be missing.
        ours: the names of files that we wrote.
        option: what the user named it by; named in the error.

    Raises:
        OutputError: it has other files.
    """
    if others := [name for name in files_in(folder) if name not in ours]:
        raise OutputError(
            f"{option} {folder}: holds {others[0]}, which is no file of ours".strip(),
            hint="move it elsewhere, or name another folder",
        )


def _stem(path: Path) -> str:
    """How names beside a path begin that stand for it meanwhile."""
    return f".s2lct-{content_id(path.name)}"


def _partial(path: Path, kind: str = "partial") -> Path:
    """A name beside a path that nobody can know, which says what process writes there."""
    who = f"{_machine()}-{os.getpid()}-{secrets.token_hex(8)}"
    return path.with_name(f"{_stem(path)}-{who}.{kind}")


@contextmanager
def locked(path: Path, option: str = "--out") -> Iterator[None]:
    """Hold a file or folder that an option names; the lock lies beside it as long as it is held.

    What a process that was killed there left is mended first, see `restore`.

    Raises:
        OutputError: another process holds it, or no lock can lie there.
    """
    from filelock import FileLock, Timeout

    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{_stem(target)}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock, timeout=0)
        held.acquire()
    except Timeout:
        raise OutputError(
            f"{option} {path}: another process is writing there",
            hint=f"wait for it to end, or choose another {option}",
        ) from None
    except OSError as error:
        raise OutputError(
            f"{option} {path}: nothing may be written in {target.parent} ({error.strerror})",
            hint=f"choose another {option}",
        ) from error
    try:
        restore(target)
        yield
    finally:
        if os.name == "posix":
            lock.unlink(missing_ok=True)  # still held: who opens it anew gets another file
        held.release()


def check_file_out(
    path: Path | None, option: str = "", *, folder: bool = False, replaced: bool = False
) -> None:
    """Refuse a name that nothing can be written under, before work is put into its contents.

    Args:
        path: it and folders above it need not exist; None is not checked.
        option: what the user gave it by, such as ``--html``; named in the error.
        folder: it is to be a folder.
        replaced: the folder is replaced as a whole, and not only written into.

    Raises:
        OutputError: something else is there, or nothing can be.
    """
    if path is None:
        return
    kind, problem = "folder" if folder else "file", ""
    hint = f"name another {kind}"
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)):
            problem = f"is no {kind}"
        elif replaced and os.path.ismount(os.path.realpath(path)):
            problem = "is where a disk is mounted, and would be replaced as a whole"
            hint = f"name a folder in it, such as {path / 'suite'}"
        elif replaced and _is_or_holds(Path(os.path.realpath(path)), Path.cwd()):
            problem = "you are in this folder, and it would be replaced as a whole"
            hint = f"name a folder in it, such as {path / 'suite'}"
    except FileNotFoundError:
        above = next(place for place in path.absolute().parents if place.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            problem = f"nothing may be written in {above}"
    except (OSError, ValueError) as error:  # ValueError: a null character
        problem = str(error)
    if problem:
        raise OutputError(f"{option} {path}: {problem}".strip(), hint=hint)


def _is_or_holds(folder: Path, other: Path) -> bool:
    return folder == other or folder in other.parents


def check_folder_out(path: Path, option: str = "", *, replaced: bool = False) -> None:
    """`check_file_out` of a folder."""
    check_file_out(path, option, folder=True, replaced=replaced)


def as_json_lines(values: Iterable[Any]) -> str:
    """Values as the text of a file of JSON lines."""
    return "".join(json.dumps(value) + "\n" for value in values)
