"""What people type: near names are told; a folder is never taken for a repository of the Hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_classifier

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.domains import load_domain
from s2lct.builder.models import load_masked_language_model, load_parser
from s2lct.errors import OptionError, S2lctError
from s2lct.files import folder_name, folder_named
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.leaderboard.models.load import as_model, load_model
from s2lct.plain_text import did_you_mean
from s2lct.suite.capability_ids import chosen
from s2lct.suite.cases import load_suite

NEAR: dict[str, Callable[[], object]] = {
    "vader": lambda: load_model("vadr"),
    "textblob": lambda: load_model("TextBlob"),
    "embedded-3class": lambda: load_model("embeded-3class"),
    "LC4": lambda: chosen(["LC44"], ["LC1", "LC4"], "mine"),
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


@given(st.text(), st.lists(st.text(min_size=1)))
def test_near_names_are_names_that_there_are(name: str, names: list[str]) -> None:
    told = did_you_mean(name, names)
    assert not told or told in {f"did you mean {other}? " for other in names}


@pytest.mark.parametrize(
    "name", ["./nothing", "nothing/", "../a/b", "a/b/c", "/no/folder", "no such", "a\0b", "", "~x"]
)
def test_a_folder_that_is_missing_is_called_so(name: str) -> None:
    with pytest.raises(S2lctError, match="there is no such folder") as caught:
        load_model(name)
    assert "Validation" not in str(caught.value)
    with pytest.raises(S2lctError, match="there is no such folder") as caught:
        load_suite(name or "..../")
    assert "Validation" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["org/model", "org/model@v1", "gpt2", "a.b/c-d_e@refs/pr/1", "hf:org/model"]
)
def test_the_name_of_a_repository_is_the_hubs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_named(name, "model") is None
    (tmp_path / name).mkdir(parents=True)
    for load in (
        load_model,
        lambda name: load_masked_language_model(name),
        lambda name: folder_named(name, "--suite"),
    ):
        with pytest.raises(S2lctError) as caught:
            load(name)
        assert "is here, too" in str(caught.value)
    for spelled in (f"./{name}", f"{name}/", str(tmp_path / name), Path(name)):
        assert folder_named(spelled, "model") == Path(spelled)


def test_a_folder_beside_a_revision_is_not_taken_for_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="is here, too") as caught:
        as_model("org/model@main")
    assert "write ./org/model;" in caught.value.hint


def test_a_folder_is_a_model_by_every_spelling_of_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny_classifier(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=r"write \./mine"):
        as_model("mine")
    assert folder_name(Path("a/mine")) == "./a/mine" and folder_name(tmp_path) == str(tmp_path)
    for name, called in (("./mine", "./mine"), ("mine/", "mine/"), (Path("mine"), "./mine")):
        assert as_model(name).name == called


def test_a_parser_of_a_folder_is_named_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benepar_en3").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(S2lctError, match="is here, too"):
        load_parser("benepar_en3")
