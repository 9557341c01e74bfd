"""The static page of the leaderboard over HTTP."""

from __future__ import annotations

import io
import json
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.hub_results import official_suites
from s2lct.leaderboard.results.scored import Collection
from s2lct.leaderboard.site.live_page import LivePage
from s2lct.leaderboard.site.site import OUTCOMES, PAGE
from s2lct.leaderboard.site.tables import TABLES

PORTS = range(7860, 7960)
LOCAL_SECONDS, HUB_SECONDS = 2.0, 60.0
"""How often a folder is looked through, and the Hub asked."""
_FILES = {"/", *(f"/{name}" for name in (PAGE, *TABLES, OUTCOMES))}
_log = logging.getLogger(__name__)


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
    """A server of a page; it answers once ``serve_forever`` is called.

    Args:
        live: the page.
        host: address to listen at.
        port: the first free one of `PORTS` if None.

    Raises:
        ScoringError: the address cannot be listened at.
    """
    for candidate in PORTS if port is None else (port,):
        try:
            return ThreadingHTTPServer((host, candidate), partial(_Handler, live))
        except OSError as error:
            fault = error
    raise ScoringError(
        f"--host {host} --port {candidate}: cannot be listened at ({fault.strerror or fault})",
        mend="choose another --port, or none to take the first free one",
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
    """Serve the leaderboard until interrupted.

    Args:
        results: what `collection.collect` reads.
        read: reads it; `collection.collect` if None.
        suites: which the leaderboard is for, see `hub_results.official_suites`.
        host: see `listen`.
        port: see `listen`.
        announce: given the address.

    Raises:
        ScoringError: there are no usable results, or the address cannot be listened at.
    """
    read = read or (lambda: collect(results, official=official_suites(suites) or None))
    seconds = LOCAL_SECONDS if Path(results).exists() else HUB_SECONDS
    with tempfile.TemporaryDirectory(prefix="s2lct-leaderboard-") as work:
        live = LivePage(results, read, Path(work))

        def watch() -> None:
            while True:
                time.sleep(seconds)
                live.refresh()

        with listen(live, host, port) as server, suppress(KeyboardInterrupt):
            announce(f"http://{host}:{server.server_port}/")
            threading.Thread(target=watch, daemon=True).start()
            server.serve_forever()
