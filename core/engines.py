"""Where models compute: threads of this process, or worker processes of a Ray cluster.

A prediction depends on its text alone: which engine computes it, and with how many workers, changes
no byte of a result. Other kinds of processors change a score's last digits, no row.
"""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from threading import local
from typing import Any, Generic, Protocol, TypeVar

from s2lct.errors import BuildError
from s2lct.hub_calls import error_summary

Worker = TypeVar("Worker")
AnyWorker = TypeVar("AnyWorker", covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")

TASKS_PER_RAY_WORKER = 2
"""A worker computes one task while the next one is on its way."""
RAY_TASK_RETRIES = 3
RAY_CONNECT_SECONDS = 5.0
RAY_OBJECT_STORE_BYTES = 512 * 2**20
_MAX_RAY_FOLDER_CHARACTERS = 40
"""Ray puts sockets into its folder, and the path of a socket has at most about 100 characters."""


class Engine(Protocol[AnyWorker]):
    """Runs functions on workers, which have loaded models."""

    @property
    def device(self) -> str:
        """Where workers compute, as `current_device` says it; last digits depend on it."""

    def map(
        self, function: Callable[[AnyWorker, Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result]]:
        """Call ``function(worker, item)`` for each item, on whichever worker is free.

        Args:
            function: defined in a module, so that it can be pickled.
            items: read only as fast as workers become free.

        Returns:
            Pairs of an item's number and its result, in the order in which they finish.

        Raises:
            Exception: what ``function`` raised.
            BuildError: workers of a cluster die again and again.
        """


def current_device() -> str:
    """``cpu``, or the name of the GPU that torch uses in this process."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


class InProcess(Generic[Worker]):
    """The `Engine` with one worker, in this process, called by several threads."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    @property
    def device(self) -> str:
        """See `Engine`."""
        return current_device()

    def map(
        self, function: Callable[[Worker, Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result]]:
        """See `Engine`."""
        on_cpu = current_device() == "cpu"
        yield from enumerate(parallel_map(partial(function, self.worker), items, on_cpu=on_cpu))


class RayEngine(Generic[Worker]):
    """The `Engine` whose workers are processes of a Ray cluster; use it within `ray_cluster`.

    A process has one CPU and one thread, or one GPU where the cluster has GPUs. It makes its worker
    at its first task and keeps it. Ray repeats the task of a process that dies.

    Args:
        make_worker: a class or a partial of one, so that it can be pickled.
    """

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        import ray

        self._ray: Any = ray
        self._make_worker = make_worker

    @property
    def device(self) -> str:
        """See `Engine`."""
        resources: dict[str, float] = self._ray.cluster_resources()
        kinds = sorted(name for name in resources if name.startswith("accelerator_type:"))
        return " ".join(kinds or ["GPU"]) if resources.get("GPU") else "cpu"

    def map(
        self, function: Callable[[Worker, Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result]]:
        """See `Engine`."""
        pickled, errors = self._ray.cloudpickle.dumps, self._ray.exceptions
        make_worker = pickled(self._make_worker)
        import_paths = [str(Path(path).absolute()) for path in sys.path]
        try:
            resources = self._ray.cluster_resources()
            gpus = min(1.0, resources.get("GPU", 0.0))
            task = self._ray.remote(
                num_cpus=1,
                num_gpus=gpus,
                max_calls=0,
                max_retries=RAY_TASK_RETRIES,
                scheduling_strategy="SPREAD",
            )(_run_task)
            workers = max(1, int(resources["GPU"] if gpus else resources.get("CPU", 1)))
            numbered, running = enumerate(items), dict[Any, int]()
            while True:
                room = TASKS_PER_RAY_WORKER * workers - len(running)
                for number, item in islice(numbered, room):
                    call = pickled((function, item))
                    running[task.remote(make_worker, import_paths, call)] = number
                if not running:
                    return
                (done,), _ = self._ray.wait([*running], num_returns=1)
                yield running.pop(done), self._ray.get(done)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise BuildError(
                f"the Ray cluster failed ({error_summary(error)})",
                hint="check `ray status`, and the room in memory and on disk there; the same "
                "command goes on where this one stopped",
            ) from error


_WORKERS: dict[bytes, Any] = {}
"""In a Ray process its worker, by the pickled function that made it."""


def _run_task(make_worker: bytes, import_paths: list[str], call: bytes) -> Any:
    """Run one task in a Ray process, which can import what the driver can import."""
    import ray

    pickle: Any = ray.cloudpickle
    sys.path += [path for path in import_paths if path not in sys.path]
    if make_worker not in _WORKERS:
        _WORKERS.clear()
        gc.collect()
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()
        _WORKERS[make_worker] = pickle.loads(make_worker)()
    function, item = pickle.loads(call)
    return function(_WORKERS[make_worker], item)


@contextmanager
def ray_cluster() -> Iterator[None]:
    """Connect to a Ray cluster for the block.

    It is the one that this process has initialised already, else the one that RAY_ADDRESS names
    (``auto`` or HOST:PORT), else one that is started on this machine and ends with the block.

    Raises:
        BuildError: no cluster can be started, or none can be reached at RAY_ADDRESS.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
    parent = tempfile.gettempdir()
    if len(parent) > _MAX_RAY_FOLDER_CHARACTERS:
        parent = "/tmp"
    folder = tempfile.mkdtemp(prefix="s2lct-ray-", dir=parent)
    started_here = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray

            started_here = not ray.is_initialized()
            if started_here:
                _connect(ray, folder)
        yield
    finally:
        if started_here:
            ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _connect(ray: Any, folder: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
    address = os.environ.get("RAY_ADDRESS")
    try:
        if not address:
            options |= {"include_dashboard": False, "object_store_memory": RAY_OBJECT_STORE_BYTES}
            ray.init(address="local", _temp_dir=folder, **options)
            return
        if address != "auto":
            # Where nobody listens Ray itself tries for minutes, and then ends the process.
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), RAY_CONNECT_SECONDS).close()
        ray.init(address=address, **options)
    except Exception as error:
        if not address:
            raise BuildError(
                f"no Ray cluster can be started on this machine ({error_summary(error)})",
                hint="make room on disk and in memory, or leave --engine ray out",
            ) from error
        raise BuildError(
            f"RAY_ADDRESS {address}: no Ray cluster can be used there ({error_summary(error)})",
            hint="run `ray status` on this machine, which must be a node of the cluster; set "
            "RAY_ADDRESS to its HOST:PORT or to auto, or unset it to use this machine alone",
        ) from error


def two_at_a_time(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """The result of each item, in order; if one fails, those that have not begun never do."""
    pool = ThreadPoolExecutor(2, "s2lct-work")
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_THIS_THREAD = local()


@cache
def _torch_pool() -> tuple[ThreadPoolExecutor, int]:
    """As many threads as torch would use, and their number; each computes alone.

    How many threads share a matrix product changes the last bits of what comes out.
    """
    import torch

    def begin() -> None:
        _THIS_THREAD.is_in_pool = True
        torch.set_num_threads(1)

    count = torch.get_num_threads()
    return ThreadPoolExecutor(count, "s2lct-torch", begin), count


with suppress(AttributeError):  # Windows has no fork
    os.register_at_fork(after_in_child=_torch_pool.cache_clear)


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, on_cpu: bool
) -> Iterator[Result]:
    """The result of each item, in order, each computed by one thread; few are held at a time.

    Args:
        function: computes a batch with torch.
        items: the batches.
        on_cpu: False where torch computes on a GPU, which takes one batch after the other.
    """
    if getattr(_THIS_THREAD, "is_in_pool", False) or not on_cpu:
        yield from map(function, items)
        return
    pool, count = _torch_pool()
    running: deque[Future[Result]] = deque()
    try:
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > count:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()
