"""RQ3 of S²LCT: self-BLEU and distinct productions of as many S²LCT and CheckList cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import common
import typer

import s2lct

COLUMNS = ("group", "source", "cases", "self-BLEU", "from", "to", "productions")


def main(
    suite: common.Suite,
    checklist: Annotated[Path, typer.Option(help="CheckList's cases as JSON lines.")],
    reference: Annotated[
        str, typer.Option(help="Raw corpus to compare, as for `s2lct build --corpus`; or none.")
    ] = "none",
    seed: common.Seed = 0,
) -> None:
    """Print the diversity of a suite beside CheckList's cases, and a corpus."""
    result = s2lct.diversity(suite, checklist=checklist, corpus=reference, seed=seed)
    rows: list[list[common.Cell]] = [
        [row.group, row.source, row.cases, row.self_bleu, *row.self_bleu_range, row.productions]
        for row in result.rows
    ]
    notes = [
        "Of each source as many cases as the suite has in the group. Self-BLEU: BLEU (0 to 100) of "
        "a case against all others, less is more diverse; from and to: of the suite a 95 % "
        "bootstrap interval, else the least and greatest of several random samples. Productions: "
        "distinct ones of the parses above the parts of speech.",
        "No draft of the paper prints these figures: it says that its cases are more diverse than "
        "CheckList's; an older draft says so by similarities between cases, of an unnamed measure.",
    ]
    common.print_table("RQ3 of S²LCT: diversity beside CheckList", COLUMNS, rows, notes)


if __name__ == "__main__":
    common.run(main)
