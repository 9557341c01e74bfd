"""What people type: near names are told, and a name stands for a folder or for the Hub's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hub_fixtures import HubClient
from tiny_models import save_tiny_classifier

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.domains import load_domain
from s2lct.builder.models import load_masked_language_model, load_parser
from s2lct.errors import OptionError, S2lctError
from s2lct.files import folder_argument, resolve_folder
from s2lct.hub_calls import repository_of
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.commands.results import build_leaderboard, gate
from s2lct.leaderboard.models.load import as_model, load_model
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import score
from s2lct.suite.capability_ids import chosen_capabilities
from s2lct.suite.cases import load_suite

PINNED = "ORG/s2lct@v1.0.0"
NEAR: dict[str, Callable[[], object]] = {
    "vader": lambda: load_model("vadr"),
    "textblob": lambda: load_model("TextBlob"),
    "LC4": lambda: chosen_capabilities(["LC44"], ["LC1", "LC4"], "mine"),
    "LC11": lambda: load_capabilities(["L11"]),
    "restaurant": lambda: load_domain("restaurants"),
    "csv": lambda: read_corpus("cvs:films.csv"),
    "checklist": lambda: load_suite("checklst:films.jsonl"),
    "embedded": lambda: load_parser("embeded"),
    "bfloat16": lambda: load_model("vader", dtype="bfloat"),
    "LABEL_0": lambda: rule_for(
        ["LABEL_0", "OTHER"], label_map={"LABLE_0": "negative", "OTHER": "positive"}
    ),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_near_name_is_told(name: str) -> None:
    with pytest.raises(S2lctError) as caught:
        NEAR[name]()
    assert f"did you mean {name}? " in caught.value.hint


@pytest.mark.parametrize(
    "name", ["./nothing", "nothing/", "../a/b", "a/b/c", "/no/folder", "no such", "a\0b", "", "~x"]
)
def test_a_folder_that_is_missing_is_called_so(name: str) -> None:
    for load in (load_model, lambda name: load_suite(name or "..../")):
        with pytest.raises(S2lctError, match="there is no such folder") as caught:
            load(name)
        assert "Validation" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["org/model", "org/model@v1", "gpt2", "a.b/c-d_e@refs/pr/1", "hf:org/model"]
)
def test_the_name_of_a_repository_is_the_hubs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_folder(name, "model") is None
    (tmp_path / name).mkdir(parents=True)
    loads: list[Callable[[str], object]] = [load_model, load_masked_language_model]
    for load in (*loads, lambda name: resolve_folder(name, "--suite")):
        with pytest.raises(S2lctError, match="is here, too"):
            load(name)
    for spelled in (f"./{name}", f"{name}/", str(tmp_path / name), Path(name)):
        assert resolve_folder(spelled, "model") == Path(spelled)


def test_a_folder_is_a_model_by_every_spelling_of_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny_classifier(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "mine@main"):
        with pytest.raises(OptionError, match=r"write \./mine"):
            as_model(name)
    assert folder_argument(Path("a/mine")) == "./a/mine" and folder_argument(tmp_path) == str(
        tmp_path
    )
    for spelled, name in (("./mine", "./mine"), ("mine/", "mine/"), (Path("mine"), "./mine")):
        assert as_model(spelled).name == name


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
    assert repository_of(name) == repository
    assert repository_of("hf:gpt2", allows_bare_name=True) == "gpt2"


def test_no_folder_of_a_pull_request_stands_for_a_suite_of_the_hub(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(suite_folder, PINNED)
    shutil.copytree(suite_folder, "ORG/results@v1")
    honest = write_result(score("vader", f"./{PINNED}"), "results")
    assert gate(honest, max=["mean=100"]).passed
    forged = honest.read_text().replace(f'"./{PINNED}"', f'"{PINNED}"')
    assert PINNED in forged
    honest.write_text(forged)
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
