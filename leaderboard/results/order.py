"""The order of models, best first: by consistency, and without contrasts by failure rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import OverallFigures, Reference


def consistency_leads(results: Iterable[Result]) -> bool:
    """Whether results are ordered by consistency: all of them have it."""
    return all(result.overall.consistency for result in results)


def order_key(figures: OverallFigures | Reference, *, by_consistency: bool) -> tuple[float, float]:
    """What sorts models, and answers that do not read the cases, best first."""
    consistency = figures.consistency if by_consistency else None
    return -consistency.macro if consistency else 0.0, figures.failure_rate.macro


def best_first(results: Sequence[Result]) -> list[Result]:
    """Results on one suite, best first; those on a part of it come last."""
    leads = consistency_leads(results)

    def key(result: Result) -> tuple[object, ...]:
        figures = order_key(result.overall, by_consistency=leads)
        return result.partial, *figures, result.model.name, result.model.revision

    return sorted(results, key=key)
