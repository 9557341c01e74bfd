"""What raters say of a suite, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from s2lct.analysis.study.agreement import Agreement, Estimate, StudyResult
from s2lct.analysis.tables import NARROW, figures_table


def agreement_table(result: StudyResult) -> Table:
    """Figures of seeds, expansions and all, then of each capability."""
    columns = ("cases", "consistent %", "relevant %", "α sentiment", "α relevance")
    table = figures_table(columns, padding=0, **NARROW)
    names = {"seed": "seeds", "expansion": "expansions", "all": "all"}
    for kind, agreement in result.kinds.items():
        style = "bold" if kind == "all" else ""
        table.add_row(names[kind], *_cells(agreement), style=style, end_section=kind == "all")
    for capability, agreement in result.capabilities.items():
        table.add_row(capability, *_cells(agreement))
    return table


def _cells(agreement: Agreement) -> list[str]:
    return [
        str(agreement.cases),
        _shown(agreement.label_consistency, lambda share: f"{100 * share:.0f}"),
        _shown(agreement.relevance, lambda share: f"{100 * share:.0f}"),
        _shown(agreement.alpha_sentiment, _without_zero),
        _shown(agreement.alpha_relevance, _without_zero),
    ]


def _shown(estimate: Estimate, written: Callable[[float], str]) -> str:
    if estimate.value is None:
        return "–"
    bounds = f" [{', '.join(map(written, estimate.ci))}]" if estimate.ci is not None else ""
    return f"{written(estimate.value)}{bounds}"


def _without_zero(value: float) -> str:
    """Two decimals, as coefficients up to 1 are written: ``.77``."""
    return f"{round(value, 2) + 0:.2f}".replace("0.", ".", 1)


def disputed_lines(result: StudyResult, most: int = 10) -> list[str]:
    """The disputed cases, two lines each, at most so many."""
    shown = result.disputed[:most]
    more = f", the first {most}" if len(result.disputed) > most else ""
    lines = [f"{len(result.disputed)} disputed cases{more}{':' if shown else '.'}"]
    for case in shown:
        given = {"sentiment": case.sentiment, "relevance": case.relevance}
        ratings = ", ".join(f"{scale} {' '.join(map(str, given[scale]))}" for scale in case.reasons)
        passes = " or ".join(case.passes)
        lines += [
            f"{case.capability} {case.kind} {case.id}, passes {passes}: {ratings}",
            f"  {case.text}",
        ]
    return lines
