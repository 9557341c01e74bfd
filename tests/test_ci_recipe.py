"""docs/ci.md and docs/github-action.yml: what they say is what there is, and their lines work."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_readme import parse
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.results.record import Result

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / "docs" / "github-action.yml").read_text("utf-8"))
DOCS = (ROOT / "docs" / "ci.md").read_text("utf-8")
RUNNER = CliRunner()

pytestmark = pytest.mark.usefixtures("own_cache")


def test_the_workflows_commands_are_commands_of_ours() -> None:
    lines = [
        line
        for step in WORKFLOW["jobs"]["gate"]["steps"]
        for line in re.findall(r"^ *(s2lct .+?)(?: [>|].*)?$", step.get("run", ""), re.MULTILINE)
    ]
    assert len(lines) == 2
    for line in lines:
        parse([word for word in shlex.split(line)[1:] if not word.startswith("${")])


def keys_told(heading: str) -> set[str]:
    """The keys that the page's table below a line has."""
    table = DOCS.split(f"`s2lct {heading} … --format json`:\n\n")[1].split("\n\n")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))


def told(*arguments: object) -> Any:
    done = RUNNER.invoke(app, list(map(str, (*arguments, "--format", "json"))))
    (line,) = done.stdout.splitlines()
    return json.loads(line), done


def test_score_prints_a_line_with_the_keys_that_are_told(
    suite_folder: Path, tmp_path: Path
) -> None:
    asked = ("--suite", suite_folder, "--out", tmp_path, "--limit", 4)
    said, done = told("score", "vader", "afinn", *asked)
    assert done.exit_code == 0
    assert "baseline" not in done.stdout
    first = said["results"][0]
    assert said.keys() | {f"results[].{key}" for key in first} == keys_told("score") | {"results"}
    result = Result.model_validate_json(Path(first["files"][0]).read_text("utf-8"))
    assert said["suite"] == result.suite.model_dump()
    assert first["overall"] == json.loads(result.overall.model_dump_json())
    assert first["capabilities"]["LC4"] == json.loads(result.capabilities["LC4"].model_dump_json())
    assert all(Path(file).is_file() for file in first["files"])
    assert [one["model"] for one in said["results"]] == ["vader", "afinn"]
    assert first["partial"] is True


def test_compare_and_gate_print_the_keys_that_are_told(suite_folder: Path, tmp_path: Path) -> None:
    scored = ("score", "vader", "afinn", "--suite", suite_folder, "--out", tmp_path)
    files = [one["files"][0] for one in told(*scored)[0]["results"]]
    compared, _ = told("compare", *files)
    one = compared["failure_rates"]["LC4"]
    assert compared.keys() - {"failure_rates"} | {f"failure_rates.*.{key}" for key in one} == (
        keys_told("compare")
    )
    assert compared["consistency"]["LC4"].keys() == one.keys() - {"rates"} | {"shares"}
    gated, _ = told("gate", files[0], "--max", "mean=50", "--no-worse-than", files[1])
    keys = {f"checks[].{key}" for check in gated["checks"] for key in check}
    assert gated.keys() - {"checks"} | keys == keys_told("gate")
    adjusted = {
        check["figure"]: check["p_value"]
        for check in gated["checks"]
        if check["figure"] in compared["failure_rates"] and check["asked"] == "no_worse"
    }
    assert adjusted == pytest.approx(
        {name: of["adjusted"] for name, of in compared["failure_rates"].items()}
    )
