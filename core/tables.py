"""Tables of figures: one object for the terminal, HTML pages and CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s2lct.plain_text import as_csv

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

_STYLES = ("bold", "dim")
_ANY_WIDTH = 10_000
_WIDEST_HEAD = 20
_WIDEST_NAME = 0.45
"""Of the width of a terminal: a longer first cell is folded."""


@dataclass(frozen=True)
class Cell:
    """What stands in a table.

    Attributes:
        text: the figure as it is shown.
        small: what stands below it, such as an interval; of heads on a page alone.
        title: what a page shows where somebody points at it.
        kind: its classes on a page; ``bold`` and ``dim`` are shown in the terminal too.
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
        lines = [map(as_cell, cells) for cells in (self.columns, *self.rows)]
        return as_csv(
            [cell.text if cell.value is None else cell.value for cell in cells] for cells in lines
        )

    def html(self) -> Markup:
        """The table as HTML, escaped."""
        template = page_templates("s2lct").get_template("table.html.jinja")
        return template.module.table(  # type: ignore[attr-defined,no-any-return]
            self, [[as_cell(cell) for cell in cells] for cells in (self.columns, *self.rows)]
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table in blocks of columns that fit."""
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        width, left = options.max_width, list(range(self.names, len(self.columns)))
        unlimited = options.update(width=_ANY_WIDTH)
        while True:
            block = left
            drawn = self._drawn(block, width)
            while len(block) > 1 and console.measure(drawn, options=unlimited).maximum > width:
                block = block[:-1]
                drawn = self._drawn(block, width)
            yield drawn
            if not (left := left[len(block) :]):
                break
            yield Text()
        if self.caption:
            yield Text(self.caption, style="dim")

    def _drawn(self, block: Sequence[int], width: int) -> RichTable:
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        numbers = [*range(self.names), *block]
        heads = {number: as_cell(self.columns[number]).text for number in numbers}
        most = max(head.count("\n") for head in heads.values())
        drawn = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
        for number in numbers:
            is_name = number < self.names
            cells = [as_cell(row[number]) for row in self.rows]
            lines = [line for cell in cells for line in (*cell.text.split("\n"), cell.small)]
            longest = max(map(cell_len, lines), default=0)
            drawn.add_column(
                # Heads stand low, and what is in a row begins on its first line.
                Text("\n" * (most - heads[number].count("\n")) + heads[number], style="bold"),
                justify="left" if is_name else "right",
                overflow="fold",
                min_width=None if is_name else longest,
                max_width=int(_WIDEST_NAME * width / self.names)
                if is_name
                else max(longest, _WIDEST_HEAD),
            )
        for row in self.rows:
            drawn.add_row(*(_as_text(as_cell(row[number])) for number in numbers))
        return drawn


def _as_text(cell: Cell) -> RichText:
    from rich.text import Text

    style = next((style for style in _STYLES if style in cell.kind.split()), "")
    text = Text(cell.text, style=style)
    return text.append(f"\n{cell.small}", style="dim") if cell.small else text


def as_cell(cell: str | Cell) -> Cell:
    """A cell, of what may be its text alone."""
    return cell if isinstance(cell, Cell) else Cell(cell)


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
