"""The command line: building and checking suites, joined by what is done with them."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from s2lct.cli.analysis import add_commands as add_analyses
from s2lct.cli.command_line import run
from s2lct.cli.commands import BUILDING, Commands, examples, finite, usable_seed
from s2lct.cli.console import console, errors, told_errors
from s2lct.cli.leaderboard import add_commands as add_leaderboard
from s2lct.cli.options import label_map_of
from s2lct.cli.publish import add_commands as add_publishing
from s2lct.cli.scoring import add_commands as add_scoring
from s2lct.plain_text import plain_lines

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
CORPUS, KEPT, MASKED, MODELS, RUNNING = (
    "Corpus",
    "What is built",
    "Expansions",
    "Models and data",
    "Running",
)


class Preset(str, enum.Enum):
    """Named sets of options."""

    PAPER = "paper"


class FormChoice(str, enum.Enum):
    """Which wording and search rules."""

    FLUENT = "fluent"
    PAPER = "paper"


class SelectChoice(str, enum.Enum):
    """How expansions are chosen."""

    SCORE = "score"
    RANDOM = "random"
    ALL = "all"


class SuggestChoice(str, enum.Enum):
    """Which words the masked language model may propose."""

    ANY = "any"
    FITTING = "fitting"


class MaskOrderChoice(str, enum.Enum):
    """How masked sentences are drawn."""

    RANDOM = "random"
    PROBABILITY = "probability"


class ExportFormat(str, enum.Enum):
    """File formats to export to."""

    JSONL = "jsonl"
    CSV = "csv"
    CHECKLIST = "checklist"


def _tell_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        console.print(f"s2lct {version('s2lct')}")
        raise typer.Exit


@app.callback()
def s2lct(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Behavioural tests for sentiment models, one linguistic capability at a time."""


