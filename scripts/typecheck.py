"""Check types: mypy over the folders as the package that they are installed as.

The folders lie beside each other and are imported as ``s2lct.…``, which mypy cannot be told: it is
given a folder of links, made anew each time under ``build/``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = sorted({path.parent.name for path in ROOT.glob("*/py.typed")} - {"core"})
SCRIPTS = ("scripts", "papers")
"""Folders of scripts, which are no package."""


def package_of_links(parent: Path) -> Path:
    """A folder ``s2lct`` in ``parent``, laid out as the package is imported."""
    package = parent / "s2lct"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for path in (*(ROOT / "core").iterdir(), *(ROOT / folder for folder in FOLDERS)):
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    return package


if __name__ == "__main__":
    links = ROOT / "build" / "types"
    package = package_of_links(links)
    sys.exit(
        subprocess.run(
            [sys.executable, "-m", "mypy", str(package), *SCRIPTS, *sys.argv[1:]],
            cwd=ROOT,
            env=os.environ
            | {"MYPYPATH": os.pathsep.join([str(links), *(str(ROOT / f) for f in SCRIPTS)])},
            check=False,
        ).returncode
    )
