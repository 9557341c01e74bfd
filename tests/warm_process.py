"""Processes of Python that start at once: copies of one that has imported what takes seconds.

Nothing that reads its environment when it is imported is among that: every copy imports it anew.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

IMPORTED = (
    *("torch", "torch._dynamo", "torch.distributed.tensor", "pyarrow.dataset", "pandas"),
    *("scipy.stats", "scipy.optimize", "sklearn.metrics", "httpx", "aiohttp", "fsspec", "dill"),
    *("multiprocess.pool", "PIL.Image", "requests", "jinja2", "yaml", "anyio", "filelock", "tqdm"),
    *("xxhash", "sentencepiece", "s2lct.cli.main"),
)
READ_THEIR_ENVIRONMENT = ("huggingface_hub", "datasets", "evaluate", "transformers")


def run(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """What ``python`` with these arguments (``-c SCRIPT …`` or ``-m MODULE …``) does."""
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as connection:
        asked = {"arguments": [*arguments], "env": {**env}, "cwd": str(cwd), "place": place}
        connection.settimeout(timeout)
        connection.connect(_server())
        connection.sendall(json.dumps(asked).encode() + b"\n")
        code = int(connection.makefile().readline())
        stdout, stderr = ((Path(place) / name).read_text("utf-8") for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess([*arguments], code, stdout, stderr)


@functools.cache
def _server() -> str:
    """Where the process listens that is copied; it ends with this one, which holds its input."""
    path = f"{tempfile.mkdtemp()}/socket"
    process = subprocess.Popen(
        [sys.executable, __file__, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "listening\n"
    atexit.register(process.communicate)
    return path


def _serve(path: str) -> dict[str, Any]:
    """Wait for requests; returns in each copy, with what it is asked for."""
    for name in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(name)
    assert sys.modules.keys().isdisjoint(READ_THEIR_ENVIRONMENT)
    gc.freeze()  # what all copies share is not looked at in each
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("listening", flush=True)
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:  # waits for the copy
            asked: dict[str, Any] = json.loads(connection.makefile().readline())
            if (copy := os.fork()) == 0:
                connection.close()
                listener.close()
                return asked
            code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
            connection.sendall(f"{code}\n".encode())
            os._exit(0)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    shutil.rmtree(Path(path).parent)
    sys.exit()


def _become(asked: Mapping[str, Any]) -> None:
    """Do what is asked, and exit with its status, but without taking the interpreter down."""
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{asked['place']}/{name}", os.O_WRONLY | os.O_CREAT), number)
    kind, what, *arguments = asked["arguments"]
    sys.argv = [kind, *arguments]
    code: object = 0
    try:
        if kind == "-m":
            sys.path[0] = asked["cwd"]
            sys.modules.pop(what, None)
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = ""
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(what, "<string>", "exec"), main.__dict__)
    except SystemExit as exit:
        code = exit.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _become(_serve(sys.argv[1]))
