"""Workers of a Ray cluster: on a real one, of two nodes on this machine."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import ray_asks as asks
from ray_asks import Adder
from ray_nodes import two_nodes

from s2lct import ray_engine
from s2lct.engines import Engine
from s2lct.errors import BuildError, GateError, S2lctError, ScoringError
from s2lct.ray_engine import ASKED_AHEAD, RayEngine

if find_spec("ray") is None:
    pytest.skip("Ray is not installed: pip install s2lct[ray]", allow_module_level=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """The first node's disk counts as full from the first byte on: nothing can be put there."""
    with two_nodes({"_system_config": {"local_fs_capacity_threshold": 0.00001}}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[Engine[Adder]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", cluster.address)
        with RayEngine(partial(Adder, 100)) as engine:
            yield engine


def test_everything_is_answered_once_by_all_workers(engine: Engine[Adder]) -> None:
    answered = dict(engine.map(Adder.add, range(40)))
    assert {number: total for number, (total, _) in answered.items()} == {
        number: number + 100 for number in range(40)
    }
    pids = _processes(engine, 2)
    assert len(pids) == 2 and os.getpid() not in pids


def _processes(engine: Engine[Adder], many: int) -> set[int]:
    """The processes that answer, so many as soon as they have started."""
    seen: set[int] = set()
    answers = engine.map(Adder.add, range(100_000))
    while len(seen) < many and (answer := next(answers, None)) is not None:
        seen.add(answer[1][1])
    return seen


def test_what_is_given_is_drawn_as_workers_get_free(engine: Engine[Adder]) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            drawn.append(len(drawn))
            yield drawn[-1]

    answers = engine.map(Adder.add, endless())
    for taken in range(1, 12):
        next(answers)
        assert len(drawn) <= taken + 2 * ASKED_AHEAD + 1
    answers.close()  # type: ignore[attr-defined]
    assert dict(engine.map(Adder.add, [])) == {}


def test_two_maps_go_on_beside_each_other(engine: Engine[Adder]) -> None:
    one, other = engine.map(Adder.add, range(10)), engine.map(Adder.add, range(100, 110))
    pairs = list(zip(one, other, strict=True))
    assert {total for (_, (total, _)), _ in pairs} == set(range(100, 110))
    assert {total for _, (_, (total, _)) in pairs} == set(range(200, 210))


def test_errors_of_workers_come_out_as_they_are(engine: Engine[Adder]) -> None:
    with pytest.raises(ScoringError) as refused:
        list(engine.map(asks.refused, range(5)))
    assert refused.value.problem == "text number 2: is none"
    assert refused.value.hint == "write it"
    with pytest.raises(ZeroDivisionError) as broken:
        list(engine.map(asks.broken, range(5)))
    assert "return number // 0" in str(broken.value.__cause__)
    with pytest.raises(RuntimeError, match="OddError: 0 and 7"):
        list(engine.map(asks.oddly_broken, range(1)))


@pytest.mark.parametrize("kind", [S2lctError, ScoringError, GateError])
def test_errors_are_pickled_and_copied_whole(kind: type[S2lctError]) -> None:
    error = kind("row 3: is empty", hint="fill it")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert (other.problem, other.hint, str(other)) == (error.problem, error.hint, str(error))


def test_a_worker_has_one_thread_and_no_gpu_that_it_did_not_ask_for(engine: Engine[Adder]) -> None:
    ((_, found),) = engine.map(asks.place, [0])
    assert found == {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def test_a_killed_workers_piece_is_asked_again(engine: Engine[Adder], tmp_path: Path) -> None:
    given = [(number, tmp_path) for number in range(12)]
    answered = dict(engine.map(asks.killed_once, given))
    assert (tmp_path / "tried").exists()
    assert answered == {number: number + 100 for number in range(12)}
    assert len(_processes(engine, 2)) == 2  # another took its place


def test_a_piece_that_kills_its_worker_each_time_is_told(
    engine: Engine[Adder], tmp_path: Path
) -> None:
    given = [(number, tmp_path) for number in range(6)]
    with pytest.raises(BuildError, match=r"piece \(3\)") as told:
        list(engine.map(asks.always_killed, given))
    assert "memory" in told.value.hint
    assert (tmp_path / "tries").read_text() == "xxx"


def test_without_room_for_a_worker_it_ends(
    engine: Engine[Adder], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(_processes(engine, 2)) == 2  # there is a worker on each CPU
    monkeypatch.setattr(ray_engine, "WITHOUT_WORKERS", 2.0)
    with (
        pytest.raises(BuildError, match="no room for a worker for 2 s"),
        RayEngine(partial(Adder, 1)) as other,
    ):
        list(other.map(Adder.add, range(3)))


def test_work_goes_on_when_a_node_leaves(
    cluster: Any, engine: Engine[Adder], tmp_path: Path
) -> None:
    given = [(number, tmp_path, "go") for number in range(8)]
    answers = engine.map(asks.held_until_there, given)

    def begun() -> dict[str, int]:
        parts = [path.name.split("-") for path in tmp_path.glob("?-*")]
        return {node: int(pid) for _, node, pid in parts}

    def leave() -> None:
        gone = begun()["two"]
        cluster.remove_node(cluster.last, allow_graceful=False)
        while _lives(gone):
            time.sleep(0.02)
        (tmp_path / "go").touch()

    leaving = _when(lambda: len(begun()) == 2, leave)
    answered = dict(answers)
    leaving.join()
    assert {number: total for number, (total, _) in answered.items()} == {
        number: number + 100 for number in range(8)
    }
    assert {node for _, node in answered.values()} == {"one"}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def _when(is_so: Callable[[], bool], then: Callable[[], None]) -> Any:
    import threading

    def wait() -> None:
        while not is_so():
            time.sleep(0.02)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_other_versions_on_a_node_are_told(
    engine: Engine[Adder], monkeypatch: pytest.MonkeyPatch
) -> None:
    (pid,) = _processes(engine, 1)
    os.kill(pid, signal.SIGKILL)  # the next worker finds that this process has another version
    here = ray_engine.version
    monkeypatch.setattr(
        ray_engine, "version", lambda name: "1.0" if name == "torch" else here(name)
    )
    with pytest.raises(BuildError, match=r"node [\d.]+ of .*: torch is 1.0 here, and") as told:
        list(engine.map(Adder.add, range(3)))
    assert "install torch 1.0" in told.value.hint


@pytest.mark.parametrize("address", ["nowhere", "ray://127.0.0.1:1", "127.0.0.1:port", "taken"])
def test_an_address_of_no_cluster_is_told(
    address: str, engine_closed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if address == "taken":
            address = "{}:{}".format(*taken.getsockname())
        monkeypatch.setenv("RAY_ADDRESS", address)
        with (
            pytest.raises(BuildError, match=f"RAY_ADDRESS {address}"),
            RayEngine(partial(Adder, 1)),
        ):
            pytest.fail("began")


@pytest.fixture
def engine_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that is connected to no cluster, which others here are."""
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2lct.ray_engine.find_spec", lambda name: None)
    with pytest.raises(BuildError) as told, RayEngine(partial(Adder, 1)):
        pytest.fail("began")
    assert told.value.hint == 'pip install "s2lct[ray]"'


ALONE = """
import sys
from functools import partial
from pathlib import Path

tests, folder = map(Path, sys.argv[1:])
sys.path.insert(0, str(tests))
import ray_asks as asks
from chat_server import Reply, SentimentServer
from s2lct.ray_engine import RayEngine

try:
    with RayEngine(partial(asks.Adder, 1)) as engine:
        given = [(number, folder) for number in range(5)]
        print(sorted(one for _, one in engine.map(asks.killed_once, given)), flush=True)
        list(engine.map(asks.held_until_there, [(1, folder, "never")]))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_cluster_of_its_own_prints_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    made = Path(tempfile.mkdtemp(prefix="s2lct-test-", dir="/tmp"))  # short, as Ray wants it
    process = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "always::FutureWarning",
            "-c",
            ALONE,
            Path(__file__).parent,
            tmp_path,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(made)},
    )
    while not list(tmp_path.glob("?-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    assert list(made.iterdir()) != []
    process.send_signal(signal.SIGINT)
    # A worker was killed and the process interrupted, of which Ray would have much to say.
    assert process.communicate(timeout=60) == ("[1, 2, 3, 4, 5]\ninterrupted\n", "")
    assert (tmp_path / "tried").exists()
    made.rmdir()  # empty
