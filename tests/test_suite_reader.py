"""One reader of suites: what is damaged or altered is refused by every command, in a line."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged_suites import (
    Rows,
    change_rows,
    change_table,
    describe,
    described,
    file_of,
    mend,
    rewrite,
)
from typer.testing import CliRunner, Result

from s2lct.analysis.suite_rows import load_rows
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import ScoringError, SuiteError
from s2lct.files import sha256_of
from s2lct.identity import content_id
from s2lct.leaderboard.integrations.evaluator import rows_of
from s2lct.suite.cases import load_cases
from s2lct.suite.read import MOST_DECODED_BYTES, load_suite, read_description, read_suite
from s2lct.suite.tables import COUNTERPART, KINDS, arrow_schema, features

pytestmark = pytest.mark.usefixtures("own_cache")

RUNNER = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


def invoke(*arguments: object) -> Result:
    """Run a command; a traceback is the test's."""
    return RUNNER.invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def commands(folder: Path, tmp_path: Path) -> list[list[object]]:
    """Every command that reads a suite; those that need a model stop at the suite before it."""
    out = tmp_path / "out"
    classifier = ("embedded-2class",)
    corpus = ("--reference", "embedded", "--model", *classifier)
    return [
        ["score", "vader", "--suite", folder, "--out", out / "results"],
        ["inspect", folder],
        ["export", folder, "--out", tmp_path / "suite.jsonl"],
        ["verify", folder, "--quick"],
        ["diversity", folder, "--corpus", "none"],
        ["study", "export", folder, "--out", out / "study"],
        ["coverage", folder, *corpus],
        ["minimize", folder, *corpus, "--out", out / "less"],
        ["explain", *classifier, "--suite", folder, "--out", out / "explained"],
        ["retrain", *classifier, "--on", "LC9", "--suite", folder, "--out", out / "retrained"],
        ["publish", "dataset", folder, "--repo", "org/suite", "--dry-run"],
        ["install", folder],
    ]


def swap_labels(rows: Rows) -> None:
    for row in rows:
        row["labels"] = [2 - label for label in row["labels"]]
        row["label"] = 2 - row["label"]


def test_the_types_of_the_columns_are_those_of_the_features() -> None:
    assert arrow_schema().equals(features().arrow_schema)


def test_what_is_read_is_what_was_written(suite_folder: Path) -> None:
    suite = read_suite(suite_folder)
    assert suite.fingerprint == suite.described["fingerprint"]
    assert list(suite.rows) == [
        one["id"] for one in suite.described["capabilities"] if one["id"] in suite.rows
    ]
    every = load_suite(suite_folder)["all"]["test"]
    assert list(every) == [row for rows in suite.rows.values() for row in rows]
    assert every.features == features()


def test_a_suite_of_an_older_version_has_no_verdicts_and_is_read(copy: Path) -> None:
    before = read_suite(copy)
    for name in before.rows:
        change_table(copy, name, lambda table: table.drop_columns(["verdicts"]))
    suite = described(copy)
    for key in ("reading", "scorers"):
        del suite[key]
    describe(copy, suite)
    mend(copy)
    assert read_suite(copy).rows == before.rows
    assert load_suite(copy)["all"].column_names == load_suite(copy)["LC4"].column_names
    assert load_suite(copy)["LC4"]["test"].features == features()
    assert load_cases(copy).cases == load_cases(before.folder).cases
    assert verify_suite(copy) == []


def test_swapped_labels_are_refused_by_every_command(copy: Path, tmp_path: Path) -> None:
    change_rows(copy, "LC9", swap_labels)
    for arguments in commands(copy, tmp_path):
        done = invoke(*arguments)
        assert done.exit_code == 1, (arguments, done.output)
        assert "SHA-256" in done.output, (arguments, done.output)
    with pytest.raises(SuiteError, match="SHA-256"):
        load_suite(copy)
    with pytest.raises(ScoringError, match="SHA-256"):
        rows_of(copy)
    with pytest.raises(ScoringError, match="SHA-256"):
        load_rows(copy)


def test_swapped_labels_are_refused_under_the_official_fingerprint(
    copy: Path, tmp_path: Path
) -> None:
    change_rows(copy, "LC9", swap_labels)
    mend(copy, fingerprint=False)
    for arguments in commands(copy, tmp_path):
        done = invoke(*arguments)
        assert done.exit_code == 1, (arguments, done.output)
        assert "fingerprint" in done.output, (arguments, done.output)


