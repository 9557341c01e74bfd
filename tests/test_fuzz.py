"""Damaged input of every kind, through the command line: a few words and a hint, no traceback."""

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

from s2lct.builder.capabilities.files import capability_files
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
# What lists faults or reasons instead of an error.
LISTING = {"verify": "broken", "check": "refused: "}


def run(*arguments: str | Path) -> Result:
    """Run a command; fail unless it worked or says what is wrong in a few words with a hint."""
    words = list(map(str, arguments))
    done = RUNNER.invoke(app, words, env={"COLUMNS": "200"})
    shown = f"{' '.join(words)}\n{done.output[-2000:]}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise AssertionError(shown) from done.exception
    assert "Traceback" not in done.output, shown
    assert "\x1b" not in done.output, shown
    lists = any(word in words and sign in done.output for word, sign in LISTING.items())
    if done.exit_code and not lists:
        assert "Usage: " in done.stderr or "  → " in done.stderr, shown
    return done


@contextmanager
def copy_of(folder: Path) -> Iterator[Path]:
    """A copy that may be damaged."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(shutil.copytree(folder, Path(place) / folder.name))


@pytest.fixture(scope="module")
def inputs(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results, a study with its answers, and a model."""
    folder = tmp_path_factory.mktemp("inputs")
    run("score", "vader", "afinn", "--suite", suite_folder, "--out", folder / "results")
    run(
        *("study", "export", suite_folder, "--out", folder / "study"),
        *("--sets", "1", "--seeds", "2"),
    )
    answers = folder / "study" / "set-1.csv"
    answers.write_text(answers.read_text("utf-8-sig").replace(",,", ",3,4"), "utf-8")
    save_tiny_classifier(folder / "model", ("negative", "positive"))
    return folder


@settings(FUZZED, max_examples=50)
@given(draw=draws)
def test_damaged_capability_files(draw: random.Random) -> None:
    content = draw.choice([path for _, path in capability_files().values()]).read_text("utf-8")
    tree = yaml.safe_load(content) | {"id": "LC99"}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "own.yaml"
        if draw.random() < 0.3:
            file.write_bytes(damaged_bytes(yaml.safe_dump(tree).encode(), draw))
        else:
            file.write_text(yaml.safe_dump(damaged_tree(tree, draw)), "utf-8")
        run("capabilities", "--capabilities", file, "--show", "LC99")


@pytest.mark.parametrize("seed", range(30))
def test_damaged_suites(suite_folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    with copy_of(suite_folder) as suite:
        damaged = damage(suite, draw)
        out = suite.parent / "out"
        commands: list[tuple[Any, ...]] = [
            ("inspect", suite),
            ("export", suite, "--out", f"{out}.x", "--format", draw.choice(("csv", "checklist"))),
            ("score", "afinn", "--suite", suite, "--out", out),
            ("study", "export", suite, "--out", f"{out}s", "--sets", "1", "--seeds", "1"),
        ]
        verified = run("verify", suite)
        done = run(*draw.choice(commands))
        assert suite.name in done.output or done.exit_code == 0, damaged
        # What verify finds sound, every command takes.
        assert done.exit_code == 0 or verified.exit_code != 0, damaged


@settings(FUZZED, max_examples=80)
@given(draw=draws)
def test_damaged_results_studies_and_models(
    inputs: Path, suite_folder: Path, draw: random.Random
) -> None:
    with copy_of(inputs) as folder:
        first, other = folder / "results" / "afinn.json", folder / "results" / "vader.json"
        answers, key = folder / "study" / "set-1.csv", folder / "study" / "key.json"
        model, out = folder / "model", folder / "out"
        configs = sorted(model.glob("*.json"))
        score = ("score", model, "--suite", suite_folder, "--out", out, "--limit", "1")
        damaged, commands = draw.choice(
            [
                (
                    [first, other, first.with_suffix(".parquet")],
                    [
                        ("report", first, other, "--html", out),
                        ("compare", first, other),
                        ("leaderboard", "build", first.parent, "--out", out),
                        ("leaderboard", "check", first, other, "--suite", suite_folder),
                    ],
                ),
                ([answers, key], [("study", "import", answers, "--key", key)]),
                (configs, [(*score, "--device", "cpu")]),
            ]
        )
        damaged_file(draw.choice(damaged), draw)
        run(*draw.choice(commands))
