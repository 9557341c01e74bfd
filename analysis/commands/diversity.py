"""How varied a suite is, beside other sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import Capabilities, Count, RandomSeed, command

if TYPE_CHECKING:
    from s2lct.analysis.diversity import Comparison

FILES = "Files to write"


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
    csv: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure as CSV.", rich_help_panel=FILES),
    ] = None,
) -> Comparison:
    """Measure how diverse a suite is, beside other sources.

    By self-BLEU, productions, distinct n-grams, lengths and depths.
    """
    from s2lct.analysis.diversity import (
        as_csv,
        as_html,
        checklist_texts,
        compare,
        corpus_texts,
        grouped,
    )
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.errors import require
    from s2lct.files import check_files_out, write_text
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import load_cases

    require("sacrebleu", *(("matplotlib",) if html else ()))
    check_files_out(html=html, csv=csv)
    chosen = load_cases(suite).select(capability or None)
    sources = {"suite": grouped(chosen.cases)}
    groups = tuple(sources["suite"])
    if against is not None:
        names = {case.capability for case in chosen.cases}
        sources["CheckList"] = checklist_texts(against, groups, spelled(capability, names))
    if texts := corpus_texts(suite, corpus, groups):
        sources["corpus"] = texts
    measured = compare(sources, load_tagger(), load_parser(parser), draws=draws, seed=seed)
    if html is not None:
        write_text(html, as_html(measured, chosen.name))
    if csv is not None:
        write_text(csv, as_csv(measured))
    return measured
