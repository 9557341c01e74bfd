"""Tables of figures for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

NARROW: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False}
"""Options of a table without a frame."""


def figures_table(columns: Sequence[str], *, first: str = "", **options: Any) -> Table:
    """A table to fill: names on the left, under ``first``, and columns of figures on the right."""
    table = Table(first, header_style="bold", **options)
    for column in columns:
        table.add_column(column, justify="right")
    return table