def test_a_suite_that_says_what_it_is_has_another_fingerprint(copy: Path) -> None:
    official = load_cases(copy).fingerprint
    rewrite(copy, "LC9", swap_labels)
    assert load_cases(copy).fingerprint == described(copy)["fingerprint"] != official


def expansion_in(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == "expansion")


def renamed(row: dict[str, Any]) -> None:
    row["id"] = content_id(row["kind"], row["capability"], row["text"])
    if row["kind"] == "seed":
        row["seed_id"] = row["id"]


def a_null_text(rows: Rows) -> None:
    rows[0]["text"] = None


def an_empty_text(rows: Rows) -> None:
    for row in [row for row in rows if row["seed_id"] == rows[0]["id"]][1:]:
        rows.remove(row)
    rows[0]["text"] = "  "
    renamed(rows[0])


def no_labels(rows: Rows) -> None:
    rows[0]["labels"] = []


def a_null_label(rows: Rows) -> None:
    rows[0]["labels"] = [None]


def a_label_that_is_none(rows: Rows) -> None:
    rows[0]["labels"], rows[0]["label"] = [7], 7


def a_negative_label(rows: Rows) -> None:
    rows[0]["labels"], rows[0]["label"] = [-1], -1


def a_label_twice(rows: Rows) -> None:
    rows[0]["labels"] = [rows[0]["label"]] * 2


def a_null_id(rows: Rows) -> None:
    rows[0]["id"] = None


def two_of_one_id(rows: Rows) -> None:
    rows.append(dict(rows[0]))


def an_id_of_another_text(rows: Rows) -> None:
    rows[0]["text"], rows[-1]["text"] = rows[-1]["text"], rows[0]["text"]


def no_seed(rows: Rows) -> None:
    rows.remove(next(row for row in rows if row["id"] == expansion_in(rows)["seed_id"]))


def another_seed(rows: Rows) -> None:
    one = expansion_in(rows)
    one["seed_id"] = next(
        row["id"] for row in rows if row["kind"] == "seed" and row["id"] != one["seed_id"]
    )


def a_foreign_capability(rows: Rows) -> None:
    for row in rows:
        row["capability"] = "LC77"
        renamed(row)


def another_kind(rows: Rows) -> None:
    one = expansion_in(rows)
    one["kind"] = "seed"
    one["seed_id"] = one["id"]


def no_production(rows: Rows) -> None:
    expansion_in(rows)["production"] = None


def a_source_of_no_label(rows: Rows) -> None:
    rows[0]["sources"][0]["label"] = -1


def a_source_of_no_sentence(rows: Rows) -> None:
    rows[0]["sources"][0]["used"] = None


def an_origin_that_is_none(rows: Rows) -> None:
    expansion_in(rows)["origin"] = "invented"


def insertions_on_one_another(rows: Rows) -> None:
    """The same last words twice: without them the text ends before the second."""
    one = expansion_in(rows)
    start = one["text"].rindex(" ") + 1
    last = {"word": one["text"][start:], "tag": "NN", "start": start, "end": len(one["text"])}
    one["inserted"] = [last, dict(last)]


ROW_DAMAGES: list[tuple[Callable[[Rows], None], str]] = [
    (a_null_text, "text: input should be a valid string"),
    (an_empty_text, "text is empty"),
    (no_labels, "labels: "),
    (a_null_label, "labels.0: "),
    (a_label_that_is_none, "7 is no label"),
    (a_negative_label, "-1 is no label"),
    (a_label_twice, "its labels are"),
    (a_null_id, "id: "),
    (two_of_one_id, "its id is also that of"),
    (an_id_of_another_text, "its id is not the hash"),
    (no_seed, "is not in the suite"),
    (another_seed, "without its inserted words it is not its seed"),
    (a_foreign_capability, "its capability is LC77, its config LC8"),
    (another_kind, "its id is not the hash"),
    (no_production, "it has no production"),
    (a_source_of_no_label, "-1 is no label"),
    (a_source_of_no_sentence, "sources.0.used: "),
    (an_origin_that_is_none, "origin: "),
    (insertions_on_one_another, "without its inserted words it is not its seed"),
]


