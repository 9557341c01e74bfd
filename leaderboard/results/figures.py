"""Figures of a result: made from its outcomes, and held against them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from s2lct.leaderboard.results.record import FORMAT, FlippingRecord, Result
from s2lct.leaderboard.scoring.chance import references
from s2lct.leaderboard.scoring.score import (
    Outcomes,
    answers,
    figures,
    flipping_productions,
    flipping_words,
    seen_in_training,
)


def figures_of(outcomes: Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    nested = figures(outcomes)
    return {
        "overall": nested.pop("overall"),
        "capabilities": nested,
        "answers": answers(outcomes),
        "references": {
            one.name: {
                "failure_rate": one.failure_rate,
                "capabilities": {name: rate["all"] for name, rate in one.capabilities.items()},
            }
            for one in references(outcomes.cases)
        },
        "seen_in_training": seen_in_training(outcomes),
        "flipping_words": _flipping(flipping_words(outcomes)),
        "flipping_productions": _flipping(flipping_productions(outcomes)),
    }


def _flipping(ranked: list[tuple[str, int, int]]) -> list[FlippingRecord]:
    return [
        FlippingRecord(item=item, pass_to_fail=flips, expansions=total)
        for item, flips, total in ranked
    ]


def with_figures_of(result: Result, outcomes: Outcomes) -> Result:
    """A result with the figures that follow from its outcomes."""
    return Result.model_validate(result.model_dump() | figures_of(outcomes) | {"format": FORMAT})


def wrong_figures(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """The figures of a result that do not follow from outcomes, as ``overall.failure_rate``."""
    told = json.loads(result.model_dump_json())
    kept: dict[str, Any] = {"format": result.format}
    if result.seen_in_training is None:
        kept["seen_in_training"] = None  # a file of an older version
    follows = with_figures_of(result, outcomes).model_copy(update=kept)
    yield from _differences(told, json.loads(follows.model_dump_json()), "")


def _differences(told: Any, follows: Any, where: str) -> Iterator[str]:
    if isinstance(told, dict) and isinstance(follows, dict):
        for name in sorted(told.keys() | follows.keys()):
            if name in told and name in follows:
                yield from _differences(told[name], follows[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(told, list) and isinstance(follows, list) and len(told) == len(follows):
        for number, (one, other) in enumerate(zip(told, follows, strict=True)):
            yield from _differences(one, other, f"{where}{number}.")
    elif isinstance(told, float) and isinstance(follows, (int, float)):
        if not abs(told - follows) <= 1e-9:
            yield where.rstrip(".")
    elif told != follows:
        yield where.rstrip(".")


NOT_IN_FORMAT_1 = re.compile(
    r"\.ci\.[01]$|\.(all|chance|chance_corrected)$|^(answers|references|seen_in_training)$"
)
