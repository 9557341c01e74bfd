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
from tiny_models import SENTENCES, save_tiny_classifier, save_tiny_llama

from s2lct.cache import FILE
from s2lct.engines import InProcess
from s2lct.errors import ScoringError
from s2lct.files import cache_folder
from s2lct.leaderboard.commands.score_models import score_models
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.scoring.ask import probabilities_of
from s2lct.leaderboard.scoring.spread import LoadedModels, Source, loaded, spread
from s2lct.ray_engine import RayEngine

if find_spec("ray") is None:
    pytest.skip("Ray is not installed: pip install s2lct[ray]", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("own_cache")
MANY = [f"{sentence} {number}" for number in range(40) for sentence in SENTENCES]
PROMPTS = ("Review: {text} Sentiment:", "Film: {text} It is")


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine[LoadedModels]]:
    """Two workers that are asked in small pieces."""
    with RayEngine(partial(LoadedModels, 2, 16)) as engine:
        yield engine


@pytest.fixture
def shared(engine: RayEngine[LoadedModels], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands ask these workers, which starts none."""
    monkeypatch.setattr(
        "s2lct.leaderboard.commands.score_models.ray_workers", lambda: nullcontext(engine)
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("models")
    return {
        "classifier": save_tiny_classifier(made / "classifier"),
        "llama": save_tiny_llama(made / "llama"),
    }


def kept(path: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT * FROM predictions ORDER BY model, text").fetchall()


def files(folder: Path) -> dict[str, Any]:
    """What was written, without dates."""
    found: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        found[path.name] = path.read_bytes()
        if path.suffix == ".json":
            found[path.name] = {**json.loads(path.read_text()), "date": None}
    return found


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("classifier", {}),
        ("llama", {"llm": True, "prompt": PROMPTS, "limit": 10}),
        ("llama", {"llm": True, "prompt": PROMPTS, "limit": 10, "max_tokens": 3}),
    ],
    ids=["classifiers", "likeliest word", "in words"],
)
def test_files_and_kept_predictions_are_those_of_one_process(
    model: str,
    options: dict[str, Any],
    shared: None,
    suite_folder: Path,
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = [str(folders[model])] + ([] if options else ["vader", "embedded-3class"])
    found = {}
    for engine in ("process", "ray"):
        monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / f"cache-{engine}"))
        out = tmp_path / engine
        score_models(models, suite=str(suite_folder), out=out, engine=engine, **options)
        found[engine] = (files(out), kept(cache_folder() / FILE))
    assert len(found["process"][0]) > 1 and found["process"][1]
    assert found["process"] == found["ray"]


def test_pieces_are_batches_of_one_process_and_nothing_is_asked_again(
    engine: RayEngine[LoadedModels], folders: dict[str, Path], tmp_path: Path
) -> None:
    sources = [
        Source(str(folders["classifier"])),
        Source(str(folders["llama"]), prompts=tuple(map(LabelPrompt, PROMPTS))),
        Source("embedded-2class"),
    ]
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    for source in sources:
        for model in loaded(source):
            probabilities_of(model, MANY, here)
    found = spread(engine, sources, MANY, there)
    assert [len(found[source.name]) for source in sources] == [1, 2, 1]  # type: ignore[arg-type]
    assert len(kept(here)) == 4 * len(MANY)
    assert kept(here) == kept(there)

    class NoPieces(InProcess[LoadedModels]):
        def map(self, ask: Any, given: Any) -> Any:
            assert ask is LoadedModels.describe or not list(given)
            yield from super().map(ask, given)

    spread(NoPieces(LoadedModels()), sources, MANY, there)


def test_a_model_that_fails_leaves_the_others(
    shared: None, suite_folder: Path, folders: dict[str, Path], tmp_path: Path
) -> None:
    broken = shutil.copytree(folders["classifier"], tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    given: dict[str, Any] = {"suite": str(suite_folder), "engine": "ray", "out": tmp_path / "out"}
    with pytest.warns(match="broken"):
        scores = score_models([str(broken), "vader"], **given)
    assert scores.failed == (str(broken),) and [one.name for one in scores.files] == ["vader.json"]
    with pytest.raises(ScoringError, match="broken"):
        score_models([str(broken)], **given)


def test_other_files_on_another_node_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    class Elsewhere(InProcess[LoadedModels]):
        """The second ask finds other files in the folder."""

        def map(self, ask: Any, given: Any) -> Any:
            yield from super().map(ask, given)
            save_tiny_classifier(folder, seed=1)
            self.worker = LoadedModels()

    folder = shutil.copytree(folders["classifier"], tmp_path / "model")
    sources = [Source(str(folder)), Source(str(tmp_path / "gone"), is_folder=True)]
    found = spread(Elsewhere(LoadedModels()), sources, SENTENCES, tmp_path / "cache")
    for source in sources:
        error = found[source.name]
        assert isinstance(error, ScoringError) and "node" in error.problem


def test_endpoints_start_no_cluster(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s2lct.ray_engine.RayEngine", lambda *_, **__: pytest.fail("started"))
    with SentimentServer(lambda text, before: Reply("positive"), PROMPTS[0]) as server:
        asked = score_models(
            ["m"], base_url=server.base_url, prompt=PROMPTS[:1], suite=str(suite_folder),
            engine="ray", limit=2, out=tmp_path,
        )  # fmt: skip
    assert asked.results[0].model.endpoint is not None
