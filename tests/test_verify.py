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
from typer.testing import CliRunner

from s2lct.builder.verify import is_part, verify_suite
from s2lct.cli.main import app
from s2lct.identity import content_id

Corruption = Callable[[Rows], object]


def first(rows: Rows, kind: str = "seed") -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == kind)


def seed_of(rows: Rows, row: dict[str, Any]) -> dict[str, Any]:
    return next(other for other in rows if other["id"] == row["seed_id"])


def expansion(rows: Rows, **columns: Any) -> None:
    first(rows, "expansion").update(columns)


def contrast(rows: Rows, **columns: Any) -> None:
    first(rows, "contrast").update(columns)


def new_text(row: dict[str, Any], text: str) -> None:
    row |= {"text": text, "id": content_id(row["kind"], row["capability"], text)}
    if row["kind"] == "seed":
        row["seed_id"] = row["id"]


def insert_negator(rows: Rows) -> None:
    row = first(rows, "expansion")
    word = row["inserted"][0]
    text = row["text"][: word["start"]] + "never" + row["text"][word["end"] :]
    moved = len("never") - (word["end"] - word["start"])
    for other in row["inserted"][1:]:
        other.update(start=other["start"] + moved, end=other["end"] + moved)
    word.update(word="never", end=word["start"] + len("never"))
    new_text(row, text)


def change_every(rows: Rows, **columns: Any) -> None:
    for row in rows:
        row.update(columns)


def use_nobodys_sentence(rows: Rows) -> None:
    for row in rows:
        row["sources"][0]["used"] = "Nobody wrote " + row["sources"][0]["used"]


def agree_with_the_seed(rows: Rows) -> None:
    seed = seed_of(rows, first(rows, "contrast"))
    contrast(rows, labels=seed["labels"], label=seed["label"])


IN_BOTH_FORMS: dict[str, Corruption] = {
    "text": lambda rows: first(rows).update(text=f"{first(rows)['text']} Really."),
    "no seed": lambda rows: rows.remove(seed_of(rows, first(rows, "expansion"))),
    "label that does not pass": lambda rows: [
        row.update(label=1 if row["labels"] != [1] else 0) for row in rows
    ],
    "labels of another capability": lambda rows: change_every(rows, labels=[1], label=1),
    "bell": lambda rows: new_text(first(rows), f"{first(rows)['text']}\a"),
    "row twice": lambda rows: rows.append(dict(first(rows, "expansion"))),
    "place": lambda rows: first(rows, "expansion")["inserted"][0].update(start=1_000),
    "other word": lambda rows: new_text(
        first(rows, "expansion"), first(rows, "expansion")["text"][:-1] + "!"
    ),
    "production": lambda rows: first(rows, "expansion")["production"].update(reference_rhs=["NP"]),
}
IN_THE_FLUENT: dict[str, tuple[str, Corruption]] = {
    "negator": ("LC8", insert_negator),
    "origin of a seed": ("LC8", lambda rows: first(rows).update(origin="masked")),
    "attested by nobody": ("LC8", lambda rows: expansion(rows, origin="attested")),
    "other source": (
        "LC8",
        lambda rows: first(rows, "expansion")["sources"][0].update(id="another"),
    ),
    "nothing extended": (
        "LC8",
        lambda rows: expansion(rows, sources=seed_of(rows, first(rows, "expansion"))["sources"]),
    ),
    "sentence of nobody": ("LC8", use_nobodys_sentence),
    "contrast that agrees": ("LC4", agree_with_the_seed),
    "contrast of another sentence": (
        "LC4",
        lambda rows: first(rows, "contrast")["sources"][0].update(used="Another one!"),
    ),
    "contrast of no seed": ("LC4", lambda rows: contrast(rows, seed_id="0" * 16)),
}


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


ALL = {name: ("LC8", corrupt) for name, corrupt in IN_BOTH_FORMS.items()} | IN_THE_FLUENT


@pytest.mark.parametrize(("name", "corrupt"), ALL.values(), ids=ALL)
def test_a_corrupted_row_is_named(copy: Path, name: str, corrupt: Corruption) -> None:
    rewrite(copy, name, corrupt)
    assert any(name in fault for fault in verify_suite(copy))


def test_counts_are_those_of_the_rows(copy: Path) -> None:
    good = described(copy)
    for column in ("seeds", "expansions", "contrasts"):
        counts = good["counts"] | {"LC4": good["counts"]["LC4"] | {column: 99}}
        describe(copy, good | {"counts": counts})
        (fault,) = verify_suite(copy)
        assert "LC4" in fault and column in fault


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=1, max_size=8))
def test_a_sentence_without_some_words_is_one_of_the_corpus(words: list[tuple[str, bool]]) -> None:
    text = " ".join(word for word, _ in words)
    used = " ".join(word for word, stays in words if stays)
    assert is_part(used, text) == is_part(used.capitalize(), text) == bool(used)
    assert not is_part(f"{text} c", text)
    assert not is_part(f"{text}a", text)


def test_corrupted_files_are_named_and_the_command_exits_1(copy: Path) -> None:
    def shown(folder: Path) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["verify", str(folder)])
        return result.exit_code, result.output

    assert shown(copy)[0] == 0
    parquet = next((copy / "data" / "LC8").glob("*.parquet"))
    content = parquet.read_bytes()
    parquet.write_bytes(content[:-20])
    assert any("LC8" in fault for fault in verify_suite(copy))
    parquet.unlink()
    assert any("LC8" in fault for fault in verify_suite(copy))
    shutil.copy(next((copy / "data" / "LC7").glob("*.parquet")), parquet)
    code, told = shown(copy)
    assert code == 1 and "LC8" in told
    code, told = shown(copy.parent)
    assert code == 1 and "suite.json" in told
