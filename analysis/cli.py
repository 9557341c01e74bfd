"""The commands of the analyses, joined into the ``s2lct`` command line."""

from __future__ import annotations

import typer

from s2lct.analysis.augment_cli import add_commands as add_augment
from s2lct.analysis.coverage_cli import add_commands as add_coverage
from s2lct.analysis.diversity_cli import diversity
from s2lct.analysis.explain_cli import add_commands as add_explain
from s2lct.analysis.masks_cli import add_commands as add_masks
from s2lct.analysis.retrain_cli import add_commands as add_retrain
from s2lct.analysis.study_cli import study_app
from s2lct.builder.commands import JUDGING, examples


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the ``s2lct`` command line."""
    add_explain(app)
    add_retrain(app)
    add_coverage(app)
    add_masks(app)
    add_augment(app)
    app.command(
        rich_help_panel=JUDGING,
        epilog=examples(
            "s2lct diversity dist/s2lct --html diversity.html",
            "s2lct diversity dist/s2lct --against checklist:sentiment_mft.jsonl.gz",
        ),
    )(diversity)
    app.add_typer(study_app, name="study", rich_help_panel=JUDGING)
