"""Names and texts that hold escapes and markup, through every group of commands."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest
from damaged_suites import describe, mend
from test_untrusted import SHIPPED, calls, line_of
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.identity import content_id
from s2lct.suite.tables import table_of

pytestmark = pytest.mark.shipped_models

HOSTILE = "\x1b]52;c;ZXZpbA==\x07[/red]\u202e"
OBEYED = set("\x07\x1b\x9b\u202e\r")


@pytest.fixture(scope="module")
def hostile_suite(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite whose titles, texts, words and templates are hostile; its files fit together."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("hostile") / f"suite{HOSTILE}"
    shutil.copytree(suite_folder, folder)
    described = json.loads((folder / "suite.json").read_text())
    for capability in described["capabilities"]:
        capability["title"] = capability["expectation"] = HOSTILE
    for file in described["files"].values():
        rows = pq.read_table(folder / file["path"]).to_pylist()
        id_of = {}
        for row in sorted(rows, key=lambda row: row["kind"], reverse=True):  # seeds first
            row |= {"text": row["text"] + HOSTILE, "template": HOSTILE}
            for number, word in enumerate(row["inserted"]):
                word["start"] += number * len(HOSTILE)
                end = word["end"] + number * len(HOSTILE)
                row["text"] = row["text"][:end] + HOSTILE + row["text"][end:]
                word |= {"word": word["word"] + HOSTILE, "end": end + len(HOSTILE)}
            id_of[row["id"]] = content_id(row["kind"], row["capability"], row["text"])
            row |= {"id": id_of[row["id"]], "seed_id": id_of[row["seed_id"]]}
        pq.write_table(table_of(rows), folder / file["path"])
    described["corpus"] |= {"name": HOSTILE, "description": HOSTILE}
    describe(folder, described)
    mend(folder)
    return folder


def output_of(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "80"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


@pytest.mark.parametrize(
    "command",
    [
        "inspect SUITE --n 1",
        "score HOSTILE --suite SUITE --out OUT",
        "study export SUITE --out OUT --sets 1 --seeds 2",
        "explain vader --suite SUITE --out OUT/e.json --capability LC2 --limit 1",
        "diversity SUITE --corpus HOSTILE",
        "coverage HOSTILE --model HOSTILE --reference HOSTILE",
        "publish dataset SUITE --repo HOSTILE --dry-run",
        "build --out OUT --corpus csv:HOSTILE",
        "build --out OUT --capability HOSTILE",
        "capabilities --show HOSTILE",
        "inspect SUITE HOSTILE",
        "HOSTILE",
    ],
)
def test_no_command_prints_what_a_terminal_obeys(
    command: str, hostile_suite: Path, tmp_path: Path
) -> None:
    places = {"SUITE": str(hostile_suite), "OUT": str(tmp_path / "out"), "HOSTILE": HOSTILE}
    arguments = command.split()
    for name, place in places.items():
        arguments = [one.replace(name, place) for one in arguments]
    told = output_of(*arguments)
    assert told.strip()
    assert not set(told) & OBEYED


def test_results_of_a_hostile_suite_are_shown_and_not_obeyed(
    hostile_suite: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"results{HOSTILE}"
    told = output_of("score", "vader", "--suite", hostile_suite, "--out", out)
    result = next(iter(out.glob("*.json")), None)
    assert result, told
    written = json.loads(result.read_text())
    written["model"]["name"] = HOSTILE
    result.write_text(json.dumps(written))
    told += output_of("report", result, "--html", tmp_path / f"page{HOSTILE}.html")
    told += output_of("compare", result, result)
    told += output_of("leaderboard", "build", out, "--out", tmp_path / "site")
    told += output_of("leaderboard", "check", result, "--suite", hostile_suite)
    assert "[/red]" in told
    assert not set(told) & OBEYED


def test_commands_print_through_the_console_alone() -> None:
    """A `print` or an `echo` would show escapes."""
    found = [
        line_of(path, call)
        for path in SHIPPED
        if "benchmarks" not in path.parts and path.name not in ("console.py", "__main__.py")
        for name, call in calls(path)
        if name in ("print", "echo", "secho", "Console")
        and not (isinstance(call.func, ast.Attribute) and call.func.attr == "print")
    ]
    assert found == []
