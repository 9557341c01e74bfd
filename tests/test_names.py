"""What a name stands for: a repository of the Hub, or a folder that lies here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hub_fixtures import HubClient

from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import S2lctError
from s2lct.hub_calls import repository_meant
from s2lct.leaderboard.commands.results import build_leaderboard, gate
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.cases import load_suite

PINNED = "ORG/s2lct@v1.0.0"


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        (PINNED, PINNED),
        ("hf:ORG/s2lct", "ORG/s2lct"),
        (f"hf:{PINNED}", PINNED),
        ("ORG/other", "ORG/other"),
        ("ORG/s2lct", ""),
        (f"./{PINNED}", ""),
        ("hf:s2lct", ""),
        ("s2lct", ""),
        ("a\0/b", ""),
    ],
)
def test_a_revision_or_hf_names_a_repository_whatever_lies_here(
    name: str, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (PINNED, "ORG/s2lct", "s2lct"):
        Path(folder).mkdir(parents=True)
    assert repository_meant(name) == repository
    assert repository_meant("hf:gpt2", without_owner=True) == "gpt2"


def test_no_folder_of_a_pull_request_stands_for_a_suite_of_the_hub(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(suite_folder, PINNED)
    shutil.copytree(suite_folder, "ORG/results@v1")
    honest = write_result(score("vader", f"./{PINNED}"), "results")
    assert gate(honest, max=["mean=100"]).passed
    told = honest.read_text().replace(f'"./{PINNED}"', f'"{PINNED}"')
    assert PINNED in told
    honest.write_text(told)
    for ask in (
        lambda: load_suite(PINNED),
        lambda: gate(honest, max=["mean=100"]),
        lambda: gate(honest, max=["mean=100"], suite=[PINNED]),
        lambda: build_leaderboard("ORG/results@v1", suite=[str(suite_folder)]),
    ):
        with pytest.raises(S2lctError, match="ORG/"):
            ask()


READ_HUB = """
from huggingface_hub import HfApi
from s2lct.builder.corpus.read import read_corpus

HfApi().create_repo("s2lct-org/reviews", repo_type="dataset")
HfApi().upload_folder(folder_path="hub", repo_id="s2lct-org/reviews", repo_type="dataset")
print(read_corpus("hf:s2lct-org/reviews:train").sentences[0].text)
"""


def test_a_folder_here_is_no_data_set_of_the_hub(hub: HubClient, tmp_path: Path) -> None:
    for folder, text in (("hub", "The Hub's."), ("s2lct-org/reviews", "Ours.")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "train.csv").write_text(f"text,label\n{text},pos\n")
    assert hub.python(READ_HUB, cwd=tmp_path).splitlines()[-1] == "The Hub's."
    assert read_corpus(f"csv:{tmp_path}/s2lct-org/reviews").sentences[0].text == "Ours."
