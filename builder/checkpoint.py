"""Results of a long run that are kept until it is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from s2lct.errors import BuildError
from s2lct.files import write_bytes

Result = TypeVar("Result")
_MANIFEST = "build.json"


class Checkpoints:
    """Results by name, a file each, in a folder.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
        described = json.dumps(inputs, indent=2, sort_keys=True, default=str).encode()
        try:
            if restart:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            manifest = folder / _MANIFEST
            if not manifest.exists():
                write_bytes(manifest, described)
            ours = manifest.read_bytes() == described
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
        return cls(folder)

    def get(self, name: str, adapter: TypeAdapter[Result], compute: Callable[[], Result]) -> Result:
        """The kept result of that name, or the computed one, kept from now on."""
        found = self.kept(name, adapter)
        return self.keep(name, adapter, compute()) if found is None else found

    def kept(self, name: str, adapter: TypeAdapter[Result]) -> Result | None:
        """The kept result of that name; None where there is none, or a damaged one."""
        # What does not fit was damaged, and is made again.
        with suppress(FileNotFoundError, ValidationError):
            return adapter.validate_json((self.folder / f"{name}.json").read_bytes())
        return None

    def keep(self, name: str, adapter: TypeAdapter[Result], result: Result) -> Result:
        """Keep a result under that name."""
        write_bytes(self.folder / f"{name}.json", adapter.dump_json(result))
        return result

    def discard(self) -> None:
        """Remove what is kept."""
        shutil.rmtree(self.folder, ignore_errors=True)
