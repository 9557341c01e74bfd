"""An engine whose workers are actors of a Ray cluster: of one that runs, or of one started here.

Workers may die and nodes may leave: what a worker was doing is asked again, and another worker is
started wherever there is room. What is asked for is drawn as workers get free.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic

from s2lct.engines import Given, Made, Worker
from s2lct.errors import BuildError

ASKED_AHEAD = 2
"""Most asks of a worker at a time: what it does, and what it does next."""
MOST_LOSSES = 3
"""So often may a worker die at the same piece."""
WITHOUT_WORKERS = 60.0
"""Most seconds without any worker."""
REACHED_WITHIN = 5.0
"""Seconds in which a cluster must answer."""
OBJECT_STORE_BYTES = 512 * 2**20
"""Of a cluster started here: a few pieces a worker are under way at a time, and no more."""
_SAME_VERSIONS = ("s2lct", "torch", "transformers")
"""Packages that must have the same version everywhere, or answers differ."""
_LOOK_AROUND = 1.0
_LONGEST_FOLDER = 40
"""Ray has sockets in its folder, and a socket's path may have about a hundred characters."""


class WorkersTracebackError(Exception):
    """Where in a worker an error was raised: the cause of that error."""


class RayEngine(Generic[Worker]):
    """Has actors of a Ray cluster do the work, as an `Engine`; a context manager.

    A worker is made in its own process and answers until the block ends. It has one CPU, hence one
    thread, and a GPU where there are any, and imports what this process would import.

    The cluster is the one that the caller has initialised, that the environment names (RAY_ADDRESS,
    ``auto`` or HOST:PORT), or one on this machine, which ends with the block.

    Args:
        make: makes a worker; can be pickled, such as a function of a module or a partial of one.
    """

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make
        self._gpus = 0.0
        self._ready: list[Any] = []
        self._starting: dict[Any, Any] = {}

    def __enter__(self) -> RayEngine[Worker]:
        if find_spec("ray") is None:
            raise BuildError("the package ray is not installed", hint='pip install "s2lct[ray]"')
        with _quiet():
            import ray
        self._ray: Any = ray
        self._is_ours = not ray.is_initialized()
        short = tempfile.gettempdir()
        short = short if len(short) <= _LONGEST_FOLDER else "/tmp"
        self._folder = Path(tempfile.mkdtemp(prefix="s2lct-ray-", dir=short))
        try:
            if self._is_ours:
                with _quiet():
                    _connect(ray, self._folder)
            has = self._ray.cluster_resources()
            self._gpus = min(1.0, has.get("GPU", 0.0))
            self._actors = self._ray.remote(_worker_class()).options(
                num_cpus=1,
                num_gpus=self._gpus,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            )
            for _ in range(max(1, int(has["GPU"] if self._gpus else has.get("CPU", 1)))):
                self._start_worker()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        for worker in (*self._ready, *self._starting.values()):
            with suppress(Exception):
                self._ray.kill(worker)
        self._ready, self._starting = [], {}
        if self._is_ours:
            with suppress(Exception):
                self._ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def map(
        self, ask: Callable[[Worker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each of ``given``; see `Engine`.

        Raises:
            S2lctError: a worker raised it.
            BuildError: a worker died three times at the same piece, there is no worker any more, a
                node has another version of a package, or the cluster failed.
        """
        pickled = self._ray.cloudpickle.dumps
        pieces = ((number, pickled((ask, one))) for number, one in enumerate(given))
        again: deque[tuple[int, bytes]] = deque()
        under_way: dict[Any, tuple[int, bytes, Any]] = {}
        losses: Counter[int] = Counter()
        seen_worker = time.monotonic()
        following = next(pieces, None)
        while again or under_way or following is not None:
            while (again or following) and (worker := self._free(under_way)) is not None:
                piece = again.popleft() if again else following
                if piece is following:
                    following = next(pieces, None)
                assert piece is not None
                under_way[worker.answer.remote(piece[1])] = (*piece, worker)
            if self._ready:
                seen_worker = time.monotonic()
            elif time.monotonic() - seen_worker > WITHOUT_WORKERS:
                raise BuildError(
                    f"the Ray cluster has had no room for a worker for {WITHOUT_WORKERS:.0f} s",
                    hint="check with `ray status` that it has free CPUs and "
                    "GPUs; the same command goes on where this one stopped",
                )
            with self._told():
                waiting = [*under_way, *self._starting]
                come, _ = self._ray.wait(waiting, num_returns=1, timeout=_LOOK_AROUND)
            for one in come:
                if one in self._starting:
                    self._welcome(one)
                    continue
                number, content, worker = under_way.pop(one)
                try:
                    with self._told():
                        answer, is_answer, where = self._ray.get(one)
                except self._lost_errors as error:
                    losses[number] += 1
                    if losses[number] == MOST_LOSSES:
                        raise BuildError(
                            f"workers died {MOST_LOSSES} times at the same piece ({number}): "
                            f"out of memory? ({_first_line(error)})",
                            hint="give the workers more memory, or a node fewer of them; the same "
                            "command goes on where this one stopped",
                        ) from error
                    again.append((number, content))
                    if worker in self._ready:
                        self._ready.remove(worker)
                        self._start_worker()
                    continue
                made = self._ray.cloudpickle.loads(answer)
                if not is_answer:
                    made.__cause__ = WorkersTracebackError(f"\n{where}")
                    raise made
                yield number, made

    def _free(self, under_way: dict[Any, tuple[int, bytes, Any]]) -> Any | None:
        """The worker with least to do, if it may be asked more."""
        busy = Counter(id(worker) for _, _, worker in under_way.values())
        worker = min(self._ready, key=lambda one: busy[id(one)], default=None)
        return worker if worker is not None and busy[id(worker)] < ASKED_AHEAD else None

    def _start_worker(self) -> None:
        here = [str(Path(path).absolute()) for path in sys.path]
        make = self._ray.cloudpickle.dumps(self._make)
        worker = self._actors.remote(make, here, str(Path.cwd()), self._gpus > 0)
        self._starting[worker.versions.remote(_SAME_VERSIONS)] = worker

    def _welcome(self, started: Any) -> None:
        """Take a worker in that has started, or try with another."""
        worker = self._starting.pop(started)
        try:
            with self._told():
                node, has = self._ray.get(started)
        except self._lost_errors:
            self._start_worker()
            return
        for package in _SAME_VERSIONS:
            here = version(package)
            if has[package] != here:
                there = f"has {has[package]}" if has[package] else "does not have it"
                raise BuildError(
                    f"node {node} of the Ray cluster: {package} is {here} here, and it {there}",
                    hint=f"install {package} {here} in the environment that Ray runs in there",
                )
        self._ready.append(worker)

    @property
    def _lost_errors(self) -> tuple[type[Exception], ...]:
        faults = self._ray.exceptions
        return (
            faults.RayActorError,
            faults.WorkerCrashedError,
            faults.NodeDiedError,
            faults.ObjectLostError,
            faults.OutOfMemoryError,
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell Ray's own faults, but for lost workers, as errors that a user can mend."""
        try:
            yield
        except self._lost_errors:
            raise
        except self._ray.exceptions.RayError as error:
            raise BuildError(
                f"the Ray cluster failed ({type(error).__name__}: {_first_line(error)})",
                hint="check `ray status`, and the room in memory and on disk there; the same "
                "command goes on where this one stopped",
            ) from error


def _connect(ray: Any, folder: Path) -> None:
    quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        try:
            ray.init(
                address="local",
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=str(folder),
                **quiet,
            )
        except Exception as error:
            raise BuildError(
                f"no Ray cluster can be started on this machine ({_first_line(error)})",
                hint="make room on disk and in memory, or leave --engine ray out",
            ) from error
        return
    try:
        if address != "auto":
            # Ray itself tries for minutes where nobody listens, and then ends the process.
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
        ray.init(address=address, **quiet)
    except Exception as error:
        raise BuildError(
            f"RAY_ADDRESS {address}: no Ray cluster can be used there ({_first_line(error)})",
            hint="run `ray status` on this machine, which must be a node of the cluster; set "
            "RAY_ADDRESS to its HOST:PORT or to auto, or unset it to use this machine alone",
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Ray neither print nor call home while it is imported or started."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
    # What nodes say of workers that died.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next(iter(lines), type(error).__name__)


def _worker_class() -> type:
    """The class of an actor that makes a worker when it is first asked, and answers.

    It is defined within this function and needs no module of ours, so that Ray sends it by value:
    it can tell from a node that this package is not there.
    """

    class S2lctWorker:
        def __init__(self, make: bytes, paths: list[str], folder: str, uses_gpu: bool) -> None:
            import importlib
            import os
            import sys
            from pathlib import Path

            self.make = make
            self.made: list[Any] = []
            here = [path for path in paths if Path(path).exists()]
            sys.path[:] = [*here, *(path for path in sys.path if path not in here)]
            importlib.invalidate_caches()
            if Path(folder).is_dir():
                os.chdir(folder)
            # Read by libraries when they are imported: one CPU, one thread.
            os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"
            if not uses_gpu:
                os.environ["CUDA_VISIBLE_DEVICES"] = ""

        def versions(self, packages: tuple[str, ...]) -> tuple[str, dict[str, str]]:
            from importlib import metadata

            import ray

            util: Any = ray.util
            has: dict[str, str] = {}
            for package in packages:
                try:
                    has[package] = metadata.version(package)
                except metadata.PackageNotFoundError:
                    has[package] = ""
            return util.get_node_ip_address(), has

        def answer(self, content: bytes) -> tuple[bytes, bool, str]:
            import traceback

            import ray

            pickle: Any = ray.cloudpickle
            try:
                if not self.made:
                    self.made.append(pickle.loads(self.make)())
                ask, one = pickle.loads(content)
                return pickle.dumps(ask(self.made[0], one)), True, ""
            except Exception as error:
                where = traceback.format_exc()
                try:
                    told = pickle.dumps(error)
                    pickle.loads(told)
                except Exception:
                    told = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
                return told, False, where

    return S2lctWorker
