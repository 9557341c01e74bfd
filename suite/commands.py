"""Bringing suites of others into a form that is read here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from s2lct.options import Argument, Option, Options, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.suite.import_checklist import Imported


class ImportChecklistOptions(Options):
    """Options of `import_checklist`."""

    source: Annotated[
        Path,
        Argument(
            "release_data.tar.gz, the folder that it unpacks to, or sentiment_suite.pkl in it.",
            path="existing",
        ),
    ]
    out: Annotated[Path, Option("File to write, .jsonl or .jsonl.gz.", path="file")]


@takes(ImportChecklistOptions)
def import_checklist(options: ImportChecklistOptions, bars: Bars) -> Imported:
    """Turn CheckList's released sentiment suite into a file to score.

    Get it as release_data.tar.gz from https://github.com/marcotcr/checklist. Nothing in its
    pickle is executed or imported.
    """
    from s2lct.suite.import_checklist import import_checklist as imported

    return imported(options.source, options.out)
