"""Result files, read whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.figures import NOT_IN_FORMAT_1, with_figures_of, wrong_figures
from s2lct.leaderboard.results.record import FORMAT, Result, asked
from s2lct.leaderboard.results.untrusted import MOST_JSON_BYTES, UntrustedReader, checked_record
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.plain_text import plain
from s2lct.suite.cases import SuiteCases


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
    result, model = read.result, read.result.model
    suite = SuiteCases(
        result.suite.name,
        result.suite.version,
        result.suite.fingerprint,
        read.cases,
        result.partial,
    )
    return result, Outcomes(
        model=model.name,
        revision=model.revision,
        weights_sha256=model.weights_sha256,
        label_rule=model.label_rule,
        label_map=model.options.label_map,
        neutral_band=model.options.neutral_band,
        asks=asked(model.options),
        suite=suite,
        labels=read.labels,
        failed=failed_cases(read.cases, read.labels),
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

    Returns:
        The result with the figures computed. Those that format 1 has otherwise or not at all are
        not compared.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result, outcomes = read_scored(path)
    wrong = (
        where
        for where in wrong_figures(result, outcomes)
        if result.format == FORMAT or not NOT_IN_FORMAT_1.search(where)
    )
    if (where := next(wrong, None)) is not None:
        raise ScoringError(
            f"{path}: {where} does not follow from its outcomes",
            mend="score the model again; do not publish this file",
        )
    return with_figures_of(result, outcomes)


def current(path: Path) -> Result:
    """Read a result file; one of format 1 gets the figures of this version from its outcomes.

    Raises:
        ScoringError: it cannot be read, or it is of format 1 and its outcomes cannot.
    """
    result = read_result(path)
    return result if result.format == FORMAT else with_figures_of(*read_scored(path))
