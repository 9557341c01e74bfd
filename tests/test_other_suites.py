"""Suites that nobody built here: CheckList's cases, tables with columns of their own."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.analysis.coverage.measure import texts_by_suite, texts_of_suite
from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.leaderboard.results.read_results import read_result
from s2lct.suite.capability_ids import capability_id_of, is_capability_id
from s2lct.suite.cases import load_suite

pytestmark = pytest.mark.usefixtures("own_cache")
runner = CliRunner()
NOT_NEGATIVE = "simple negations: not negative"
CHECKLIST = [
    {"test": test, "capability": of, "type": "MFT", "case": n, "texts": [text], "expected": passes}
    for n, (test, of, text, passes) in enumerate(
        [
            ("single positive words", "Vocabulary", "lovely", ["positive"]),
            ("single positive words", "Vocabulary", "splendid", ["positive"]),
            (NOT_NEGATIVE, "Negation", "The tram isn't ugly.", ["positive", "neutral"]),
            (NOT_NEGATIVE, "Negation", "The tram isn't ugly.", ["positive", "neutral"]),
            (NOT_NEGATIVE, "Negation", "The bus is not bad.", ["positive", "neutral"]),
        ]
    )
]


def s2lct(*arguments: str | Path, code: int = 0) -> str:
    done = runner.invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.fixture
def checklist(tmp_path: Path) -> Path:
    path = tmp_path / "mft.jsonl.gz"
    lines = "".join(json.dumps(row) + "\n" for row in CHECKLIST)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))
    return path


def write_csv(path: Path, header: Sequence[str], *rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_checklists_tests_are_capabilities(checklist: Path) -> None:
    suite = load_suite(f"checklist:{checklist}")
    told = [(case.capability, case.text, case.passes, case.kind) for case in suite.cases]
    assert told == [
        ("negated-negative", "The tram isn't ugly.", {1, 2}, "seed"),
        ("negated-negative", "The bus is not bad.", {1, 2}, "seed"),
        ("single-positive-words", "lovely", {2}, "seed"),
        ("single-positive-words", "splendid", {2}, "seed"),
    ]
    assert suite.name == "checklist:mft.jsonl.gz"
    again = load_suite(f"checklist:{checklist}")
    assert again.fingerprint == suite.fingerprint
    assert not suite.partial


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"test": NOT_NEGATIVE, "texts": ["The bus is not bad."], "expected": ["negative"]},
         "twice"),
        ({"test": "negated-negative", "texts": ["So it is."], "expected": ["neutral"]}, ""),
        ({"test": "x", "texts": ["half \ud800"], "expected": ["neutral"]}, "surrogate"),
        ({"test": "x", "texts": ["a", "b"], "expected": ["neutral"]}, "line 6"),
    ],
)  # fmt: skip
def test_a_checklist_that_contradicts_itself_is_refused(
    checklist: Path, row: dict[str, Any], problem: str
) -> None:
    lines = gzip.decompress(checklist.read_bytes()) + json.dumps(row | {"capability": ""}).encode()
    checklist.write_bytes(gzip.compress(lines))
    if not problem:
        assert len(load_suite(f"checklist:{checklist}").cases) == 5
        return
    with pytest.raises(ScoringError, match=problem):
        load_suite(f"checklist:{checklist}")


HEADER = ("id", "capability", "text", "labels")
HATE = [
    (1, "negated_praise", "I do not admire my neighbours.", "negative"),
    (2, "negated_praise", "I don't admire, or trust, my neighbours.", "NEG"),
    (3, "praise: of a group, in a long sentence", "I admire my neighbours.", "neutral|positive"),
]


def test_a_table_is_a_suite(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "hate check.csv", HEADER, *HATE)
    suite = load_suite(f"csv:{path}")
    assert [(case.id, case.text, case.passes) for case in suite.cases] == [
        ("1", HATE[0][2], {0}),
        ("2", HATE[1][2], {0}),
        ("3", HATE[2][2], {1, 2}),
    ]
    names = [case.capability for case in suite.cases]
    assert names[0] == names[1] == "negated_praise"
    assert re.fullmatch(r"praise-of-a-group-in-a-l-[0-9a-f]{6}", names[2])
    rows = [dict(zip(HEADER, row, strict=True)) for row in HATE]
    lines = tmp_path / "same.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load_suite(f"jsonl:{lines}").fingerprint == suite.fingerprint
    told = s2lct("score", "vader", "--suite", f"csv:{path}", "--out", tmp_path / "r")
    assert "negated_praise" in told
    assert read_result(tmp_path / "r" / "vader.json").suite.name == "csv:hate check.csv"
    twice = write_csv(tmp_path / "twice.csv", ("text", "label"), *[("Lovely.", "positive")] * 2)
    assert [case.capability for case in load_suite(f"csv:{twice}").cases] == ["twice"]


@pytest.mark.parametrize(
    ("header", "cells", "problem"),
    [
        (("text", "label"), ("Lovely.", "hateful"), "hateful"),
        (("text", "label"), ("Lovely.", ""), "label"),
        (("review", "label"), ("Lovely.", "positive"), "review"),
        (("text", "label"), ("Lovely.", 1), "'1' in column 'label'"),
        (("text", "label", "gold"), ("Lovely.", "positive", "negative"), "label and gold"),
    ],
)
def test_what_a_table_lacks_is_told_with_the_row(
    tmp_path: Path, header: Sequence[str], cells: Sequence[object], problem: str
) -> None:
    path = write_csv(tmp_path / "mine.csv", header, cells)
    with pytest.raises(ScoringError, match=rf"(row 2.*)?{problem}") as error:
        load_suite(f"csv:{path}")
    assert error.value.hint


def test_two_names_that_would_be_one_are_refused(tmp_path: Path) -> None:
    header = ("text", "label", "capability")
    rows = [("Lovely.", "positive", "a b"), ("Awful.", "negative", "a-b")]
    path = write_csv(tmp_path / "names.csv", header, *rows)
    with pytest.raises(ScoringError, match="'a-b' and 'a b'"):
        load_suite(f"csv:{path}")


@given(st.text(max_size=80))
def test_every_name_becomes_an_id(name: str) -> None:
    found = capability_id_of(name)
    assert is_capability_id(found)
    assert capability_id_of(found) == found


@pytest.mark.shared_data
def test_checklists_release_is_a_suite(shared_folder: Path) -> None:
    folder = shared_folder / "data" / "checklist"
    suite = load_suite(f"checklist:{folder / 'sentiment_mft.jsonl.gz'}")
    names = dict.fromkeys(case.capability for case in suite.cases)
    assert len(names) == 20
    assert "hard-negated-neutral" in names
    assert all(len(name) <= 24 for name in names)
    assert len({case.text for case in suite.cases}) > 60_000


def test_coverage_takes_suites_of_others(checklist: Path, tmp_path: Path) -> None:
    relative: Mapping[str, object] = {
        "test": "typos",
        "capability": "Robustness",
        "type": "INV",
        "texts": ["It shines.", "It shnies."],
        "expectation": "whatever",
    }
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("".join(json.dumps(row) + "\n" for row in [*CHECKLIST, relative]))
    path = write_csv(tmp_path / "hate.csv", HEADER, *HATE)
    found = texts_by_suite([f"checklist:{mixed}", f"csv:{path}", f"zipped={checklist}"])
    assert list(found) == ["mixed", "hate.csv", "zipped"]
    assert found["mixed"][-2:] == ["It shines.", "It shnies."]
    assert len(found["hate.csv"]) == 3
    assert texts_of_suite(f"checklist:{checklist}") == found["zipped"]