@app.command(
    rich_help_panel=BUILDING,
    epilog=examples(
        "s2lct build --out dist/s2lct",
        "s2lct build --out dist/lc4 --capability LC4 --seeds 5",
        "s2lct build --out dist/mine --corpus csv:reviews.csv",
    ),
)
def build(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="embedded, sst:PATH, sst:URL, hf:NAME:SPLIT, csv:PATH, jsonl:PATH or "
            r"parquet:PATH \[default: embedded].",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help=r"Build this capability; may be repeated \[default: all]."),
    ] = None,
    capabilities: Annotated[
        list[Path] | None,
        typer.Option(
            help="YAML file with a capability of your own; may be repeated.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="paper: SST v1, benepar_en3, bert-base-uncased, en_core_web_md, paper form."
        ),
    ] = None,
    templates: Annotated[
        FormChoice | None,
        typer.Option(help=r"Wording and search rules \[default: fluent].", rich_help_panel=KEPT),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Most seeds of a capability.", min=1, rich_help_panel=KEPT)
    ] = 50,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Candidate seeds for each seed kept: those with most expansions are "
            r"kept \[default: 10; paper form: 1].",
            min=1,
            rich_help_panel=KEPT,
        ),
    ] = None,
    pairings: Annotated[
        int,
        typer.Option(
            help="Most sentences drawn for a template's slot.", min=1, rich_help_panel=KEPT
        ),
    ] = 500,
    masks: Annotated[
        int,
        typer.Option(help="Masked sentences drawn for a seed.", min=1, rich_help_panel=MASKED),
    ] = 10,
    masks_per_sentence: Annotated[
        int,
        typer.Option(help="Most masks in one sentence.", min=1, max=3, rich_help_panel=MASKED),
    ] = 2,
    mask_order: Annotated[
        MaskOrderChoice | None,
        typer.Option(
            help="How masked sentences are drawn: all alike, or by the reference production's "
            r"probability \[default: probability; paper form: random].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    suggestions: Annotated[
        int,
        typer.Option(
            help="Words asked of the masked language model for a mask.",
            min=1,
            max=1000,
            rich_help_panel=MASKED,
        ),
    ] = 30,
    suggest: Annotated[
        SuggestChoice | None,
        typer.Option(
            help="any: the model's first words; fitting: its first among those the lexicon lets "
            r"stand there \[default: fitting].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    select: Annotated[
        SelectChoice | None,
        typer.Option(
            help=r"Which expansions to take \[default: score; paper form: all].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    expansions: Annotated[
        int | None,
        typer.Option(
            help=r"Most expansions of a seed \[default: 12; paper form: 1000].",
            min=1,
            rich_help_panel=MASKED,
        ),
    ] = None,
    least_score: Annotated[
        float | None,
        typer.Option(
            help="Leave out words of a lower mean log probability than this "
            r"\[default: -10; paper form: none].",
            callback=finite,
            rich_help_panel=MASKED,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(help="Seed of every random draw.", callback=usable_seed, rich_help_panel=KEPT),
    ] = 0,
    parser: Annotated[
        str | None,
        typer.Option(
            help="Constituency parser: embedded, benepar model, folder.", rich_help_panel=MODELS
        ),
    ] = None,
    mlm: Annotated[
        str | None,
        typer.Option(
            help="Masked language model: embedded, Hub id, folder.", rich_help_panel=MODELS
        ),
    ] = None,
    tagger: Annotated[
        str | None,
        typer.Option(help="Tagger: embedded, spaCy pipeline, folder.", rich_help_panel=MODELS),
    ] = None,
    sentiwordnet: Annotated[
        Path | None,
        typer.Option(
            help="SentiWordNet file to compute the lexicon from.",
            exists=True,
            rich_help_panel=MODELS,
        ),
    ] = None,
    reference_trees: Annotated[
        Path | None,
        typer.Option(
            help="Bracketed trees to learn the reference grammar from.",
            exists=True,
            rich_help_panel=MODELS,
        ),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option(help="Column with the sentences.", rich_help_panel=CORPUS)
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column with the labels.", rich_help_panel=CORPUS)
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="What labels mean: 0=negative,1=positive.", rich_help_panel=CORPUS),
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(
            help="JSON list of cases to leave out, such as `s2lct study import --disputed` writes.",
            exists=True,
            dir_okay=False,
            rich_help_panel=KEPT,
        ),
    ] = None,
    suite_version: Annotated[
        str,
        typer.Option(help="Semantic version written into the suite.", rich_help_panel=KEPT),
    ] = "1.0.0",
    batch_size: Annotated[
        int, typer.Option(help="Texts a forward pass.", min=1, rich_help_panel=RUNNING)
    ] = 32,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace the suite that is in --out.", rich_help_panel=RUNNING
        ),
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Throw away what an interrupted build left.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
) -> None:
    """Build a suite of linked seeds and expansions.

    It is a Hugging Face dataset. Interrupted, the same command goes on where it stopped.
    """
    with told_errors():
        from s2lct.builder.capabilities import load_capabilities
        from s2lct.builder.config import PRESETS, BuildConfig
        from s2lct.builder.pipeline import build_suite
        from s2lct.cli.closing_table import ClosingTable
        from s2lct.progress import StageProgress

        given: dict[str, Any] = {
            name: value
            for name, value in context.params.items()
            if value is not None
            and name not in ("capability", "capabilities", "preset", "label_map")
        }
        options = (PRESETS[preset] if preset else {}) | {
            name: value.value if isinstance(value, enum.Enum) else value
            for name, value in given.items()
        }
        files = tuple(capabilities or ())
        named = load_capabilities(tuple(capability), files) if capability else ()
        config = BuildConfig.checked(
            **options,
            capabilities=tuple(one.id for one in named),
            capability_files=files,
            label_map=label_map_of(label_map),
        )
        with StageProgress(errors) as progress:
            counts = build_suite(config, progress)
        console.print(ClosingTable(counts))
        empty = [name for name, count in counts.items() if not count.seeds]
        if empty:
            errors.print(
                f"No sentence of {config.corpus} fits {', '.join(empty)}: left out.", style="yellow"
            )
        if exclude is not None:
            met = sum(count.excluded for count in counts.values())
            not_met = config.excluded.not_met(met)
            console.print(
                f"{met} of the {len(config.excluded.ids)} cases in {exclude} left out"
                + (f"; {not_met} not met in this build." if not_met else "."),
            )
        console.print(f"Suite written to {out}; look at it with: s2lct inspect {out}")


@app.command(
    rich_help_panel=BUILDING,
    epilog=examples(
        "s2lct capabilities --show LC4",
        "s2lct capabilities --show LC4 --yaml > mine.yaml",
    ),
)
def capabilities(
    show: Annotated[
        str | None, typer.Option(help="Print this capability's whole specification.")
    ] = None,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="With --show: print the file, to start your own from.")
    ] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--capabilities",
            help="YAML file with a capability of your own; may be repeated.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """List the capabilities, or print what one is."""
    with told_errors():
        from s2lct.builder.capabilities import capability_files, load_capabilities
        from s2lct.builder.specification import specification

        extra = tuple(files or ())
        known = load_capabilities(() if show is None else (show,), extra)
        if show is None:
            table = Table("", "capability", "expectation", "passes", header_style="bold")
            for capability in known:
                passes = {
                    " or ".join(t.passes) if not isinstance(t.passes, str) else t.passes
                    for t in capability.form("fluent").templates
                }
                table.add_row(
                    capability.id,
                    capability.title,
                    capability.expectation,
                    "; ".join(sorted(passes)),
                )
            console.print(table)
        elif yaml:
            _, path = capability_files(extra)[known[0].id]
            sys.stdout.write(plain_lines(path.read_text(encoding="utf-8-sig")))
        else:
            console.print(specification(known[0]))


@app.command(
    rich_help_panel=BUILDING, epilog=examples("s2lct inspect dist/s2lct --capability LC4 --n 5")
)
def inspect(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    capability: Annotated[
        list[str] | None, typer.Option(help="Only this capability; may be repeated.")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Seeds of each capability.", min=1)] = 5,
) -> None:
    """Show seeds with their expansions, inserted words marked."""
    with told_errors():
        from s2lct.suite.inspect import show_families

        show_families(console, suite, capability or (), n)


@app.command(rich_help_panel=BUILDING, epilog=examples("s2lct verify dist/s2lct"))
def verify(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what needs tagger and parser.")
    ] = False,
) -> None:
    """Check that a built suite keeps every invariant.

    The exit status is 1, with a list, where it breaks one.
    """
    with told_errors():
        from s2lct.builder.verify import verify_suite
        from s2lct.progress import StageProgress

        with StageProgress(errors) as progress:
            broken = verify_suite(suite, quick=quick, progress=progress)
        for fault in broken:
            console.print(f"✗ {fault}", soft_wrap=True)
        if broken:
            console.print(f"{len(broken)} broken", style="bold red")
            raise typer.Exit(1)
        console.print(f"✓ {suite} keeps every invariant")


@app.command(
    rich_help_panel=BUILDING,
    epilog=examples("s2lct export dist/s2lct --format csv --out s2lct.csv"),
)
def export(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    out: Annotated[Path, typer.Option(help="File to write.", dir_okay=False)],
    format: Annotated[
        ExportFormat, typer.Option(help="jsonl, csv, or checklist (its test cases as JSON).")
    ] = ExportFormat.JSONL,
) -> None:
    """Write a suite's rows to one file."""
    with told_errors():
        from s2lct.suite.export import export_suite

        rows = export_suite(suite, out, format.value)
        console.print(f"{rows:,} cases written to {out}")


@app.command(rich_help_panel=BUILDING, epilog=examples("s2lct models"))
def models() -> None:
    """List the models that suites are built with.

    With sizes, sources, licences and figures.
    """
    with told_errors():
        from s2lct.builder.models.inventory import inventory

        table = Table("model", "MB", "", header_style="bold", box=SIMPLE_HEAD, show_edge=False)
        table.columns[0].no_wrap = True
        table.columns[1].justify = "right"
        table.columns[2].overflow = "fold"
        for entry in inventory():
            about = [entry.role, f"from {entry.source}", f"licence: {entry.licence}"]
            table.add_row(
                entry.name,
                f"{entry.bytes / 1e6:.1f}",
                "\n".join([*about, entry.figures] if entry.figures else about),
            )
        console.print(table)


add_scoring(app)
add_analyses(app)
add_publishing(app)
add_leaderboard(app)


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    run(app)


if __name__ == "__main__":
    main()
