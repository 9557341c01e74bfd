"""The leaderboard's page, built again when its results change."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.hub_results import newest_commit
from s2lct.leaderboard.results.scored import Collection
from s2lct.leaderboard.results.untrusted_files import RefusedError, files_below
from s2lct.leaderboard.site.site import build_site

_FAULTS = (ScoringError, RefusedError, OSError)
_log = logging.getLogger(__name__)


class LivePage:
    """The page of some results with the files beside it; the last that could be built stays.

    Args:
        results: a folder, a Parquet file or a Hub dataset, see `collection.collect`.
        read: reads them.
        work: an empty folder for the builds.

    Raises:
        ScoringError: there are no usable results.
    """

    def __init__(self, results: str, read: Callable[[], Collection], work: Path) -> None:
        self.results, self.problem, self.builds = results, "", 0
        self._read, self._work = read, work
        self._state: Hashable = None
        with suppress(*_FAULTS):  # offline, the Hub's results come from the cache
            self._state = self._current_state()
        self._build()

    def refresh(self) -> None:
        """Build again if the results changed or could not be built last time."""
        problem = ""
        try:
            state = self._current_state()
            if state != self._state or self.problem:
                self._build()
                self._state = state
        except _FAULTS as error:
            problem = getattr(error, "problem", str(error))
        if problem not in ("", self.problem):
            _log.warning("The page built at %s stays: %s", self.built, problem)
        self.problem = problem

    def _current_state(self) -> Hashable:
        """What differs whenever the results do."""
        path = Path(self.results)
        if not path.exists():
            return newest_commit(self.results)
        files = [path] if path.is_file() else files_below(path, (".json", ".parquet"))
        stats = [(str(file), file.lstat()) for file in files]
        return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)

    def _build(self) -> None:
        collection = self._read()
        folder = self._work / str(self.builds + 1)
        build_site(collection, folder)
        self.builds, self.folder, self.left_out = self.builds + 1, folder, collection.skipped
        self.built = datetime.now(timezone.utc).isoformat(timespec="seconds")
        # The folder before this one may still be read from.
        shutil.rmtree(self._work / str(self.builds - 2), ignore_errors=True)

    def status(self) -> dict[str, Any]:
        """What ``/status`` says; ``problem`` is empty unless the page is older than the results."""
        names = ("results", "built", "builds", "problem", "left_out")
        return {name: getattr(self, name) for name in names}
