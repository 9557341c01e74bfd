"""What all commands share: their groups in the help, and checks of the options they are given."""

from __future__ import annotations

import math
from typing import Any

import typer

from s2lct.cli.command_line import PlainGroup
from s2lct.cli.console import told_errors

BUILDING = "Build a suite"
SCORING = "Score models"
INSIDE = "Look inside models"
JUDGING = "Judge a suite"
PUBLISHING = "Publish"

MOST_SEED = 2**32 - 1
"""The largest seed that every library takes."""


class Commands(PlainGroup):
    """Commands that tell in a few words what a user can mend, or that they were interrupted.

    Errors are told while a command is imported and while its options are read, too.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options that stand before a command."""
        with told_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with told_errors():
            return super().invoke(ctx)


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {line}" for line in lines)])


def usable_seed(seed: int | None) -> int | None:
    """A seed that every library takes."""
    if seed is not None and not 0 <= seed <= MOST_SEED:
        raise typer.BadParameter(f"{seed}: give a whole number from 0 to {MOST_SEED}")
    return seed


def finite(value: float | None) -> float | None:
    """A number, which nan and inf are not."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value:g}: give a number")
    return value


def above_zero(value: float) -> float:
    """A number above 0."""
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g}: give a number above 0")
    return value


def zero_or_above(value: float) -> float:
    """A number that is not below 0."""
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"{value:g}: give 0 or a number above")
    return value


def some_share(value: float) -> float:
    """A share that is not nothing, such as 0.25."""
    if not 0 < value <= 1:
        raise typer.BadParameter(f"{value:g}: give a share above 0, 1 at most")
    return value


def band(value: tuple[float, float]) -> tuple[float, float]:
    """Two probabilities, the smaller one first."""
    low, high = value
    if not 0 <= low <= high <= 1:
        raise typer.BadParameter(f"{low:g} {high:g}: give two probabilities, the smaller first")
    return value
