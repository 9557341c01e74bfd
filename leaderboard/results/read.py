"""Result files, read whoever wrote them, and their figures held against their outcomes.

A file that cannot be read, or says what no result may say, raises a `ScoringError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.models.endpoint import EndpointUse
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.outcomes import UntrustedReader
from s2lct.leaderboard.results.record import FORMAT, Result, asked
from s2lct.leaderboard.scoring import score
from s2lct.leaderboard.scoring.chance import references
from s2lct.plain_text import plain
from s2lct.suite.cases import SuiteCases

_NOT_IN_FORMAT_1 = re.compile(
    r"\.ci\.[01]$|\.(all|chance|chance_corrected)$|^(answers|references|seen_in_training)$"
)


def figures_of(outcomes: score.Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    nested = score.figures(outcomes)
    flipping = ("item", "pass_to_fail", "expansions")
    words, productions = (
        [dict(zip(flipping, one, strict=True)) for one in ranked]
        for ranked in (score.flipping_words(outcomes), score.flipping_productions(outcomes))
    )
    return {
        "overall": nested.pop("overall"),
        "capabilities": nested,
        "answers": score.answers(outcomes),
        "references": {
            one.name: {
                "failure_rate": one.failure_rate,
                "capabilities": {name: rate["all"] for name, rate in one.capabilities.items()},
                "both_sides": one.both_sides,
            }
            for one in references(outcomes.cases, outcomes.counterparts)
        },
        "seen_in_training": score.seen_in_training(outcomes),
        "flipping_words": words,
        "flipping_productions": productions,
    }


def _with_figures_of(result: Result, outcomes: score.Outcomes) -> Result:
    return Result.model_validate(result.model_dump() | figures_of(outcomes) | {"format": FORMAT})


def wrong_figures(result: Result, outcomes: score.Outcomes) -> Iterator[str]:
    """The figures of a result that do not follow from outcomes, as ``overall.failure_rate``."""
    kept: dict[str, Any] = {"format": result.format}
    if result.seen_in_training is None:
        kept["seen_in_training"] = None  # a file of an older version
    follows = _with_figures_of(result, outcomes).model_copy(update=kept)
    told, true = (json.loads(one.model_dump_json()) for one in (result, follows))
    yield from _differences(told, true, "")


def _differences(told: Any, follows: Any, where: str) -> Iterator[str]:
    if isinstance(told, list) and isinstance(follows, list) and len(told) == len(follows):
        told, follows = dict(enumerate(told)), dict(enumerate(follows))
    if isinstance(told, dict) and isinstance(follows, dict):
        for name in sorted(told.keys() | follows.keys()):
            if name in told and name in follows:
                yield from _differences(told[name], follows[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(told, float) and isinstance(follows, (int, float)):
        if not abs(told - follows) <= 1e-9:
            yield where.rstrip(".")
    elif told != follows:
        yield where.rstrip(".")


def read_result(path: Path) -> Result:
    """Read a result file without its outcomes."""
    with _told(path):
        return untrusted.checked_record(
            untrusted.bytes_of(path, untrusted.MOST_JSON_BYTES), names=False
        )


@contextmanager
def result_reader() -> Iterator[UntrustedReader]:
    """What reads several result files, which costs less than a reader for each."""
    yield UntrustedReader(names=False)


def read_scored(path: Path, reader: UntrustedReader | None = None) -> tuple[Result, score.Outcomes]:
    """Read a result file and its outcomes; every figure is computed from these.

    Models may be named by folders of any name.
    """
    result, outcomes = _as_written(path, reader)
    return _with_figures_of(result, outcomes), outcomes


def _as_written(path: Path, reader: UntrustedReader | None) -> tuple[Result, score.Outcomes]:
    with _told(path), nullcontext(reader) if reader else result_reader() as opened:
        read = opened.read(path)
    result, of = read.result, read.result.suite
    suite = SuiteCases(of.name, of.version, of.fingerprint, read.cases, result.partial)
    outcomes = outcomes_of(result, suite, read.labels)
    return result, replace(outcomes, asks=asked(result.model.options))


def outcomes_of(result: Result, suite: SuiteCases, labels: Labels) -> score.Outcomes:
    """What a result's model said of all that a suite asks, with that suite's passing labels."""
    suite, labels, counterpart_labels = score.parted(suite, labels)
    model, failed = result.model, score.failed_cases(suite.cases, labels)
    return score.Outcomes(
        model.name,
        suite=suite,
        labels=labels,
        failed=failed,
        counterpart_labels=counterpart_labels,
        endpoint=EndpointUse(**model.endpoint.model_dump()) if model.endpoint else None,
        **model.model_dump(exclude={"name", "options", "endpoint"}),
        **model.options.model_dump(include={"label_map", "neutral_band"}),
    )


def read_outcomes(path: Path) -> score.Outcomes:
    """The outcomes that a result file was made from; see `read_scored`."""
    return read_scored(path)[1]


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except untrusted.RefusedError as refusal:
        raise ScoringError(
            plain(f"{path}: {refusal.reasons[0]}", 1_000),
            hint="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def recompute(path: Path) -> Result:
    """Read a result file as `read_scored` does, and refuse figures that do not follow.

    Figures that format 1 has otherwise or not at all are computed and not compared.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result, outcomes = _as_written(path, None)
    for where in wrong_figures(result, outcomes):
        if result.format != 1 or not _NOT_IN_FORMAT_1.search(where):
            raise ScoringError(
                f"{path}: {where} does not follow from its outcomes",
                hint="score the model again; do not publish this file",
            )
    return _with_figures_of(result, outcomes)
