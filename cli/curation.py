"""The commands curate and agreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from s2lct.builder import commands
from s2lct.cli.console import console, show
from s2lct.cli.options import Panel

if TYPE_CHECKING:
    from s2lct.builder.curate import Curated
    from s2lct.builder.curation.verdicts import Agreement

app = typer.Typer()
BUILDING = Panel(app, "Build a suite")
_WAITING = "waits"


@BUILDING.shows(
    commands.curate,
    "s2lct curate --corpus csv:mine.csv --verdicts verdicts.jsonl --out sheets/",
    "s2lct curate --corpus csv:mine.csv --verdicts verdicts.jsonl --out sheets/ \\\n"
    "    --answers ada.csv --annotator Ada",
    "s2lct curate --corpus csv:mine.csv --verdicts verdicts.jsonl --out sheets/ \\\n"
    "    --base-url http://localhost:8000/v1 --model ONE --model OTHER",
)
def show_curated(curated: Curated, *, verdicts: list[Path], annotator: str = "") -> None:
    """What is left to read, for whom, and where it is."""
    from s2lct.builder.curation.sheets import ROUNDS

    if curated.answered is not None:
        show(
            f"{curated.answered.verdicts:,} verdicts of {annotator} added to "
            f"{verdicts[0]}; {curated.answered.unanswered:,} of the sheet's texts without."
        )
    table = Table(box=SIMPLE_HEAD, show_edge=False, header_style="bold")
    table.add_column("")
    for column in ("passed", "refused", "for a first\nreader", "for a second\nreader"):
        table.add_column(column, justify="right", vertical="bottom")
    for state in curated.rounds:
        numbers = (state.passed, state.refused, state.first, state.second)
        table.add_row(state.round, *(f"{number:,}" for number in numbers))
    for round in ROUNDS[len(curated.rounds) :]:
        table.add_row(round, *[_WAITING] * 4, style="dim")
    console.print(table)
    files = [str(path) for path in verdicts if path.exists()]
    if curated.is_finished:
        given = " ".join(f"--verdicts {path}" for path in files)
        show(f"All is read. Build with the same options and {given}")
    else:
        last = curated.rounds[-1]
        for reader, number in last.left.items():
            show(f"{reader} has {number:,} {last.round} left to read")
    if curated.sheets:
        show(f"Sheets to fill ({len(curated.sheets)}), and what to do: {curated.sheets[0].parent}")
    if any(state.passed for state in curated.rounds):
        show(f"How far readers agree: s2lct agreement {' '.join(files)}")


@BUILDING.shows(commands.agreement, "s2lct agreement verdicts.jsonl")
def show_agreement(found: Agreement) -> None:
    """Verdicts of each reader, and how far two readers of the same agree."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, header_style="bold")
    table.add_column("reader")
    for column in ("verdicts", "traps", "missed"):
        table.add_column(column, justify="right")
    for reader, number in found.verdicts.items():
        care = found.care[reader]
        table.add_row(reader, f"{number:,}", f"{care.traps:,}", f"{care.passed:,}")
    console.print(table)
    if not found.shared:
        console.print("Nothing was read by two readers.")
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, header_style="bold")
    table.add_column(f"{found.shared:,} read by two")
    table.add_column("same %", justify="right")
    table.add_column("α", justify="right")
    table.add_row("label", *_figures(found.same_label, found.alpha_label))
    table.add_row("natural", *_figures(found.same_grade, found.alpha_natural))
    console.print(table)
    console.print(
        "α: Krippendorff's, of labels nominal, of grades ordinal, on what two have read. What the "
        "first refused no second reads."
    )


def _figures(share: float | None, alpha: float | None) -> tuple[str, str]:
    return (
        "–" if share is None else f"{100 * share:.1f}",
        "–" if alpha is None else f"{alpha + 0:.2f}",
    )
