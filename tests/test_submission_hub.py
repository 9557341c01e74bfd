"""A stranger's result of a model on a Hub, checked elsewhere by asking that model again."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from hub_fixtures import HubClient

from s2lct.leaderboard.results import read_outcomes, write_result

MODEL = "stranger/tiny-sentiment"
UPLOAD = """
import sys
import torch
from huggingface_hub import HfApi
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
from s2lct.builder.models.encoder import encoder_path

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
    outcomes = read_outcomes(path)
    for number in np.flatnonzero(outcomes.failed):
        outcomes.labels[number] = min(outcomes.cases[number].passes)
        outcomes.failed[number] = False
    return write_result(outcomes, path.parent / "flattered")


def test_a_result_of_a_model_on_a_hub_is_checked_by_asking_it(
    stranger: HubClient, suite_folder: Path, tmp_path: Path
) -> None:
    commit, newer = stranger.python(UPLOAD, MODEL).split()
    suite = ["--suite", suite_folder]
    stranger.s2lct("score", f"{MODEL}@{commit}", *suite, "--out", "results")
    (path,) = (stranger.home / "results").glob("stranger--tiny-sentiment--*.json")
    result = json.loads(path.read_text())
    assert result["model"]["revision"] == commit
    stored, moved_on = (
        stranger.server.files("models", MODEL, revision)["model.safetensors"]
        for revision in (commit, "main")
    )
    assert result["model"]["weights_sha256"] == sha256(stored).hexdigest()
    assert newer != commit and moved_on != stored

    checker = replace(stranger, home=tmp_path / "checker")
    options = [*suite, "--rescore", "--json"]
    told = checker.try_s2lct("leaderboard", "check", path, *options, "--record", "--seed", "1")
    assert told.returncode == 0, told.stdout + told.stderr
    verdict = json.loads(told.stdout)
    assert (verdict["accepted"], verdict["rescored"]) == (True, 20)
    verified = json.loads((path.parent / "verified.json").read_text())
    assert list(verified) == [sha256(path.read_bytes()).hexdigest()]

    better = flattered(path)
    result["model"]["revision"] = "0" * 40
    path.write_text(json.dumps(result))
    told = checker.try_s2lct("leaderboard", "check", better, path, *options, "--seed", "1")
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    by_model, by_commit = (json.loads(line) for line in told.stdout.splitlines())
    assert "the model says something else of" in by_model["reasons"][0]
    assert "cannot be scored again" in by_commit["reasons"][0]
    assert not any(name in told.stdout + told.stderr for name in (stranger.token, "hf_"))


def test_a_suite_that_cannot_be_loaded_is_an_error(hub: HubClient) -> None:
    told = hub.try_s2lct("leaderboard", "check", "result.json", "--suite", "nobody/nothing")
    assert told.returncode == 1
    assert "--suite nobody/nothing: neither a folder here nor a data set" in told.stderr
    assert "Traceback" not in told.stderr
