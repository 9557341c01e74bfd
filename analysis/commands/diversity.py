"""How varied a suite is, beside other sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import Capabilities, Count, RandomSeed, command

if TYPE_CHECKING:
    from s2lct.analysis.diversity.measures import DiversityComparison

FILES = "Files to write"


@dataclass(frozen=True)
class Diversities:
    """Measures of a suite beside other sources, and the files they were written to."""

    measured: DiversityComparison
    files: tuple[Path, ...]


@command
def diversity(
    suite: Annotated[str, typer.Argument(help=r"Folder of a built suite, or Hub id\[@REVISION].")],
    *,
    against: Annotated[
        str | None,
        typer.Option(help="Cases to set beside it: checklist:PATH, JSON lines of CheckList's."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Raw corpus to set beside it, as `s2lct build --corpus` takes it, or none "
            r"\[default: the one the suite was built from]."
        ),
    ] = None,
    capability: Capabilities = [],  # noqa: B006
    draws: Annotated[
        Count, typer.Option(help="How often cases are drawn from what is not the suite.")
    ] = 3,
    parser: Annotated[
        str, typer.Option(help="Constituency parser: embedded, benepar model, folder.")
    ] = "embedded",
    seed: Annotated[RandomSeed, typer.Option(help="Seed of every draw.")] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, help="Write table and plots as a page.", rich_help_panel=FILES
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", dir_okay=False, help="Write every figure as JSON.", rich_help_panel=FILES
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure as CSV.", rich_help_panel=FILES),
    ] = None,
) -> Diversities:
    """Measure how varied a suite is, beside other sources.

    By self-BLEU, productions, distinct n-grams, lengths and depths; and the suite by itself, in
    figures that cannot be reached by repeating oneself.
    """
    from s2lct.analysis.diversity import report
    from s2lct.analysis.diversity.measures import compare
    from s2lct.analysis.diversity.readings import Reader
    from s2lct.analysis.diversity.sources import checklist_texts, corpus_texts, grouped
    from s2lct.analysis.diversity.variety import variety_of
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.errors import require
    from s2lct.files import check_files_out, write_text
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import cases_of, read_rows

    require("sacrebleu", *(("matplotlib",) if html else ()))
    check_files_out(html=html, json=json_file, csv=csv)
    read = read_rows(suite)
    chosen = cases_of(read).select(capability or None)
    names = {case.capability for case in chosen.cases}
    sources = {"suite": grouped(chosen.cases)}
    groups = tuple(sources["suite"])
    if against is not None:
        sources["CheckList"] = checklist_texts(against, groups, spelled(capability, names))
    if texts := corpus_texts(suite, corpus, groups):
        sources["corpus"] = texts
    measured = compare(sources, Reader(load_tagger(), load_parser(parser)), draws=draws, seed=seed)
    rows = (row for row in read.rows if row["capability"] in names)
    measured = replace(measured, variety=variety_of(rows))
    files = []
    if html is not None:
        write_text(html, report.as_html(measured, chosen.name))
        files.append(html)
    for path, written in ((json_file, report.as_json), (csv, report.as_csv)):
        if path is not None:
            write_text(path, written(measured))
            files.append(path)
    return Diversities(measured, tuple(files))
