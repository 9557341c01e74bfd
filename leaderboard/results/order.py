"""The order of models, best first: by consistency, or without contrasts by failure rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.scoring.figures import OverallFigures, Reference


def is_ranked_by_consistency(results: Iterable[Result]) -> bool:
    """Whether results are ordered by consistency, which all of them must have."""
    return all(result.overall.consistency for result in results)


def order_key(figures: OverallFigures | Reference, *, by_consistency: bool) -> tuple[float, float]:
    """The sort key, best first, of models and of references such as random answers."""
    consistency = figures.consistency if by_consistency else None
    return -consistency.macro if consistency else 0.0, figures.failure_rate.macro


def best_first(results: Sequence[Result]) -> list[Result]:
    """Results on one suite, best first; results on a part of it come last."""
    by_consistency = is_ranked_by_consistency(results)

    def key(result: Result) -> tuple[object, ...]:
        figures_key = order_key(result.overall, by_consistency=by_consistency)
        return result.partial, *figures_key, result.model.name, result.model.revision

    return sorted(results, key=key)
