"""What judges a suite: how diverse it is, and whether people agree with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import Capabilities, Count, RandomSeed, command
from s2lct.errors import require

if TYPE_CHECKING:
    from s2lct.analysis.diversity import Comparison
    from s2lct.analysis.study import StudyResult

FILES = "Files to write"


@command
def diversity(
    suite: Annotated[str, typer.Argument(help=r"Folder of a built suite, or Hub id\[@REVISION].")],
    *,
    checklist: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="CheckList's cases, JSON lines, to set beside it."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Raw corpus to set beside it, as `s2lct build --corpus` takes it, or none "
            r"\[default: the one the suite was built from]."
        ),
    ] = None,
    capability: Capabilities = [],  # noqa: B006
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

    By self-BLEU and distinct productions.
    """
    from s2lct.analysis.diversity import (
        as_html,
        checklist_texts,
        compare,
        corpus_texts,
        grouped,
        table,
    )
    from s2lct.builder.models import load_parser, load_tagger
    from s2lct.files import check_file_out, write_text
    from s2lct.suite.capability_ids import spelled
    from s2lct.suite.cases import load_suite

    require("sacrebleu", *(("matplotlib",) if html else ()))
    check_file_out(html, "--html")
    check_file_out(csv, "--csv")
    chosen = load_suite(suite).select(capability or None)
    sources = {"suite": grouped(chosen.cases)}
    groups = tuple(sources["suite"])
    if checklist is not None:
        names = {case.capability for case in chosen.cases}
        sources["CheckList"] = checklist_texts(checklist, groups, spelled(capability, names))
    if texts := corpus_texts(suite, corpus, groups):
        sources["corpus"] = texts
    measured = compare(sources, load_tagger(), load_parser(), seed)
    if html is not None:
        write_text(html, as_html(measured, chosen.name))
    if csv is not None:
        write_text(csv, table(measured).csv())
    return measured


@command
def export_study(
    suite: Annotated[str, typer.Argument(help=r"Folder of a built suite, or Hub id\[@REVISION].")],
    *,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the forms and the key.")],
    sets: Annotated[Count, typer.Option(help="Forms, of different cases each.")] = 3,
    seeds: Annotated[
        Count, typer.Option(help="Seeds in a form; an expansion of each comes with it.")
    ] = 50,
    capability: Capabilities = [],  # noqa: B006
    seed: Annotated[RandomSeed, typer.Option(help="Seed of the draw.")] = 0,
) -> list[Path]:
    """Draw cases, and write blind forms for annotators and the key.

    A form for each set, as HTML and CSV; the key is the last file.
    """
    from s2lct.analysis.study import draw, write_study
    from s2lct.suite.cases import load_suite

    cases = load_suite(suite).select(capability or None)
    return write_study(draw(cases, sets=sets, seeds=seeds, seed=seed), out)


@command
def import_annotations(
    annotations: Annotated[
        list[Path],
        typer.Argument(
            dir_okay=False, help="Files that annotators handed in, CSV or JSON lines (.jsonl)."
        ),
    ],
    *,
    key: Annotated[Path, typer.Option(dir_okay=False, help="The study's key.json.")],
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure and the disputed cases as JSON."),
    ] = None,
) -> StudyResult:
    """Say how far annotators agree with the suite and each other.

    Label consistency, relevance, Krippendorff's α, and the cases they dispute.
    """
    from s2lct.analysis.study import QUESTIONS, evaluate, read_key
    from s2lct.files import check_file_out, write_text
    from s2lct.suite.annotation import read_annotations

    require("krippendorff")
    check_file_out(out, "--out")
    of_study = read_key(key)
    result = evaluate(read_annotations(annotations, QUESTIONS, of_study.items), of_study)
    if out is not None:
        write_text(out, result.json())
    return result
