"""Asks a process with little memory and time what is in strangers' Parquet files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_MEMORY = 1 << 30
MOST_SECONDS = 60
MOST_ANSWER_BYTES = 1 << 30
_SCRIPT = Path(__file__).with_name("untrusted_table.py")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH|KEY", re.IGNORECASE)


class DecoderError(Exception):
    """A file that cannot be read, or is not what it should be; says why in a line."""


def environment_without_secrets(**more: str) -> dict[str, str]:
    """What a process that handles strangers' files may know of ours: no token, no key."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not _SECRET.search(name) and not name.upper().startswith(("HF_", "PYTHON"))
    }
    return kept | more


class Decoder:
    """A process of ``memory`` bytes that decodes one file after the other; a context manager.

    A file that breaks it costs a new process.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = MOST_MEMORY if memory is None else memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, data: bytes, **request: Any) -> dict[str, Any]:
        """What `untrusted_table.answer` says of a file and limits, or a `DecoderError`."""
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
        limits = {"size": len(data), "memory": self._memory, "seconds": MOST_SECONDS}
        process = self._process = self._process or self._started()
        assert process.stdin and process.stdout
        timer = threading.Timer(2 * MOST_SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request | limits).encode() + b"\n" + data)
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline(MOST_ANSWER_BYTES))
        except (OSError, ValueError):  # it died, or was killed: no line, or half of one
            memory = f"{self._memory >> 20} MiB of memory and {MOST_SECONDS} seconds"
            answer = {"worn": True, "problem": f"cannot be read with {memory}"}
        finally:
            timer.cancel()
        return answer

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
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # What was not written is lost, as it should be.
            with suppress(OSError):
                process.communicate()