@pytest.mark.parametrize(
    ("change", "said"), ROW_DAMAGES, ids=lambda one: getattr(one, "__name__", "")
)
def test_rows_that_are_none_are_refused_whatever_the_hashes_say(
    copy: Path, tmp_path: Path, change: Callable[[Rows], None], said: str
) -> None:
    rewrite(copy, "LC8", change)
    for arguments in commands(copy, tmp_path)[:4]:
        done = invoke(*arguments)
        assert done.exit_code == 1, (arguments, done.output)
        assert said in " ".join(done.output.split()), (arguments, done.output)
    with pytest.raises(ScoringError, match="LC8"):
        load_rows(copy)


def test_rows_given_in_python_are_checked_alike(suite_folder: Path) -> None:
    rows = [row for part in read_suite(suite_folder).rows.values() for row in part]
    for change, _ in ROW_DAMAGES:
        if change in (an_id_of_another_text, another_seed, a_foreign_capability, another_kind):
            continue  # rows of one's own have ids and capabilities of one's own
        if change in (no_production, a_source_of_no_sentence, an_origin_that_is_none):
            continue  # is not scored
        if change is insertions_on_one_another:
            continue  # is only asked of what was written
        own: Rows = json.loads(json.dumps(rows))
        change(own)
        with pytest.raises(ScoringError, match="not a row of a suite"):
            load_cases(own)
    for odd in ([1], [None], [{"id": "a"}], ["text"], 5, [{**rows[0], "text": 3}], []):
        with pytest.raises(ScoringError):
            load_cases(odd)  # type: ignore[arg-type]


def test_rows_have_the_fingerprint_of_the_suite_they_are(suite_folder: Path) -> None:
    import numpy as np

    suite = load_cases(suite_folder)
    configs = load_suite(suite_folder)
    assert load_cases(configs) == load_cases(configs) != suite  # it has another name
    assert load_cases(configs).fingerprint == suite.fingerprint
    every = configs["all"]["test"]
    by_file = sorted(every, key=lambda row: row["capability"])  # LC10 before LC2
    assert [row["capability"] for row in by_file] != every["capability"]
    assert load_cases(by_file).fingerprint == suite.fingerprint
    assert {row["kind"] for row in by_file} == {*KINDS, COUNTERPART}
    counted = [row["id"] for row in by_file if row["kind"] in KINDS]
    assert [case.id for case in load_cases(by_file).cases] == counted
    named = [
        row | {"labels": [("negative", "neutral", "positive")[n] for n in row["labels"]]}
        for row in every
    ]
    assert load_cases(named).fingerprint == suite.fingerprint
    arrays = [row | {"labels": np.array(row["labels"])} for row in every]
    assert load_cases(arrays).cases == suite.cases
    part = load_cases(configs["LC4"])
    assert part.fingerprint != suite.fingerprint
    assert not part.partial
    assert load_rows(list(every)).fingerprint == suite.fingerprint


def test_a_selection_keeps_the_fingerprint_and_is_known_to_be_partial(suite_folder: Path) -> None:
    suite = load_cases(suite_folder)
    assert not suite.partial
    assert not suite.select().partial
    assert not suite.select(limit=10_000).partial
    for options in ({"capabilities": ["lc4"]}, {"kind": "seed"}, {"limit": 1}):
        chosen = suite.select(**options)  # type: ignore[arg-type]
        assert chosen.partial
        assert chosen.fingerprint == suite.fingerprint
        assert chosen.select(chosen.cases[0].capability).partial
        assert load_cases(chosen) is chosen
    assert {case.capability for case in suite.select(["lc4"]).cases} == {"LC4"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "--limit 0"),
        ({"limit": -1}, "--limit -1"),
        ({"limit": 1.5}, "--limit 1.5"),
        ({"limit": True}, "--limit True"),
        ({"kind": "seeds"}, "--kind seeds"),
        ({"capabilities": []}, "no capability is named"),
        ({"capabilities": ["LC4", "LC77"]}, "has no capability LC77"),
    ],
)
def test_a_selection_of_nothing_is_refused(
    suite_folder: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ScoringError, match=said):
        load_cases(suite_folder).select(**options)


