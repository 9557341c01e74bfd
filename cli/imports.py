"""The commands that import suites of others."""

from __future__ import annotations

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from s2lct.cli.console import console, show
from s2lct.cli.options import Panel
from s2lct.suite.checklist import Imported, import_checklist

app = typer.Typer()
imports = typer.Typer(help="Bring in suites of others, to score on them.", no_args_is_help=True)
app.add_typer(imports, name="import", rich_help_panel="Build a suite")
COMMANDS = Panel(imports)


@COMMANDS.shows(
    import_checklist,
    "s2lct import checklist sentiment_suite.pkl --out checklist.jsonl.gz",
    name="checklist",
)
def show_imported(imported: Imported) -> None:
    """How many cases there are of each test, and how to score on them."""
    table = Table("test", "cases", box=SIMPLE_HEAD, show_edge=False, header_style="bold")
    table.columns[1].justify = "right"
    for name, count in imported.tests.items():
        table.add_row(Text(name), f"{count:,}")
    console.print(table)
    total = sum(imported.tests.values())
    show(f"{total:,} cases of {len(imported.tests)} tests written to {imported.out}; score with:")
    show(f"s2lct score MODEL --suite checklist:{imported.out} --out checklist-results/")
