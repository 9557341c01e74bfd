"""Checkpoints: what a stage made of a shard, kept until the suite is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from s2lct.engines import Engine, Given, Worker
from s2lct.errors import BuildError, S2lctError
from s2lct.files import write_bytes
from s2lct.plain_text import plain

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
            hint=f"wait for it to end, or choose another {option}",
        ) from None
    except OSError as error:
        raise BuildError(
            f"{lock_file}: cannot be written: {error.strerror or error}",
            hint=f"choose another folder for {option}",
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


class Within:
    """Checkpoints in a folder of where others are."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """See `Files`."""
        return self._files.read(f"{self._folder}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """See `Files`."""
        self._files.write(f"{self._folder}/{name}", content)

    def remove(self) -> None:
        """Whoever has the others removes these too."""


class Remote:
    """Checkpoints behind any URL that fsspec knows, such as ``s3://bucket/folder``."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs

        self.url = url
        try:
            self._files, self._root = url_to_fs(url)
        except (ValueError, ImportError, OSError) as error:
            raise BuildError(
                f"--work {url}: cannot be used: {error}",
                hint="give a URL that fsspec knows, and install what it needs for it",
            ) from error

    def read(self, name: str) -> bytes | None:
        """See `Files`."""
        with self._told():
            try:
                content: bytes = self._files.cat_file(f"{self._root}/{name}")
            except FileNotFoundError:
                return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """See `Files`."""
        path = f"{self._root}/{name}"
        with self._told():
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            # An object store has a file when it is whole; elsewhere it is renamed.
            partial = f"{path}.{uuid4().hex}"
            self._files.pipe_file(partial, content)
            self._files.mv(partial, path)

    def remove(self) -> None:
        """See `Files`."""
        with self._told(), suppress(FileNotFoundError):
            self._files.rm(self._root, recursive=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except S2lctError:
            raise
        except Exception as error:  # every kind of storage fails in classes of its own
            raise BuildError(
                f"--work {self.url}: {plain(str(error), 300) or type(error).__name__}",
                hint="check the address and the rights; the same command goes on where it stopped",
            ) from error


class Checkpoints:
    """Results of stages, a file a shard: in a folder that is `locked`, or somewhere else.

    Attributes:
        folder: the local folder, in which a suite is made too.
    """

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self.folder = folder
        self._files = files or Folder(folder)

    @classmethod
    def open(
        cls, folder: Path, inputs: Mapping[str, Any], *, restart: bool, url: str | None = None
    ) -> Checkpoints:
        """Make sure that what is kept belongs to a build of the same inputs.

        Args:
            folder: the local folder.
            inputs: what decides what is built.
            restart: throw away what is there.
            url: where results are kept, if not in the folder.

        Raises:
            BuildError: it holds a build of other inputs, or cannot be written.
        """
        files: Files = Folder(folder) if url is None else Remote(url)
        try:
            if restart:
                files.remove()
            folder.mkdir(exist_ok=True)
            if files.read(_MANIFEST) is None:
                files.write(_MANIFEST, _described(inputs).encode())
            ours = files.read(_MANIFEST) == _described(inputs).encode()
        except OSError as error:
            raise BuildError(
                f"{folder}: cannot be written: {error.strerror or error}",
                hint="choose another folder for --out",
            ) from error
        if not ours:
            raise BuildError(
                f"{url or folder}: an unfinished build with other options or models lies there",
                hint="give the options it was started with, or --restart to throw it away",
            )
        return cls(folder, files)

    def within(self, name: str) -> Checkpoints:
        """Others beside these."""
        return Checkpoints(self.folder, Within(self._files, name))

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


def belongs_to(folder: Path, inputs: Mapping[str, Any]) -> bool:
    """Whether a work folder holds what a build of these inputs left."""
    try:
        return (folder / _MANIFEST).read_text(encoding="utf-8") == _described(inputs)
    except (OSError, ValueError):
        return False


def _described(inputs: Mapping[str, Any]) -> str:
    return json.dumps(inputs, indent=2, sort_keys=True, default=str)
