"""From a corpus to a leaderboard through the command line and a Hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hub_fixtures import HubClient
from hub_server import MAINTAINER, STRANGER
from tiny_models import save_tiny_classifier

from s2lct.suite.read import read_suite

DATASET = "s2lct-org/s2lct"
RESULTS = "s2lct-org/s2lct-results"
MODEL = "stranger/tiny-sentiment"

LITERAL_NAMES = """
import json
import evaluate
from datasets import load_dataset
rows = load_dataset("s2lct", "LC4")["test"]
said = evaluate.load("s2lct").compute(predictions=["negative"] * len(rows), references=rows)
print(json.dumps([list(rows["id"]), said["LC4"]["seed"]["failure_rate"]]))
"""
UPLOAD_MODEL = """
import sys
from huggingface_hub import HfApi
HfApi().create_repo(sys.argv[1])
HfApi().upload_folder(repo_id=sys.argv[1], folder_path=sys.argv[2])
"""
PROPOSED = """
import sys
from huggingface_hub import snapshot_download
print(snapshot_download(sys.argv[1], repo_type="dataset", revision=f"refs/pr/{sys.argv[2]}",
    local_dir=sys.argv[3]))
"""


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Whatever any process printed; in the end searched for tokens."""
    told: list[str] = []
    run = HubClient._run

    def recorded(client: HubClient, command: list[str], cwd: Path | None) -> object:
        done = run(client, command, cwd)
        told.extend((done.stdout, done.stderr))
        return done

    monkeypatch.setattr(HubClient, "_run", recorded)
    yield told
    assert told
    assert not [text for text in told if MAINTAINER.token in text or STRANGER.token in text]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(
        tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=512
    )


def test_from_a_corpus_to_a_leaderboard(
    hub: HubClient,
    stranger: HubClient,
    corpus_path: Path,
    model_folder: Path,
    tmp_path: Path,
    outputs: list[str],
) -> None:
    maintainer, suite_folder = hub, tmp_path / "suite"
    reader = replace(hub, home=tmp_path / "reader", token="")
    empty = tmp_path / "empty"
    empty.mkdir()

    # Build and publish.
    sizes = ("--seeds", "4", "--masks", "5", "--expansions", "4")
    chosen = ("--capability", "LC4", "--capability", "LC8")
    corpus = ("--corpus", f"csv:{corpus_path}")
    maintainer.s2lct("build", *corpus, "--out", suite_folder, *chosen, *sizes)
    maintainer.s2lct("publish", "dataset", suite_folder, "--repo", DATASET, "--version", "1.0.0")
    maintainer.s2lct("publish", "metric", "--repo", DATASET)

    # Both lines, by literal name and without a network.
    expected = [[row["id"] for row in read_suite(suite_folder).rows["LC4"]], 1.0]
    reader.s2lct("install", DATASET)
    printed = reader.offline_now().python(LITERAL_NAMES, cwd=empty)
    assert json.loads(printed.splitlines()[-1]) == expected

    # The maintainer scores one model, a stranger another that is the stranger's own.
    suite = f"{DATASET}@v1.0.0"
    maintainer.s2lct("score", "vader", "--suite", suite, "--out", "results")
    maintainer.s2lct("publish", "results", "results/vader.json", "--to", RESULTS)
    stranger.python(UPLOAD_MODEL, MODEL, str(model_folder))
    stranger.s2lct("score", MODEL, "--suite", suite, "--out", "results")
    (result,) = (stranger.home / "results").glob("*.json")
    stranger.s2lct("publish", "results", result, "--to", RESULTS, "--create-pr")

    # What the stranger proposed is checked, with the model itself, and merged.
    proposed = tmp_path / "proposed"
    maintainer.python(PROPOSED, RESULTS, "1", str(proposed))
    (submission,) = (path for path in proposed.rglob("*.json") if "tiny-sentiment" in path.name)
    told = maintainer.s2lct("leaderboard", "check", submission, "--suite", suite, "--rescore")
    assert "accepted" in told
    assert "scored again" in told
    hub.server.repo("dataset", RESULTS).merge(1)

    # The leaderboard.
    board = ("leaderboard", "build", RESULTS, "--suite", DATASET, "--out", "site")
    reader.s2lct(*board)
    rows = json.loads((reader.home / "site" / "leaderboard.json").read_text())
    rates = {row["model"]: row["failure_rate"] for row in rows if row["kind"] == "model"}
    assert set(rates) == {"vader", MODEL}
    assert rates[MODEL] == json.loads(result.read_text())["overall"]["failure_rate"]

    # No cache, result or page holds a token.
    for client in (maintainer, stranger, reader):
        for path in (path for path in client.home.rglob("*") if path.is_file()):
            content = path.read_bytes()
            assert MAINTAINER.token.encode() not in content, path
            assert STRANGER.token.encode() not in content, path
