"""The commands that look inside models, and those that judge a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from s2lct.analysis.commands import (
    coverage,
    diversity,
    explain,
    retrain,
    study,
)
from s2lct.analysis.reproduce import commands as reproducing
from s2lct.cli.console import console, note, show
from s2lct.cli.options import Panel
from s2lct.tables import Table

if TYPE_CHECKING:
    from s2lct.analysis.coverage.curves import CoverageReport
    from s2lct.analysis.coverage.masks import Masks
    from s2lct.analysis.explain.report import ExplanationFile
    from s2lct.analysis.study.agreement import StudyResult

LOW_FIDELITY = 0.9
app = typer.Typer()
study_app = typer.Typer(
    help="Have people annotate cases, and see whether they agree.", no_args_is_help=True
)
INSIDE = Panel(app, "Look inside models")
JUDGING = Panel(app, "Judge a suite")
STUDY = Panel(study_app)
app.add_typer(study_app, name="study", rich_help_panel=JUDGING.heading)


@INSIDE.shows(
    explain.explain, "s2lct explain vader --suite dist/s2lct --limit 8 --html explain.html"
)
def show_explanations(file: ExplanationFile, *, out: Path, html: Path | None) -> None:
    """What holds the failures of each capability."""
    from s2lct.analysis.explain.report import aggregate_table

    console.print(aggregate_table(file))
    if html is not None:
        console.print(f"Page written to {html}")
    console.print(f"Written: {out}")


@INSIDE.shows(
    retrain.retrain,
    "s2lct retrain embedded-3class --on LC9 --suite dist/s2lct --out retrained/",
    "s2lct retrain embedded-3class --on each --suite dist/s2lct --out retrained/",
)
def show_retrained(retrained: retrain.Retrained, *, suite: str) -> None:
    """Failure rates before and after: of one training, or a matrix."""
    from s2lct.analysis.retrain import matrix_table, training_table

    first, *others = retrained.matrix.trainings
    console.print(matrix_table(retrained.matrix) if others else training_table(first))
    console.print(f"Written: {', '.join(map(str, retrained.files))}")
    if retrained.model is not None:
        console.print(f"Score a model: s2lct score {retrained.model} --suite {suite}")


@INSIDE.shows(
    coverage.coverage,
    "s2lct coverage dist/s2lct --model embedded-2class --reference embedded",
    "s2lct coverage S²LCT=dist/s2lct CheckList=sentiment_mft.jsonl.gz \\\n"
    "    --model embedded-2class --reference embedded --curve coverage.png",
)
def show_coverage(report: CoverageReport, *, curve: Path | None) -> None:
    """Coverage of each suite, alone and together."""
    from s2lct.analysis.coverage.curves import percent

    figures = report.measured[0].values
    rows = [
        [row.suite, f"{row.cases:,}", *map(percent, row.values.values())] for row in report.rows
    ]
    console.print(Table(("", "cases", *figures), rows, report.title))
    if curve is not None:
        console.print(f"Curves written to {curve}")


@INSIDE.shows(
    coverage.minimize,
    "s2lct minimize dist/s2lct --model embedded-2class --reference embedded \\\n"
    "    --by cover --threshold 1e-3 --out dist/small",
)
def show_minimized(minimized: coverage.Minimized) -> None:
    """Cases and failures that stay."""
    counts = (f"> {threshold:g}" for threshold in minimized.thresholds)
    columns = ("", "cases", *counts, "smaller, %", "failing, %", "after: mean", "after: max")
    rows = []
    for name, row in minimized.table.items():
        shares = (row.smaller, row.before, row.mean_after, row.max_after)
        shown = ("–" if share is None else f"{100 * share:.1f}" for share in shares)
        rows.append([name, f"{row.cases:,}", *(f"{count:,}" for count in row.kept), *shown])
    console.print(Table(columns, rows, minimized.title))
    for reduced in minimized.reduced:
        if not reduced.kept:
            console.print(f"Threshold {reduced.threshold:g}: no case stays.")
    if any(reduced.for_expansions for reduced in minimized.reduced):
        stayed = ", ".join(f"{len(reduced.for_expansions):,}" for reduced in minimized.reduced)
        console.print(f"Seeds that stay for an expansion's sake: {stayed}.")
    console.print(f"Written: {', '.join(map(str, minimized.files))}")


@INSIDE.shows(
    coverage.masks,
    "s2lct masks embedded --model embedded-2class --out masks/ \\\n    --epochs 1 --lr 1e-4",
)
def show_masks(found: Masks, *, model: str, out: Path) -> None:
    """How far the masked model agrees with the model itself."""
    about = found.about
    rows = (
        ("held-out texts", f"{about['held_out']:,}"),
        ("fidelity", f"{about['fidelity']:.1%}"),
        ("fidelity of the untrained layer", f"{about['fidelity_untrained']:.1%}"),
        ("fidelity by the word mask alone", f"{about['fidelity_of_masks']:.1%}"),
        ("p(word)", "{least:.2f} to {greatest:.2f}".format(**about["word_probabilities"])),
        ("words kept", f"{about['words_kept']:,} of {len(found.words):,}"),
        ("seen pairs kept", f"{about['pairs_kept']:,} of {about['pairs_seen']:,}"),
    )
    console.print(Table(("WIMASK", model), rows))
    if about["fidelity"] < LOW_FIDELITY:
        note(
            f"The masked model agrees with {model} on {about['fidelity']:.1%} of "
            "the held-out texts only: give a lower --lr, or more texts."
        )
    console.print(f"Masks written to {out / coverage.MASKS_FILE}")


@INSIDE.shows(
    coverage.augment,
    "s2lct augment embedded --model embedded-2class --by cover \\\n"
    "    --limit 300 --out more.jsonl",
)
def show_augmented(augmented: coverage.Augmented, *, out: Path) -> None:
    """How many texts came to the corpus."""
    console.print(
        f"{augmented.added:,} texts added to {augmented.texts:,}, made from {augmented.tried:,} of "
        f"them. Written to {out}"
    )


@JUDGING.shows(
    diversity.diversity,
    "s2lct diversity dist/s2lct --html diversity.html",
    "s2lct diversity dist/s2lct --against checklist:sentiment_mft.jsonl.gz",
)
def show_diversity(found: diversity.Diversities) -> None:
    """Measures of the suite beside those of other sources."""
    from s2lct.analysis.diversity import report

    console.print(report.table(found.measured))
    console.print(report.caption(found.measured))
    if found.measured.variety is not None:
        console.print()
        console.print(report.variety_table(found.measured.variety))
        console.print(report.variety_caption(found.measured.variety))
    if found.files:
        show(f"Written: {', '.join(map(str, found.files))}")


@JUDGING.shows(
    reproducing.reproduce,
    "s2lct reproduce s2lct-table3 --model embedded-3class --suite dist/s2lct --out tables/",
    "s2lct reproduce mncover-table1 --model embedded-2class --reference embedded \\\n"
    "    --checklist sentiment_mft.jsonl.gz --out tables/",
)
def show_reproduced(found: reproducing.Reproduced) -> None:
    """The paper's table, the verdict and how long it took."""
    for table in found.made.tables:
        if table.in_page:
            console.print(table.table())
    console.print(found.made.verdict)
    show(f"Took {found.seconds:.0f} s. Written: {', '.join(map(str, found.files))}")


