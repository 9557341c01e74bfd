"""What the tests' workers are asked; a module, since workers import it."""

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

    def add(self, number: int) -> tuple[int, int]:
        """The sum, and the process that worked it out."""
        time.sleep(0.05)
        return number + self.more, os.getpid()


def killed_once(adder: Adder, given: tuple[int, Path]) -> int:
    """End the process at number 3, when this is tried for the first time."""
    number, folder = given
    print("printed by a worker")
    if number == 3 and not (folder / "tried").exists():
        (folder / "tried").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number + adder.more


def always_killed(_: Adder, number: int) -> int:
    if number == 3:
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
