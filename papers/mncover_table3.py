"""Table 3 of MNCOVER: coverage of test sets, and of their unions."""

from __future__ import annotations

from typing import Annotated

import common
import typer

from s2lct.analysis.coverage.measure import cover_texts, random_texts, texts_by_suite
from s2lct.errors import AnalysisError

PAPER_CASES = 1_000
"""The approximate number of texts in each of the paper's test sets."""


def main(
    model: common.Models,
    reference: common.ReferenceCorpus,
    suites: Annotated[
        list[str] | None,
        typer.Argument(help="Test sets: suites, CheckList's cases or pairs; NAME=SUITE names one."),
    ] = None,
    reference_cases: common.ReferenceCases = None,
    masks: common.MasksFile = None,
    limit: Annotated[int, typer.Option(min=1, help="Most texts of a set.")] = PAPER_CASES,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Print coverage of test sets alone, and joined one after another.

    Held-out sentences of the reference are the last set.
    """
    for name in model:
        measured = common.measured_model(name, reference, reference_cases, masks, seed, device)
        sets = texts_by_suite(suites or []) | measured.reference.held_out
        if len(sets) < 2:
            raise AnalysisError(
                f"{len(sets)} test set, and a union takes two",
                hint="name more suites, or a --reference with a test split",
            )
        n_texts = min(limit, *(len(set(texts)) for texts in sets.values()))
        unions: list[list[common.Cell]] = []
        alone: list[list[common.Cell]] = []
        union = {metric: criterion.copy() for metric, criterion in measured.criteria.items()}
        for count, (title, texts) in enumerate(sets.items(), 1):
            drawn_texts = random_texts(texts, n_texts, seed)
            states = cover_texts(measured.criteria, measured.encoder, drawn_texts, title)
            alone.append([title, n_texts, *(state.value for state in states.values())])
            for metric, state in states.items():
                union[metric].merge(state)
            union_name = " + ".join([*sets][:count])
            figures = [state.value for state in union.values()]
            unions.append([union_name, count * n_texts, *figures])
        # The first set alone, each union with one more, then every other set alone, as the paper.
        rows = [*unions, *alone[1:]]
        notes = [
            *measured.notes,
            f"{n_texts:,} texts of each set, drawn at random. The paper's sets are rounds of "
            "Dynabench NLI, on RoBERTa-large: A1 0.175, A1+A2 0.182, A1+A2+A3 0.185, A2 0.179, "
            "A3 0.181.",
        ]
        title = f"Table 3 of MNCOVER with {name}: coverage of test sets and their unions"
        common.print_table(title, ("test sets", "texts", "COVER", "MNCOVER"), rows, notes, digits=4)


if __name__ == "__main__":
    common.run(main)
