"""Where the packages lie: `core` is ``s2lct``, each folder beside it ``s2lct.FOLDER``."""

from setuptools import find_namespace_packages, setup

FOLDERS = ("analysis", "builder", "cards", "cli", "dataset_script", "leaderboard", "suite")
PACKAGE_DATA = """
    py.typed *.jinja *.json *.jsonl *.md *.parquet *.safetensors *.reached *.txt *.yaml
"""

setup(
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
