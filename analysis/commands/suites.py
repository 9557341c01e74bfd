"""What judges a suite: how diverse it is, and whether people agree with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import Capabilities, Count, RandomSeed, command
from s2lct.errors import OptionError, require

if TYPE_CHECKING:
    from s2lct.analysis.diversity import Diversity
    from s2lct.analysis.study import StudyResult

FILES = "Files to write"
PICTURES = (".svg", ".png", ".pdf")


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
    plot: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, help="Draw the figures: .svg, .png or .pdf.", rich_help_panel=FILES
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write every figure as CSV.", rich_help_panel=FILES),
    ] = None,
) -> Diversity:
    """Measure how diverse a suite is, beside other sources.

    By self-BLEU and distinct productions.
    """
    from s2lct.analysis.corpus_parts import source_corpus
    from s2lct.analysis.diversity import measure_diversity
    from s2lct.builder.capabilities.files import cases_beside
    from s2lct.files import check_output_file, write_text
    from s2lct.suite.cases import load_suite
    from s2lct.suite.other_suites import read_checklist

    require("sacrebleu", *(("matplotlib",) if plot else ()))
    check_output_file(plot, "--plot")
    check_output_file(csv, "--csv")
    if plot is not None and plot.suffix not in PICTURES:
        raise OptionError(f"--plot {plot}: no picture", hint=f"name it {', '.join(PICTURES)}")
    chosen = load_suite(suite).select(capability or None)
    beside = read_checklist(checklist) if checklist is not None else []
    if capability:
        tests = {id(case) for name in chosen.capabilities for case in cases_beside(beside, name)}
        beside = [case for case in beside if id(case) in tests]
    measured = measure_diversity(
        chosen.cases, checklist=beside, corpus=source_corpus(suite, corpus), seed=seed
    )
    if plot is not None:
        measured.plot(plot)
    if csv is not None:
        write_text(csv, measured.table().csv())
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
    from s2lct.files import check_output_file, write_text
    from s2lct.suite.annotation import read_annotations

    require("krippendorff")
    check_output_file(out, "--out")
    of_study = read_key(key)
    result = evaluate(read_annotations(annotations, QUESTIONS, of_study.items), of_study)
    if out is not None:
        write_text(out, result.json())
    return result
