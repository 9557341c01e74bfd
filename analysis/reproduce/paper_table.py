"""A table as a paper prints it, with the paper's own figures beside it: Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from s2lct.plain_text import spreadsheet_cell

Cell = str | int | float | None


@dataclass(frozen=True)
class PaperTable:
    """A table of figures.

    Attributes:
        title: what the table shows, in a line.
        columns: their names, the first that of the rows.
        rows: a cell a column; None where there is nothing to say.
        notes: sentences below it: what was measured, and how to read it.
        digits: digits behind the point of a column's numbers, where they are not one.
        in_page: whether it is shown; a long one is in its CSV alone.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    digits: Mapping[str, int] = field(default_factory=dict)
    in_page: bool = True

    def told_rows(self) -> list[list[str]]:
        """The cells as text, numbers rounded."""
        return [
            [self._told(name, cell) for name, cell in zip(self.columns, cells, strict=True)]
            for cells in self.rows
        ]

    def as_markdown(self) -> str:
        """The table with its title above and its notes below."""
        texts = {n for cells in self.rows for n, cell in enumerate(cells) if isinstance(cell, str)}
        aligned = ["---" if n in texts else "--:" for n in range(len(self.columns))]
        lines = [f"**{self.title}**", "", _row(self.columns), "|" + "|".join(aligned) + "|"]
        lines += [_row([cell.replace("|", "\\|") for cell in row]) for row in self.told_rows()]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def as_csv(self) -> str:
        """The figures, unrounded."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(
            ["" if cell is None else spreadsheet_cell(cell) for cell in row] for row in self.rows
        )
        return file.getvalue()

    def _told(self, column: str, cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{self.digits.get(column, 1)}f}"
        if isinstance(cell, int):
            return f"{cell:,}"
        return cell or ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
