"""One reader of suites: what is damaged or altered is refused by every command, in a line."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from damaged_suites import (
    Rows,
    change_rows,
    describe,
    described,
    file_of,
    loaded,
    mend,
    rewrite,
)
from hub_fixtures import HubClient
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from s2lct.cli.main import app
from s2lct.errors import ScoringError, SuiteError
from s2lct.labels import LABELS
from s2lct.suite.cases import load_suite
from s2lct.suite.read import read_description, read_suite
from s2lct.suite.tables import arrow_schema, without

pytestmark = pytest.mark.usefixtures("own_cache")

RUNNER = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


def invoke(*arguments: object) -> Result:
    """Run a command; a traceback is the test's."""
    return RUNNER.invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def refused_by_commands(folder: Path, tmp_path: Path, named: str) -> None:
    """Every command that reads a suite refuses it; those that need a model do so before it."""
    out = tmp_path / "out"
    corpus = ("--reference", "embedded", "--model", "embedded-2class")
    commands: list[list[object]] = [
        ["score", "vader", "--suite", folder, "--out", out / "results"],
        ["inspect", folder],
        ["export", folder, "--out", tmp_path / "suite.jsonl"],
        ["verify", folder],
        ["diversity", folder, "--corpus", "none"],
        ["study", "export", folder, "--out", out / "study"],
        ["coverage", folder, *corpus],
        ["explain", "embedded-2class", "--suite", folder, "--out", out / "explained"],
        ["retrain", "embedded-2class", "--on", "LC9", "--suite", folder, "--out", out / "re"],
        ["publish", "dataset", folder, "--repo", "org/suite", "--dry-run"],
        ["install", folder],
    ]
    for arguments in commands:
        done = invoke(*arguments)
        assert done.exit_code == 1, (arguments, done.output)
        assert named in " ".join(done.output.split()), (arguments, done.output)


def swap_labels(rows: Rows) -> None:
    for row in rows:
        row["labels"] = [2 - label for label in row["labels"]]
        row["label"] = 2 - row["label"]


def test_what_is_read_is_what_was_written(suite_folder: Path) -> None:
    suite = read_suite(suite_folder)
    assert suite.fingerprint == suite.described["fingerprint"]
    order = [one["id"] for one in suite.described["capabilities"] if one["id"] in suite.rows]
    assert list(suite.rows) == order
    every = loaded(suite_folder)["all"]["test"]
    assert list(every) == [row for rows in suite.rows.values() for row in rows]
    features = datasets.Features.from_arrow_schema(arrow_schema().remove_metadata())
    label = datasets.ClassLabel(names=list(LABELS))
    features |= {"labels": datasets.List(label), "label": label}
    features["sources"].feature["label"] = label
    assert every.features == features
    assert datasets.Features.from_arrow_schema(arrow_schema()) == features
    # Versions 3 and 4 of datasets both know a list written as a list; `List` is new in 4.
    assert b'"List"' not in arrow_schema().metadata[b"huggingface"]


def test_swapped_labels_are_refused_by_every_command(copy: Path, tmp_path: Path) -> None:
    official = load_suite(copy).fingerprint
    change_rows(copy, "LC9", swap_labels)
    refused_by_commands(copy, tmp_path, "SHA-256")
    with pytest.raises(SuiteError):
        loaded(copy)
    with pytest.raises(ScoringError):
        load_suite(copy)
    mend(copy, fingerprint=False)
    with pytest.raises(SuiteError, match="fingerprint"):
        read_suite(copy)
    mend(copy)  # a suite that says what it is has another fingerprint
    altered = load_suite(copy).fingerprint
    assert altered == described(copy)["fingerprint"] != official


def first(rows: Rows, kind: str = "seed") -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == kind)


def put(name: str, value: Any, kind: str = "seed") -> Callable[[Rows], None]:
    return lambda rows: first(rows, kind).__setitem__(name, value)


def no_seed(rows: Rows) -> None:
    seed_id = first(rows, "expansion")["seed_id"]
    rows.remove(next(row for row in rows if row["id"] == seed_id))


def another_seed(rows: Rows) -> None:
    one = first(rows, "expansion")
    seeds = [row["id"] for row in rows if row["kind"] == "seed"]
    one["seed_id"] = next(name for name in seeds if name != one["seed_id"])


def insertions_on_one_another(rows: Rows) -> None:
    """The same last words twice: without them the text ends before the second."""
    one = first(rows, "expansion")
    start = one["text"].rindex(" ") + 1
    last = {"word": one["text"][start:], "tag": "NN", "start": start, "end": len(one["text"])}
    one["inserted"] = [last, dict(last)]


ANY_ROWS: dict[str, Callable[[Rows], None]] = {
    "no text": put("text", None),
    "an empty text": put("text", "  "),
    "no labels": put("labels", []),
    "a null label": put("labels", [None]),
    "a label that is none": put("labels", [7]),
    "a label twice": lambda rows: rows[0].update(labels=[rows[0]["label"]] * 2),
    "no id": put("id", None),
    "two of one id": lambda rows: rows.append(dict(rows[0])),
    "no seed": no_seed,
}
BUILT_ROWS: dict[str, Callable[[Rows], None]] = {
    "an id of another text": lambda rows: rows[0].update(text=rows[-1]["text"]),
    "another seed": another_seed,
    "a foreign capability": lambda rows: [row.update(capability="LC77") for row in rows],
    "no production": put("production", None, "expansion"),
    "a source of no sentence": lambda rows: rows[0]["sources"][0].update(used=None),
    "an origin that is none": put("origin", "invented", "expansion"),
    "insertions on one another": insertions_on_one_another,
}


