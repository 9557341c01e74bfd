"""Table 2 of S²LCT: label consistency and relevancy of seeds and expansions, by annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import common
import typer

import s2lct

COLUMNS = (
    *("test cases", "cases", "labels that differ"),
    *("label consistency", "from", "to", "relevancy", "from", "to"),
)


def main(
    annotations: Annotated[list[Path], typer.Argument(help="Forms that annotators filled in.")],
    key: Annotated[Path, typer.Option(help="The study's key.json.")],
) -> None:
    """Print Table 2 of S²LCT from the forms of `s2lct study export`."""
    result = s2lct.import_annotations(annotations, key=key)
    rows: list[list[common.Cell]] = []
    for group in ("seeds", "expansions", "all"):
        agreement = result.groups[group]
        row: list[common.Cell] = [group, agreement.cases, None]
        if agreement.label_consistency is not None:
            row[2] = round((1 - agreement.label_consistency[0]) * agreement.rated)
        for estimate in (agreement.label_consistency, agreement.relevance):
            row += [None] * 3 if estimate is None else [estimate[0], *estimate[1]]
        rows.append(row)
    everything = result.groups["all"]
    alphas = [
        "not defined" if alpha is None else f"{alpha:.2f}"
        for alpha in (everything.alpha_sentiment, everything.alpha_relevance)
    ]
    notes = [
        f"{len(result.annotators)} annotators, {everything.ratings} ratings of sentiment; "
        f"Krippendorff's ordinal α: {alphas[0]} of sentiment, {alphas[1]} of relevance, which the "
        "paper does not report.",
        "Equations 1 and 2: the mean rating of a case becomes a label (up to 2.6 negative, up to "
        "3.4 neutral) and a share ((rating − 1)/4). Equation 1 counts the labels that differ; "
        "label consistency is the share that does not. Bounds: 95 % bootstrap intervals of "
        "families.",
        "The drafts have no such table; they say: label consistency over 0.8, relevancy high, and "
        "no difference between seeds and expansions.",
    ]
    common.print_table(
        "Table 2 of S²LCT: label consistency and relevancy", COLUMNS, rows, notes, digits=2
    )


if __name__ == "__main__":
    common.run(main)
