"""What is released: source archive and wheel, unpacked elsewhere, used from an empty directory."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from typecheck import FOLDERS

import s2lct

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that is built from that."""
    work = tmp_path_factory.mktemp("archives")
    # What is built leaves its work in the folder it is built in.
    leave = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, work / "source", ignore=leave)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "dist"]
    subprocess.run([*command, work / "source"], check=True, capture_output=True)
    return work / "dist"


@pytest.fixture(scope="module")
def installed(archives: Path) -> Path:
    """A folder with what the wheel holds."""
    (wheel,) = archives.glob("s2lct-*.whl")
    zipfile.ZipFile(wheel).extractall(archives / "site")
    return archives / "site"


def test_a_source_archive_holds_docs_and_tests_and_an_index_would_show_it(archives: Path) -> None:
    files = [*archives.glob("s2lct-*")]
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        member = archive.extractfile(f"s2lct-{s2lct.__version__}/PKG-INFO")
        assert member is not None
        described = email.message_from_bytes(member.read())
    for folder in ("docs", "papers", "tests", "scripts", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in (".pyc", ".partial"):
                assert str(path.relative_to(ROOT)) in names
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "THIRD_PARTY.md"} <= names
    # As CITATION.cff has them; what an index shows has no picture or link that is not there.
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert [described["Author"]] == [author["name"] for author in cited["authors"]]
    assert (described["Version"], cited["version"]) == (s2lct.__version__, s2lct.__version__)
    shown = described.get_payload()
    assert "## Install, build, score" in shown and "docs/scoring.md" in shown
    assert not re.search(r"\]\((?!https://)|!\[", shown)


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
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in data and "__pycache__" not in path.parts:
                found = (installed / "s2lct" / path.relative_to(ROOT)).is_file()
                assert found == ("refused" not in path.parts), path  # no build reads those
