"""Checkpoints: what a stage made of a shard, kept until the suite is whole."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import TypeAdapter

from s2lct.builder.errors import BuildError

Result = TypeVar("Result")


class Checkpoints:
    """Results of stages, one file a shard, in a folder that one build at a time may use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @contextmanager
    def open(
        cls, folder: Path, inputs: Mapping[str, Any], *, restart: bool
    ) -> Iterator[Checkpoints]:
        """Lock the folder and make sure that it belongs to a build of the same inputs.

        Raises:
            BuildError: another build is using the folder, or it holds one of other inputs.
        """
        from filelock import FileLock, Timeout

        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(folder.name + ".lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise BuildError(
                f"{folder}: another build is writing there",
                mend="wait for it to end, or choose another --out",
            ) from None
        try:
            described = json.dumps(inputs, indent=2, sort_keys=True, default=str)
            manifest = folder / "build.json"
            if restart:
                shutil.rmtree(folder)
                folder.mkdir()
            if not manifest.exists():
                write_text(manifest, described)
            elif manifest.read_text(encoding="utf-8") != described:
                raise BuildError(
                    f"{folder}: an unfinished build with other options or models lies there",
                    mend="give the options it was started with, or --restart to throw it away",
                )
            yield cls(folder)
        finally:
            lock.release()

    def get(self, name: str, adapter: TypeAdapter[Result], compute: Callable[[], Result]) -> Result:
        """The kept result of that name, or the computed one, kept from now on."""
        path = self.folder / f"{name}.json"
        if path.exists():
            return adapter.validate_json(path.read_bytes())
        result = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, adapter.dump_json(result))
        return result

    def discard(self) -> None:
        """Remove the folder: the suite is whole."""
        shutil.rmtree(self.folder)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its name when it is whole, or never.

    It is written beside its place under a random name that did not exist before, so that no link
    is followed and no two writers meet.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(partial, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as `whole_file` does: it is there whole or not at all."""
    with whole_file(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text as `write_bytes` does."""
    write_bytes(path, content.encode("utf-8"))
