"""Where models compute: threads of this process, or worker processes of a Ray cluster.

A prediction depends on its text alone: the engine and the number of workers change no byte of a
result. Another kind of processor may change the last digits of scores, but no row of a suite.
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
"""Each worker has two tasks: it computes one while the other is being sent."""
RAY_TASK_RETRIES = 3
RAY_CONNECT_SECONDS = 5.0
RAY_OBJECT_STORE_BYTES = 512 * 2**20
GPU_DEVICE_FILES = ("nvidia*", "nvhost*", "kfd", "dxg")
"""Files in /dev of which a driver for GPUs of NVIDIA, AMD or WSL makes one at least."""
_MAX_PARENT_FOLDER_CHARACTERS = 40
"""Longest parent of Ray's folder: the paths of the sockets in it have at most 100 characters."""


class Engine(Protocol[AnyWorker]):
    """Runs functions on workers, which hold the loaded models."""

    @property
    def device(self) -> str:
        """The workers' device, as `current_device` names it; last digits of scores depend on it."""

    def map(
        self, function: Callable[[AnyWorker, Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result]]:
        """Call ``function(worker, item)`` for each item, on any free worker.

        Args:
            function: a function of a module, which can be pickled.
            items: the items, which are read only as fast as workers become free.

        Returns:
            Pairs (index of the item, its result), in the order in which results are ready.

        Raises:
            Exception: any exception that ``function`` raised.
            BuildError: the workers of a cluster died more than `RAY_TASK_RETRIES` times.
        """


def current_device() -> str:
    """The device of torch in this process: ``cpu``, or the name of the GPU.

    Importing torch takes a second: without a GPU's device file on Linux it is not asked.
    """
    if sys.platform == "linux" and "torch" not in sys.modules:
        devices = Path("/dev")
        if not any(next(devices.glob(pattern), None) for pattern in GPU_DEVICE_FILES):
            return "cpu"
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


class InProcessEngine(Generic[Worker]):
    """The `Engine` with one worker in this process, which several threads share."""

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

    A process has one CPU and one thread, or one GPU if the cluster has GPUs. It makes its worker
    before its first task and keeps it. Ray repeats the task of a process that dies.

    Args:
        make_worker: makes the worker; it can be pickled, as a class or a partial of one can.
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
        pickle, errors = self._ray.cloudpickle.dumps, self._ray.exceptions
        pickled_maker = pickle(self._make_worker)
        import_paths = [str(Path(path).absolute()) for path in sys.path]
        try:
            resources = self._ray.cluster_resources()
            task_gpus = min(1.0, resources.get("GPU", 0.0))
            task = self._ray.remote(
                num_cpus=1,
                num_gpus=task_gpus,
                max_calls=0,
                max_retries=RAY_TASK_RETRIES,
                scheduling_strategy="SPREAD",
            )(_run_task)
            worker_count = max(1, int(resources["GPU"] if task_gpus else resources.get("CPU", 1)))
            numbered_items, item_number_by_task = enumerate(items), dict[Any, int]()
            while True:
                free_places = TASKS_PER_RAY_WORKER * worker_count - len(item_number_by_task)
                for number, item in islice(numbered_items, free_places):
                    call = pickle((function, item))
                    item_number_by_task[task.remote(pickled_maker, import_paths, call)] = number
                if not item_number_by_task:
                    return
                (finished,), _ = self._ray.wait([*item_number_by_task], num_returns=1)
                yield item_number_by_task.pop(finished), self._ray.get(finished)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise BuildError(
                f"the Ray cluster failed ({error_summary(error)})",
                hint="check `ray status`, and the room in memory and on disk there; the same "
                "command goes on where this one stopped",
            ) from error


_WORKERS: dict[bytes, Any] = {}
"""The one worker of a Ray process, by the pickled function that made it."""


def _run_task(pickled_maker: bytes, import_paths: list[str], pickled_call: bytes) -> Any:
    """Run one task in a Ray process; ``import_paths`` is the driver's ``sys.path``."""
    import ray

    pickle: Any = ray.cloudpickle
    sys.path += [path for path in import_paths if path not in sys.path]
    if pickled_maker not in _WORKERS:
        _WORKERS.clear()
        gc.collect()
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()
        _WORKERS[pickled_maker] = pickle.loads(pickled_maker)()
    function, item = pickle.loads(pickled_call)
    return function(_WORKERS[pickled_maker], item)


@contextmanager
def ray_cluster() -> Iterator[None]:
    """Connect to a Ray cluster while the block runs.

    The cluster is the first of these that there is: the one that this process is connected to, or
    the one at RAY_ADDRESS (``auto`` or HOST:PORT). Otherwise one is started on this machine, and
    stopped at the end of the block.

    Raises:
        BuildError: no cluster can be started, or none can be reached at RAY_ADDRESS.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
    parent_folder = tempfile.gettempdir()
    if len(parent_folder) > _MAX_PARENT_FOLDER_CHARACTERS:
        parent_folder = "/tmp"
    folder = tempfile.mkdtemp(prefix="s2lct-ray-", dir=parent_folder)
    is_own_cluster = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray

            is_own_cluster = not ray.is_initialized()
            if is_own_cluster:
                _connect(ray, folder)
        yield
    finally:
        if is_own_cluster:
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
            # If nobody listens at the address, Ray tries for minutes and then ends the process.
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


def map_in_two_threads(
    function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[Result]:
    """The result of each item, in order; after a failure no further item is begun."""
    pool = ThreadPoolExecutor(2, "s2lct-work")
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_THIS_THREAD = local()


@cache
def _torch_pool() -> tuple[ThreadPoolExecutor, int]:
    """A pool of as many threads as torch would use, each with one torch thread; and their number.

    The number of threads that share a matrix product changes the last bits of the result.
    """
    import torch

    def start_thread() -> None:
        _THIS_THREAD.is_in_pool = True
        torch.set_num_threads(1)

    thread_count = torch.get_num_threads()
    return ThreadPoolExecutor(thread_count, "s2lct-torch", start_thread), thread_count


with suppress(AttributeError):  # Windows has no fork
    os.register_at_fork(after_in_child=_torch_pool.cache_clear)


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, on_cpu: bool
) -> Iterator[Result]:
    """The result of each item, in order, each computed by one thread; few are held at a time.

    Args:
        function: computes a batch with torch.
        items: the batches.
        on_cpu: False if torch computes on a GPU, which takes one batch after the other.
    """
    if getattr(_THIS_THREAD, "is_in_pool", False) or not on_cpu:
        yield from map(function, items)
        return
    pool, thread_count = _torch_pool()
    futures: deque[Future[Result]] = deque()
    try:
        for item in items:
            futures.append(pool.submit(function, item))
            if len(futures) > thread_count:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()
