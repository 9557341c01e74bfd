"""The command line: building and checking suites, joined by what is done with them."""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from s2lct.analysis.cli import add_commands as add_analyses
from s2lct.builder.console import console, errors, told_errors
from s2lct.dataset_script.cli import add_commands as add_publishing
from s2lct.leaderboard.cli import add_commands as add_scoring
from s2lct.leaderboard.leaderboard_cli import add_commands as add_leaderboard

if TYPE_CHECKING:
    from s2lct.builder.pipeline import CapabilityCounts

app = typer.Typer(
    name="s2lct",
    help="Behavioural tests for sentiment models, one linguistic capability at a time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
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


@app.command()
def build(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="embedded, sst:PATH, hf:NAME:SPLIT, csv:PATH, jsonl:PATH or parquet:PATH "
            r"\[default: embedded]."
        ),
    ] = None,
    capability: Annotated[
        list[str] | None, typer.Option(help="Build this capability; may be repeated. Default: all.")
    ] = None,
    capabilities: Annotated[
        list[Path] | None, typer.Option(help="YAML file with a capability of your own.")
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="paper: SST v1, benepar_en3, bert-base-uncased, en_core_web_md, paper form."
        ),
    ] = None,
    templates: Annotated[
        FormChoice | None, typer.Option(help=r"Wording and search rules \[default: fluent].")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Most seeds of a capability.", min=1)] = 50,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Candidate seeds for each seed kept: those with most expansions are "
            r"kept \[default: 10; paper form: 1].",
            min=1,
        ),
    ] = None,
    pairings: Annotated[
        int, typer.Option(help="Most sentences drawn for a template's slot.", min=1)
    ] = 500,
    masks: Annotated[int, typer.Option(help="Masked sentences drawn for a seed.", min=1)] = 10,
    masks_per_sentence: Annotated[
        int, typer.Option(help="Most masks in one sentence.", min=1, max=3)
    ] = 2,
    mask_order: Annotated[
        MaskOrderChoice | None,
        typer.Option(
            help="How masked sentences are drawn: all alike, or by the reference production's "
            r"probability \[default: probability; paper form: random]."
        ),
    ] = None,
    suggestions: Annotated[
        int, typer.Option(help="Words asked of the masked language model for a mask.", min=1)
    ] = 30,
    suggest: Annotated[
        SuggestChoice | None,
        typer.Option(
            help="any: the model's first words; fitting: its first among those the lexicon lets "
            r"stand there \[default: fitting]."
        ),
    ] = None,
    select: Annotated[
        SelectChoice | None,
        typer.Option(help=r"Which expansions to take \[default: score; paper form: all]."),
    ] = None,
    expansions: Annotated[
        int | None,
        typer.Option(help=r"Most expansions of a seed \[default: 12; paper form: 1000].", min=1),
    ] = None,
    least_score: Annotated[
        float | None,
        typer.Option(help="Leave out words of a lower mean log probability than this."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    parser: Annotated[
        str | None, typer.Option(help=r"Constituency parser: embedded, benepar model, folder.")
    ] = None,
    mlm: Annotated[
        str | None, typer.Option(help="Masked language model: embedded, Hub id, folder.")
    ] = None,
    tagger: Annotated[
        str | None, typer.Option(help="Tagger: embedded, spaCy pipeline, folder.")
    ] = None,
    sentiwordnet: Annotated[
        Path | None, typer.Option(help="SentiWordNet file to compute the lexicon from.")
    ] = None,
    reference_trees: Annotated[
        Path | None, typer.Option(help="Bracketed trees to learn the reference grammar from.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column with the sentences.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column with the labels.")] = None,
    label_map: Annotated[
        str | None, typer.Option(help="What labels mean: 0=negative,1=positive.")
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(
            help="JSON list of cases to leave out, such as `s2lct study import --disputed` writes."
        ),
    ] = None,
    suite_version: Annotated[
        str, typer.Option(help="Semantic version written into the suite.")
    ] = "1.0.0",
    batch_size: Annotated[int, typer.Option(help="Texts a forward pass.", min=1)] = 32,
    overwrite: Annotated[bool, typer.Option(help="Replace the suite that is in --out.")] = False,
    restart: Annotated[
        bool, typer.Option(help="Throw away what an interrupted build left.")
    ] = False,
) -> None:
    """Build a suite: a Hugging Face dataset with linked seeds and expansions.

    Interrupted, the same command goes on where it stopped.
    """
    with told_errors():
        from s2lct.builder.config import PRESETS, BuildConfig
        from s2lct.builder.pipeline import build_suite
        from s2lct.builder.progress import StageProgress

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
        config = BuildConfig.checked(
            **options,
            capabilities=tuple(capability or ()),
            capability_files=tuple(capabilities or ()),
            label_map=label_map_of(label_map),
        )
        with StageProgress(console) as progress:
            counts = build_suite(config, progress)
        console.print(closing_table(counts))
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


def label_map_of(text: str | None) -> dict[str, str] | None:
    """``0=negative,1=positive`` as a dict; None for None."""
    if text is None:
        return None
    from s2lct.builder.errors import CorpusError

    mapping: dict[str, str] = {}
    for pair in text.split(","):
        source, equals, label = pair.partition("=")
        if not equals or not source.strip():
            raise CorpusError(
                f"--label-map {text}: {pair!r} is not LABEL=negative|neutral|positive",
                mend="write it like 0=negative,1=positive",
            )
        mapping[source.strip()] = label.strip()
    return mapping


def closing_table(counts: Mapping[str, CapabilityCounts]) -> Table:
    """What happened to each capability, a row each."""
    columns = {
        "found": "sentences found",
        "seeds": "seeds",
        "masked": "masked sentences",
        "suggestions": "suggestions",
        "rejected_part_of_speech": "rejected: part of speech",
        "rejected_not_neutral": "rejected: not neutral",
        "rejected_specification": "rejected: specification",
        "rejected_unlikely": "rejected: unlikely",
        "duplicates": "duplicates",
        "expansions": "expansions",
    }
    if any(count.excluded for count in counts.values()):
        columns["excluded"] = "excluded"
    table = Table("", *columns.values(), title="S²LCT suite", header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
        column.overflow = "fold"
    for name, count in counts.items():
        table.add_row(name, *(f"{getattr(count, field):,}" for field in columns))
    totals = (sum(getattr(count, field) for count in counts.values()) for field in columns)
    table.add_section()
    table.add_row("all", *(f"{total:,}" for total in totals), style="bold")
    return table


@app.command()
def capabilities(
    show: Annotated[
        str | None, typer.Option(help="Print this capability's whole specification.")
    ] = None,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="With --show: print the file, to start your own from.")
    ] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option("--capabilities", help="YAML file with a capability of your own."),
    ] = None,
) -> None:
    """List the capabilities, or print the specification of one."""
    with told_errors():
        from s2lct.builder.capabilities import load_capabilities, shipped_capability_files
        from s2lct.builder.specification import specification

        known = load_capabilities((show.upper(),) if show else (), tuple(files or ()))
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
            paths = {path.stem: path for path in (*shipped_capability_files(), *(files or ()))}
            sys.stdout.write(paths[known[0].id].read_text(encoding="utf-8"))
        else:
            console.print(specification(known[0]))


