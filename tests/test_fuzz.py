"""Damaged input of every kind, through the command line: a few words and a mend, no traceback."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from damage import damaged_bytes, damaged_file, damaged_tree, draws
from damaged_suites import damage
from hypothesis import HealthCheck, Phase, given, settings
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner, Result

from s2lct.builder.capabilities.files import shipped_capability_files
from s2lct.cli.main import app

RUNNER = CliRunner()
# The same inputs every time, so that a fault once found is found until it is mended.
FUZZED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# What lists faults or reasons instead of telling an error.
LISTING = {"verify": "broken", "check": "refused: "}


def tried(*arguments: str | Path) -> Result:
    """Run a command; fail unless it worked or told what is wrong in a few words with a mend."""
    words = list(map(str, arguments))
    done = RUNNER.invoke(app, words, env={"COLUMNS": "200"})
    told = f"{' '.join(words)}\n{done.output[-2000:]}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise AssertionError(told) from done.exception
    assert done.exit_code in (0, 1, 2), told
    assert "Traceback" not in done.output, told
    assert "\x1b" not in done.output, told
    if done.exit_code == 1:
        lists = any(word in words and sign in done.output for word, sign in LISTING.items())
        assert lists or ("Error: " in done.stderr and "  → " in done.stderr), told
    if done.exit_code == 2:
        assert "Usage: " in done.stderr, told
    return done


@contextmanager
def copy_of(folder: Path) -> Iterator[Path]:
    """A copy that may be damaged."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(shutil.copytree(folder, Path(place) / folder.name))


@pytest.fixture(scope="module")
def results(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scored") / "results"
    arguments = ["score", "vader", "afinn", "--suite", str(suite_folder), "--out", str(out)]
    assert RUNNER.invoke(app, arguments).exit_code == 0
    return out


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(
        tmp_path_factory.mktemp("classifiers") / "tiny", ("negative", "positive")
    )


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@settings(FUZZED, max_examples=50)
@given(draw=draws)
def test_damaged_corpora(kind: str, corpus_path: Path, draw: random.Random) -> None:
    import pandas

    with copy_of(corpus_path.parent) as folder:
        corpus = folder / f"films.{kind}"
        table = pandas.read_csv(folder / corpus_path.name)
        if kind == "jsonl":
            table.to_json(corpus, orient="records", lines=True)
        elif kind == "parquet":
            table.to_parquet(corpus)
        damaged_file(corpus, draw)
        # A corpus that is read comes as far as a tagger that there is none of.
        tried("build", "--corpus", f"{kind}:{corpus}", "--out", folder / "o", "--tagger", "none")


@settings(FUZZED, max_examples=60)
@given(draw=draws)
def test_damaged_capability_files(draw: random.Random) -> None:
    content = draw.choice(shipped_capability_files()).read_text("utf-8")
    tree = yaml.safe_load(content) | {"id": "LC99"}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "own.yaml"
        if draw.random() < 0.3:
            file.write_bytes(damaged_bytes(yaml.safe_dump(tree).encode(), draw))
        else:
            file.write_text(yaml.safe_dump(damaged_tree(tree, draw)), "utf-8")
        tried("capabilities", "--capabilities", file, "--show", "LC99")


@pytest.mark.parametrize("seed", range(40))
def test_damaged_suites(suite_folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    with copy_of(suite_folder) as suite:
        told = damage(suite, draw)
        out = suite.parent / "out"
        commands: list[tuple[Any, ...]] = [
            ("inspect", suite),
            ("export", suite, "--out", f"{out}.x", "--format", draw.choice(("csv", "checklist"))),
            ("score", "afinn", "--suite", suite, "--out", out),
            ("study", "export", suite, "--out", f"{out}s", "--sets", "1", "--seeds", "1"),
        ]
        verified = tried("verify", suite)
        for command in draw.sample(commands, 2):
            done = tried(*command)
            assert suite.name in done.output or done.exit_code == 0, told
            # What verify finds sound, every command takes.
            assert done.exit_code == 0 or verified.exit_code != 0, told


@settings(FUZZED, max_examples=50)
@given(draw=draws)
def test_damaged_results(results: Path, suite_folder: Path, draw: random.Random) -> None:
    with copy_of(results) as folder:
        one, other = folder / "afinn.json", folder / "vader.json"
        damaged_file(draw.choice([one, other, one.with_suffix(".parquet")]), draw)
        out = folder.parent / "out"
        commands: list[tuple[Any, ...]] = [
            ("report", one, other, "--html", out),
            ("compare", one, other),
            ("leaderboard", "build", folder, "--out", out),
            ("leaderboard", "check", one, other, "--suite", suite_folder),
        ]
        tried(*draw.choice(commands))


@settings(FUZZED, max_examples=30)
@given(draw=draws)
def test_damaged_model_configs(classifier: Path, suite_folder: Path, draw: random.Random) -> None:
    with copy_of(classifier) as model:
        damaged_file(draw.choice([*sorted(model.glob("*.json"))]), draw)
        tried(
            *("score", model, "--suite", suite_folder, "--out", model.parent / "out"),
            *("--limit", "1", "--device", "cpu"),
        )


@pytest.fixture(scope="module")
def study(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "study"
    arguments = ["study", "export", str(suite_folder), "--out", str(out), "--sets", "1"]
    assert RUNNER.invoke(app, [*arguments, "--seeds", "2"]).exit_code == 0
    answers = out / "set-1.csv"
    answers.write_text(answers.read_text("utf-8-sig").replace(",,", ",3,4"), "utf-8")
    return out


@settings(FUZZED, max_examples=40)
@given(draw=draws)
def test_damaged_answers_of_raters(study: Path, draw: random.Random) -> None:
    with copy_of(study) as folder:
        answers, key = folder / "set-1.csv", folder / "key.json"
        damaged_file(draw.choice([answers, key]), draw)
        commands: list[tuple[Any, ...]] = [
            ("study", "import", answers, "--key", key),
            ("study", "import", answers, "--key", key, "--disputed", folder / "disputed.json"),
        ]
        tried(*draw.choice(commands))
