"""The rooms of the package: who may import whom, and that all of them are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]
FOLDERS = ("analysis", "builder", "cards", "cli", "dataset_script", "leaderboard", "suite")


def test_imports_go_one_way_and_in_no_circle() -> None:
    # The folders lie beside each other, and links under .mypy make them one package.
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": ".mypy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_every_package_is_installed_and_every_module_linked() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        setuptools = tomllib.load(file)["tool"]["setuptools"]
    packages = {
        "s2lct." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert packages <= set(setuptools["packages"])
    links = {path.name for path in (ROOT / ".mypy" / "s2lct").iterdir()}
    assert {path.name for path in (ROOT / "core").glob("*.py")} <= links
    assert set(FOLDERS) <= links


def test_no_module_is_longer_than_a_sitting() -> None:
    most = 600
    modules = [path for folder in (*FOLDERS, "core") for path in (ROOT / folder).rglob("*.py")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    assert not {str(path): lines for path, lines in lengths.items() if lines > most}
