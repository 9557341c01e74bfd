"""The base class of analysis results: they print as a table and give figures as plain data."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from pydantic import TypeAdapter
from rich.console import Console

from s2lct.plain_text import ShortRepr
from s2lct.tables import Table


class Result(ShortRepr, ABC):
    """A dataclass of figures with one table that shows them."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> Table:
        """The figures as a table for the terminal, pages and CSV files."""

    def to_dict(self) -> dict[str, Any]:
        """Every figure, as dicts, lists, strings and numbers."""
        figures: dict[str, Any] = json.loads(self.json())
        return figures

    def json(self) -> str:
        """Every figure as JSON text that ends with a line break."""
        return TypeAdapter(type(self)).dump_json(self, indent=1).decode() + "\n"

    def __str__(self) -> str:
        console = Console(markup=False, highlight=False, emoji=False, color_system=None)
        with console.capture() as capture:
            console.print(self.table())
        return capture.get()
