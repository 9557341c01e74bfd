"""Bringing suites of others into a form that is read here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2lct.command import command

if TYPE_CHECKING:
    from s2lct.suite.checklist_release import Imported


@command
def import_checklist(
    source: Annotated[
        Path,
        typer.Argument(
            help="release_data.tar.gz, the folder that it unpacks to, or sentiment_suite.pkl in "
            "it.",
            exists=True,
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="File to write, .jsonl or .jsonl.gz.", dir_okay=False)],
) -> Imported:
    """Turn CheckList's released sentiment suite into a file to score.

    Get it as release_data.tar.gz from https://github.com/marcotcr/checklist. Nothing in its
    pickle is executed or imported.
    """
    from s2lct.suite.checklist_release import import_checklist as imported

    return imported(source, out)
