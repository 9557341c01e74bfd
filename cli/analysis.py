"""The commands that look inside models, and those that judge a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from s2lct.analysis.commands import coverage, methods
from s2lct.cli.console import console, show
from s2lct.cli.options import Panel
from s2lct.files import folder_argument

if TYPE_CHECKING:
    from s2lct.analysis.coverage.measure import CoverageResult
    from s2lct.analysis.coverage.wimask import Masks
    from s2lct.analysis.diversity import Diversity
    from s2lct.analysis.explain.report import Explanations
    from s2lct.analysis.retrain import RetrainingMatrix
    from s2lct.analysis.study import StudyResult

app = typer.Typer()
study_app = typer.Typer(
    help="Have people annotate cases, and see whether they agree.", no_args_is_help=True
)
INSIDE = Panel(app, "Look inside models")
JUDGING = Panel(app, "Judge a suite")
STUDY = Panel(study_app)
app.add_typer(study_app, name="study", rich_help_panel=JUDGING.heading)


@INSIDE.shows(
    methods.explain, "s2lct explain vader --suite dist/s2lct --limit 8 --html explain.html"
)
def show_explanations(explanations: Explanations, *, out: Path) -> None:
    """What holds the failures of each capability."""
    console.print(explanations.table())
    console.print(f"Written: {out}")


@INSIDE.shows(
    methods.retrain,
    "s2lct retrain embedded-3class --on LC9 --suite dist/s2lct --out retrained/",
    "s2lct retrain embedded-3class --on each --suite dist/s2lct --out retrained/",
)
def show_retrained(matrix: RetrainingMatrix, *, out: Path, suite: str) -> None:
    """Failures before and after each training."""
    console.print(matrix.table())
    console.print(f"Written to {out}")
    for folder in sorted(out.glob(f"{matrix.trainings[0].name}-????????/")):
        console.print(f"Score a model: s2lct score {folder_argument(folder)} --suite {suite}")


@INSIDE.shows(
    coverage.coverage,
    "s2lct coverage dist/s2lct --model embedded-2class --reference embedded",
    "s2lct coverage S²LCT=dist/s2lct CheckList=sentiment_mft.jsonl.gz \\\n"
    "    --model embedded-2class --reference embedded",
)
def show_coverage(result: CoverageResult) -> None:
    """Coverage of each suite, alone and together."""
    console.print(result.table())


@INSIDE.shows(
    coverage.masks,
    "s2lct masks embedded --model embedded-2class --out masks/ \\\n    --epochs 1 --lr 1e-4",
)
def show_masks(masks: Masks, *, out: Path) -> None:
    """How far the masked model agrees with the model itself."""
    console.print(masks.table())
    console.print(f"Masks written to {out / coverage.MASKS_FILE}")


@JUDGING.shows(
    methods.diversity,
    "s2lct diversity dist/s2lct --plot diversity.svg",
    "s2lct diversity dist/s2lct --checklist sentiment_mft.jsonl.gz",
)
def show_diversity(measured: Diversity) -> None:
    """Measures of the suite beside those of other sources."""
    console.print(measured.table())


@STUDY.shows(methods.export_study, "s2lct study export dist/s2lct --out study/", name="export")
def show_study(files: list[Path], *, sets: int, seeds: int) -> None:
    """What goes to annotators, and what stays."""
    *forms, key = files
    pages = ", ".join(path.name for path in forms if path.suffix == ".html")
    console.print(f"{sets} sets of {2 * seeds} cases, in {key.parent}")
    console.print(f"Give annotators {pages} (or the CSV of that name).")
    show(f"Keep {key.name} to yourself; then: s2lct study import FILES… --key {key}")


@STUDY.shows(
    methods.import_annotations,
    "s2lct study import ada.csv bob.csv --key study/key.json",
    name="import",
)
def show_agreement(result: StudyResult) -> None:
    """Agreement of annotators with the suite and each other, and how much they dispute."""
    console.print(result.table())
