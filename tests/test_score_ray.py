"""Scoring by workers of a Ray cluster: the same files as by one process."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from chat_server import Reply, SentimentServer
from test_generating import PROMPT
from tiny_models import SENTENCES, save_tiny_classifier, save_tiny_llama
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.engines import InProcess
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.leaderboard.commands.score_models import score
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.loaded_models import LoadedModels, Source
from s2lct.leaderboard.scoring.ask import probabilities_of
from s2lct.leaderboard.scoring.spread import spread
from s2lct.progress import no_bars
from s2lct.ray_engine import RayEngine

if find_spec("ray") is None:
    pytest.skip("Ray is not installed: pip install s2lct[ray]", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("own_cache")
MANY = [f"{sentence} {number}" for number in range(40) for sentence in SENTENCES]
TWO_PROMPTS = (LabelPrompt(PROMPT), LabelPrompt("Film: {text} It is"))
runner = CliRunner()


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster that every command here uses, as it uses any that its caller has initialised."""
    import ray

    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def engine(cluster: None) -> Iterator[RayEngine[LoadedModels]]:
    """Two workers that have imported what models need, and are asked in small pieces."""
    with RayEngine(partial(LoadedModels, 2, 16), workers=2) as engine:
        yield engine


@pytest.fixture
def shared(engine: RayEngine[LoadedModels], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands ask these workers, which starts none."""
    monkeypatch.setattr("s2lct.ray_engine.engine_of", lambda *_: nullcontext(engine))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("models")
    return {
        "classifier": save_tiny_classifier(made / "classifier"),
        "llama": save_tiny_llama(made / "llama"),
    }


def kept(path: Path, table: str) -> list[tuple[Any, ...]]:
    """All answers in a cache."""
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT * FROM {table} ORDER BY model, text").fetchall()
    connection.close()
    return rows


def files(folder: Path) -> dict[str, Any]:
    """What was written, without dates."""
    found: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        found[path.name] = path.read_bytes()
        if path.suffix == ".json":
            found[path.name] = {**json.loads(path.read_text()), "date": None}
    return found


def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Score by one process and by two workers: files and kept answers are the same."""
    found = {}
    for engine in ("process", "ray"):
        monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / f"cache-{engine}"))
        workers = {"workers": 2} if engine == "ray" else {}
        out = tmp_path / engine
        score(out=out, engine=engine, **workers, **options)
        tables = ("written",) if options.get("generate") else ("answers",)
        answers = [kept(cache_folder() / "outcomes.sqlite", table) for table in tables]
        assert all(answers)
        found[engine] = (files(out), answers)
    assert len(found["process"][0]) > 1
    assert found["process"] == found["ray"]


