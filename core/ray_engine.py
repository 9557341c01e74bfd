"""An engine whose workers are processes of a Ray cluster, each an actor.

Workers may die and nodes may leave: what a worker was doing is asked again, and another worker is
started wherever there is room. What is asked for is drawn as workers get free, so that nothing
piles up.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, Literal, Protocol

from s2lct.engines import Engine, Given, InProcess, Made, Worker
from s2lct.errors import BuildError
from s2lct.ray_cluster import first_line, ray_cluster, rays_fault
from s2lct.ray_worker import worker_class

ASKED_AHEAD = 2
"""Most asks of a worker at a time: what it does, and what it does next."""
MOST_LOSSES = 3
"""So often may a worker die at the same piece."""
WITHOUT_WORKERS = 60.0
"""Most seconds without any worker."""
_SAME_VERSIONS = ("s2lct", "torch", "transformers")
"""Packages that must have the same version everywhere, or answers differ."""
_LOOK_AROUND = 1.0  # seconds, after which it is looked whether there is any worker


class Chosen(Protocol):
    """Which engine, and of what size; see `RayEngine`."""

    @property
    def engine(self) -> Literal["process", "ray"]:
        """This process, or workers of a Ray cluster."""

    @property
    def address(self) -> str | None:
        """Of a running cluster."""

    @property
    def workers(self) -> int | None:
        """How many."""


@contextmanager
def engine_of(
    chosen: Chosen, make: Callable[[], Worker], here: Worker | None = None
) -> Iterator[Engine[Worker]]:
    """The engine that options ask for, within the block.

    Args:
        chosen: which engine, and of what size; ``gpus_per_worker``, if it has that.
        make: makes a worker; can be pickled, such as a function of a module or a partial of one.
        here: a worker that this process has already.

    Raises:
        BuildError: Ray is not installed, or no cluster can be reached or started.
    """
    if chosen.engine == "process":
        yield InProcess(make() if here is None else here)
        return
    with RayEngine(
        make,
        address=chosen.address,
        workers=chosen.workers,
        gpus_per_worker=getattr(chosen, "gpus_per_worker", 0.0),
    ) as engine:
        yield engine


class WorkersTracebackError(Exception):
    """Where in a worker an error was raised: the cause of that error."""


@dataclass(eq=False)
class _Hand:
    """A worker as seen from here: its actor, and whether it was found dead."""

    actor: Any
    is_lost: bool = False


@dataclass(eq=False)
class _Piece:
    """One of what is asked for, pickled; ``losses`` counts the workers that died at it."""

    number: int
    content: bytes
    losses: int = 0
    hand: _Hand | None = None
    answer: Any = None


class RayEngine(Generic[Worker]):
    """Has actors of a Ray cluster do the work, as an `Engine`; a context manager.

    A worker is made in its own process when it is first asked, and answers until the block ends.
    It has one CPU, hence one thread, and imports what this process would import.

    Args:
        make: makes a worker; can be pickled, such as a function of a module or a partial of one.
        address: ``auto`` or HOST:PORT of a running cluster; None starts one on this machine, which
            ends with the block.
        workers: how many; None: as many as the cluster has CPUs, or GPUs for.
        gpus_per_worker: GPUs of a worker; a part such as 0.5 lets several share one.

    Raises:
        BuildError: Ray is not installed, no cluster can be reached or started, or it has no GPUs.
    """

    def __init__(
        self,
        make: Callable[[], Worker],
        *,
        address: str | None = None,
        workers: int | None = None,
        gpus_per_worker: float = 0.0,
    ) -> None:
        if gpus_per_worker > 1 and gpus_per_worker != int(gpus_per_worker):
            raise BuildError(
                f"--gpus-per-worker {gpus_per_worker:g}: a worker has whole GPUs or a part of one",
                hint="pass a part such as 0.5, or a whole number",
            )
        self._make, self._address, self._workers = make, address, workers
        self._gpus = gpus_per_worker
        self._open = ExitStack()
        self._ready: list[_Hand] = []
        self._starting: dict[Any, _Hand] = {}
        self._none_since = 0.0
        self._last_fault = ""

    def __enter__(self) -> RayEngine[Worker]:
        with ExitStack() as opened:
            self._ray = opened.enter_context(ray_cluster(self._address, self._workers))
            opened.callback(self._end)
            self._made_by = self._ray.put(self._ray.cloudpickle.dumps(self._make))
            self._actors = self._ray.remote(worker_class()).options(
                num_cpus=1,
                num_gpus=self._gpus,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            )
            self._none_since = time.monotonic()
            for _ in range(self._workers or self._room()):
                self._start_one()
            self._open = opened.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._open.close()

    def map(
        self, ask: Callable[[Worker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each of ``given``; see `Engine`.

        Raises:
            S2lctError: a worker raised it.
            BuildError: a worker died three times at the same piece, there is no worker any more, a
                node has another version of a package, or the cluster failed.
        """
        asks = [self._ray.put(self._ray.cloudpickle.dumps(ask))]
        numbered = enumerate(given)
        again: deque[_Piece] = deque()
        under_way: dict[Any, _Piece] = {}
        if (first := self._drawn(numbered)) is not None:
            again.append(first)  # drawn before there is a worker: for nothing none is needed
        is_drawn = first is None
        while again or under_way or not is_drawn:
            while again or not is_drawn:
                if (hand := self._free(under_way, alone=bool(again and again[0].losses))) is None:
                    break
                piece = again.popleft() if again else self._drawn(numbered)
                if piece is None:
                    is_drawn = True
                else:
                    self._hand_to(hand, piece, asks)
                    under_way[piece.answer] = piece
            if not (again or under_way):
                continue
            for answer in self._waited(under_way):
                piece = under_way.pop(answer)
                told = self._told(piece)
                if told is None:
                    again.appendleft(piece)
                    continue
                content, is_answer, where = told
                number, one = piece.number, self._ray.cloudpickle.loads(content)
                if not is_answer:
                    one.__cause__ = WorkersTracebackError(f"\n{where}")
                    raise one
                yield number, one

    def _drawn(self, numbered: Iterator[tuple[int, Any]]) -> _Piece | None:
        """The next of what is given; None after the last."""
        for number, one in numbered:
            return _Piece(number, self._ray.cloudpickle.dumps(one))
        return None

    def _free(self, under_way: dict[Any, _Piece], *, alone: bool) -> _Hand | None:
        """The worker with least to do, if it may be asked more.

        What was being done, or was next, where a worker died is done ``alone`` afterwards: should
        that die too, it is known of what.
        """
        busy = Counter(piece.hand for piece in under_way.values())
        kept_free = {piece.hand for piece in under_way.values() if piece.losses}
        hands = [hand for hand in self._ready if hand not in kept_free]
        hand = min(hands, key=lambda one: busy[one], default=None)
        most = 1 if alone else ASKED_AHEAD
        return hand if hand is not None and busy[hand] < most else None

    def _hand_to(self, hand: _Hand, piece: _Piece, asks: list[Any]) -> None:
        try:
            piece.answer = hand.actor.answer.remote([self._made_by], asks, piece.content)
        except self._ray.exceptions.RayError as error:
            raise rays_fault(error) from error
        piece.hand = hand

    def _waited(self, under_way: dict[Any, _Piece]) -> list[Any]:
        """What has come of what is under way; nothing if only a worker came, or a moment went by.

        Raises:
            BuildError: there is no worker, and none has come for `WITHOUT_WORKERS` seconds.
        """
        if not self._ready and time.monotonic() - self._none_since > WITHOUT_WORKERS:
            fault = f"; the last one: {self._last_fault}" if self._last_fault else ""
            raise BuildError(
                f"the Ray cluster has had no room for a worker for {WITHOUT_WORKERS:.0f} s{fault}",
                hint="check with `ray status` that it has free CPUs (and GPUs, with "
                "--gpus-per-worker); the same command goes on where this one stopped",
            )
        awaited = [*under_way, *self._starting]
        try:
            come, _ = self._ray.wait(awaited, num_returns=1, timeout=_LOOK_AROUND)
        except self._ray.exceptions.RayError as error:
            raise rays_fault(error) from error
        for one in come:
            if (hand := self._starting.pop(one, None)) is not None:
                self._welcome(hand, one)
        return [one for one in come if one in under_way]

    def _told(self, piece: _Piece) -> tuple[bytes, bool, str] | None:
        """What a worker answered; None where it was lost and the piece is to be asked again.

        Raises:
            BuildError: that happened too often, or Ray itself failed.
        """
        hand = piece.hand
        assert hand is not None
        try:
            told: tuple[bytes, bool, str] = self._ray.get(piece.answer)
        except self._lost_errors as error:
            if not hand.is_lost:
                self._replace(hand, error)
            piece.losses += 1
            if piece.losses >= MOST_LOSSES:
                raise BuildError(
                    f"a worker died {MOST_LOSSES} times at the same piece (number {piece.number}): "
                    f"out of memory? ({_why_lost(error)})",
                    hint="give the workers more memory, or take fewer --workers; the same command "
                    "goes on where this one stopped",
                ) from error
            piece.answer = piece.hand = None
            return None
        except self._ray.exceptions.RayError as error:
            raise rays_fault(error) from error
        return told

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

    def _replace(self, hand: _Hand, error: BaseException) -> None:
        """Give up a lost worker and start another."""
        hand.is_lost = True
        self._last_fault = _why_lost(error)
        with suppress(Exception):
            self._ray.kill(hand.actor)
        if hand in self._ready:
            self._ready.remove(hand)
        if not self._ready:
            self._none_since = time.monotonic()
        self._start_one()

    def _start_one(self) -> None:
        hand = _Hand(self._actors.remote())
        here = [str(Path(path).absolute()) for path in sys.path]
        started = hand.actor.start.remote(here, str(Path.cwd()), self._gpus > 0, _SAME_VERSIONS)
        self._starting[started] = hand

    def _welcome(self, hand: _Hand, started: Any) -> None:
        """Take a worker in that has started, or try with another."""
        try:
            node, has = self._ray.get(started)
        except self._lost_errors as error:
            self._last_fault = _why_lost(error)
            self._start_one()
            return
        except self._ray.exceptions.RayError as error:
            raise rays_fault(error) from error
        for package, here in versions(_SAME_VERSIONS).items():
            if has[package] != here:
                there = f"has {has[package]}" if has[package] else "does not have it"
                raise BuildError(
                    f"node {node} of the Ray cluster: {package} is {here} here, and it {there}",
                    hint=f"install {package} {here} in the environment that Ray runs in there",
                )
        self._ready.append(hand)

    def _room(self) -> int:
        """How many workers the cluster has room for."""
        has = self._ray.cluster_resources()
        if not self._gpus:
            return max(1, int(has.get("CPU", 1)))
        if has.get("GPU", 0) < self._gpus:
            raise BuildError(
                f"--gpus-per-worker {self._gpus:g}: the cluster has {has.get('GPU', 0):g} GPUs",
                hint="leave it out, or join nodes with GPUs to the cluster",
            )
        # Workers that share a GPU have it in whole parts: 0.4 leaves room for two.
        share = self._gpus
        room = int(has["GPU"]) * int(1 / share) if share < 1 else int(has["GPU"] / share)
        return max(1, min(room, int(has.get("CPU", 1))))

    def _end(self) -> None:
        for hand in (*self._ready, *self._starting.values()):
            with suppress(Exception):
                self._ray.kill(hand.actor)
        self._ready, self._starting = [], {}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages that are installed here; empty for what is not."""
    found: dict[str, str] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = ""
    return found


def _why_lost(error: BaseException) -> str:
    if type(error).__name__ == "OutOfMemoryError" or "OOM" in str(error):
        return "its node ran out of memory"
    return first_line(error).rstrip(".")
