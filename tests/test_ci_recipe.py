"""docs/ci.md and docs/github-action.yml: what they say is what there is, and their lines work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.leaderboard.results.record import Result

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / "docs" / "github-action.yml").read_text("utf-8"))
DOCS = (ROOT / "docs" / "ci.md").read_text("utf-8")
STEPS = WORKFLOW["jobs"]["gate"]["steps"]
RUNNER = CliRunner()

pytestmark = pytest.mark.usefixtures("own_cache")


class Checkout:
    """A folder in which the workflow's shell steps run, with a cache that outlives it."""

    def __init__(self, folder: Path, suite: Path) -> None:
        self.folder, self.cache = folder, folder.parent / "kept"
        self.suite = suite
        self.status: dict[str, int] = {}
        folder.mkdir()

    def run(self, event: str, model: str, bounds: str) -> dict[str, int]:
        """The exit status of each step that runs, by name, until one fails."""
        binaries = Path(sys.executable).parent
        env = os.environ | {"MODEL": model, "SUITE": str(self.suite)}
        env["PATH"] = f"{binaries}:{env['PATH']}"
        for step in STEPS:
            if step.get("if") not in (None, f"github.event_name == '{event}'"):
                continue
            if step.get("uses", "").startswith("actions/cache/restore") and self.cache.exists():
                self.cache.rename(self.folder / "baseline")
            elif step.get("uses", "").startswith("actions/cache/save"):
                (self.folder / "baseline").rename(self.cache)
            if "run" not in step or step["name"] == "Install":
                continue
            script = step["run"].replace("--max mean=45 --max LC4=40", bounds)
            assert "s2lct gate" not in script or bounds in script
            done = subprocess.run(
                ["bash", "-e", "-c", script], cwd=self.folder, env=env, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
            self.status[step["name"]] = done.returncode
            if done.returncode:
                print(done.stdout, done.stderr)
                break
        return self.status


def test_its_steps_run_as_a_push_and_as_pull_requests(suite_folder: Path, tmp_path: Path) -> None:
    main = Checkout(tmp_path / "main", suite_folder)
    assert set(main.run("push", "vader", "--max mean=99").values()) == {0}
    assert main.cache.is_dir()
    line = (main.folder / "score.json").read_text("utf-8")
    assert json.loads(line)["results"][0]["model"] == "vader"
    pull = Checkout(tmp_path / "pull", suite_folder)
    assert pull.run("pull_request", "vader", "--max mean=99") == {"Score": 0, "Gate": 0}
    assert "LC4" in (pull.folder / "gate.txt").read_text("utf-8")
    bad = Checkout(tmp_path / "bad", suite_folder)
    assert bad.run("push", "vader", "--max mean=0") == {"Score": 0, "Gate": 1}
    assert not bad.cache.exists()


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
    assert "━" in done.stderr
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
    one = compared["capabilities"]["LC4"]
    assert compared.keys() - {"capabilities"} | {f"capabilities.*.{key}" for key in one} == (
        keys_told("compare")
    )
    assert compared["both_sides"]["LC4"].keys() == one.keys() | {"shares"}
    gated, _ = told("gate", files[0], "--max", "mean=50", "--no-worse-than", files[1])
    keys = {f"checks[].{key}" for check in gated["checks"] for key in check}
    assert gated.keys() - {"checks"} | keys == keys_told("gate")
    adjusted = {
        check["figure"]: check["p_value"]
        for check in gated["checks"]
        if check["figure"] in compared["capabilities"] and check["asked"] == "no_worse"
    }
    assert adjusted == pytest.approx(
        {name: of["adjusted"] for name, of in compared["capabilities"].items()}
    )
