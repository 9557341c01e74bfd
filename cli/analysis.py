"""The commands of the analyses, joined into the ``s2lct`` command line."""

from __future__ import annotations

import typer

from s2lct.cli.augment import add_commands as add_augment
from s2lct.cli.commands import JUDGING, examples
from s2lct.cli.coverage import add_commands as add_coverage
from s2lct.cli.diversity import diversity
from s2lct.cli.explain import add_commands as add_explain
from s2lct.cli.masks import add_commands as add_masks
from s2lct.cli.retrain import add_commands as add_retrain
from s2lct.cli.study import study_app


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
