"""Cards: what the Hub and `datasets` read in them, and that they say what the suite is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from damaged_suites import rewrite
from hub_fixtures import HubClient
from markdown_it import MarkdownIt
from test_verify import new_text

from s2lct.cards import (
    hub_licence,
    render,
    render_dataset_card,
)
from s2lct.suite.tables import family_example


def described(folder: Path) -> dict[str, Any]:
    suite: dict[str, Any] = json.loads((folder / "suite.json").read_text())
    return suite


def card_of(folder: Path, suite: dict[str, Any], repo: str | None = "s2lct-org/s2lct") -> str:
    examples = {
        name: family_example(pq.read_table(folder / file["path"]).to_pylist())
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
        "space": render("metric_card.md", repo="s2lct-org/s2lct"),
        "leaderboard": render("leaderboard_card.md", results="a/results", dataset="a/s2lct"),
        "results": render("results_card.md", repo="a/results"),
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
    assert len([one for one in hub.server.requests if one.path == "/api/validate-yaml"]) == len(
        cards
    )


def test_datasets_reads_a_suites_card_and_notices_another_build(
    suite_folder: Path, tmp_path: Path
) -> None:
    from datasets import load_dataset

    def other_text(rows: list[dict[str, Any]]) -> None:
        family = [row for row in rows if row["seed_id"] == rows[-1]["seed_id"]]
        for row in family:
            new_text(row, row["text"].swapcase())
            row["seed_id"] = family[0]["id"]

    card = metadata((suite_folder / "README.md").read_text())
    suite = described(suite_folder)
    versions = {config["config_name"]: config["version"] for config in card["configs"]}
    assert versions == dict.fromkeys(["all", *suite["files"]], suite["version"])
    sizes = {one["config_name"]: one for one in card["dataset_info"]}
    assert set(sizes) == set(versions)
    folder = Path(shutil.copytree(suite_folder, tmp_path / "suite"))
    cache = str(tmp_path / "cache")
    before = load_dataset(str(folder), "LC8", split="test", cache_dir=cache)
    (split,) = sizes["LC8"]["splits"]
    assert split["num_examples"] == len(before)
    rewrite(folder, "LC8", other_text)
    (folder / "README.md").write_text(card_of(folder, described(folder), None))
    after = load_dataset(str(folder), "LC8", split="test", cache_dir=cache)
    assert list(after["id"]) != list(before["id"])


@pytest.mark.parametrize(
    ("stated", "expected"),
    [("not stated", "unknown"), ("MIT", "mit"), ("neutral sentences: CC0-1.0", "other")],
)
def test_the_suites_licence_follows_from_its_corpus(
    suite_folder: Path, stated: str, expected: str
) -> None:
    suite = described(suite_folder)
    suite["corpus"]["licence"] = stated
    card = card_of(suite_folder, suite)
    assert metadata(card)["license"] == expected == hub_licence(stated)
    assert ("license_name" in metadata(card)) == (expected == "other")
    assert f"| {stated} |" in card


def test_no_version_of_a_stranger_has_notes_of_ours(suite_folder: Path) -> None:
    suite = described(suite_folder)
    for version in ("1.0.0", "3.0.0"):
        card = card_of(suite_folder, suite | {"version": version})
        assert card.replace(version, "V") == card_of(suite_folder, suite | {"version": "V"})


HOSTILE = (
    "a <img src=x onerror=alert(1)> [b](https://evil.example) ![c](https://evil.example/d) | `e` "
    "*f* __g__ ~~h~~ https://evil.example www.evil.example\n---\nlicense: mit\n\n# i\n\n"
    "```\nj {{ 7 * 7 }} \u202egnp.js \x1b[31m <!-- $k$"
)


def shown(card: str) -> str:
    """A card as the Hub shows it: GitHub's Markdown, bare links included, with HTML."""
    _, _, body = card.split("---\n", 2)
    rules = {"html": True}
    return MarkdownIt("commonmark", rules).enable(["table", "strikethrough"]).render(body)


def test_nothing_that_others_supply_becomes_markup(suite_folder: Path) -> None:
    suite = described(suite_folder)
    plain_card = card_of(suite_folder, suite)
    corpus = dict.fromkeys(("description", "name", "licence"), HOSTILE)
    suite["corpus"] |= corpus
    suite["options"] |= dict.fromkeys(("mlm", "parser", "tagger"), HOSTILE)
    suite["reading"] = {"read": 1, "annotators": {HOSTILE: 1}}
    for capability in suite["capabilities"]:
        capability |= dict.fromkeys(("title", "expectation"), HOSTILE)
    seed = {"id": "a", "kind": "seed", "text": HOSTILE, "labels": [0]}
    word = {"start": 2, "end": 30, "word": HOSTILE[2:30]}
    expansion = seed | {"kind": "expansion", "seed_id": "a", "inserted": [word]}
    examples = dict.fromkeys(suite["files"], family_example([seed, expansion]))
    card = render_dataset_card(suite, examples, "s2lct-org/s2lct")
    assert metadata(card).keys() - {"license_name"} == metadata(plain_card).keys()
    assert metadata(card)["license"] == "other"
    tags = re.compile(r"<(\w+)")
    assert {*tags.findall(shown(card))} <= {*tags.findall(shown(plain_card)), "strong"}
    for forbidden in (
        "<img",
        '<a href="https://evil',
        "<script",
        "<del",
        "\u202e",
        "\x1b",
        "<h1>i",
    ):
        assert forbidden not in shown(card)
    _, _, body = card.split("---\n", 2)
    assert not re.search(r"(?<!\\)://evil|www\.evil", re.sub(r"`[^`\n]*`", "", body))
    # No cell ends early: each row has as many as its table's head.
    for table in re.findall(r"(?:^\|.*\n)+", card, re.MULTILINE):
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()]
        assert len(set(cells)) == 1, table
