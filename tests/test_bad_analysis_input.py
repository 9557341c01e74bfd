"""The analysis commands with input that cannot be used: one error, and nothing is begun."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import rewrite
from hub_fixtures import HubClient
from typer.testing import CliRunner

from s2lct.cli.main import app

RETRAIN = "retrain embedded-2class --on LC4 --suite SUITE --corpus none"
COVERAGE = "coverage SUITE --model embedded-2class --reference csv:CORPUS"


def refused(command: str, **places: object) -> str:
    """The one error of a command that must not succeed."""
    for name, place in places.items():
        command = command.replace(name, str(place))
    done = CliRunner().invoke(app, command.split(" "), env={"COLUMNS": "300"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (1, 2)
    assert len(re.findall("^(?:Error:|╭─ Error)", done.output, re.MULTILINE)) == 1
    return done.output


def test_options_that_mean_nothing_are_refused(
    suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    for command in (
        f"{RETRAIN} --out OUT --lr nan",
        f"{RETRAIN} --out OUT --epochs inf",
        f"{RETRAIN} --out OUT --device cuda:99",
        f"{RETRAIN} --out OUT --device nonsense",
        "score embedded-2class --suite SUITE --out OUT --device cuda:99",
        f"{COVERAGE} --metric ,",
    ):
        refused(command, SUITE=suite_folder, CORPUS=corpus_path, OUT=tmp_path / "out")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_places_where_nothing_can_be_written_are_refused_first(
    suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    places = {"FILE": tmp_path / "file", "FOLDER": tmp_path / "folder"}
    for command in (
        f"{RETRAIN} --out FILE/below",
        "explain vader --suite SUITE --out FILE/e.json",
        "explain vader --suite SUITE --html FOLDER",
        "score vader --suite SUITE --out FILE/below",
        "masks csv:CORPUS --model embedded-2class --out FILE",
        f"{COVERAGE} --curve FILE/c.png",
        "diversity SUITE --corpus none --csv FILE/d.csv",
        "study export SUITE --out FILE/study --sets 1 --seeds 2",
        "study import FILE --key FILE --out FOLDER",
        "export SUITE --out FILE/x.csv",
    ):
        refused(command, SUITE=suite_folder, CORPUS=corpus_path, **places)
    assert (tmp_path / "file").read_text() == "mine"
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_capability_names_no_place_outside(suite_folder: Path, tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    shutil.copytree(suite_folder, suite)
    path = suite / "suite.json"
    described = json.loads(path.read_text())
    name = "../../outside"
    first = described["capabilities"][0]["id"]
    file = described["files"].pop(first)
    described["files"] = {name: file} | described["files"]
    described["capabilities"][0]["id"] = name
    described["counts"][name] = described["counts"].pop(first)
    path.write_text(json.dumps(described))

    def renamed(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["capability"] = name

    rewrite(suite, name, renamed)
    out = tmp_path / "out"
    refused(
        f"retrain embedded-3class --on {name} --suite SUITE --corpus none --out OUT",
        SUITE=suite,
        OUT=out,
    )
    assert not list(tmp_path.glob("outside*"))


_ASK = """
import os, sys
# What a client that tries again would say of it.
os.environ["HF_HUB_VERBOSITY"] = "warning"
from s2lct.cli.main import main
sys.argv = ["s2lct", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        "score vader --suite s2lct-org/suite",
        "explain s2lct-org/model --suite SUITE",
        "build --corpus hf:s2lct-org/corpus:train --out OUT",
        "build --corpus csv:CORPUS --mlm s2lct-org/model --out OUT",
    ],
)
def test_a_hub_that_cannot_be_reached_is_no_traceback(
    command: str, hub: HubClient, suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    places = {"SUITE": suite_folder, "CORPUS": corpus_path, "OUT": tmp_path / "out"}
    for name, place in places.items():
        command = command.replace(name, str(place))
    done = hub.offline_now().try_python(_ASK, *command.split())
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert "Retrying" not in done.stderr
    assert "Traceback" not in done.stderr


def test_no_bar_of_a_library_is_shown(hub: HubClient, suite_folder: Path, tmp_path: Path) -> None:
    from tiny_models import save_tiny_classifier

    model = save_tiny_classifier(tmp_path / "model")
    done = hub.offline_now().try_python(
        "import os, sys\ndel os.environ['HF_HUB_DISABLE_PROGRESS_BARS']\n"
        "from s2lct.cli.main import main\nsys.argv = ['s2lct', *sys.argv[1:]]\nmain()\n",
        *("score", str(model), "--suite", str(suite_folder), "--limit", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert "Loading weights" not in done.stdout + done.stderr
    assert "it/s" not in done.stdout + done.stderr
