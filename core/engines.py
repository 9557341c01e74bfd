"""Where work is done: in this process, or by the workers of a Ray cluster.

What a worker answers depends on what it is asked alone: which engine does the work, and how many
workers it has, changes no byte of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Worker = TypeVar("Worker")
AnyWorker = TypeVar("AnyWorker", covariant=True)
Given = TypeVar("Given")
Made = TypeVar("Made")


class Engine(Protocol[AnyWorker]):
    """Has workers do what is asked of them."""

    def map(
        self, ask: Callable[[AnyWorker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each of ``given``, which is gone through as far as workers are free.

        Args:
            ask: what a worker does: a function of a module, or a method of the worker's class.
            given: what it is asked with, one after the other.

        Returns:
            The number of each of ``given`` with its answer, as they are done, in any order.

        Raises:
            S2lctError: a worker raised it, or workers are lost again and again.
        """


class InProcess(Generic[Worker]):
    """Does everything here, one after the other."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def map(
        self, ask: Callable[[Worker, Given], Made], given: Iterable[Given]
    ) -> Iterator[tuple[int, Made]]:
        """Ask for each in turn; see `Engine`."""
        for number, one in enumerate(given):
            yield number, ask(self.worker, one)
