"""Where models are asked: in this process, by threads of it, or by workers of a Ray cluster.

What a model predicts depends on what it is asked alone: which engine asks, and how many workers it
has, changes no byte of a result. Other kinds of processors change a score's last digits, no row.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock, current_thread, local, main_thread
from typing import Any, Generic, Protocol, TypeVar

from s2lct.errors import BuildError

Worker = TypeVar("Worker")
AnyWorker = TypeVar("AnyWorker", covariant=True)
Given = TypeVar("Given")
Made = TypeVar("Made")

AHEAD = 2
"""Most pieces of a worker at a time: what it does, and what it does next."""
BESIDE = 2
"""So many parts of a command's own work go on at a time."""
RETRIES = 3
"""So often is a piece asked again whose worker dies."""
CONNECT_SECONDS = 5.0
OBJECT_STORE_BYTES = 512 * 2**20
"""Of a cluster started here: a few pieces a worker are under way at a time, and no more."""
_LONGEST_FOLDER = 40
"""Ray has sockets in its folder, and a socket's path may have about a hundred characters."""


class Engine(Protocol[AnyWorker]):
    """Has workers do what is asked of them."""

    @property
    def device(self) -> str:
        """Where its workers compute, see `device_here`: it decides last digits of predictions."""

    def map(
        self, ask: Callable[[AnyWorker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each of ``given``, which is gone through as far as workers are free.

        Args:
            ask: what a worker does: a function of a module, or a method of the worker's class.
            given: what it is asked with, one after the other.

        Returns:
            The number of each of ``given`` with what came of it, as they are done, in any order.

        Raises:
            S2lctError: a worker raised it, or workers are lost again and again.
        """


def device_here() -> str:
    """``cpu``, or the name of the GPU that torch computes on in this process."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


class InProcess(Generic[Worker]):
    """Does everything here, several pieces beside each other where there are several cores."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    @property
    def device(self) -> str:
        """That of this process; see `Engine`."""
        return device_here()

    def map(
        self, ask: Callable[[Worker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each; see `Engine`."""
        import torch

        on_cpu = not torch.cuda.is_available()
        yield from enumerate(batches_at_once(partial(ask, self.worker), given, on_cpu=on_cpu))


class RayEngine(Generic[Worker]):
    """Has the processes of a Ray cluster do the work, as an `Engine`; a context manager.

    Each process makes a worker when it is first asked and keeps it. It has one CPU, hence one
    thread, or a GPU where the cluster has some. Where processes die or nodes leave, Ray asks again
    wherever there is room.

    The cluster is the one that the caller has initialised, that the environment names (RAY_ADDRESS,
    ``auto`` or HOST:PORT), or one on this machine, which ends with the block.

    Args:
        make: makes a worker; can be pickled, such as a class or a partial of one.
    """

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make

    def __enter__(self) -> RayEngine[Worker]:
        # Let it neither print nor call home.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray

            self._ray: Any = ray
            self._is_ours = not ray.is_initialized()
            usual = tempfile.gettempdir()
            where = usual if len(usual) <= _LONGEST_FOLDER else "/tmp"
            self._folder = Path(tempfile.mkdtemp(prefix="s2lct-ray-", dir=where))
            try:
                if self._is_ours:
                    _connect(ray, self._folder)
            except BaseException:
                self.__exit__()
                raise
        return self

    @property
    def device(self) -> str:
        """What the cluster calls its GPUs, or ``cpu``; see `Engine`."""
        resources: dict[str, float] = self._ray.cluster_resources()
        kinds = sorted(name for name in resources if name.startswith("accelerator_type:"))
        return " ".join(kinds or ["GPU"]) if resources.get("GPU") else "cpu"

    def __exit__(self, *raised: object) -> None:
        if self._is_ours:
            self._ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def map(
        self, ask: Callable[[Worker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each of ``given``; see `Engine`.

        Raises:
            Exception: a worker raised it.
            BuildError: workers die again and again, or the cluster fails.
        """
        pickled, errors = self._ray.cloudpickle.dumps, self._ray.exceptions
        make, paths = pickled(self._make), [str(Path(path).absolute()) for path in sys.path]
        try:
            has = self._ray.cluster_resources()
            gpus = min(1.0, has.get("GPU", 0.0))
            options = {"num_cpus": 1, "num_gpus": gpus, "max_calls": 0, "max_retries": RETRIES}
            answered = self._ray.remote(**options, scheduling_strategy="SPREAD")(_answered)
            workers = max(1, int(has["GPU"] if gpus else has.get("CPU", 1)))
            pieces, under_way = enumerate(given), dict[Any, int]()
            while True:
                for number, piece in islice(pieces, AHEAD * workers - len(under_way)):
                    under_way[answered.remote(make, paths, pickled((ask, piece)))] = number
                if not under_way:
                    return
                (done,), _ = self._ray.wait([*under_way], num_returns=1)
                yield under_way.pop(done), self._ray.get(done)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise BuildError(
                f"the Ray cluster failed ({type(error).__name__}: {_first_line(error)})",
                hint="check `ray status`, and the room in memory and on disk there; the same "
                "command goes on where this one stopped",
            ) from error


_WORKERS: dict[bytes, Any] = {}
"""The worker that a process of a Ray cluster has, by what makes it."""


def _answered(make: bytes, paths: list[str], content: bytes) -> Any:
    """What a worker makes of a piece; it imports what the process that asks can import."""
    import ray

    pickle: Any = ray.cloudpickle
    sys.path += [path for path in paths if path not in sys.path]
    if make not in _WORKERS:
        _WORKERS.clear()
        _WORKERS[make] = pickle.loads(make)()
    ask, piece = pickle.loads(content)
    return ask(_WORKERS[make], piece)


def _connect(ray: Any, folder: Path) -> None:
    quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
    address = os.environ.get("RAY_ADDRESS")
    try:
        if not address:
            ray.init(
                address="local",
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=str(folder),
                **quiet,
            )
            return
        if address != "auto":
            # Ray itself tries for minutes where nobody listens, and then ends the process.
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        ray.init(address=address, **quiet)
    except Exception as error:
        if not address:
            raise BuildError(
                f"no Ray cluster can be started on this machine ({_first_line(error)})",
                hint="make room on disk and in memory, or leave --engine ray out",
            ) from error
        raise BuildError(
            f"RAY_ADDRESS {address}: no Ray cluster can be used there ({_first_line(error)})",
            hint="run `ray status` on this machine, which must be a node of the cluster; set "
            "RAY_ADDRESS to its HOST:PORT or to auto, or unset it to use this machine alone",
        ) from error


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def beside_each_other(work: Callable[[Given], Made], given: Sequence[Given]) -> Iterator[Made]:
    """What ``work`` makes of each, in order, two of them at a time.

    While one waits for models, the other applies rules. Where one fails, or the command is
    interrupted, what has not begun never does.
    """
    pool = ThreadPoolExecutor(BESIDE, "s2lct-work")
    try:
        yield from pool.map(work, given)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _Threads:
    """The threads that torch computes in, shared by all who ask, as long as anybody does.

    Each computes by itself: a small network gains little from several threads on one batch, and the
    number of threads that share a matrix product changes the last bits of what comes out.
    """

    def __init__(self) -> None:
        self._lock, self._here, self._users, self.number = Lock(), local(), 0, 0

    @property
    def is_one(self) -> bool:
        """Whether this very thread is one of them."""
        return getattr(self._here, "computes", False)

    @contextmanager
    def __call__(self) -> Iterator[ThreadPoolExecutor]:
        """As many as torch has threads in the main thread."""
        import torch

        def begin() -> None:
            self._here.computes = True
            torch.set_num_threads(1)

        with self._lock:
            if not self._users:
                # A thread that begins later takes over what another set last: 1, by `begin`.
                if not self.number or current_thread() is main_thread():
                    self.number = torch.get_num_threads()
                self._pool = ThreadPoolExecutor(self.number, "s2lct", begin)
            self._users += 1
        try:
            yield self._pool
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._pool.shutdown()


threads = _Threads()


def batches_at_once(
    work: Callable[[Given], Made], given: Iterable[Given], *, on_cpu: bool
) -> Iterator[Made]:
    """What ``work`` makes of each batch, in order, each computed by one thread; few are held.

    Args:
        work: computes one batch with torch.
        given: the batches.
        on_cpu: whether torch computes on the CPU; a GPU takes one batch after the other.
    """
    if threads.is_one or not on_cpu:
        yield from map(work, given)
        return
    with threads() as pool:
        running: deque[Future[Made]] = deque()
        for batch in given:
            running.append(pool.submit(work, batch))
            if len(running) > threads.number:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