@STUDY.shows(study.export_study, "s2lct study export dist/s2lct --out study/", name="export")
def show_study(written: study.WrittenStudy, *, out: Path, sets: int, seeds: int) -> None:
    """What goes to annotators, and what stays."""
    pages = ", ".join(path.name for path in written.forms if path.suffix == ".html")
    console.print(f"Study {written.id}: {sets} sets of {2 * seeds} cases, in {out}")
    console.print(f"Give annotators {pages} (or the CSV of that name).")
    show(
        f"Keep {written.key.name} to yourself; then: s2lct study import FILES… --key {written.key}"
    )


@STUDY.shows(
    study.import_annotations, "s2lct study import answers.json --key study/key.json", name="import"
)
def show_agreement(result: StudyResult, *, out: Path | None, disputed: Path | None) -> None:
    """Agreement of annotators with the suite and each other, and what they dispute."""
    from s2lct.analysis.study.agreement import agreement_table, disputed_lines

    console.print(agreement_table(result))
    console.print(
        f"{len(result.annotators)} annotators, {result.kinds['all'].answers} ratings of sentiment, "
        f"{result.missing} ratings left out. [95 % intervals]: bootstrap of families. "
        "α: Krippendorff's, ordinal.",
    )
    for line in disputed_lines(result):
        show(line)
    if out is not None:
        console.print(f"Figures written to {out}")
    if disputed is not None:
        show(f"{len(result.disputed)} disputed cases written to {disputed}")
