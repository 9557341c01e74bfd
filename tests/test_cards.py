"""Cards: what the Hub and `datasets` read in them, and that they say what the suite is."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from damaged_suites import rewrite
from hub_fixtures import HubClient
from hypothesis import given
from hypothesis import strategies as st
from test_verify import new_text

from s2lct.cards import (
    hub_licence,
    markdown,
    render_dataset_card,
    render_leaderboard_card,
    render_metric_card,
    render_results_card,
    size_category,
)
from s2lct.suite.tables import example_of

RESULT = {
    "path": "results/1.0.0-abc/vader--3.3.2.json",
    "model": "vader",
    "revision": "3.3.2",
    "suite": "1.0.0",
    "failure_rate": 0.25,
    "ci": (0.2, 0.3),
    "cases": 1234,
    "date": "2026-11-21",
}


def described(folder: Path) -> dict[str, Any]:
    suite: dict[str, Any] = json.loads((folder / "suite.json").read_text())
    return suite


def card_of(folder: Path, suite: dict[str, Any], repo: str | None = "s2lct-org/s2lct") -> str:
    examples = {
        name: example_of(pq.read_table(folder / file["path"]).to_pylist())
        for name, file in suite["files"].items()
    }
    return render_dataset_card(suite, examples, repo)


def metadata(card: str) -> dict[str, Any]:
    _, block, _ = card.split("---\n", 2)
    read: dict[str, Any] = yaml.safe_load(block)
    return read


def test_every_card_passes_the_hubs_validation(hub: HubClient, suite_folder: Path) -> None:
    cards = {
        "dataset": card_of(suite_folder, described(suite_folder)),
        "space": render_metric_card("s2lct-org/s2lct", "s2lct-org/s2lct"),
        "leaderboard": render_leaderboard_card("a/results", ""),
        "results": render_results_card("a/results", [RESULT]),
    }
    script = """
import json, sys
from huggingface_hub import DatasetCard, SpaceCard
for name, text in json.loads(sys.argv[1]).items():
    card = (DatasetCard if name in ("dataset", "results") else SpaceCard)(text)
    assert card.data.to_dict(), name
    card.validate()
