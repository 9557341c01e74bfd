"""Files: reading with a size limit, atomic writing, locks and hashes."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from s2lct.errors import OptionError, OutputError
from s2lct.hub_calls import HUB_PREFIX, repository_of
from s2lct.identity import content_id
from s2lct.plain_text import plain

_BLOCK_BYTES = 1 << 20
_MAX_NAME_CHARACTERS = 200
_NETWORK_FILE_SYSTEMS = (
    *("nfs", "cifs", "smb", "ncp", "afs", "9p", "lustre", "gpfs", "beegfs", "ceph"),
    *("glusterfs", "fuse.glusterfs", "fuse.sshfs"),
)
"""Prefixes of the names of network file systems in ``/proc/mounts``."""
_FILES_OF_FILE_MANAGERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


def cache_folder() -> Path:
    """The folder of caches: ``$S2LCT_CACHE``, or ``~/.cache/s2lct``; it may be deleted."""
    if folder := os.environ.get("S2LCT_CACHE"):
        return Path(folder)
    return Path.home() / ".cache" / "s2lct"


def is_on_network(path: Path) -> bool:
    """Whether a file lies, or would lie, on a network disk, as far as Linux tells.

    SQLite's write-ahead log needs shared memory, which machines with one network disk lack.
    """
    try:
        lines = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    real_path = Path(os.path.realpath(path))
    mounts = {Path(mount_point): file_system for _, mount_point, file_system, *_ in lines}
    nearest = next((path for path in (real_path, *real_path.parents) if path in mounts), None)
    return nearest is not None and mounts[nearest].startswith(_NETWORK_FILE_SYSTEMS)


def read_limited(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file; links are followed.

    Raises:
        OSError: the file is missing, larger than ``max_bytes``, or a folder, pipe or device.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(None, "is no regular file", str(path))
    if status.st_size > max_bytes:
        raise OSError(None, f"has more than {max_bytes >> 20} MiB", str(path))
    return path.read_bytes()


def expanded_path(name: str) -> Path:
    """A path in which ``~`` and ``~ada`` stand for home folders."""
    try:
        return Path(name).expanduser()
    except RuntimeError:  # no such user
        return Path(name)


def is_folder(path: Path) -> bool:
    """`Path.is_dir`, which is False for names that no file can have."""
    return os.path.isdir(path)  # noqa: PTH112


def path_exists(path: Path) -> bool:
    """`Path.exists`, which is False for names that no file can have."""
    return os.path.exists(path)  # noqa: PTH110


def resolve_folder(name: str | Path, option: str) -> Path | None:
    """The folder that a name refers to; None if the name refers to a repository of the Hub.

    ``ORG/NAME[@REVISION]`` and ``NAME``, with or without the prefix ``hf:``, always refer to the
    Hub. A folder is given as a `Path`, as an absolute path, with ``./`` or ``../`` at the
    beginning, or with ``/`` at the end.

    Args:
        name: the name as the user wrote it.
        option: the option with this name, such as ``--out``; shown in the error.

    Raises:
        OptionError: no such folder exists, or a folder has the name of a Hub repository.
    """
    text, repository = str(name), ""
    if isinstance(name, str) and not name.endswith("/"):
        hub_name = HUB_PREFIX + name.removeprefix(HUB_PREFIX)
        repository = repository_of(hub_name, allows_bare_name=True)
    if repository:
        # The libraries that fetch a repository take a folder of its name first.
        for clash in (text, repository.partition("@")[0]):
            if path_exists(Path(clash)):
                raise OptionError(
                    f"{option} {text}: may be a repository of the Hub, and {clash} is here, too",
                    hint=f"for what is here write ./{clash}; for the Hub's, rename what is here or "
                    "start the command in another folder",
                )
        return None
    if not text or not is_folder(Path(name)):
        raise OptionError(
            f"{option} {plain(text, _MAX_NAME_CHARACTERS)}: there is no such folder",
            hint="check the path; a repository of the Hub is called ORG/NAME",
        )
    return Path(name)


def folder_argument(folder: Path) -> str:
    """A folder's path, written so that `resolve_folder` finds the folder and not the Hub."""
    return str(folder) if folder.is_absolute() else f"./{folder}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file through `atomic_file`."""
    with atomic_file(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text through `atomic_file`."""
    write_bytes(path, content.encode("utf-8"))


def as_json_lines(values: Iterable[Any]) -> str:
    """Values as the text of a JSON-lines file."""
    return "".join(json.dumps(value) + "\n" for value in values)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name only once it is complete.

    The content goes into a file with a random name in the same folder, so that two writers never
    collide. Missing folders are created.

    Raises:
        OutputError: no file can have that path.
        OSError: the file cannot be written; no partial file remains.
    """
    check_output_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    clean_up_interrupted(path)
    partial = _temporary_path(path, "partial")
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
def atomic_folder(path: Path, *, own_files: Collection[str] = ()) -> Iterator[Path]:
    """A folder to fill, which gets its name only once it is complete.

    The new folder is filled under a random name and then replaces the old one. A link is followed.

    Args:
        path: the folder.
        own_files: paths, relative to the folder, of files that s2lct wrote and may replace.

    Raises:
        OutputError: no folder can have that path, or the old one holds other files.
        OSError: the folder cannot be written; the old one stays.
    """
    check_output_folder(path, replaced=True)
    target = Path(os.path.realpath(path))
    clean_up_interrupted(target)
    partial, old_path = _temporary_path(target, "partial"), _temporary_path(target, "old")
    partial.mkdir(parents=True)
    try:
        yield partial
        refuse_foreign_files(target, own_files)
        if target.exists():
            target.rename(old_path)
        partial.rename(target)
        shutil.rmtree(old_path, ignore_errors=True)
    finally:
        if old_path.exists() and not target.exists():
            old_path.rename(target)
        shutil.rmtree(partial, ignore_errors=True)


def clean_up_interrupted(target: Path) -> None:
    """Clean up after a killed process of this machine that was writing a file or folder.

    An old folder that was not yet replaced gets its name back; partial files are deleted. Files
    of processes that run, or may run on another machine, stay.
    """
    leftovers = filter(_writer_is_dead, target.parent.glob(f"{_temporary_stem(target)}-*"))
    for path in sorted(leftovers, key=lambda path: path.suffix != ".old"):
        if path.suffix == ".old" and not os.path.lexists(target):
            path.rename(target)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _writer_is_dead(temporary_path: Path) -> bool:
    *_, machine, process_id, _ = temporary_path.stem.split("-")
    if machine != _machine_id() or os.name != "posix" or not process_id.isdecimal():
        return False
    try:
        os.kill(int(process_id), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _machine_id() -> str:
    return content_id(socket.gethostname())[:6]


def _temporary_stem(path: Path) -> str:
    return f".s2lct-{content_id(path.name)}"


def _temporary_path(path: Path, suffix: str) -> Path:
    """A hidden, unguessable path in the same folder, with machine and process id in its name."""
    writer = f"{_machine_id()}-{os.getpid()}-{secrets.token_hex(8)}"
    return path.with_name(f"{_temporary_stem(path)}-{writer}.{suffix}")


@contextmanager
def output_lock(path: Path, option: str = "--out") -> Iterator[None]:
    """Lock a file or folder that an option names, and clean up after killed processes.

    Raises:
        OutputError: another process holds the lock, or no lock file can be created.
    """
    from filelock import FileLock, Timeout

    target = Path(os.path.realpath(path))
    lock_path = target.with_name(f"{_temporary_stem(target)}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(lock_path, timeout=0)
        lock.acquire()
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
        clean_up_interrupted(target)
        yield
    finally:
        if os.name == "posix":
            lock_path.unlink(missing_ok=True)  # while it is held: the next gets another file
        lock.release()


def files_in(folder: Path) -> list[str]:
    """The files in a folder, relative to it, without those of file managers."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if (path.is_symlink() or not path.is_dir()) and path.name not in _FILES_OF_FILE_MANAGERS
    )


def refuse_foreign_files(folder: Path, own_files: Collection[str], *, option: str = "") -> None:
    """Raise an `OutputError` if a folder, which may be missing, holds foreign files.

    Args:
        folder: the folder that is about to be replaced.
        own_files: paths, relative to the folder, of the files that s2lct wrote.
        option: the option that names the folder; shown in the error.
    """
    if others := [name for name in files_in(folder) if name not in own_files]:
        raise OutputError(
            f"{option} {folder}: holds {others[0]}, which is no file of ours".strip(),
            hint="move it elsewhere, or name another folder",
        )


def check_output_file(path: Path | None, option: str = "") -> None:
    """Raise an `OutputError` if ``path`` cannot be written; call it before long work.

    Args:
        path: the file, which need not exist, nor its parent folders; None is not checked.
        option: the option that names the file, such as ``--html``; shown in the error.
    """
    if path is not None and (problem := _output_problem(path, "file", stat.S_ISREG)):
        raise OutputError(f"{option} {path}: {problem}".strip(), hint="name another file")


def check_output_folder(path: Path, option: str = "", *, replaced: bool = False) -> None:
    """Raise an `OutputError` if folder ``path`` cannot be written; call it before long work.

    Args:
        path: the folder, which need not exist, nor its parent folders.
        option: the option that names the folder; shown in the error.
        replaced: whether the folder is replaced as a whole, and not only written into.
    """
    problem, hint = _output_problem(path, "folder", stat.S_ISDIR), "name another folder"
    if not problem and replaced:
        real_path, current_folder = Path(os.path.realpath(path)), Path.cwd()
        if os.path.ismount(real_path):
            problem = "a disk is mounted there, and it would be replaced as a whole"
        elif real_path in (current_folder, *current_folder.parents):
            problem = "you are in this folder, and it would be replaced as a whole"
        hint = f"name a folder in it, such as {path / 'suite'}" if problem else hint
    if problem:
        raise OutputError(f"{option} {path}: {problem}".strip(), hint=hint)


def _output_problem(path: Path, kind: str, is_kind: Callable[[int], bool]) -> str:
    """The reason why no file or folder can be written at a path; empty if one can."""
    try:
        return "" if is_kind(path.stat().st_mode) else f"is no {kind}"
    except FileNotFoundError:
        existing_folder = next(folder for folder in path.absolute().parents if folder.exists())
        is_writable = os.access(existing_folder, os.W_OK | os.X_OK)
        return "" if is_writable else f"nothing may be written in {existing_folder}"
    except (OSError, ValueError) as error:  # ValueError: a null character
        return str(error)
