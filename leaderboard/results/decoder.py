"""Asks a process with little memory and time what is in strangers' Parquet files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_MEMORY = 1 << 30
MOST_SECONDS = 60
MOST_ANSWER_BYTES = 1 << 30
_SCRIPT = Path(__file__).with_name("untrusted_table.py")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH|KEY", re.IGNORECASE)


class DecoderError(Exception):
    """A file that cannot be read, or is not what it should be; says why in a line."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A stranger's table.

    Attributes:
        digest: names the shared columns: equal digests, equal columns.
        shared: values by column; None if this decoder told a file of the same digest before.
        columns: values of the other columns.
    """

    digest: str
    shared: dict[str, list[Any]] | None
    columns: dict[str, list[Any]]


def environment_without_secrets(**more: str) -> dict[str, str]:
    """What a process that handles strangers' files may know of ours: no token, no key.

    Args:
        more: variables to set.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not _SECRET.search(name) and not name.upper().startswith(("HF_", "PYTHON"))
    }
    return kept | more


class Decoder:
    """A process that decodes one file after the other; a file that breaks it costs a new one.

    Use it as a context manager.

    Args:
        memory: how many bytes it may use.
        seconds: how long it may compute for one file.
    """

    def __init__(self, memory: int | None = None, seconds: int | None = None) -> None:
        self._memory = MOST_MEMORY if memory is None else memory
        self._seconds = MOST_SECONDS if seconds is None else seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def decode(
        self,
        data: bytes,
        *,
        types: dict[str, tuple[str, ...]],
        shared: Iterable[str],
        rows: int,
        longest: int,
        most_bytes: int,
    ) -> Decoded:
        """The columns of a file.

        Args:
            data: the Parquet file.
            types: the columns it must have, and the types each may have.
            shared: columns that many files have alike; equal ones are told once.
            rows: how many it must have.
            longest: bytes of the longest text that it may hold.
            most_bytes: what it may need in memory.

        Raises:
            DecoderError: it cannot be read within the limits, or is another table.
        """
        request = {
            "types": types,
            "shared": list(shared),
            "rows": rows,
            "characters": longest,
            "bytes": most_bytes,
        }
        answer = self._asked(data, request)
        return Decoded(answer["digest"], answer.get("shared"), answer["columns"])

    def weigh(self, data: bytes, *, rows: int, most_bytes: int) -> None:
        """Make sure that a file can be decoded within limits, its texts as dictionaries.

        Raises:
            DecoderError: it cannot.
        """
        self._asked(data, {"rows": rows, "bytes": most_bytes})

    def _asked(self, data: bytes, request: dict[str, Any]) -> dict[str, Any]:
        fresh = False
        while not fresh:
            fresh = self._process is None
            answer = self._once(data, request)
            if "worn" not in answer:
                break
            # Earlier files may have left it little room: a new process shows whether they did.
            self._stop()
        if "problem" in answer:
            raise DecoderError(answer["problem"])
        return answer

    def _once(self, data: bytes, request: dict[str, Any]) -> dict[str, Any]:
        limits = {"size": len(data), "memory": self._memory, "seconds": self._seconds}
        process = self._process = self._process or self._started()
        assert process.stdin and process.stdout
        timer = threading.Timer(2 * self._seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request | limits).encode() + b"\n")
            process.stdin.write(data)
            process.stdin.flush()
            answer = json.loads(process.stdout.readline(MOST_ANSWER_BYTES))
        except (OSError, ValueError):
            # It died, or was killed: no line, or half of one.
            answer = {
                "worn": True,
                "problem": f"cannot be read with {self._memory >> 20} MiB of memory and "
                f"{self._seconds} seconds",
            }
        finally:
            timer.cancel()
        told: dict[str, Any] = answer
        return told

    def _started(self) -> subprocess.Popen[bytes]:
        import pyarrow as pa

        packages = str(Path(pa.__file__).parents[1])
        return subprocess.Popen(
            [sys.executable, "-I", str(_SCRIPT), packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment_without_secrets(
                ARROW_DEFAULT_MEMORY_POOL="system", OMP_NUM_THREADS="1"
            ),
        )

    def _stop(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe
            with suppress(OSError):  # what was not written is lost, as it should be
                pipe.close()