"""
    hub.python(script, json.dumps(cards))
    assert len(hub.server.asked("/api/validate-yaml")) == len(cards)
    broken = cards["dataset"].replace("configs:", "configs: [", 1)
    script = (
        "import sys; from huggingface_hub import DatasetCard; DatasetCard(sys.argv[1]).validate()"
    )
    with pytest.raises(AssertionError):
        hub.python(script, broken)


def test_a_suites_card_says_how_large_each_config_is(suite_folder: Path) -> None:
    from datasets import load_dataset

    card = metadata((suite_folder / "README.md").read_text())
    suite = described(suite_folder)
    versions = {config["config_name"]: config["version"] for config in card["configs"]}
    assert versions == dict.fromkeys(["all", *suite["files"]], suite["version"])
    told = {one["config_name"]: one for one in card["dataset_info"]}
    assert set(told) == set(versions)
    for name in told:
        data = load_dataset(str(suite_folder), name, split="test")
        (split,) = told[name]["splits"]
        assert split["num_examples"] == len(data)
        assert split["num_bytes"] == told[name]["dataset_size"] > 0
    assert told["all"]["download_size"] == sum(one["bytes"] for one in suite["files"].values())


def test_a_suite_built_again_is_not_served_from_the_cache(
    suite_folder: Path, tmp_path: Path
) -> None:
    from datasets import load_dataset

    def swap_word(rows: list[dict[str, Any]]) -> None:
        seed = rows[-1]["seed_id"]
        family = [row for row in rows if row["seed_id"] == seed]
        for row in family:
            new_text(row, row["text"].swapcase())
            row["seed_id"] = family[0]["id"]

    folder = tmp_path / "suite"
    shutil.copytree(suite_folder, folder)
    cache = str(tmp_path / "cache")
    before = list(load_dataset(str(folder), "LC8", split="test", cache_dir=cache)["text"])
    rewrite(folder, "LC8", swap_word)
    suite = described(folder)
    (folder / "README.md").write_text(card_of(folder, suite, None))
    after = list(load_dataset(str(folder), "LC8", split="test", cache_dir=cache)["text"])
    assert len(after) == len(before)
    assert after == pq.read_table(folder / suite["files"]["LC8"]["path"])["text"].to_pylist()
    assert after != before


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("none stated by its authors", "unknown"),
        ("not stated", "unknown"),
        ("MIT", "mit"),
        ("cc-by-4.0", "cc-by-4.0"),
        ("neutral sentences: CC0-1.0", "other"),
    ],
)
def test_the_suites_licence_follows_from_its_corpus(
    suite_folder: Path, stated: str, expected: str
) -> None:
    assert hub_licence(stated) == expected
    suite = described(suite_folder)
    suite["corpus"]["licence"] = stated
    card = card_of(suite_folder, suite)
    assert metadata(card)["license"] == expected
    assert ("license_name" in metadata(card)) == (expected == "other")
    assert f"| {stated} |" in card


@pytest.mark.parametrize("corpus", ["sst", "embedded", "csv:films.csv"])
@pytest.mark.parametrize("form", ["fluent", "paper"])
def test_a_suites_card_has_every_section(suite_folder: Path, corpus: str, form: str) -> None:
    suite = described(suite_folder)
    suite["corpus"]["name"], suite["options"]["templates"] = corpus, form
    card = card_of(suite_folder, suite)
    for title in (
        "Source and licence",
        "Data statement",
        "Quality of the cases",
        "Intended use",
        "Known limits",
    ):
        section = card.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert len(section.split()) > 15, title
    assert "None" not in card
    assert "**Not read.**" in card
    assert ("s2lct curate" in card) == (form == "fluent")
    assert ("What is the paper's and what is not:" in card) == (form == "paper")
    assert ("wording is the S²LCT paper's" in card) == (form == "paper")
    assert "the S²LCT authors" in card
    assert 'load_dataset("s2lct-org/s2lct", "LC4", split="test", revision="v1.0.0")' in card


@pytest.mark.parametrize("unread", [0, 3])
def test_a_suites_card_says_who_read_it_and_how_much_nobody_did(
    suite_folder: Path, unread: int
) -> None:
    suite = described(suite_folder)
    cases = sum(file["rows"] for file in suite["files"].values())
    readers = {"Ann": cases - unread, "a|model": 7}
    suite["reading"] = {"read": cases - unread, "readers": readers}
    card = card_of(suite_folder, suite)
    assert "Not read." not in card
    assert f"Ann ({cases - unread})" in card
    assert "a\\|model (7)" in card
    assert (f"Of {cases} cases {cases - unread} were read" in card) == bool(unread)
    assert "vader" in card
    assert "by more than 0.3" in card


def test_a_suites_card_counts_counterparts_and_origins(suite_folder: Path) -> None:
    suite = described(suite_folder)
    rows = [
        row
        for file in suite["files"].values()
        for row in pq.read_table(suite_folder / file["path"]).to_pylist()
    ]
    kinds = Counter(row["kind"] for row in rows)
    origins = Counter(row["origin"] for row in rows if row["kind"] == "expansion")
    card = (suite_folder / "README.md").read_text()
    assert kinds["counterpart"] > 0
    assert f"stand {kinds['counterpart']} counterparts" in card
    totals = f"| {kinds['seed']} | {kinds['expansion']} | {kinds['counterpart']} |"
    assert f"| all | {totals}" in " ".join(card.split())
    assert set(origins) == {"masked", "attested"}
    assert f"{origins['masked']} have words of a masked" in card
    assert f" and {origins['attested']} are their author's own" in card
    assert "phrase that" not in card
    for name in suite["files"]:
        suite["counts"][name]["counterparts"] = 0
        suite["files"][name]["origins"] = {"phrase": 1_000}
    card = card_of(suite_folder, suite)
    assert "counterparts" not in card
    assert f"expansions, {len(suite['files'])},000 a phrase" in card


def test_a_card_of_a_suite_that_names_no_origins_says_nothing_of_them(suite_folder: Path) -> None:
    suite = described(suite_folder)
    for name in suite["files"]:
        del suite["files"][name]["origins"], suite["counts"][name]["counterparts"]
    card = card_of(suite_folder, suite)
    assert "Of the expansions" not in card
    assert "counterparts" not in card
    assert metadata(card)["configs"]


def test_metadata_survives_words_that_yaml_or_tables_read_otherwise(suite_folder: Path) -> None:
    suite = described(suite_folder)
    suite["capabilities"][0]["title"] = 'He said: "no" # yes | \\n - [x]'
    suite["corpus"]["licence"] = "MIT | or not"
    card = card_of(suite_folder, suite)
    name = suite["capabilities"][0]["id"]
    config = next(one for one in metadata(card)["configs"] if one["config_name"] == name)
    assert config["description"].startswith('He said: "no" # yes | \\n - [x], rows ')
    assert "MIT \\| or not" in card


def test_an_example_shows_inserted_words(suite_folder: Path) -> None:
    suite = described(suite_folder)
    shown = 0
    for file in suite["files"].values():
        rows = pq.read_table(suite_folder / file["path"]).to_pylist()
        example = example_of(rows)
        texts = {row["text"]: row for row in rows}
        assert texts[example["seed"]]["kind"] == "seed"
        if "expansion" in example:
            row = texts[example["expansion"].replace("**", "")]
            assert row["seed_id"] == texts[example["seed"]]["id"]
            assert example["expansion"].count("**") == 2 * len(row["inserted"])
            shown += 1
    assert shown


@given(st.text(max_size=40))
def test_a_model_may_be_called_anything_in_a_table(name: str) -> None:
    cell = markdown(name)
    assert "\n" not in cell
    assert "<" not in cell
    for sign in "|[]`*":
        assert cell.count(sign) == cell.count("\\" + sign)


def test_a_results_card_lists_models_or_says_that_there_are_none() -> None:
    assert "| 25.0 % [20, 30] | 1,234 |" in render_results_card("a/results", [RESULT])
    hostile = RESULT | {"path": "results/x/a b>(1).json"}
    assert "(<results/x/a%20b%3E%281%29.json>)" in render_results_card("a/results", [hostile])
    assert "no results yet" in render_results_card("a/results", [])


@pytest.mark.parametrize(
    ("rows", "name"), [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10**6, "1M<n<10M")]
)
def test_sizes(rows: int, name: str) -> None:
    assert size_category(rows) == name
