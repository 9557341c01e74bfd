"""What the tests' workers are asked; modules of their own, since workers import them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from s2lct.errors import ScoringError


class Adder:
    """Adds a number to what it is asked."""

    def __init__(self, more: int) -> None:
        self.more = more

    def add(self, one: int) -> tuple[int, int]:
        """The sum, and the process that worked it out."""
        return one + self.more, os.getpid()


class Afresh:
    """Knows how often a worker was made in its process."""

    made = 0

    def __init__(self) -> None:
        Afresh.made += 1


def times_made(_: Afresh, __: int) -> tuple[int, int]:
    return Afresh.made, os.getpid()


def killed_once(adder: Adder, given: tuple[int, Path]) -> int:
    """End the process at number 3, when this is tried for the first time."""
    number, folder = given
    print("said by a worker")
    if number == 3 and not (folder / "tried").exists():
        (folder / "tried").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number + adder.more


def always_killed(_: Adder, given: tuple[int, Path]) -> int:
    number, folder = given
    if number == 3:
        with (folder / "tries").open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def held_until_there(adder: Adder, given: tuple[int, Path, str]) -> tuple[int, str]:
    """Tell in a file which process of which node works; go on when the file ``go`` is there."""
    number, folder, go = given
    node = os.environ.get("S2LCT_TEST_NODE", "")
    (folder / f"{number}-{node}-{os.getpid()}").touch()
    while not (folder / go).exists():
        time.sleep(0.02)
    return number + adder.more, node


def refused(_: Adder, number: int) -> int:
    if number == 2:
        raise ScoringError(f"text number {number}: is none", hint="write it")
    return number


def broken(_: Adder, number: int) -> int:
    return number // 0


def large(_: Adder, size: int) -> bytes:
    return bytes(size)


class OddError(Exception):
    """Cannot be pickled as it is."""

    def __init__(self, one: int, *, other: int) -> None:
        super().__init__(f"{one} and {other}")


def oddly_broken(_: Adder, number: int) -> int:
    raise OddError(number, other=7)


def place(_: Adder, __: int) -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
