"""A stranger's result of a model on a Hub, checked elsewhere by asking that model again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hub_fixtures import HubClient
from hub_server import STRANGER, HubServer

from s2lct.leaderboard.results.read_results import read_scored
from s2lct.leaderboard.results.write_results import write_result

MODEL = "stranger/tiny-sentiment"
UPLOAD = """
import sys
import torch
from huggingface_hub import HfApi
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
from s2lct.builder.models.shipped import encoder_path

name = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(encoder_path())
config = BertConfig(
    vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64, max_position_embeddings=128, initializer_range=0.5,
    id2label={0: "negative", 1: "neutral", 2: "positive"},
)
api = HfApi()
api.create_repo(name)
for seed in range(2):
    torch.manual_seed(seed)
    BertForSequenceClassification(config).save_pretrained("tiny")
    tokenizer.save_pretrained("tiny")
    print(api.upload_folder(repo_id=name, folder_path="tiny").oid)
"""


def flattered(path: Path) -> Path:
    """A result in which every case that failed passes, with every figure made to fit."""
    outcomes = read_scored(path).outcomes
    labels = outcomes.labels.copy()
    for number in np.flatnonzero(outcomes.failed):
        labels[number] = min(outcomes.cases[number].passes)
    return write_result(
        replace(outcomes, labels=labels, probabilities=None), path.parent / "flattered"
    )


@dataclass(frozen=True)
class Scored:
    """A stranger's model on a Hub, its commits, and the folder of its result at the first."""

    stranger: HubClient
    commits: tuple[str, str]
    results: Path

    def copied(self, folder: Path) -> Path:
        shutil.copytree(self.results, folder)
        (path,) = folder.glob("stranger--tiny-sentiment--*.json")
        return path


@pytest.fixture(scope="module")
def scored(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scored]:
    home = tmp_path_factory.mktemp("stranger")
    with HubServer() as server:
        stranger = HubClient(server, home, STRANGER.token, server.endpoint)
        commit, newer = stranger.python(UPLOAD, MODEL).split()
        score = ("score", f"{MODEL}@{commit}", "--suite", suite_folder, "--out", "results")
        stranger.s2lct(*score)
        yield Scored(stranger, (commit, newer), home / "results")


def test_a_result_of_a_model_on_a_hub_is_checked_by_asking_it(
    scored: Scored, suite_folder: Path, tmp_path: Path
) -> None:
    stranger, (commit, newer) = scored.stranger, scored.commits
    path = scored.copied(tmp_path / "results")
    suite = ["--suite", suite_folder]
    result = json.loads(path.read_text())
    assert result["model"]["revision"] == commit
    stored, moved_on = (
        stranger.server.files("models", MODEL, revision)["model.safetensors"]
        for revision in scored.commits
    )
    assert newer != commit and moved_on != stored

    checker = replace(stranger, home=tmp_path / "checker")
    options = [*suite, "--json"]
    told = checker.try_s2lct("leaderboard", "check", path, *options, "--rescore")
    assert told.returncode == 0, told.stdout + told.stderr
    verdict = json.loads(told.stdout)
    assert verdict["accepted"]
    assert verdict["rescored"] == result["outcomes"]["rows"]

    better, shouted = flattered(path), path.with_name("shouted.json")
    name, revision = {"name": MODEL.title()}, {"revision": "0" * 40}
    shouted.write_text(json.dumps(result | {"model": result["model"] | name}))
    path.write_text(json.dumps(result | {"model": result["model"] | revision}))
    told = checker.try_s2lct("leaderboard", "check", better, path, shouted, *options, "--rescore")
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    by_model, by_commit, by_name = (json.loads(line) for line in told.stdout.splitlines())
    assert "the model says something else of" in by_model["reasons"][0]
    assert "is no commit of the branch main of stranger/tiny-sentiment" in by_commit["reasons"][0]
    assert "model.name: " in by_name["reasons"][0] and MODEL in by_name["reasons"][0]
    assert not any(name in told.stdout + told.stderr for name in (stranger.token, "hf_"))


PROPOSE = """
import sys
import torch
from huggingface_hub import HfApi
from safetensors.torch import load_file, save_file

name = sys.argv[1]
weights = load_file("tiny/model.safetensors")
save_file({key: -value for key, value in weights.items()}, "spoiled.safetensors")
print(HfApi().upload_file(repo_id=name, path_or_fileobj="spoiled.safetensors",
    path_in_repo="model.safetensors", create_pr=True).oid)
"""


def test_a_commit_that_somebody_proposed_to_a_model_is_not_the_model(
    scored: Scored, suite_folder: Path, tmp_path: Path
) -> None:
    stranger, suite = scored.stranger, ["--suite", suite_folder]
    proposed = stranger.python(PROPOSE, MODEL).split()[-1]
    path = scored.copied(tmp_path / "results")
    result = json.loads(path.read_text())
    result["model"]["revision"] = proposed
    path.write_text(json.dumps(result))
    checker = replace(stranger, home=tmp_path / "checker")
    told = checker.try_s2lct("leaderboard", "check", path, *suite, "--rescore")
    assert told.returncode == 1
    assert f"{proposed} is no commit of the branch main" in told.stdout
    told = checker.offline_now().try_s2lct("leaderboard", "check", path, *suite, "--rescore")
    assert told.returncode == 1
    assert "cannot be scored again: cannot fetch model stranger/tiny-sentiment" in told.stdout
