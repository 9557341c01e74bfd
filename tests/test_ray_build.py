"""Builds on a cluster of two nodes: whatever is lost on the way, they end with the same bytes."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from ray_nodes import two_nodes
from stub_workers import slow_stub_workers
from test_build import kept_in

from s2lct.builder import kept_models
from s2lct.builder.config import BuildConfig
from s2lct.builder.pipeline import build_suite

pytest.importorskip("ray", reason="Ray is not installed: pip install s2lct[ray]")

TESTS = Path(__file__).parent
OPTIONS: dict[str, Any] = {"seeds": 2, "masks": 3, "expansions": 2}
SOME = ("LC2", "LC4")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces of few sentences."""
    monkeypatch.setattr(kept_models, "TAGGED_AT_ONCE", 5)
    monkeypatch.setattr(kept_models, "PARSED_AT_ONCE", 3)
    monkeypatch.setattr(kept_models, "BATCHES_AT_ONCE", 1)


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process builds."""
    out = tmp_path_factory.mktemp("whole") / "suite"
    build_suite(
        BuildConfig.checked(out=out, corpus=f"csv:{corpus_path}", capabilities=SOME, **OPTIONS)
    )
    return bytes_of(out)


def build_on(cluster: Any, corpus: Path, out: Path, **more: Any) -> dict[str, str]:
    """Build on a cluster, with a cache beside the suite."""
    config = BuildConfig.checked(
        out=out,
        corpus=f"csv:{corpus}",
        engine="ray",
        capabilities=SOME,
        **(OPTIONS | more),
    )
    cache = str(out.with_name(f"{out.name}-cache"))
    with patch.dict(os.environ, S2LCT_CACHE=cache, RAY_ADDRESS=cluster.address):
        build_suite(config)
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


def noted(notes: Path) -> list[tuple[int, str]]:
    """The processes of workers, with their nodes."""
    pairs = (path.name.partition("-") for path in notes.iterdir())
    return [(int(process), node) for process, _, node in pairs]


@pytest.mark.usefixtures("small_shards")
def test_two_workers_write_the_bytes_of_one_process(
    cluster: Any, corpus_path: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    notes = tmp_path / "notes"
    with slow_stub_workers(notes):
        assert build_on(cluster, corpus_path, tmp_path / "suite") == whole
    assert len({node for _, node in noted(notes)}) == 2
    paper = {"templates": "paper"}
    here = tmp_path / "here"
    given = {"out": here, "corpus": f"csv:{corpus_path}", "capabilities": SOME}
    build_suite(BuildConfig.checked(**OPTIONS, **paper, **given))
    with slow_stub_workers(tmp_path / "paper", 0.05):
        assert build_on(cluster, corpus_path, tmp_path / "there", **paper) == bytes_of(here)


@pytest.mark.usefixtures("small_shards")
def test_a_worker_that_is_killed_and_a_node_that_leaves(
    cluster: Any, corpus_path: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    notes = tmp_path / "killed"
    with slow_stub_workers(notes):
        killed: list[int] = []

        def kill() -> None:
            killed.append(noted(notes)[0][0])
            os.kill(killed[0], signal.SIGKILL)

        thread = when(lambda: noted(notes), kill)
        assert build_on(cluster, corpus_path, tmp_path / "one") == whole
        thread.join()
    assert {process for process, _ in noted(notes)} > {*killed}  # another took its place
    notes = tmp_path / "left"
    with slow_stub_workers(notes):
        thread = when(
            lambda: {node for _, node in noted(notes)} == {"one", "two"},
            lambda: cluster.remove_node(cluster.last),
        )
        assert build_on(cluster, corpus_path, tmp_path / "two") == whole
        thread.join()


SLOWLY = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
from stub_models import stub_models
from ray_nodes import two_nodes
from stub_workers import slow_stub_workers
from test_build import kept_in
from s2lct.cli.main import main
with stub_models(), slow_stub_workers(Path("notes")):
    main()
"""


def command_for(corpus: Path, out: Path) -> list[str]:
    command = [sys.executable, "-c", SLOWLY, str(TESTS), "build", "--corpus", f"csv:{corpus}"]
    for name, value in OPTIONS.items():
        command += [f"--{name}", str(value)]
    for name in SOME:
        command += ["--capability", name]
    return [*command, "--out", str(out)]


def test_a_driver_that_is_killed_goes_on(
    corpus_path: Path, tmp_path: Path, own_cache: Path, whole: dict[str, str]
) -> None:
    out = tmp_path / "suite"
    command = [*command_for(corpus_path, out), "--engine", "ray"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    while running.poll() is None and not kept_in(own_cache):
        time.sleep(0.02)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    assert not out.exists()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert bytes_of(out) == whole
    # What is shown is ours: bars, the closing table, and where the suite is.
    assert "ray" not in (done.stdout + done.stderr).lower().replace(str(tmp_path), "")


def test_a_full_disk_stops_with_one_line_and_the_same_command_goes_on(
    corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, str]
) -> None:
    disk = tmp_path / "disk"
    monkeypatch.setenv("S2LCT_CACHE", str(disk / "cache"))
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        out = disk / "suite"
        command = command_for(corpus_path, out)
        full = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert full.returncode == 1
        told = full.stderr[full.stderr.index("Error:") :].splitlines()
        assert len(told) == 2
        assert "make room" in told[1]
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert bytes_of(out) == whole
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
