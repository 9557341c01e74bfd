"""Files: read within limits, written whole or not at all, and hashed."""

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
from s2lct.hub_calls import HUB, repository_meant
from s2lct.identity import content_id
from s2lct.plain_text import plain

_BLOCK_BYTES = 1 << 20
_MAX_NAME_CHARACTERS = 200
_NETWORK_FILE_SYSTEMS = (
    *("nfs", "cifs", "smb", "ncp", "afs", "9p", "lustre", "gpfs", "beegfs", "ceph"),
    *("glusterfs", "fuse.glusterfs", "fuse.sshfs"),
)
"""How the names of such file systems begin."""
_FILES_OF_FILE_MANAGERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


def cache_folder() -> Path:
    """``$S2LCT_CACHE`` or ``~/.cache/s2lct``: what lies there can be computed again."""
    if folder := os.environ.get("S2LCT_CACHE"):
        return Path(folder)
    return Path.home() / ".cache" / "s2lct"


def is_on_network(path: Path) -> bool:
    """Whether a file lies, or would lie, on a network disk, as far as Linux tells.

    Processes of two machines share no memory there, which SQLite's write-ahead log needs.
    """
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    real_path = Path(os.path.realpath(path))
    kinds = {Path(mount_point): kind for _, mount_point, kind, *_ in mounts}
    nearest = next((place for place in (real_path, *real_path.parents) if place in kinds), None)
    return nearest is not None and kinds[nearest].startswith(_NETWORK_FILE_SYSTEMS)


