"""Processes of Python that start at once: copies of one that has imported what takes seconds.

Nothing that reads its environment when it is imported is among that: every copy imports it anew.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IMPORTED = (
    *("torch", "torch._dynamo", "torch.distributed.tensor", "pyarrow.dataset", "pandas"),
    *("scipy.stats", "scipy.optimize", "sklearn.metrics", "httpx", "aiohttp", "fsspec", "dill"),
    *("multiprocess.pool", "PIL.Image", "requests", "jinja2", "yaml", "anyio", "filelock", "tqdm"),
    *("xxhash", "sentencepiece", "s2lct.cli.main", "warm_process"),
)


def run(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """What ``python`` with these arguments (``-c SCRIPT …`` or ``-m MODULE …``) does."""
    with tempfile.TemporaryDirectory() as place:
        given = ([*arguments], {**env}, str(cwd), place)
        process = _context().Process(target=_become, args=given)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{arguments} took longer than {timeout} s")
        stdout, stderr = ((Path(place) / name).read_text("utf-8") for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess([*arguments], process.exitcode, stdout, stderr)


@functools.cache
def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*IMPORTED])
    return context


def _become(arguments: list[str], env: dict[str, str], cwd: str, place: str) -> None:
    """Do what is asked, and exit with its status, but without taking the interpreter down."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT), number)
    kind, what, *sys.argv[1:] = arguments
    sys.argv[0] = kind
    code: object = 0
    try:
        if kind == "-m":
            sys.path[0] = cwd
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
