"""Result files, read whoever wrote them."""

from __future__ import annotations

from pathlib import Path

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.figures import NOT_IN_FORMAT_1, with_figures_of, wrong_figures
from s2lct.leaderboard.results.record import FORMAT, Result
from s2lct.leaderboard.scoring.score import Outcomes


def read_result(path: Path) -> Result:
    """Read a result file, whoever wrote it.

    Raises:
        ScoringError: it cannot be read, or is not of the schema.
    """
    from s2lct.leaderboard.results.untrusted import read_untrusted_record

    return read_untrusted_record(path)


def read_outcomes(path: Path) -> Outcomes:
    """The outcomes that a result file was made from, whoever wrote them.

    Raises:
        ScoringError: the Parquet file is missing, or is not the one that the result names.
    """
    from s2lct.leaderboard.results.untrusted import read_untrusted_result

    return read_untrusted_result(path)[1]


def recompute(path: Path) -> Result:
    """Compute every figure of a result file again from its outcomes.

    Returns:
        The result with the figures computed. Those that format 1 has otherwise or not at all are
        not compared.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result = read_result(path)
    outcomes = read_outcomes(path)
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
    return result if result.format == FORMAT else with_figures_of(result, read_outcomes(path))
