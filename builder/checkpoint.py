"""Checkpoints: what a stage made of a shard, kept until the suite is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from s2lct.errors import BuildError
from s2lct.files import write_bytes, write_text

Result = TypeVar("Result")
SECONDS_FOR_A_LOCK = 0.2
_MANIFEST = "build.json"


@contextmanager
def locked(lock_file: Path, *, by: str = "build", option: str = "--out") -> Iterator[None]:
    """Hold a lock, for one build at a time; its file is gone afterwards.

    Args:
        lock_file: named as what is locked, with a suffix.
        by: what else may hold it.
        option: that names another.

    Raises:
        BuildError: another build holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        # Whoever held it a moment ago removes its file: a second look finds the new one.
        lock.acquire(timeout=SECONDS_FOR_A_LOCK)
    except Timeout:
        raise BuildError(
            f"{lock_file.with_suffix('')}: another {by} is writing there",
            mend=f"wait for it to end, or choose another {option}",
        ) from None
    except OSError as error:
        raise BuildError(
            f"{lock_file}: cannot be written: {error.strerror or error}",
            mend=f"choose another folder for {option}",
        ) from error
    try:
        yield
    finally:
        # While the lock is held: who opened the file before finds it without a name and opens a
        # new one (filelock sees to that from 3.21 on). Windows lets no open file be removed.
        with suppress(OSError):
            lock_file.unlink()
        lock.release()


class Checkpoints:
    """Results of stages, one file a shard, in a folder that is `locked`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path, inputs: Mapping[str, Any], *, restart: bool) -> Checkpoints:
        """Make sure that the folder belongs to a build of the same inputs.

        Raises:
            BuildError: it holds a build of other inputs, or cannot be written.
        """
        try:
            if restart and folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(exist_ok=True)
            manifest = folder / _MANIFEST
            if not manifest.exists():
                write_text(manifest, _described(inputs))
        except OSError as error:
            raise BuildError(
                f"{folder}: cannot be written: {error.strerror or error}",
                mend="choose another folder for --out",
            ) from error
        if not belongs_to(folder, inputs):
            raise BuildError(
                f"{folder}: an unfinished build with other options or models lies there",
                mend="give the options it was started with, or --restart to throw it away",
            )
        return cls(folder)

    def get(self, name: str, adapter: TypeAdapter[Result], compute: Callable[[], Result]) -> Result:
        """The kept result of that name, or the computed one, kept from now on."""
        found = self.kept(name, adapter)
        return self.keep(name, adapter, compute()) if found is None else found

    def kept(self, name: str, adapter: TypeAdapter[Result]) -> Result | None:
        """The kept result of that name; None where there is none, or a damaged one."""
        path = self.folder / f"{name}.json"
        if path.exists():
            # What does not fit was damaged, and is made again.
            with suppress(ValidationError):
                return adapter.validate_json(path.read_bytes())
        return None

    def keep(self, name: str, adapter: TypeAdapter[Result], result: Result) -> Result:
        """Keep a result under that name."""
        path = self.folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, adapter.dump_json(result))
        return result

    def discard(self) -> None:
        """Remove the folder: the suite is whole."""
        shutil.rmtree(self.folder)


def belongs_to(folder: Path, inputs: Mapping[str, Any]) -> bool:
    """Whether a work folder holds what a build of these inputs left."""
    try:
        return (folder / _MANIFEST).read_text(encoding="utf-8") == _described(inputs)
    except (OSError, ValueError):
        return False


def _described(inputs: Mapping[str, Any]) -> str:
    return json.dumps(inputs, indent=2, sort_keys=True, default=str)
