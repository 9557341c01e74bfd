"""Checkpoints: what a stage made of a shard, kept until the suite is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from s2lct.engines import Engine, Given, Worker
from s2lct.errors import BuildError
from s2lct.files import cache_folder, write_bytes
from s2lct.identity import content_id, fingerprint_of

Result = TypeVar("Result")
SECONDS_FOR_A_LOCK = 0.2
_MANIFEST = "build.json"


def build_folder(inputs: Mapping[str, Any]) -> Path:
    """Where an unfinished build of these inputs keeps what it has done: in our own cache.

    Raises:
        BuildError: there can be no cache.
    """
    return _cache() / "builds" / fingerprint_of(inputs)[:32]


def _cache() -> Path:
    try:
        return cache_folder()
    except OSError as error:
        raise BuildError(
            str(error), hint="set S2LCT_CACHE to a folder that can be written"
        ) from error


@contextmanager
def locked(path: Path, *, by: str = "build", option: str = "--out") -> Iterator[None]:
    """Hold a file or folder, for one process at a time; the lock lies in our own cache.

    Args:
        path: what is held; it need not exist.
        by: what else may hold it.
        option: that names another.

    Raises:
        BuildError: another process holds it, or the lock cannot be written.
    """
    from filelock import FileLock, Timeout

    lock_file = _cache() / "locks" / f"{content_id(str(path.resolve()))}.lock"
    lock = FileLock(lock_file)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        # Whoever held it a moment ago removes its file: a second look finds the new one.
        lock.acquire(timeout=SECONDS_FOR_A_LOCK)
    except Timeout:
        raise BuildError(
            f"{option} {path}: another {by} is writing there",
            hint=f"wait for it to end, or choose another {option}",
        ) from None
    except OSError as error:
        raise BuildError(
            f"{lock_file}: cannot be written: {error.strerror or error}",
            hint="set S2LCT_CACHE to a folder that can be written",
        ) from error
    try:
        yield
    finally:
        # While the lock is held: who opened the file before finds it without a name and opens a
        # new one (filelock sees to that from 3.21 on). Windows lets no open file be removed.
        with suppress(OSError):
            lock_file.unlink()
        lock.release()


class Files(Protocol):
    """Where checkpoints are kept."""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""

    def remove(self) -> None:
        """Remove everything."""


class Folder:
    """Checkpoints in a local folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> bytes | None:
        """See `Files`."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """See `Files`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)

    def remove(self) -> None:
        """See `Files`."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Checkpoints:
    """Results of stages, a file a shard: in a folder that is `locked`.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self.folder = folder
        self._files = files or Folder(folder)

    @classmethod
    def open(cls, folder: Path, inputs: Mapping[str, Any], *, restart: bool = False) -> Checkpoints:
        """Make sure that what is kept belongs to a run of the same inputs.

        Args:
            folder: the local folder.
            inputs: what decides what is made.
            restart: throw away what is there.

        Raises:
            BuildError: it holds a run of other inputs, or cannot be written.
        """
        files = Folder(folder)
        described = json.dumps(inputs, indent=2, sort_keys=True, default=str).encode()
        try:
            if restart:
                files.remove()
            folder.mkdir(parents=True, exist_ok=True)
            if files.read(_MANIFEST) is None:
                files.write(_MANIFEST, described)
            ours = files.read(_MANIFEST) == described
        except OSError as error:
            raise BuildError(
                f"{folder}: cannot be written: {error.strerror or error}",
                hint="choose another folder for --out, or for S2LCT_CACHE",
            ) from error
        if not ours:
            raise BuildError(
                f"{folder}: an unfinished run with other options or models lies there",
                hint="give the options it was started with, or --restart to throw it away",
            )
        return cls(folder, files)

    def within(self, name: str) -> Checkpoints:
        """Others beside these."""
        return Checkpoints(self.folder, Folder(self.folder / name))

    def get(self, name: str, adapter: TypeAdapter[Result], compute: Callable[[], Result]) -> Result:
        """The kept result of that name, or the computed one, kept from now on."""
        found = self.kept(name, adapter)
        return self.keep(name, adapter, compute()) if found is None else found

    def kept(self, name: str, adapter: TypeAdapter[Result]) -> Result | None:
        """The kept result of that name; None where there is none, or a damaged one."""
        content = self._files.read(f"{name}.json")
        if content is not None:
            # What does not fit was damaged, and is made again.
            with suppress(ValidationError):
                return adapter.validate_json(content)
        return None

    def keep(self, name: str, adapter: TypeAdapter[Result], result: Result) -> Result:
        """Keep a result under that name."""
        self._files.write(f"{name}.json", adapter.dump_json(result))
        return result

    def results(
        self,
        adapter: TypeAdapter[Result],
        engine: Engine[Worker],
        ask: Callable[[Worker, Given], Result],
        shards: Iterable[tuple[str, Given]],
    ) -> Iterator[tuple[str, Result]]:
        """What workers make of shards, each asked for once and kept from then on.

        Args:
            adapter: of the results, from and to JSON.
            engine: has the workers.
            ask: what a worker does with a shard.
            shards: each with its name, which its content alone decides.

        Returns:
            The name and the result of each, in any order.
        """
        asked: list[str] = []
        known: list[str] = []

        def missing() -> Iterator[Given]:
            for name, given in shards:
                if self.kept(name, adapter) is not None:
                    known.append(name)
                    continue
                asked.append(name)
                yield given

        def read() -> Iterator[tuple[str, Result]]:
            while known:
                name = known.pop()
                result = self.kept(name, adapter)
                if result is not None:
                    yield name, result

        for number, made in engine.map(ask, missing()):
            yield asked[number], self.keep(asked[number], adapter, made)
            yield from read()
        yield from read()

    def discard(self) -> None:
        """Remove what is kept: the suite is whole."""
        self._files.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
