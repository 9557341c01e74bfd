"""Tables of figures, each to show in a terminal, an HTML page or a CSV file."""

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

_TERMINAL_STYLES = ("bold", "dim")
_UNLIMITED_WIDTH = 10_000
_MAX_HEAD_WIDTH = 20
_MAX_NAMES_SHARE = 0.45
"""The share of a terminal's width that names may take; longer names are folded."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: the figure as it is shown.
        small: a line below the text, such as an interval; in heads it is shown only on pages.
        title: the tooltip on a page.
        kind: CSS classes; ``bold`` and ``dim`` apply to the terminal, too.
        strength: how strongly a page colours the cell, in [0, 1]; None for no colour.
        value: the value for a CSV file, if it differs from the text; None for the text.
    """

    text: str
    small: str = ""
    title: str = ""
    kind: str = ""
    strength: float | None = None
    value: object = None


@dataclass(frozen=True)
class Table:
    """A table with names on the left and figures on the right, of which no cell is truncated.

    Columns that do not fit into a terminal follow below, with the names repeated.

    Attributes:
        columns: the heads of the columns.
        rows: the rows, each with one cell per column.
        title: a line above the table.
        caption: a text below the table.
        name_columns: the number of columns on the left that hold names.
    """

    columns: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    caption: str = ""
    name_columns: int = 1

    def transposed(self) -> Table:
        """The table transposed."""
        lines = [self.columns, *self.rows]
        head, *rows = [list(cells) for cells in zip(*lines, strict=True)]
        return Table(head, rows, self.title, self.caption)

    def csv(self) -> str:
        """The table as the text of a CSV file that is safe in a spreadsheet."""
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
        """The table in blocks of columns that fit into the width of the terminal."""
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        width, remaining = options.max_width, list(range(self.name_columns, len(self.columns)))
        unlimited = options.update(width=_UNLIMITED_WIDTH)
        while True:
            block = remaining
            rich_table = self._draw(block, width)
            while len(block) > 1 and console.measure(rich_table, options=unlimited).maximum > width:
                block = block[:-1]
                rich_table = self._draw(block, width)
            yield rich_table
            if not (remaining := remaining[len(block) :]):
                break
            yield Text()
        if self.caption:
            yield Text(self.caption, style="dim")

    def _draw(self, columns: Sequence[int], width: int) -> RichTable:
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        shown_columns = [*range(self.name_columns), *columns]
        heads = {column: as_cell(self.columns[column]).text for column in shown_columns}
        max_breaks = max(head.count("\n") for head in heads.values())
        rich_table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
        for column in shown_columns:
            is_name = column < self.name_columns
            cells = [as_cell(row[column]) for row in self.rows]
            lines = [line for cell in cells for line in (*cell.text.split("\n"), cell.small)]
            longest = max(map(cell_len, lines), default=0)
            rich_table.add_column(
                # Heads stand at the bottom, cells at the top.
                Text("\n" * (max_breaks - heads[column].count("\n")) + heads[column], style="bold"),
                justify="left" if is_name else "right",
                overflow="fold",
                min_width=None if is_name else longest,
                max_width=int(_MAX_NAMES_SHARE * width / self.name_columns)
                if is_name
                else max(longest, _MAX_HEAD_WIDTH),
            )
        for row in self.rows:
            rich_table.add_row(*(_as_text(as_cell(row[column])) for column in shown_columns))
        return rich_table


def _as_text(cell: Cell) -> RichText:
    from rich.text import Text

    style = next((style for style in _TERMINAL_STYLES if style in cell.kind.split()), "")
    text = Text(cell.text, style=style)
    return text.append(f"\n{cell.small}", style="dim") if cell.small else text


def as_cell(cell: str | Cell) -> Cell:
    """A cell, which may be given as its text."""
    return cell if isinstance(cell, Cell) else Cell(cell)


def page_templates(package: str) -> Environment:
    """The Jinja templates in a package; they escape all values.

    Args:
        package: the package, such as ``s2lct.leaderboard``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