@pytest.mark.parametrize("change", [*ANY_ROWS, *BUILT_ROWS])
def test_rows_that_are_none_are_refused_whatever_the_hashes_say(copy: Path, change: str) -> None:
    rewrite(copy, "LC8", (ANY_ROWS | BUILT_ROWS)[change])
    with pytest.raises(SuiteError, match="LC8"):
        read_suite(copy)


def test_rows_given_in_python_are_checked_alike(suite_folder: Path) -> None:
    rows = [row for part in read_suite(suite_folder).rows.values() for row in part]
    for change in ANY_ROWS.values():
        mine: Rows = json.loads(json.dumps(rows))
        change(mine)
        with pytest.raises(ScoringError, match="not a row of a suite"):
            load_suite(mine)
    for odd in ([1], [None], [{"id": "a"}], ["text"], 5, [{**rows[0], "text": "\ud800"}], []):
        with pytest.raises(ScoringError):
            load_suite(odd)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["../LC8.parquet", "data/LC9/test.parquet"])
def test_paths_out_of_the_folder_are_not_followed(copy: Path, tmp_path: Path, path: str) -> None:
    suite = described(copy)
    shutil.copy(file_of(copy, "LC8"), tmp_path / "LC8.parquet")
    suite["files"]["LC8"]["path"] = path
    describe(copy, suite)
    with pytest.raises(SuiteError, match=r"files\.LC8\.path"):
        read_suite(copy)
    suite["capabilities"][0]["id"] = path
    describe(copy, suite)
    with pytest.raises(SuiteError, match=r"capabilities\.0\.id"):
        read_suite(copy)


def test_recorded_rules_that_were_altered_are_refused(copy: Path) -> None:
    suite = described(copy)
    suite["capabilities"][0]["expectation"] += " Or not."
    describe(copy, suite)
    with pytest.raises(SuiteError, match="capabilities are not those"):
        read_suite(copy)


def test_what_is_no_regular_file_is_not_opened_and_a_link_is_followed(
    copy: Path, tmp_path: Path
) -> None:
    path = file_of(copy, "LC8")
    path.rename(tmp_path / "blob")
    path.symlink_to(tmp_path / "blob")  # the Hub's own cache is made of links
    assert read_suite(copy).fingerprint == described(copy)["fingerprint"]
    path.unlink()
    for make in (os.mkfifo, lambda one: one.symlink_to("/dev/zero")):
        make(path)
        with pytest.raises(SuiteError, match="no regular file"):
            read_suite(copy)
        path.unlink()


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"[" * 100_000, b"[]", b'{"files": []}', b'{"files": {}}']
)
def test_a_description_that_is_none_is_refused(copy: Path, content: bytes) -> None:
    (copy / "suite.json").write_bytes(content)
    for read in (read_description, read_suite):
        with pytest.raises(SuiteError, match=r"suite\.json"):
            read(copy)


def test_a_published_suite_whose_rows_are_others_is_refused(
    hub: HubClient, suite_folder: Path, copy: Path
) -> None:
    change_rows(copy, "LC9", swap_labels)
    hub.server.put("dataset", "s2lct-org/sound", suite_folder, "v1.0.0")
    hub.server.put("dataset", "s2lct-org/altered", copy, "v1.0.0")
    script = """
import sys
from s2lct.suite.cases import load_suite
print(load_suite(sys.argv[1]).fingerprint)
"""
    told = hub.python(script, "s2lct-org/sound@v1.0.0")
    assert told.split()[-1] == described(suite_folder)["fingerprint"]
    refused = hub.try_python(script, "s2lct-org/altered")
    assert "SuiteError" in refused.stderr
    assert "data/LC9" in refused.stderr


WORDS = st.lists(st.text("abcdef'-", min_size=1, max_size=6), min_size=1, max_size=8)


@given(WORDS, st.data())
def test_words_and_phrases_with_a_comma_go_without_a_trace(
    words: list[str], data: st.DataObject
) -> None:
    inserted: list[tuple[int, int]] = []
    text = ""
    for number, word in enumerate([*words, "."]):
        for place in range(data.draw(st.integers(0, 2))):
            piece = " ".join(data.draw(WORDS))
            if number and data.draw(st.booleans()) and not place:
                piece = f", {piece}{data.draw(st.sampled_from(['', ',']))}"
                inserted.append((len(text), len(text) + len(piece)))
                text += piece
                continue
            start = len(text) + bool(text)
            text += (" " if text else "") + piece
            inserted.append((start, len(text)))
        text += (" " if text and word != "." else "") + word
    expected = " ".join(words) + "."
    assert without(text, data.draw(st.permutations(inserted))) == expected.lstrip()


@given(st.lists(st.from_regex("[A-Za-z][a-z'-]*,?", fullmatch=True), min_size=1), WORDS)
def test_words_that_begin_a_text_leave_their_capital_to_what_follows(
    first: list[str], rest: list[str]
) -> None:
    opening, left = " ".join(first), " ".join(rest)
    text = f"{opening} {left}."
    capital = left[0].upper() if opening[0].isupper() else left[0]
    assert without(text, [(0, len(opening))]) == f"{capital}{left[1:]}."
    assert without(f"So {text}", [(3, 3 + len(opening))]) == f"So {left}."
    assert without(f"{opening} iPods", [(0, len(opening))]) == "iPods"
