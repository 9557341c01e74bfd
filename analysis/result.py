"""The base of what analyses return: it prints as a table and gives its figures as plain data."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from rich.console import Console

from s2lct.plain_text import ShortRepr
from s2lct.tables import Table


class Result(ShortRepr):
    """A dataclass of figures with one table that shows them."""

    __slots__ = ()

    def table(self) -> Table:
        """The figures as a table for the terminal, pages and CSV files."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Every figure, as dicts, lists, texts and numbers."""
        figures: dict[str, Any] = json.loads(self.json())
        return figures

    def json(self) -> str:
        """Every figure as JSON, with a line break at the end."""
        return TypeAdapter(type(self)).dump_json(self, indent=1).decode() + "\n"

    def __str__(self) -> str:
        console = Console(markup=False, highlight=False, emoji=False, color_system=None)
        with console.capture() as shown:
            console.print(self.table())
        return shown.get()
