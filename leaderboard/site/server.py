"""The leaderboard's page over HTTP, built again when its results change."""

from __future__ import annotations

import io
import json
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.hub_results import newest_commit, official_suites
from s2lct.leaderboard.results.scored import Collection
from s2lct.leaderboard.results.untrusted import RefusedError, files_below
from s2lct.leaderboard.site.about import Destination
from s2lct.leaderboard.site.site import OUTCOMES, PAGE, build_site
from s2lct.leaderboard.site.tables import TABLES

PORTS = range(7860, 7960)
LOCAL_SECONDS, HUB_SECONDS = 2.0, 60.0
"""How often a folder is looked through, and the Hub asked."""
_FILES = {"/", *(f"/{name}" for name in (PAGE, *TABLES, OUTCOMES))}
_FAULTS = (ScoringError, RefusedError, OSError)
_log = logging.getLogger(__name__)


class LivePage:
    """The page of results with the files beside it; the last that could be built stays.

    Args:
        results: a folder, a Parquet file or a Hub dataset, see `collection.collect`.
        read: reads them, or raises `ScoringError`.
        work: an empty folder for the builds.
        suites: what the leaderboard is for, as ``--suite`` names it; for who wants to submit.
    """

    def __init__(
        self,
        results: str,
        read: Callable[[], Collection],
        work: Path,
        suites: Sequence[str] = (),
    ) -> None:
        self._submit_to = Destination.of(results, suites)
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
        build_site(collection, folder, self._submit_to)
        self.builds, self.folder, self.left_out = self.builds + 1, folder, collection.skipped
        self.built = datetime.now(timezone.utc).isoformat(timespec="seconds")
        # The folder before this one may still be read from.
        shutil.rmtree(self._work / str(self.builds - 2), ignore_errors=True)

    def status(self) -> dict[str, Any]:
        """What ``/status`` says; ``problem`` is empty unless the page is older than the results."""
        names = ("results", "built", "builds", "problem", "left_out")
        return {name: getattr(self, name) for name in names}


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, live: LivePage, *connection: Any) -> None:
        self._live = live
        super().__init__(*connection, directory=str(live.folder))

    def send_head(self) -> Any:
        if self.path == "/status":
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            return io.BytesIO(json.dumps(self._live.status()).encode())
        if self.path.partition("?")[0] not in _FILES:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)


def listen(live: LivePage, host: str, port: int | None) -> ThreadingHTTPServer:
    """A server of a page at a port, or the first free one of `PORTS`, or a `ScoringError`."""
    for candidate in PORTS if port is None else (port,):
        try:
            return ThreadingHTTPServer((host, candidate), partial(_Handler, live))
        except OSError as error:
            fault = error
    raise ScoringError(
        f"--host {host} --port {candidate}: cannot be listened at ({fault.strerror or fault})",
        hint="choose another --port, or none to take the first free one",
    ) from fault


def serve(
    results: str,
    read: Callable[[], Collection] | None = None,
    *,
    suites: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int | None = None,
    announce: Callable[[str], object] = print,
) -> None:
    """Serve the leaderboard of some results (see `LivePage`) until interrupted.

    They are read by ``read``, or by `collect` with the `official_suites` that ``suites`` names.
    The address (see `listen`) is given to ``announce``.
    """
    read = read or (lambda: collect(results, official=official_suites(suites) or None))
    seconds = LOCAL_SECONDS if Path(results).exists() else HUB_SECONDS
    with tempfile.TemporaryDirectory(prefix="s2lct-leaderboard-") as work:
        live = LivePage(results, read, Path(work), suites)

        def watch() -> None:
            while True:
                time.sleep(seconds)
                live.refresh()

        with listen(live, host, port) as server, suppress(KeyboardInterrupt):
            announce(f"http://{host}:{server.server_port}/")
            threading.Thread(target=watch, daemon=True).start()
            server.serve_forever()
