"""Result files, read whoever wrote them, and their figures held against their outcomes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.outcomes import UntrustedReader
from s2lct.leaderboard.results.record import FORMAT, FlippingRecord, Result, asked
from s2lct.leaderboard.results.untrusted import (
    MOST_JSON_BYTES,
    RefusedError,
    bytes_of,
    checked_record,
)
from s2lct.leaderboard.scoring.chance import references
from s2lct.leaderboard.scoring.score import (
    Outcomes,
    answers,
    figures,
    flipping_productions,
    flipping_words,
    seen_in_training,
)
from s2lct.plain_text import plain
from s2lct.suite.cases import SuiteCases

_NOT_IN_FORMAT_1 = re.compile(
    r"\.ci\.[01]$|\.(all|chance|chance_corrected)$|^(answers|references|seen_in_training)$"
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


def _with_figures_of(result: Result, outcomes: Outcomes) -> Result:
    return Result.model_validate(result.model_dump() | figures_of(outcomes) | {"format": FORMAT})


def wrong_figures(result: Result, outcomes: Outcomes) -> Iterator[str]:
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
    """Read a result file without its outcomes, whoever wrote it.

    Raises:
        ScoringError: it cannot be read, is no result, or says what no result may say.
    """
    with _told(path):
        return checked_record(bytes_of(path, MOST_JSON_BYTES), names=False)


def read_scored(path: Path) -> tuple[Result, Outcomes]:
    """Read a result file and the outcomes that it was made from, whoever wrote them.

    Models may be named by folders, whatever those are called.

    Raises:
        ScoringError: it cannot be read, is no result, or is not what a result may be.
    """
    with _told(path), UntrustedReader(names=False) as reader:
        read = reader.read(path)
    result, model, suite = read.result, read.result.model, read.result.suite
    return result, Outcomes(
        model=model.name,
        revision=model.revision,
        weights_sha256=model.weights_sha256,
        label_rule=model.label_rule,
        label_map=model.options.label_map,
        neutral_band=model.options.neutral_band,
        asks=asked(model.options),
        suite=SuiteCases(suite.name, suite.version, suite.fingerprint, read.cases, result.partial),
        labels=read.labels,
        failed=read.failed,
        parameters=model.parameters,
        licence=model.licence,
    )


def read_outcomes(path: Path) -> Outcomes:
    """The outcomes that a result file was made from; see `read_scored`."""
    return read_scored(path)[1]


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except RefusedError as refusal:
        raise ScoringError(
            plain(f"{path}: {refusal.reasons[0]}", 1_000),
            mend="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def recompute(path: Path) -> Result:
    """Compute every figure of a result file again from its outcomes.

    Figures that format 1 has otherwise or not at all are computed and not compared.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result, outcomes = read_scored(path)
    for where in wrong_figures(result, outcomes):
        if result.format == FORMAT or not _NOT_IN_FORMAT_1.search(where):
            raise ScoringError(
                f"{path}: {where} does not follow from its outcomes",
                mend="score the model again; do not publish this file",
            )
    return _with_figures_of(result, outcomes)


def current(path: Path) -> Result:
    """Read a result file; one of format 1 gets the figures of this version from its outcomes.

    Raises:
        ScoringError: it cannot be read, or it is of format 1 and its outcomes cannot.
    """
    result = read_result(path)
    return result if result.format == FORMAT else _with_figures_of(*read_scored(path))
