"""The command line, and its commands that build, show, check and import suites."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable

from s2lct.builder import commands
from s2lct.cli import analysis, publishing, scoring
from s2lct.cli.console import Commands, console, note, run, show
from s2lct.cli.options import Panel, examples
from s2lct.plain_text import plain_lines
from s2lct.suite.checklist import import_checklist
from s2lct.suite.other_suites import Imported, import_table
from s2lct.tables import Table

if TYPE_CHECKING:
    from s2lct.builder.capabilities.schema import Capability
    from s2lct.builder.curation.curate import Curated

app = typer.Typer(
    name="s2lct",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=examples(
        "s2lct build --out dist/s2lct",
        "s2lct score vader embedded-3class --suite dist/s2lct",
        "s2lct score -h",
    ),
)
BUILDING = Panel(app, "Build a suite")
imports = typer.Typer(help="Bring in suites of others, to score on them.", no_args_is_help=True)
app.add_typer(imports, name="import", rich_help_panel=BUILDING.heading)
for _group in (scoring, analysis, publishing):
    app.add_typer(_group.app)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        console.print(f"s2lct {version('s2lct')}")
        raise typer.Exit


@app.callback()
def s2lct(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Behavioural tests for sentiment models, one linguistic capability at a time."""


@BUILDING.shows(
    commands.build,
    "s2lct build --out dist/s2lct",
    "s2lct build --out dist/lc4 --capability LC4 --seeds 5",
    "s2lct build --out dist/mine --corpus csv:reviews.csv",
)
def show_build(built: commands.Built) -> None:
    """How many cases there are, and where the suite is."""
    config = built.config
    console.print(closing_table(built.counts))
    if empty := [name for name, count in built.counts.items() if not count["seeds"]]:
        note(f"No sentence of {config.corpus} fits {', '.join(empty)}: left out.")
    if unread := built.unread:
        cases = "these cases" if len(unread) == len(built.counts) else ", ".join(unread)
        console.print(f"Nobody has annotated {cases}, and the suite says so.")
        if config.templates == "fluent":
            console.print("To keep only what annotators pass: s2lct curate, build --annotations.")
    console.print(f"Suite written to {config.out}; look at it with: s2lct inspect {config.out}")


_IN_WORDS = {
    "sentences_found": "sentences\nfound",
    "expansions_tried": "expansions\ntried",
}


def closing_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """How many sentences were found, expansions tried, and how many cases there are."""
    columns = next(iter(counts.values()))
    totals = {column: sum(count[column] for count in counts.values()) for column in columns}
    return Table(
        ["", *(_IN_WORDS.get(column, column) for column in columns)],
        [
            [name, *(f"{count[column]:,}" for column in columns)]
            for name, count in {**counts, "all": totals}.items()
        ],
        title="S²LCT suite",
    )


@BUILDING.shows(
    commands.curate,
    "s2lct curate --corpus csv:mine.csv --annotations mine.jsonl --out sheets/",
    "s2lct curate --corpus csv:mine.csv --annotations mine.jsonl --out sheets/ \\\n"
    "    --answers ada.csv --annotator Ada",
    "s2lct curate --corpus csv:mine.csv --annotations mine.jsonl --out sheets/ \\\n"
    "    --base-url http://localhost:8000/v1 --model ONE --model OTHER",
)
def show_curated(
    curated: Curated, *, annotations: list[Path], annotator: str | None = None
) -> None:
    """How much is left to annotate, and where the sheets are."""
    if curated.added is not None:
        show(f"{curated.added:,} annotations of {annotator} added to {annotations[0]}")
    second = sum(bool(curated.annotations.of(item.id)) for item in curated.left)
    numbers = len(curated.candidates) - len(curated.left), len(curated.left) - second, second
    columns = ["passed", "for a first\nannotator", "for a second\nannotator"]
    console.print(Table(columns, [[f"{number:,}" for number in numbers]]))
    if not curated.left:
        options = " ".join(f"--annotations {path}" for path in annotations if path.exists())
        show(f"All is read. Build with the same options and {options}")
    if curated.sheets:
        show(f"Sheets to fill ({len(curated.sheets)}), and what to do: {curated.sheets[0].parent}")
    number, labels, grades = curated.annotations.agreement()
    if number:
        show(
            f"Of {number:,} texts that two annotated, {labels:.0%} have the same label, "
            f"{grades:.0%} the same grade."
        )


