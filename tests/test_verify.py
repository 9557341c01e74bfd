"""`verify` names what is broken: a good suite is corrupted in one way after another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import Rows, describe, described, rewrite
from hypothesis import given
from hypothesis import strategies as st
from stub_models import stub_models
from typer.testing import CliRunner

from s2lct.builder.config import BuildConfig
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import is_part, verify_suite
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


def break_production(rows: Rows) -> None:
    expansion_in(rows)["production"]["reference_rhs"] = ["NP"]


def wrong_kind(rows: Rows) -> None:
    expansion_in(rows)["kind"] = "mutation"


def seed_with_an_origin(rows: Rows) -> None:
    seed_in(rows)["origin"] = "masked"


def no_origin(rows: Rows) -> None:
    expansion_in(rows)["origin"] = ""


def attested_by_nobody(rows: Rows) -> None:
    expansion_in(rows)["origin"] = "attested"


def expansion_of_another_source(rows: Rows) -> None:
    expansion_in(rows)["sources"][0]["id"] = "another"


def sentence_that_is_not_extended(rows: Rows) -> None:
    row = expansion_in(rows)
    row["sources"] = next(r for r in rows if r["id"] == row["seed_id"])["sources"]


def sentence_of_nobody(rows: Rows) -> None:
    for row in rows:
        row["sources"][0]["used"] = "Nobody wrote " + row["sources"][0]["used"]


def counterpart_in(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == "counterpart")


def counterpart_that_agrees(rows: Rows) -> None:
    row = counterpart_in(rows)
    seed = next(r for r in rows if r["id"] == row["seed_id"])
    row["labels"], row["label"] = seed["labels"], seed["label"]


def counterpart_of_another_sentence(rows: Rows) -> None:
    row = counterpart_in(rows)
    row["sources"] = [row["sources"][0] | {"used": row["sources"][0]["text"][:-1] + "!"}]


def counterpart_with_an_insertion(rows: Rows) -> None:
    word = counterpart_in(rows)["text"].split()[0]
    counterpart_in(rows)["inserted"] = [{"word": word, "tag": "DT", "start": 0, "end": len(word)}]


def counterpart_of_no_seed(rows: Rows) -> None:
    counterpart_in(rows)["seed_id"] = "0" * 16


def one_reader(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "sentence", "reader": "one", "natural": 2}]


def readers_who_found_a_fault(rows: Rows) -> None:
    expansion_in(rows)["verdicts"] = [
        {"of": "sentence", "reader": name, "natural": natural}
        for name, natural in (("one", 2), ("two", 0))
    ]


def verdict_of_no_part(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "word", "reader": "one", "natural": 2}]


def verdict_of_no_grade(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "case", "reader": "one", "natural": 3}]


IN_BOTH_FORMS: list[Corruption] = [
    change_text,
    drop_seed,
    flip_label,
    label_that_does_not_pass,
    seed_with_other_labels,
    double_row,
    move_offsets,
    change_other_word,
    break_production,
    wrong_kind,
]
IN_THE_FLUENT: list[tuple[str, Corruption]] = [
    ("LC8", insert_negator),
    ("LC8", seed_with_an_origin),
    ("LC8", no_origin),
    ("LC8", attested_by_nobody),
    ("LC8", expansion_of_another_source),
    ("LC8", sentence_that_is_not_extended),
    ("LC8", sentence_of_nobody),
    ("LC8", one_reader),
    ("LC8", readers_who_found_a_fault),
    ("LC8", verdict_of_no_part),
    ("LC8", verdict_of_no_grade),
    ("LC4", counterpart_that_agrees),
    ("LC4", counterpart_of_another_sentence),
    ("LC4", counterpart_with_an_insertion),
    ("LC4", counterpart_of_no_seed),
]


@pytest.fixture(scope="session")
def paper_folder(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paper") / "films"
    options = {"templates": "paper", "capabilities": ("LC8",), "seeds": 4, "masks": 5}
    with stub_models():
        build_suite(BuildConfig.checked(out=out, corpus=f"csv:{corpus_path}", **options))
    return out


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("name", "corrupt"),
    [*(("LC8", one) for one in IN_BOTH_FORMS), *IN_THE_FLUENT],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_corrupted_row_is_named(copy: Path, name: str, corrupt: Corruption) -> None:
    rewrite(copy, name, corrupt)
    assert any(name in fault for fault in verify_suite(copy))


def seed_of_another_text(rows: Rows) -> None:
    new_text(seed_in(rows), seed_in(rows)["text"] + " Really.")


@pytest.mark.parametrize(
    "corrupt", [*IN_BOTH_FORMS, seed_of_another_text], ids=lambda one: one.__name__
)
def test_a_corrupted_row_of_the_papers_form_is_named(
    paper_folder: Path, tmp_path: Path, corrupt: Corruption
) -> None:
    copy = Path(shutil.copytree(paper_folder, tmp_path / "copy"))
    assert verify_suite(copy) == []
    rewrite(copy, "LC8", corrupt)
    assert any("LC8" in fault for fault in verify_suite(copy))


@pytest.mark.parametrize("column", ["seeds", "expansions", "counterparts"])
def test_counts_are_those_of_the_rows(copy: Path, column: str) -> None:
    suite = described(copy)
    suite["counts"]["LC4"][column] += 1
    describe(copy, suite)
    (fault,) = verify_suite(copy)
    assert "LC4" in fault
    assert column in fault


def test_who_read_is_said_as_the_rows_have_it(copy: Path) -> None:
    def read(rows: Rows) -> None:
        seed_in(rows)["verdicts"] = [
            {"of": "sentence", "reader": name, "natural": 2} for name in ("one", "two")
        ]

    rewrite(copy, "LC8", read)
    assert described(copy)["reading"] == {"read": 1, "readers": {"one": 1, "two": 1}}
    assert verify_suite(copy) == []
    suite = described(copy)
    suite["reading"]["readers"]["three"] = 400
    describe(copy, suite)
    (fault,) = verify_suite(copy)
    assert fault.startswith("suite.json: reading is")
    del suite["reading"]
    describe(copy, suite)
    (fault,) = verify_suite(copy)
    assert fault.startswith("suite.json: reading is None")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=1, max_size=8))
def test_a_sentence_without_some_words_is_one_of_the_corpus(words: list[tuple[str, bool]]) -> None:
    text = " ".join(word for word, _ in words)
    used = " ".join(word for word, stays in words if stays)
    assert is_part(used, text) == bool(used)
    assert not is_part(f"{text} c", text)
    assert not is_part(f"{text}a", text)


def test_corrupted_files_are_named(copy: Path) -> None:
    parquet = next((copy / "data" / "LC8").glob("*.parquet"))
    content = parquet.read_bytes()
    parquet.write_bytes(content[:-20])
    assert any("LC8" in fault for fault in verify_suite(copy))
    parquet.unlink()
    assert any("LC8" in fault for fault in verify_suite(copy))
    shutil.copy(next((copy / "data" / "LC7").glob("*.parquet")), parquet)
    assert any("LC8" in fault for fault in verify_suite(copy))
    parquet.write_bytes(content)
    assert verify_suite(copy) == []
    card = copy / "README.md"
    card.write_text(card.read_text().replace("config_name: LC8", "config_name: LC88"))
    assert any("README.md: configs" in fault for fault in verify_suite(copy))
    card.unlink()
    assert any("README.md" in fault for fault in verify_suite(copy))


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
    assert "suite.json" in result.output


def test_two_seeds_of_one_sentence_share_no_counterpart(corpus_path: Path, tmp_path: Path) -> None:
    """Denied in one way and in another, what was said is the same."""
    options = {"capabilities": ("LC4",), "seeds": 30, "masks": 1}
    build_suite(BuildConfig.checked(out=tmp_path / "lc4", corpus=f"csv:{corpus_path}", **options))
    assert verify_suite(tmp_path / "lc4") == []
    counts = described(tmp_path / "lc4")["counts"]["LC4"]
    assert 0 < counts["counterparts"] < counts["seeds"]