@pytest.mark.parametrize(
    "path",
    ["../LC8.parquet", "/etc/passwd", "data/LC8/../../x.parquet", "data/LC9/test.parquet", ".", ""],
)
def test_paths_out_of_the_folder_are_not_followed(copy: Path, tmp_path: Path, path: str) -> None:
    suite = described(copy)
    shutil.copy(file_of(copy, "LC8"), tmp_path / "LC8.parquet")
    suite["files"]["LC8"]["path"] = path
    describe(copy, suite)
    for arguments in commands(copy, tmp_path):
        done = invoke(*arguments)
        assert done.exit_code == 1, (arguments, done.output)
        assert "files.LC8.path" in done.output, (arguments, done.output)


def test_what_is_no_regular_file_is_not_opened(copy: Path, tmp_path: Path) -> None:
    path = file_of(copy, "LC8")
    path.unlink()
    for make in (os.mkfifo, lambda one: one.symlink_to("/dev/zero"), os.mkdir, bound_socket):
        make(path)
        for arguments in commands(copy, tmp_path)[:4]:
            done = invoke(*arguments)
            assert done.exit_code == 1, (arguments, done.output)
            assert "no regular file" in done.output, (arguments, done.output)
        path.rmdir() if path.is_dir() else path.unlink()
    description = copy / "suite.json"
    content = description.read_bytes()
    description.unlink()
    os.mkfifo(description)
    assert "no regular file" in invoke("verify", copy).output
    description.unlink()
    description.write_bytes(content)
    (copy / "README.md").unlink()
    os.mkfifo(copy / "README.md")
    assert "README.md: cannot be read" in invoke("verify", copy, "--quick").output


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


def test_a_link_to_the_right_file_is_followed(copy: Path, tmp_path: Path) -> None:
    """The Hub's own cache is made of links."""
    path = file_of(copy, "LC8")
    path.rename(tmp_path / "blob")
    path.symlink_to(tmp_path / "blob")
    assert read_suite(copy).fingerprint == described(copy)["fingerprint"]


def test_other_columns_are_refused(copy: Path, tmp_path: Path) -> None:
    change_table(copy, "LC8", lambda table: table.drop_columns(["sources"]))
    mend(copy)
    for arguments in commands(copy, tmp_path)[:4]:
        assert "the columns are not those of a suite" in invoke(*arguments).output


def test_a_file_that_unfolds_to_gigabytes_is_refused(copy: Path) -> None:
    """A text of a mebibyte in two thousand rows: one page of a dictionary."""
    path = file_of(copy, "LC8")
    text = "x" * (1 << 20)
    rows = 2 * MOST_DECODED_BYTES // len(text)
    big = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"text": big}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1 << 20
    suite = described(copy)
    suite["files"]["LC8"] |= {"rows": rows, "sha256": sha256_of(path)}
    describe(copy, suite)
    with pytest.raises(SuiteError, match="unfolds to more than"):
        read_suite(copy)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"files": NaN}', "is no JSON"),
        (b'{"files": {}, "name": "\\ud800"}', "is no JSON"),
        (b"[]", "describes no suite"),
        (b'{"files": []}', "describes no suite"),
        (b'{"files": {}}', "suite.json: version"),
    ],
)
def test_a_description_that_is_none_is_refused(copy: Path, content: bytes, said: str) -> None:
    (copy / "suite.json").write_bytes(content)
    with pytest.raises(SuiteError, match=said):
        read_description(copy)
    with pytest.raises(SuiteError, match=said):
        read_suite(copy)


