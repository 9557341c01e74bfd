"""Result files, read whoever wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from s2lct.leaderboard.scoring.score import (
    Outcomes,
)

if TYPE_CHECKING:
    pass
from s2lct.leaderboard.results.record import Result


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
