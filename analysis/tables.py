"""Tables of figures for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table

NARROW: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False}
"""Options of a table without a frame."""
_AROUND_A_CELL = 3
"""A blank on either side, and the line to the next."""


def figures_table(columns: Sequence[str], *, first: str = "", **options: Any) -> Table:
    """A table to fill: names on the left, under ``first``, and columns of figures on the right."""
    table = Table(first, header_style="bold", **options)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def columns_that_fit(cells: Sequence[Sequence[str]], width: int) -> int:
    """How many columns of a table, from the left, have room in a terminal without a cut cell.

    Args:
        cells: rows, the names of the columns among them; the first column may be broken at spaces.
        width: of the terminal.
    """
    needed = [max(map(cell_len, column)) + _AROUND_A_CELL for column in zip(*cells, strict=True)]
    unbroken = max(cell_len(part) for row in cells for part in (row[0].split() or [""]))
    needed[0] = max(unbroken, min(needed[0] - _AROUND_A_CELL, width // 3)) + _AROUND_A_CELL
    room = width - 1
    return max(1, sum(sum(needed[: number + 1]) <= room for number in range(len(needed))))
