"""The list of results that somebody scored again: SHA-256 of result files, and when."""

from __future__ import annotations

import json
from pathlib import Path

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.untrusted import MOST_TABLE_BYTES
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.leaderboard.results.words import SHA256, moment

VERIFIED_FILE = "verified.json"


def read_verified(file: Path) -> dict[str, str]:
    """Dates by SHA-256 of result files; empty where the file does not exist.

    Raises:
        ScoringError: it is broken.
    """
    if not file.exists() and not file.is_symlink():
        return {}
    try:
        dates = json.loads(bytes_of(file, MOST_TABLE_BYTES))
        if not isinstance(dates, dict) or not all(
            SHA256.fullmatch(key) and isinstance(date, str) for key, date in dates.items()
        ):
            raise ValueError("it is no object of SHA-256 and date")
        for date in dates.values():
            moment(date)
    except (RefusedError, ValueError, RecursionError) as error:
        raise ScoringError(
            f"{file}: cannot be read ({error})", mend="restore it from the repository's history"
        ) from error
    return dates
