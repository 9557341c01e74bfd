"""The package as pip installs it: built, unpacked elsewhere, used from an empty directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    work = tmp_path_factory.mktemp("wheel")
    wheels, site, source = work / "wheels", work / "site", work / "source"
    # pip builds in the folder it is given, and would leave its work there.
    leave = shutil.ignore_patterns(".*", "build", "dist", "tests", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=leave)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, source], check=True)
    (wheel,) = wheels.glob("s2lct-*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    return site


COMMANDS = """
import sys
from typer.testing import CliRunner
from s2lct.cli.main import app
for command in sys.argv[1:]:
    done = CliRunner().invoke(app, command.split())
    print(done.output)
    assert done.exit_code == 0, done.output
"""


def test_a_wheel_builds_scores_and_ranks_from_an_empty_directory(
    installed: Path, corpus_path: Path, tmp_path: Path
) -> None:
    commands = (
        f"build --out suite --seeds 1 --capability LC2 --corpus csv:{corpus_path}",
        "verify suite",
        "score vader embedded-3class --suite suite --out results",
        "report results/vader.json --html report.html",
        "leaderboard build results --out site",
    )
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *commands],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "suite keeps every invariant" in done.stdout
    assert "embedded-3class" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_a_wheel_holds_every_file_that_the_package_reads(installed: Path) -> None:
    data = {".yaml", ".parquet", ".reached", ".safetensors", ".json", ".jinja", ".txt", ".typed"}
    for folder in ("analysis", "builder", "cards", "cli", "dataset_script", "leaderboard", "suite"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in data and "__pycache__" not in path.parts:
                found = (installed / "s2lct" / path.relative_to(ROOT)).is_file()
                assert found == ("refused" not in path.parts), path  # no build reads those
