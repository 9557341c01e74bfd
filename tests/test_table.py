"""Tables: the same figures in the terminal, on a page and in a CSV file."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from s2lct.tables import Cell, Table


def printed(table: Table, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@given(
    columns=st.integers(1, 20),
    digits=st.integers(1, 12),
    width=st.integers(40, 120),
    name=st.text("abc ", max_size=80),
)
def test_no_figure_is_cut_at_any_width(columns: int, digits: int, width: int, name: str) -> None:
    figures = [f"{n:0{digits}d}.5" for n in range(columns)]
    table = Table(["model", *(f"c{n}" * n for n in range(columns))], [[name, *figures]])
    shown = printed(table, width)
    assert all(figure in shown.split() for figure in figures)
    assert max(map(len, shown.splitlines())) <= width
    short = printed(Table(table.columns, [["LC10", *figures]]), width)
    assert "LC10" in short.split()


def test_a_page_escapes_what_it_shows_and_a_spreadsheet_runs_nothing() -> None:
    name = Cell("<b>=1+1</b>", title='"quoted"', kind="dim")
    table = Table(
        ["", "rate"],
        [[name, Cell("12.3", small="10–15", strength=0.123, value=0.12345)], ["=cmd()", "–"]],
        title="Rates <i>",
        caption="In %.",
    )
    page = str(table.html())
    assert "&lt;b&gt;" in page and "<b>" not in page and "<i>" not in page
    assert "--rate: 0.123" in page and "10–15" in page and "&#34;quoted&#34;" in page
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows == [["", "rate"], ["<b>=1+1</b>", "0.12345"], ["'=cmd()", "–"]]
    assert "Rates <i>" in printed(table, 80) and "In %." in printed(table, 80)
