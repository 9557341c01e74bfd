"""Builds on a cluster of two nodes: whatever is lost on the way, they end with the same bytes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import warm_process
from ray_nodes import two_nodes
from stub_workers import slow_stub_workers
from test_build import bytes_of, config_for, kept_in

from s2lct.builder import kept_models
from s2lct.builder.pipeline import build_suite

pytest.importorskip("ray", reason="Ray is not installed: pip install s2lct[ray]")

TESTS = Path(__file__).parent
SMALL: dict[str, Any] = {"seeds": 2, "masks": 3, "expansions": 2}
SMALL_PARTS = {"TAGGED_AT_ONCE": 5, "PARSED_AT_ONCE": 3, "BATCHES_AT_ONCE": 1}
BUILD = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
Path("pid").write_text(str(os.getpid()))
from stub_models import stub_models
from stub_workers import slow_stub_workers
from test_build import config_for
from s2lct.builder import kept_models
from s2lct.builder.pipeline import build_suite
vars(kept_models).update({SMALL_PARTS})
with stub_models(), slow_stub_workers(Path("notes").absolute()):
    build_suite(config_for(Path(sys.argv[2]), Path("suite"), engine="ray", **{SMALL}))
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with two_nodes() as cluster:
        yield cluster.address


@pytest.fixture(scope="module")
def whole(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process builds."""
    out = tmp_path_factory.mktemp("whole") / "suite"
    build_suite(config_for(corpus_path, out, **SMALL))
    return bytes_of(out)


def when(has_come: Callable[[], object], then: Callable[[], object]) -> threading.Thread:
    """Do something as soon as something has come."""

    def wait() -> None:
        deadline = time.monotonic() + 120
        while not has_come() and time.monotonic() < deadline:
            time.sleep(0.02)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def workers(notes: Path) -> list[tuple[int, str]]:
    """The processes of workers, with their nodes."""
    pairs = (path.name.partition("-") for path in notes.iterdir())
    return [(int(process), node) for process, _, node in pairs]


def test_two_nodes_of_which_a_worker_is_killed_write_the_bytes_of_one_process(
    address: str,
    corpus_path: Path,
    tmp_path: Path,
    own_cache: Path,
    whole: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    for name, number in SMALL_PARTS.items():
        monkeypatch.setattr(kept_models, name, number)
    notes = tmp_path / "notes"
    with slow_stub_workers(notes):
        killing = when(
            lambda: workers(notes), lambda: os.kill(workers(notes)[0][0], signal.SIGKILL)
        )
        build_suite(config_for(corpus_path, tmp_path / "suite", engine="ray", **SMALL))
        killing.join()
    assert bytes_of(tmp_path / "suite") == whole
    assert len({node for _, node in workers(notes)}) == 2
    # Another worker took its place.
    assert len(workers(notes)) > 2


def test_a_driver_that_is_killed_goes_on(
    address: str, corpus_path: Path, tmp_path: Path, own_cache: Path, whole: dict[str, str]
) -> None:
    command = ["-c", BUILD, str(TESTS), str(corpus_path)]
    environment = os.environ | {"RAY_ADDRESS": address}
    with ThreadPoolExecutor() as pool:
        running = pool.submit(warm_process.run, command, env=environment, cwd=tmp_path)
        while not running.done() and kept_in(own_cache) < 20:
            time.sleep(0.02)
        assert not running.done(), running.result().stderr
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert running.result().returncode == -signal.SIGKILL
    assert not (tmp_path / "suite").exists()
    done = warm_process.run(command, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "suite") == whole
