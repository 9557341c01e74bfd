"""Several batches at a time on a CPU, each computed by one thread.

A small network gains little from several threads on one batch; and the number of threads that
share a matrix product changes the last bits of what comes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


def batches_at_once(
    work: Callable[[Given], Result], given: Iterable[Given], *, on_cpu: bool
) -> Iterator[Result]:
    """What ``work`` makes of each, in order; few are held at a time.

    Args:
        work: computes one batch with torch.
        given: the batches.
        on_cpu: whether torch computes on the CPU; a GPU takes one batch after the other.
    """
    import torch

    threads = torch.get_num_threads() if on_cpu else 1
    if threads == 1:
        yield from map(work, given)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            running: deque[Future[Result]] = deque()
            for one in given:
                running.append(pool.submit(work, one))
                if len(running) > threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
    finally:
        torch.set_num_threads(threads)