@app.command()
def inspect(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    capability: Annotated[
        list[str] | None, typer.Option(help="Only this capability; may be repeated.")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Seeds of each capability.", min=1)] = 5,
) -> None:
    """Show seeds with their expansions, the inserted words highlighted."""
    with told_errors():
        from s2lct.builder.inspect import show_families

        show_families(console, suite, capability or (), n)


@app.command()
def verify(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    quick: Annotated[bool, typer.Option(help="Leave out what needs tagger and parser.")] = False,
) -> None:
    """Re-check every invariant of a built suite; exit 1 with a list if one is broken."""
    with told_errors():
        from s2lct.builder.progress import StageProgress
        from s2lct.builder.verify import verify_suite

        with StageProgress(errors) as progress:
            broken = verify_suite(suite, quick=quick, progress=progress)
        for fault in broken:
            console.print(f"✗ {fault}", soft_wrap=True)
        if broken:
            console.print(f"{len(broken)} broken", style="bold red")
            raise typer.Exit(1)
        console.print(f"✓ {suite} keeps every invariant")


@app.command()
def export(
    suite: Annotated[Path, typer.Argument(help="Folder of a built suite.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    format: Annotated[
        ExportFormat, typer.Option(help="jsonl, csv, or checklist (its test cases as JSON).")
    ] = ExportFormat.JSONL,
) -> None:
    """Write a suite's rows to one file."""
    with told_errors():
        from s2lct.builder.export import export_suite

        rows = export_suite(suite, out, format.value)
        console.print(f"{rows:,} cases written to {out}")


@app.command()
def models() -> None:
    """List the installed models with sizes, sources, licences and figures."""
    with told_errors():
        from s2lct.builder.inventory import inventory

        table = Table("model", "role", "MB", "source", "licence", "figures", header_style="bold")
        for entry in inventory():
            table.add_row(
                entry.name,
                entry.role,
                f"{entry.bytes / 1e6:.1f}",
                entry.source,
                entry.licence,
                entry.figures,
            )
        console.print(table)


add_scoring(app)
add_publishing(app)
add_leaderboard(app)
add_analyses(app)


def main() -> None:
    """Entry point of the ``s2lct`` command."""
    app()


if __name__ == "__main__":
    main()
