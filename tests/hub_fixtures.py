"""Fixtures of the tests that need a Hub: the server, and clients in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import warm_process
from hub_server import MAINTAINER, HubServer


@dataclass(frozen=True)
class HubClient:
    """Somebody at a machine of their own: a token, and a home that holds every cache.

    The client libraries read their environment when they are imported, so each call is a process.
    """

    server: HubServer
    home: Path
    token: str
    endpoint: str
    offline: bool = False

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HF_", "S2LCT_")) and not name.lower().endswith("_proxy")
        }
        flag = "1" if self.offline else "0"
        return kept | {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(self.home / "huggingface"),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": flag,
            "HF_DATASETS_OFFLINE": flag,
            "HF_EVALUATE_OFFLINE": flag,
            "HF_TOKEN": self.token,
            "S2LCT_CACHE": str(self.home / "s2lct"),
            "COLUMNS": "200",
        }

    def offline_now(self) -> HubClient:
        """The same home with HF_HUB_OFFLINE=1."""
        return replace(self, offline=True)

    def python(self, script: str, *arguments: str, cwd: Path | None = None) -> str:
        """What a script prints; fails the test where the script fails."""
        done = self.try_python(script, *arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_python(
        self, script: str, *arguments: str, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A script that may fail."""
        return self._run(["-c", script, *arguments], cwd)

    def s2lct(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        """What a command prints on both streams; fails the test where the command fails."""
        done = self.try_s2lct(*arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def try_s2lct(
        self, *arguments: str | Path, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command that may fail."""
        return self._run(["-m", "s2lct.cli.main", *map(str, arguments)], cwd)

    def fresh_python(self, script: str, *arguments: str) -> str:
        """What a script prints in a process that has imported nothing yet."""
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=self.home, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _run(self, arguments: list[str], cwd: Path | None) -> subprocess.CompletedProcess[str]:
        self.home.mkdir(parents=True, exist_ok=True)
        return warm_process.run(arguments, env=self.environment, cwd=cwd or self.home)


@pytest.fixture
def hub_server() -> Iterator[HubServer]:
    """An empty Hub."""
    with HubServer() as server:
        yield server


@pytest.fixture
def hub(hub_server: HubServer, tmp_path: Path) -> HubClient:
    """A maintainer of s2lct-org at that Hub."""
    home = tmp_path / "maintainer"
    return HubClient(hub_server, home, MAINTAINER.token, hub_server.endpoint)