def read_limited(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file, or of one that a link leads to.

    Raises:
        OSError: it is missing, larger than ``max_bytes``, or a folder, pipe or device.
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


def folder_named(name: str | Path, option: str) -> Path | None:
    """The folder that a name stands for; None where it stands for a repository of the Hub.

    ``ORG/NAME[@REVISION]`` and ``NAME``, with or without ``hf:`` in front, are the Hub's, whatever
    folders are here. A folder is named with ``./`` or ``../`` in front, ``/`` behind, by an
    absolute path, or as a `Path`.

    Args:
        name: what the user wrote.
        option: the option that it was written for; named in the error.

    Raises:
        OptionError: there is no such folder; or the name is the Hub's, and a folder has it too.
    """
    text, repository = str(name), ""
    if isinstance(name, str) and not name.endswith("/"):
        repository = repository_meant(HUB + name.removeprefix(HUB), without_owner=True)
    if repository:
        # The libraries that fetch a repository take a folder of its name first.
        for other in (text, repository.partition("@")[0]):
            if path_exists(Path(other)):
                raise OptionError(
                    f"{option} {text}: may be a repository of the Hub, and {other} is here, too",
                    hint=f"for what is here write ./{other}; for the Hub's, rename what is here or "
                    "start the command in another folder",
                )
        return None
    if not text or not is_folder(Path(name)):
        raise OptionError(
            f"{option} {plain(text, _MAX_NAME_CHARACTERS)}: there is no such folder",
            hint="check the path; a repository of the Hub is called ORG/NAME",
        )
    return Path(name)


def folder_name(folder: Path) -> str:
    """A folder's name as `folder_named` takes it for a folder."""
    return str(folder) if folder.is_absolute() else f"./{folder}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text as `atomic_file` does."""
    write_bytes(path, content.encode("utf-8"))


def as_json_lines(values: Iterable[Any]) -> str:
    """Values as the text of a JSON-lines file."""
    return "".join(json.dumps(value) + "\n" for value in values)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its name once it is complete, or never.

    It is written beside its place under a random name, so that two writers never meet. Missing
    folders are made.

    Raises:
        OutputError: there can be no file of that name.
        OSError: it cannot be written; nothing is left behind.
    """
    check_output_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    finish_interrupted(path)
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
def atomic_folder(path: Path, *, ours: Collection[str] = ()) -> Iterator[Path]:
    """A folder to fill, which takes its name once it is complete, or never.

    It is filled beside its place and replaces what was there. A link is followed.

    Args:
        path: the folder.
        ours: files in it, relative to it, that may be replaced, as we wrote them.

    Raises:
        OutputError: there can be no folder of that name, or it holds files that are not ``ours``.
        OSError: it cannot be written; what was there stays.
    """
    check_output_folder(path, replaced=True)
    target = Path(os.path.realpath(path))
    finish_interrupted(target)
    partial, old = _temporary_path(target, "partial"), _temporary_path(target, "old")
    partial.mkdir(parents=True)
    try:
        yield partial
        refuse_foreign_files(target, ours)
        if target.exists():
            target.rename(old)
        partial.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(partial, ignore_errors=True)


def finish_interrupted(target: Path) -> None:
    """Clean up after a killed process of this machine that was writing a file or folder.

    A folder that it had moved aside gets its name back; what is incomplete is deleted. Files of
    processes that run, or may run on another machine, stay.
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
    """A hidden name beside a path, which nobody can guess and which tells the writing process."""
    writer = f"{_machine_id()}-{os.getpid()}-{secrets.token_hex(8)}"
    return path.with_name(f"{_temporary_stem(path)}-{writer}.{suffix}")


@contextmanager
def output_lock(path: Path, option: str = "--out") -> Iterator[None]:
    """Lock a file or folder that an option names, and clean up after killed processes.

    Raises:
        OutputError: another process holds it, or no lock can lie beside it.
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
        finish_interrupted(target)
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


def refuse_foreign_files(folder: Path, ours: Collection[str], *, option: str = "") -> None:
    """Raise an `OutputError` if a folder, which may be missing, holds files that are not ours.

    Args:
        folder: which is about to be replaced.
        ours: the files that we wrote, relative to it.
        option: the option that names it; shown in the error.
    """
    if others := [name for name in files_in(folder) if name not in ours]:
        raise OutputError(
            f"{option} {folder}: holds {others[0]}, which is no file of ours".strip(),
            hint="move it elsewhere, or name another folder",
        )


def check_output_file(path: Path | None, option: str = "") -> None:
    """Raise an `OutputError` if no file can be written there, before work is put into it.

    Args:
        path: it and folders above it need not exist; None is not checked.
        option: the option that names it, such as ``--html``; shown in the error.
    """
    if path is not None and (problem := _output_problem(path, "file", stat.S_ISREG)):
        raise OutputError(f"{option} {path}: {problem}".strip(), hint="name another file")


def check_output_folder(path: Path, option: str = "", *, replaced: bool = False) -> None:
    """Raise an `OutputError` if no folder can be written there, before work is put into it.

    Args:
        path: it and folders above it need not exist.
        option: the option that names it; shown in the error.
        replaced: whether the folder is replaced as a whole, and not only written into.
    """
    problem, hint = _output_problem(path, "folder", stat.S_ISDIR), "name another folder"
    if not problem and replaced:
        real_path, here = Path(os.path.realpath(path)), Path.cwd()
        if os.path.ismount(real_path):
            problem = "a disk is mounted there, and it would be replaced as a whole"
        elif real_path in (here, *here.parents):
            problem = "you are in this folder, and it would be replaced as a whole"
        hint = f"name a folder in it, such as {path / 'suite'}" if problem else hint
    if problem:
        raise OutputError(f"{option} {path}: {problem}".strip(), hint=hint)


def _output_problem(path: Path, kind: str, is_kind: Callable[[int], bool]) -> str:
    """Why no file or folder can be written there; empty if it can."""
    try:
        return "" if is_kind(path.stat().st_mode) else f"is no {kind}"
    except FileNotFoundError:
        above = next(place for place in path.absolute().parents if place.exists())
        is_writable = os.access(above, os.W_OK | os.X_OK)
        return "" if is_writable else f"nothing may be written in {above}"
    except (OSError, ValueError) as error:  # ValueError: a null character
        return str(error)
