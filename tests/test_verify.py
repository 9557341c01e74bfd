"""`verify` names what is broken: a good suite is corrupted in one way after another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import Rows, rewrite
from typer.testing import CliRunner

from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.identity import content_id

Corruption = Callable[[Rows], None]


def expansion_in(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == "expansion")


def seed_in(rows: Rows) -> dict[str, Any]:
    return rows[0]


def new_text(row: dict[str, Any], text: str) -> None:
    row["text"] = text
    row["id"] = content_id(row["kind"], row["capability"], text)
    if row["kind"] == "seed":
        row["seed_id"] = row["id"]


def change_text(rows: Rows) -> None:
    seed_in(rows)["text"] += " Really."


def change_seed_text(rows: Rows) -> None:
    new_text(seed_in(rows), seed_in(rows)["text"] + " Really.")


def drop_seed(rows: Rows) -> None:
    rows.remove(next(r for r in rows if r["id"] == expansion_in(rows)["seed_id"]))


def flip_label(rows: Rows) -> None:
    row = expansion_in(rows)
    row["labels"], row["label"] = [1], 1


def label_that_does_not_pass(rows: Rows) -> None:
    for row in rows:
        row["label"] = 1 if row["labels"] != [1] else 0


def seed_with_other_labels(rows: Rows) -> None:
    for row in rows:
        row["labels"], row["label"] = [1], 1


def double_row(rows: Rows) -> None:
    rows.append(dict(expansion_in(rows)))


def move_offsets(rows: Rows) -> None:
    expansion_in(rows)["inserted"][0]["start"] += 1


def change_other_word(rows: Rows) -> None:
    row = expansion_in(rows)
    new_text(row, row["text"][:-1] + "!")


def insert_negator(rows: Rows) -> None:
    row = expansion_in(rows)
    word = row["inserted"][0]
    text = row["text"][: word["start"]] + "never" + row["text"][word["end"] :]
    moved = len("never") - (word["end"] - word["start"])
    for other in row["inserted"][1:]:
        other["start"] += moved
        other["end"] += moved
    word["word"], word["end"] = "never", word["start"] + len("never")
    new_text(row, text)


def break_masked_text(rows: Rows) -> None:
    expansion_in(rows)["masked_text"] = "Nothing {mask} like it."


def break_production(rows: Rows) -> None:
    expansion_in(rows)["production"]["reference_rhs"] = ["NP"]


def wrong_tag(rows: Rows) -> None:
    row = expansion_in(rows)
    for word in row["inserted"]:
        row["production"]["reference_rhs"] = [
            "UH" if symbol == word["tag"] else symbol
            for symbol in row["production"]["reference_rhs"]
        ]
        row["production"]["seed_rhs"] = [
            "UH" if symbol == word["tag"] else symbol for symbol in row["production"]["seed_rhs"]
        ]
    for word in row["inserted"]:
        word["tag"] = "UH"


def wrong_phrase(rows: Rows) -> None:
    expansion_in(rows)["production"]["lhs"] = "WHADVP"


def wrong_kind(rows: Rows) -> None:
    expansion_in(rows)["kind"] = "mutation"


def source_of_another_label(rows: Rows) -> None:
    for row in rows:
        row["sources"] = [source | {"label": 1} for source in row["sources"]]


CORRUPTIONS: list[tuple[Corruption, str]] = [
    (change_text, "its id is not the hash"),
    (change_seed_text, "its text is not its template filled"),
    (drop_seed, "is not in the suite"),
    (flip_label, "are not its seed's"),
    (label_that_does_not_pass, "its label is not among those that pass"),
    (seed_with_other_labels, "its labels are not those of its capability"),
    (double_row, "its id is also that of"),
    (move_offsets, "is not at its offsets"),
    (change_other_word, "without its inserted words it is not its seed"),
    (insert_negator, "shifts polarity"),
    (break_masked_text, "its masked text, filled, is not its text"),
    (break_production, "does not license"),
    (wrong_tag, "its mask UH"),
    (wrong_phrase, "not under a WHADVP"),
    (wrong_kind, "its kind is 'mutation'"),
    (source_of_another_label, "does not meet the search rule"),
]


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("corrupt", "message"), CORRUPTIONS, ids=lambda c: getattr(c, "__name__", "")
)
def test_a_corrupted_row_is_named(copy: Path, corrupt: Corruption, message: str) -> None:
    rewrite(copy, "LC8", corrupt)
    faults = verify_suite(copy)
    assert any("LC8" in fault and message in fault for fault in faults), faults


def test_rewriting_alone_breaks_nothing(copy: Path) -> None:
    rewrite(copy, "LC8", lambda rows: None)
    assert verify_suite(copy) == []


def test_corrupted_files_are_named(copy: Path) -> None:
    parquet = next((copy / "data" / "LC8").glob("*.parquet"))
    content = parquet.read_bytes()
    parquet.write_bytes(content[:-20])
    assert any("LC8" in fault for fault in verify_suite(copy))
    parquet.unlink()
    assert any("LC8" in fault for fault in verify_suite(copy))
    shutil.copy(next((copy / "data" / "LC7").glob("*.parquet")), parquet)
    assert any("sha256" in fault for fault in verify_suite(copy))
    parquet.write_bytes(content)
    assert verify_suite(copy, quick=True) == []
    card = copy / "README.md"
    card.write_text(card.read_text().replace("config_name: LC8", "config_name: LC88"))
    assert any("README.md: configs" in fault for fault in verify_suite(copy))
    card.unlink()
    assert any("README.md: missing" in fault for fault in verify_suite(copy))


def test_the_command_exits_1_with_a_list(copy: Path) -> None:
    runner = CliRunner()
    result = runner.invoke(app, ["verify", str(copy)])
    assert result.exit_code == 0, result.output
    rewrite(copy, "LC8", double_row)
    result = runner.invoke(app, ["verify", str(copy)])
    assert result.exit_code == 1
    assert "LC8 expansion" in result.output
    result = runner.invoke(app, ["verify", str(copy.parent)])
    assert result.exit_code == 1
    assert "no suite.json there" in result.output
