"""A capability of one's own is one file: it goes wherever a shipped one does."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_build import config_for, rows_in
from typer.testing import CliRunner

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import (
    Capability,
    CheckListTest,
    Choice,
    Contrast,
    Form,
    Rewrite,
    SearchRule,
    Template,
)
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.clean import is_plain_sentence
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.suite.read import read_description

RATERS = "Somebody else's view is passed on."
HEARSAY = f"""
id: hearsay
title: Hearsay
short: hearsay
order: 4.5
expectation: What others say does not count.
raters: {RATERS}
checklist: {{test: my opinion is what matters}}
forms:
  fluent:
    search:
      P:
        - label: positive
          has_one_of: [positive adj]
    templates:
      - text: 'I have not seen it, but a friend says: "{{P}}"'
        passes: [neutral]
"""


PAGE = (Path(__file__).parents[1] / "docs" / "capabilities.md").read_text(encoding="utf-8")


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def own_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mine") / "what-friends-say.yaml"
    path.write_text(HEARSAY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def suite(corpus_path: Path, own_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("own") / "suite"
    build_suite(
        config_for(corpus_path, out, capabilities=("HEARSAY", "LC2"), capability_files=(own_file,))
    )
    return out


def test_it_is_listed_in_its_place_and_its_file_is_printed(own_file: Path) -> None:
    known = [one.id for one in load_capabilities((), [own_file])]
    assert known.index("hearsay") == known.index("LC4") + 1
    assert invoke("capabilities", "--capabilities", own_file, "--show", "Hearsay") == HEARSAY


def test_it_is_verified_scored_reported_and_ranked(suite: Path, tmp_path: Path) -> None:
    own, _ = read_description(suite)["capabilities"]
    assert (own["short"], own["raters"]) == ("hearsay", RATERS)
    invoke("verify", suite)
    results = tmp_path / "results"
    invoke("score", "vader", "--suite", suite, "--capability", "HearSay", "--out", results)
    invoke("score", "vader", "--suite", suite, "--out", results)
    files = sorted(results.rglob("*.json"))
    assert files
    for path in files:
        assert "hearsay" in path.read_text("utf-8")
    invoke("report", *files, "--html", tmp_path / "report.html")
    assert "hearsay" in (tmp_path / "report.html").read_text("utf-8")
    invoke("leaderboard", "build", results, "--out", tmp_path / "site")
    assert "hearsay" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_raters_are_told_what_it_is(suite: Path, tmp_path: Path) -> None:
    options = ["--capability", "hearsay", "--sets", "1", "--seeds", "1"]
    invoke("study", "export", suite, "--out", tmp_path / "study", *options)
    assert RATERS.replace("'", "\\u0027") in (tmp_path / "study" / "set-1.html").read_text("utf-8")
    assert RATERS in (tmp_path / "study" / "set-1.csv").read_text("utf-8")


def test_the_page_names_every_field() -> None:
    kinds = (Capability, Form, SearchRule, Template, Contrast, Rewrite, Choice, CheckListTest)
    fields = {name for kind in kinds for name in kind.model_fields}
    assert not {name for name in fields if f"`{name}`" not in PAGE} - {"test", "find", "replace"}


@pytest.mark.shipped_models
def test_the_pages_example_is_built_of_sentences_that_nobody_need_mend(tmp_path: Path) -> None:
    example = PAGE[PAGE.index("```yaml\n") + 8 : PAGE.index("\n```\n")]
    file = tmp_path / "hearsay.yaml"
    file.write_text(example, encoding="utf-8")
    config = BuildConfig.checked(
        out=tmp_path / "out", seeds=12, capability_files=(file,), capabilities=("HEARSAY",)
    )
    build_suite(config)
    assert verify_suite(tmp_path / "out") == []
    rows = rows_in(tmp_path / "out")
    assert {row["kind"] for row in rows} == {"seed", "expansion", "contrast"}
    for row in rows:
        assert all(is_plain_sentence(source["text"]) for source in row["sources"])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The film's performances are thrilling.", True),
        ("Lovely female performances by buy and accorsi.", False),
        ("Wang puts china at the front.", False),
        ("It is dover kosashvili's debut.", False),
        ("This bartleby is a fine piece of work.", False),
        ("The cast is good, and the film is on DVD.", True),
        ("An american film about love.", False),
        ("a film without a capital", False),
    ],
)
def test_a_plain_sentence_has_names_with_capitals(text: str, plain: bool) -> None:
    assert is_plain_sentence(text) == plain