def test_a_description_without_end_is_not_read(copy: Path) -> None:
    with (copy / "suite.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(SuiteError, match="more than 16 MiB"):
        read_suite(copy)


def test_verify_lists_what_it_can(copy: Path) -> None:
    change_rows(copy, "LC8", a_null_text)
    change_rows(copy, "LC9", swap_labels)
    file_of(copy, "LC7").unlink()
    (copy / "README.md").unlink()
    stray = file_of(copy, "LC4").with_name("test-00001-of-00002.parquet")
    shutil.copy(file_of(copy, "LC4"), stray)
    faults = verify_suite(copy)
    for said in (
        "data/LC7/test-00000-of-00001.parquet: is missing",
        "data/LC8/test-00000-of-00001.parquet: is not the file that suite.json records",
        "text: input should be a valid string",
        "data/LC9/test-00000-of-00001.parquet: is not the file that suite.json records",
        "its labels are not those of its capability",
        "README.md: missing",
        "data/LC4/test-00001-of-00002.parquet: suite.json names no such file",
    ):
        assert any(said in fault for fault in faults), (said, faults)


def test_verify_lists_faults_of_the_description_too(copy: Path) -> None:
    suite = described(copy)
    suite["version"], suite["options"]["templates"] = "newest", "other"
    suite["files"]["LC8"]["rows"] = "many"
    describe(copy, suite)
    change_rows(copy, "LC9", no_labels)
    faults = verify_suite(copy)
    for said in ("version: ", "options.templates: ", "files.LC8.rows: ", "labels: "):
        assert any(said in fault for fault in faults), (said, faults)
    suite["capabilities"] = 3
    describe(copy, suite)
    assert any("capabilities: " in fault for fault in verify_suite(copy))


def test_verify_tells_a_specification_that_is_none(copy: Path) -> None:
    suite = described(copy)
    suite["capabilities"][0]["forms"] = {"fluent": {"search": 3}}
    describe(copy, suite)
    (fault,) = verify_suite(copy)
    assert "LC1 is no specification" in fault


def test_verify_shows_how_far_it_is_on_standard_error(suite_folder: Path) -> None:
    done = invoke("verify", suite_folder)
    assert done.exit_code == 0
    assert "check" in done.stderr
    assert "parse" in done.stderr
    assert "check" not in done.stdout
    assert "keeps every invariant" in done.stdout


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("", "is a folder; name a file"),
        ("file/suite.csv", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("pipe", "is no regular file"),
        ("copy/suite.json", "is a file of the suite itself"),
        ("copy/README.md", "is a file of the suite itself"),
    ],
)
def test_places_that_cannot_be_exported_to_are_told_before_any_work(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, said: str
) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = (copy / "suite.json").read_bytes()
    done = invoke("export", copy, "--out", tmp_path / out)
    assert done.exit_code in (1, 2)
    assert said in done.output
    assert (copy / "suite.json").read_bytes() == before
    if "suite itself" not in said:
        monkeypatch.setattr("s2lct.suite.export.read_suite", lambda _: pytest.fail("was read"))
        invoke("export", copy, "--out", tmp_path / out)


def test_an_export_follows_a_link(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "suite.jsonl")
    assert invoke("export", copy, "--out", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "suite.jsonl").stat().st_size > 0


def test_a_published_suite_whose_rows_are_others_is_refused(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `datasets` loads, beside what its repository's suite.json says."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    published = Path(shutil.copytree(suite_folder, tmp_path / "published"))
    stated = published / "suite.json"
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_, **__: str(stated))
    assert load_cases(f"{published}@main").fingerprint == described(suite_folder)["fingerprint"]
    assert (
        len(rows_of(f"{published}@main", "LC9")) == described(suite_folder)["files"]["LC9"]["rows"]
    )
    altered = Path(shutil.copytree(suite_folder, tmp_path / "altered"))
    change_rows(altered, "LC9", swap_labels)
    for read in (load_cases, load_rows, rows_of):
        with pytest.raises(ScoringError, match="its rows are not those"):
            read(f"{altered}@main")  # type: ignore[operator]
    mend(altered)
    stated.write_text("{}")
    with pytest.raises(ScoringError, match="describes no suite"):
        load_cases(f"{altered}@main")
    stated.write_bytes((altered / "suite.json").read_bytes())
    assert load_cases(f"{altered}@main").fingerprint == described(altered)["fingerprint"]
    broken = Path(shutil.copytree(altered, tmp_path / "broken"))
    change_rows(broken, "LC9", no_labels)
    with pytest.raises(ScoringError, match="labels"):
        load_cases(f"{broken}@main")


def test_a_build_does_not_take_a_damaged_suite_for_finished(
    corpus_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "films"
    options = ("--corpus", f"csv:{corpus_path}", "--capability", "LC9", "--seeds", 2, "--masks", 2)
    for _ in range(2):
        assert invoke("build", "--out", out, *options).exit_code == 0
    change_rows(out, "LC9", swap_labels)
    done = invoke("build", "--out", out, *options)
    assert done.exit_code in (1, 2)
    assert "is not this build" in done.output