def test_several_classifiers_have_the_same_files(
    cluster: None,
    suite_folder: Path,
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = (str(folders["classifier"]), "vader", "embedded-3class")
    both(tmp_path, monkeypatch, models=models, suite=str(suite_folder))


@pytest.mark.parametrize("writes", [False, True], ids=["likeliest word", "in words"])
def test_language_models_have_the_same_files(
    writes: bool,
    shared: None,
    suite_folder: Path,
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both(
        tmp_path,
        monkeypatch,
        models=(str(folders["llama"]),),
        suite=str(suite_folder),
        llm=True,
        generate=writes,
        prompt=tuple(one.prompt for one in TWO_PROMPTS),
        limit=10,
        **({"max_tokens": 3} if writes else {}),
    )


def test_pieces_are_batches_of_one_process(
    engine: RayEngine[LoadedModels], folders: dict[str, Path], tmp_path: Path
) -> None:
    sources = [
        Source(str(folders["classifier"])),
        Source(str(folders["llama"]), prompts=TWO_PROMPTS),
        Source("embedded-2class"),
    ]
    groups = [MANY[:150], MANY[100:]]
    caches = {name: tmp_path / f"{name}.sqlite" for name in ("here", "spread")}
    for source in sources:
        for asks in source.prompts or (None,):
            model = load_classifier(source.name, asks=asks)
            for cache in caches.values():  # some is known of one of the models
                if source.name == "embedded-2class":
                    probabilities_of(model, MANY[20:60], cache)
            for texts in groups:
                probabilities_of(model, texts, caches["here"])
    found = spread(engine, sources, groups, caches["spread"], no_bars)
    assert [len(found[source.name]) for source in sources] == [1, 2, 1]  # type: ignore[arg-type]
    rows = [kept(cache, "answers") for cache in caches.values()]
    assert len(rows[0]) == 4 * len(MANY)
    assert rows[0] == rows[1]


def test_nothing_is_asked_again(folders: dict[str, Path], tmp_path: Path) -> None:
    sources = [Source(str(folders["classifier"]))]
    cache = tmp_path / "cache.sqlite"
    told: list[int] = []
    bars = lambda name, total: lambda done, note="": told.append(done)  # noqa: E731
    spread(InProcess(LoadedModels()), sources, [SENTENCES], cache, bars)
    assert told == [1, len(SENTENCES)]
    spread(InProcess(LoadedModels()), sources, [SENTENCES], cache, bars)
    assert told == [1, len(SENTENCES), 1]


def test_a_model_that_fails_leaves_the_others(
    shared: None, suite_folder: Path, folders: dict[str, Path], tmp_path: Path
) -> None:
    broken = shutil.copytree(folders["classifier"], tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    given = ["--suite", str(suite_folder), "--out", str(tmp_path / "out")]
    done = runner.invoke(app, ["score", str(broken), "vader", *given, "--engine", "ray"])
    assert done.exit_code == 1
    assert "weights cannot be loaded" in done.stderr
    assert (tmp_path / "out" / "vader.json").exists()
    with pytest.raises(ScoringError, match="weights cannot be loaded"):
        score(models=(str(broken),), suite=str(suite_folder), engine="ray", out=tmp_path)


def test_a_folder_that_a_node_does_not_have_is_named(tmp_path: Path) -> None:
    there = Source(str(tmp_path / "gone"), is_folder=True)
    found = spread(InProcess(LoadedModels()), [there], [SENTENCES], tmp_path / "cache", no_bars)
    error = found[there.name]
    assert isinstance(error, ScoringError)
    assert "gone: is no folder on node" in error.problem and "Hub id" in error.hint


def test_another_model_on_another_node_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    class Elsewhere(InProcess[LoadedModels]):
        """The second ask finds other files in the folder."""

        def map(self, ask: Any, given: Any) -> Any:
            yield from super().map(ask, given)
            save_tiny_classifier(folder, seed=1)
            self.worker = LoadedModels()

    folder = shutil.copytree(folders["classifier"], tmp_path / "model")
    source = Source(str(folder))
    engine = Elsewhere(LoadedModels())
    found = spread(engine, [source], [SENTENCES], tmp_path / "cache", no_bars)
    assert "is another on node" in str(found[source.name])


def test_endpoints_and_predictions_start_no_cluster(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s2lct.ray_engine.RayEngine", lambda *_, **__: pytest.fail("started"))
    options = {"suite": str(suite_folder), "engine": "ray", "limit": 2, "out": tmp_path / "out"}
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with SentimentServer(lambda text, before: Reply("positive")) as server:
        asked = score(models=("m",), base_url=server.base_url, prompt=(PROMPT,), **options)
    assert asked.results[0].model.endpoint is not None
    given = tmp_path / "given.csv"
    runner.invoke(
        app, ["export", str(suite_folder), "--format", "csv", "--out", str(tmp_path / "cases.csv")]
    )
    lines = (tmp_path / "cases.csv").read_text().splitlines()
    ids = [line.partition(",")[0] for line in lines[1:]]
    given.write_text("\n".join(["id,label", *(f"{one},negative" for one in ids)]))
    assert score(predictions=given, **{**options, "limit": None}).results
