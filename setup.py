"""Where the packages lie: `core` is ``s2lct``, each folder beside it ``s2lct.FOLDER``."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

ROOT = Path(__file__).parent
FOLDERS = sorted({path.parent.name for path in ROOT.glob("*/py.typed")} - {"core"})
PACKAGE_DATA = """
    py.typed *.jinja *.json *.jsonl *.md *.parquet *.safetensors *.reached *.txt *.yaml
"""


def long_description() -> str:
    """README without pictures and with the names of what it links to: an index has no files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\n\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    packages=[
        "s2lct",
        *(f"s2lct.{folder}" for folder in FOLDERS),
        *(
            f"s2lct.{folder}.{name}"
            for folder in FOLDERS
            for name in find_namespace_packages(folder, exclude=["*__pycache__", "*.refused"])
        ),
    ],
    package_dir={"s2lct": "core"} | {f"s2lct.{folder}": folder for folder in FOLDERS},
    package_data={"": PACKAGE_DATA.split()},
)
