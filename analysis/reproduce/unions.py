"""Table 3 of MNCOVER: what test sets cover alone, and joined one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.curves import Measured, measure
from s2lct.analysis.coverage.suites import drawn, given, named_suites
from s2lct.analysis.reproduce import mncover_figures as paper
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.neurons import COUNTED, METRICS, MNCOVER, neurons_of
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import needed_models
from s2lct.errors import AnalysisError

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

_COLUMNS = ("test sets", "texts", "COVER", "MNCOVER")


def table3(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Table 3 of the sets given: ``checklist`` files (pairs too), the suite, held-out sentences."""
    names = [*map(str, options.checklist), *([options.suite] if options.suite else [])]
    models = needed_models(options)
    tables: list[PaperTable] = []
    verdicts: list[str] = []
    for model in models:
        neurons = neurons_of(model, options, steps, bars)
        sets = named_suites(names)
        if neurons.held_out.cases:
            sets[neurons.held_out.name] = neurons.held_out
        if len(sets) < 2:
            raise AnalysisError(
                f"{options.name}: {len(sets)} test set, and a union takes two",
                hint="add --checklist FILE or --suite, or a --reference with a test split",
            )
        most = min(len(set(map(given, one.cases))) for one in sets.values())
        most = min(most, options.limit or paper.MOST_OF_A_SET)
        measured = []
        for name, one in sets.items():
            texts = [given(case) for case in drawn(one.cases, most, options.seed)]
            measured.append(measure(name, texts, neurons.encoder, neurons.metrics, 0))
        rows = rows_of(measured)
        notes = (
            COUNTED,
            neurons.about_masks,
            f"{most:,} texts of each set, drawn at random. The paper's sets are rounds of "
            "Dynabench NLI, on RoBERTa-large: "
            + ", ".join(f"{name} {value:.3f}" for name, value in paper.TABLE_3.items())
            + ".",
        )
        digits = {"COVER": 4, "MNCOVER": 4}
        title = f"Table 3 of MNCOVER with {model}: coverage of test sets and their unions"
        tables.append(PaperTable(title, _COLUMNS, rows, notes, digits))
        verdicts.append(f"{model}: {verdict_of(measured)}")
    return Reproduction(tables, "\n\n".join(verdicts))


def rows_of(measured: list[Measured]) -> list[list[Cell]]:
    """The first set alone, each union with one more, then every other set alone, as the paper."""
    joined: dict[str, Coverage] = {
        name: state.emptied() for name, state in measured[0].states.items()
    }
    unions: list[list[Cell]] = []
    for number, one in enumerate(measured, 1):
        for name in METRICS:
            joined[name].merge(one.states[name])
        told = " + ".join(part.suite for part in measured[:number])
        texts = sum(part.cases for part in measured[:number])
        unions.append([told, texts, *(joined[name].value for name in METRICS)])
    alone: list[list[Cell]] = [
        [one.suite, one.cases, *(one.states[name].value for name in METRICS)]
        for one in measured[1:]
    ]
    return unions + alone


def verdict_of(measured: list[Measured]) -> str:
    """What of the paper's finding can be said of these sets."""
    values = [one.states[MNCOVER].value for one in measured]
    whole = float(str(rows_of(measured)[len(measured) - 1][3]))
    best = measured[values.index(max(values))].suite
    return (
        f"the union covers {whole:.4f} (MNCOVER), {100 * (whole / max(values) - 1):.0f} % more "
        f"than {best} alone: that more sets cover more comes back, as it must of any union. The "
        "absolute figures are of other models and cannot be compared."
    )
