"""The rooms of the package: who may import whom, how long they are, that no line is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from typecheck import FOLDERS, package_of_links  # noqa: E402

MOST_LINES = {
    "core": 2_650,
    "suite": 2_510,
    "builder": 11_840,
    "leaderboard": 8_055,
    "analysis": 3_505,
    "dataset_script": 702,
    "cards cli": 1_048,
    "tests": 19_590,
}
LONGEST_MODULE = 600
MOST_MODULES = 178


def test_imports_go_one_way_and_in_no_circle(tmp_path: Path) -> None:
    package_of_links(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("folders", MOST_LINES)
def test_no_folder_grows_beyond_its_lines(folders: str) -> None:
    modules = [path for folder in folders.split() for path in (ROOT / folder).rglob("*.py")]
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in modules}
    print(f"{folders}: {sum(lines.values()):,} lines of Python, at most {MOST_LINES[folders]:,}")
    assert sum(lines.values()) <= MOST_LINES[folders]
    if folders != "tests":
        assert not {str(path): n for path, n in lines.items() if n > LONGEST_MODULE}


def test_all_folders_are_packages() -> None:
    there = {path.parent.name for path in ROOT.glob("*/py.typed")}
    assert there == {*FOLDERS, "core"}


def test_the_modules_can_be_counted_in_a_day() -> None:
    modules = [path for folder in ("core", *FOLDERS) for path in (ROOT / folder).rglob("*.py")]
    print(f"{len(modules)} modules, at most {MOST_MODULES}")
    assert len(modules) <= MOST_MODULES
