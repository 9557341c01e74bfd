"""Workers of a Ray cluster: on a real one, of two nodes on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray_asks as asks
from ray_asks import Adder
from stub_workers import slow_stub_workers
from test_build import bytes_of, config_for
from tiny_models import save_tiny_classifier, save_tiny_llama

from s2lct.builder import kept_models
from s2lct.builder.pipeline import build_suite
from s2lct.cache import FILE
from s2lct.engines import Engine, InProcessEngine, RayEngine, ray_cluster
from s2lct.errors import BuildError, ScoringError
from s2lct.files import cache_folder
from s2lct.leaderboard.commands.score_models import score_models
from s2lct.leaderboard.scoring import ray_scoring

pytest.importorskip("ray", reason="Ray is not installed: pip install s2lct[ray]")
PROMPTS = ("Review: {text} Sentiment:", "Film: {text} It is")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one CPU each, the second as ``last``; no other test can meet them."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="s2lct-test-", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        cluster = Cluster()
        for node in ("one", "two"):
            cluster.last = cluster.add_node(
                num_cpus=1,
                object_store_memory=80 * 2**20,
                include_dashboard=False,
                env_vars={"S2LCT_TEST_NODE": node},
            )
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
        cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.usefixtures("cluster")
def test_a_build_of_which_a_worker_is_killed_writes_the_bytes_of_one_process(
    corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    small = {"seeds": 2, "masks": 3, "expansions": 2}
    build_suite(config_for(corpus_path, tmp_path / "whole", **small))
    shutil.rmtree(own_cache)
    monkeypatch.setattr(kept_models, "TEXTS_PER_TASK", 4)
    notes = tmp_path / "notes"

    def workers() -> list[list[str]]:
        """The processes of workers, with their nodes."""
        return [path.name.split("-") for path in notes.iterdir()]

    def kill() -> None:
        while not workers():
            time.sleep(0.02)
        os.kill(int(workers()[0][0]), signal.SIGKILL)

    with slow_stub_workers(notes):
        killing = threading.Thread(target=kill, daemon=True)
        killing.start()
        build_suite(config_for(corpus_path, tmp_path / "ray", engine="ray", **small))
        killing.join()
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "whole")
    assert len({node for _, node in workers()}) == 2
    assert len(workers()) > 2  # another worker took its place


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[Engine[Adder]]:
    with ray_cluster():
        yield RayEngine(partial(Adder, 100))


def test_everything_is_answered_once_by_all_workers(engine: Engine[Adder]) -> None:
    answered = dict(engine.map(Adder.add, range(40)))
    assert {number: total for number, (total, _) in answered.items()} == {
        number: number + 100 for number in range(40)
    }
    processes = {process for _, process in answered.values()}
    assert len(processes) == 2 and os.getpid() not in processes
    one, other = engine.map(Adder.add, range(10)), engine.map(Adder.add, range(100, 110))
    assert {total for _, (_, (total, _)) in zip(one, other, strict=True)} == {*range(200, 210)}


def test_errors_of_workers_come_out_as_they_are(engine: Engine[Adder]) -> None:
    with pytest.raises(ScoringError) as refused:
        list(engine.map(asks.refused, range(5)))
    assert (refused.value.problem, refused.value.hint) == ("text number 2: is none", "write it")
    with pytest.raises(ZeroDivisionError) as broken:
        list(engine.map(asks.broken, range(5)))
    assert "return number // 0" in str(broken.value.__cause__)


def test_a_killed_workers_piece_is_asked_again(engine: Engine[Adder], tmp_path: Path) -> None:
    given = [(number, tmp_path) for number in range(12)]
    answered = dict(engine.map(asks.killed_once, given))
    assert (tmp_path / "tried").exists()
    assert answered == {number: number + 100 for number in range(12)}
    with pytest.raises(BuildError, match="Ray"):
        list(engine.map(asks.always_killed, range(6)))


def written(folder: Path) -> dict[str, Any]:
    """What was written, without dates."""
    found: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        found[path.name] = path.read_bytes()
        if path.suffix == ".json":
            found[path.name] = {**json.loads(path.read_text()), "date": None}
    return found


def kept() -> list[tuple[Any, ...]]:
    with sqlite3.connect(cache_folder() / FILE) as connection:
        return connection.execute("SELECT * FROM predictions ORDER BY model, text").fetchall()


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("classifier", {}),
        ("llama", {"llm": True, "prompt": PROMPTS, "limit": 4}),
    ],
    ids=["classifiers", "language models"],
)
@pytest.mark.usefixtures("engine")
def test_scoring_writes_the_files_and_keeps_the_predictions_of_one_process(
    model: str,
    options: dict[str, Any],
    suite_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save = save_tiny_llama if options else save_tiny_classifier
    models = [str(save(tmp_path / model)), *([] if options else ["vader", "embedded-3class"])]
    found = {}
    for engine in ("process", "ray"):
        monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / f"cache-{engine}"))
        out = tmp_path / engine
        score_models(models, suite=str(suite_folder), out=out, engine=engine, **options)
        found[engine] = (written(out), kept())
    assert len(found["process"][0]) > 1 and found["process"][1]
    assert found["process"] == found["ray"]


def test_pieces_are_whole_batches_and_another_model_on_a_node_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_scoring, "TEXTS_PER_TASK", 16)
    texts = [f"a film {'very ' * (number % 5)}{number}" for number in range(100)]
    folder = save_tiny_classifier(tmp_path / "model")
    source = ray_scoring.ModelSource(str(folder))
    (alone,) = ray_scoring.load_with_prompts(source)
    engine = InProcessEngine([alone])
    (model,) = ray_scoring.load_on_workers(source, engine)
    by_number = [
        {
            number: row.tobytes()
            for numbers, rows in asked.probabilities(texts)
            for number, row in zip(numbers, rows, strict=True)
        }
        for asked in (model, alone)
    ]
    assert len(by_number[0]) == 100 and by_number[0] == by_number[1]
    save_tiny_classifier(folder, seed=1)
    engine.worker = ray_scoring.load_with_prompts(source)
    with pytest.raises(ScoringError, match="nodes"):
        list(model.probabilities(texts))


def test_work_goes_on_when_a_node_leaves(
    cluster: Any, engine: Engine[Adder], tmp_path: Path
) -> None:
    answers = engine.map(asks.held_until_there, [(number, tmp_path, "go") for number in range(8)])

    def begun() -> set[str]:
        return {path.name.split("-")[1] for path in tmp_path.glob("?-*")}

    def leave() -> None:
        while begun() != {"one", "two"}:
            time.sleep(0.02)
        cluster.remove_node(cluster.last, allow_graceful=False)
        (tmp_path / "go").touch()

    leaving = threading.Thread(target=leave)
    leaving.start()
    answered = dict(answers)
    leaving.join()
    assert {n: total for n, (total, _) in answered.items()} == {n: n + 100 for n in range(8)}


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:port", "taken"])
def test_an_address_of_no_cluster_is_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    # As in a process that is connected to no cluster, which others here are.
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if address == "taken":
            address = "{}:{}".format(*taken.getsockname())
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(BuildError, match=address), ray_cluster():
            pytest.fail("began")


ALONE = """
import signal
import sys
from functools import partial
from pathlib import Path

# What a script starts in the background ignores it, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)
tests, folder = map(Path, sys.argv[1:])
sys.path.insert(0, str(tests))
import ray_asks as asks
from s2lct.engines import RayEngine, ray_cluster

try:
    with ray_cluster():
        engine = RayEngine(partial(asks.Adder, 1))
        given = [(number, folder) for number in range(5)]
        print(sorted(one for _, one in engine.map(asks.killed_once, given)), flush=True)
        list(engine.map(asks.held_until_there, [(1, folder, "never")]))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_cluster_of_its_own_prints_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    made = Path(tempfile.mkdtemp(prefix="s2lct-test-", dir="/tmp"))  # short, as Ray wants it
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE, Path(__file__).parent, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(made), "RAY_ADDRESS": ""},
    )
    while not list(tmp_path.glob("?-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    # A worker was killed and the process interrupted, of which Ray would have much to say.
    assert process.communicate(timeout=300) == ("[1, 2, 3, 4, 5]\ninterrupted\n", "")
    assert list(made.iterdir()) == []
    shutil.rmtree(made)
