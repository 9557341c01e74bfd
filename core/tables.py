"""Tables of figures: one object for the terminal, HTML pages and CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s2lct.plain_text import spreadsheet_cell

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable

_GAP = 3
_WIDEST_HEAD = 20
_WIDEST_NAME = 0.45
"""Of the width of a terminal: a longer first cell is folded."""


@dataclass(frozen=True)
class Cell:
    """What stands in a table.

    Attributes:
        text: the figure as it is shown.
        small: what stands below it on a page, such as an interval.
        title: what a page shows where somebody points at it.
        kind: its class on a page; ``bold`` and ``dim`` are shown in the terminal too.
        strength: how strongly a page colours it, in [0, 1]; None for no colour.
        value: what a CSV file has in place of the text.
    """

    text: str
    small: str = ""
    title: str = ""
    kind: str = ""
    strength: float | None = None
    value: object = None


@dataclass(frozen=True)
class Table:
    """Names on the left, figures on the right; no cell is cut.

    In the terminal columns that have no room follow below, beside the names again.

    Attributes:
        columns: the heads; those of figures may have several lines.
        rows: as many cells each.
        title: above it.
        caption: below it.
        names: how many columns from the left hold names and no figures.
    """

    columns: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    caption: str = ""
    names: int = 1

    def turned(self) -> Table:
        """Rows as columns, and columns as rows."""
        lines = [self.columns, *self.rows]
        head, *rows = [list(cells) for cells in zip(*lines, strict=True)]
        return Table(head, rows, self.title, self.caption)

    def csv(self) -> str:
        """The table as a CSV file, in which a spreadsheet runs nothing."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        for cells in (self.columns, *self.rows):
            values = [one.text if one.value is None else one.value for one in map(_cell, cells)]
            writer.writerow([spreadsheet_cell(value) for value in values])
        return written.getvalue()

    def html(self) -> Markup:
        """The table as HTML, escaped."""
        template = page_templates("s2lct").get_template("table.html.jinja")
        return template.module.table(  # type: ignore[attr-defined,no-any-return]
            self, [[_cell(one) for one in cells] for cells in (self.columns, *self.rows)]
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table in blocks of columns that fit."""
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        for number, block in enumerate(self._blocks(options.max_width)):
            yield from [Text()] if number else []
            yield self._drawn(block, options.max_width)
        if self.caption:
            yield Text(self.caption, style="dim")

    def _blocks(self, width: int) -> Iterator[list[int]]:
        """The numbers of the columns of each block."""
        left = width + _GAP - sum(self._width(n, width) + _GAP for n in range(self.names))
        block: list[int] = []
        room = left
        for number in range(self.names, len(self.columns)):
            needed = self._width(number, width) + _GAP
            if block and needed > room:
                yield block
                block, room = [], left
            block.append(number)
            room -= needed
        yield block

    def _width(self, column: int, width: int) -> int:
        from rich.cells import cell_len

        texts = [_head(self.columns[column]), *(_cell(cells[column]).text for cells in self.rows)]
        needed = max((cell_len(line) for text in texts for line in text.split("\n")), default=0)
        most = int(_WIDEST_NAME * width / max(1, self.names))
        return min(needed, most) if column < self.names else needed

    def _drawn(self, block: Sequence[int], width: int) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        numbers = [*range(self.names), *block]
        drawn = RichTable(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold",
            padding=(0, 1),
        )  # fmt: skip
        for number in numbers:
            drawn.add_column(
                Text(_head(self.columns[number])),
                justify="left" if number < self.names else "right",
                overflow="fold",
                no_wrap=number >= self.names,
                max_width=self._width(number, width),
                vertical="bottom",
            )
        for cells in self.rows:
            row = [_cell(cells[number]) for number in numbers]
            drawn.add_row(*(Text(one.text, style=_style(one)) for one in row))
        return drawn


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _head(cell: str | Cell) -> str:
    """The head of a column, which is broken where it is long; figures never are."""
    lines = _cell(cell).text.split("\n")
    return "\n".join(
        line[start : start + _WIDEST_HEAD]
        for line in lines
        for start in range(0, max(1, len(line)), _WIDEST_HEAD)
    )


def _style(cell: Cell) -> str:
    return cell.kind if cell.kind in ("bold", "dim") else ""


def page_templates(package: str) -> Environment:
    """The templates beside a package's modules; whatever they are given is escaped.

    Args:
        package: such as ``s2lct.leaderboard``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