@BUILDING.shows(
    commands.capabilities,
    "s2lct capabilities --show LC4",
    "s2lct capabilities --show LC4 > mine.yaml",
)
def show_capabilities(
    files: list[tuple[Capability, Path]],
    *,
    show: str | None = None,
) -> None:
    """A table of capabilities, or the file of one, to read or to start your own from."""
    if show is None:
        table = RichTable("", "capability", "expectation", "passes", header_style="bold")
        for capability, _ in files:
            passes = {
                " or ".join(t.passes) if not isinstance(t.passes, str) else t.passes
                for t in capability.form("fluent").templates
            }
            passing = "; ".join(sorted(passes))
            table.add_row(capability.id, capability.title, capability.expectation, passing)
        console.print(table)
    else:
        sys.stdout.write(plain_lines(files[0][1].read_text(encoding="utf-8-sig")))


@BUILDING.shows(commands.inspect, "s2lct inspect dist/s2lct --capability LC4 --n 5")
def show_families(families: dict[str, list[list[dict[str, Any]]]], *, suite: Path) -> None:
    """Seeds with their expansions, by capability."""
    from s2lct.suite.export import lines_of
    from s2lct.suite.read import read_description

    described = read_description(suite)["capabilities"]
    titles = {capability["id"]: capability["title"] for capability in described}
    for name, capability_families in families.items():
        console.rule(f"{name} {titles[name]}", align="left")
        for family in capability_families:
            for line in lines_of(family):
                console.print(line)


@BUILDING.shows(commands.verify, "s2lct verify dist/s2lct")
def show_faults(broken: list[str], *, suite: Path) -> None:
    """Broken invariants; the exit status is 1 if there is one."""
    for fault in broken:
        show(f"✗ {fault}")
    if broken:
        console.print(f"{len(broken)} broken", style="bold red")
        raise typer.Exit(1)
    console.print(f"✓ {suite} keeps every invariant")


@BUILDING.shows(
    commands.export,
    "s2lct export dist/s2lct --format csv --out s2lct.csv",
    "s2lct export dist/s2lct --format lm-eval --out tasks",
)
def show_export(rows: int, *, out: Path, format: str) -> None:
    """How many cases were written, and where."""
    console.print(f"{rows:,} cases written to {out}")
    if format == "lm-eval":
        console.print(f"Run them: lm_eval --include_path {out} --tasks s2lct …")


@Panel(imports).shows(
    import_checklist,
    "s2lct import checklist sentiment_suite.pkl --out checklist.jsonl.gz",
    name="checklist",
)
def show_checklist(imported: Imported) -> None:
    """How many cases there are of each test, and how to score on them."""
    _show_imported(imported, "test", f"checklist:{imported.out} --out checklist-results/")


@Panel(imports).shows(
    import_table,
    "s2lct import table mine.csv --label-map 0=negative,1=positive --out mine.jsonl",
    "s2lct import table mine.csv --text-column sentence --label-column target --out mine.jsonl",
    name="table",
)
def show_table(imported: Imported) -> None:
    """How many cases there are of each capability, and how to score on them."""
    _show_imported(imported, "capability", f"jsonl:{imported.out}")


def _show_imported(imported: Imported, head: str, suite: str) -> None:
    rows = [(name, f"{count:,}") for name, count in imported.cases.items()]
    console.print(Table((head, "cases"), rows))
    total = sum(imported.cases.values())
    show(f"{total:,} cases written to {imported.out}; score with:")
    show(f"s2lct score MODEL --suite {suite}")


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    run(app)


if __name__ == "__main__":
    main()
