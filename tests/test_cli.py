from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from s2lct.builder.capabilities.files import load_capabilities, read_capability
from s2lct.cli.main import app

RUNNER = CliRunner()


def invoke(*arguments: str) -> str:
    result = RUNNER.invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_capabilities_lists_all_and_shows_one(tmp_path: Path) -> None:
    listed = invoke("capabilities")
    for capability in load_capabilities():
        assert capability.title in listed
    path = tmp_path / "copy.yaml"
    path.write_text(invoke("capabilities", "--show", "lc4"), encoding="utf-8")
    assert read_capability(path) == load_capabilities(["LC4"])[0]


def test_inspect_shows_seeds_with_their_expansions(suite_folder: Path) -> None:
    counts = json.loads((suite_folder / "suite.json").read_text())["counts"]
    name, count = max(counts.items(), key=lambda item: int(item[1]["expansions"]))
    shown = invoke("inspect", str(suite_folder), "--capability", name, "--n", "99")
    assert f"{name} " in shown
    assert shown.count("  + ") == count["expansions"] > 0
    fewer = invoke("inspect", str(suite_folder), "--capability", name, "--n", "1")
    assert len(fewer) < len(shown)
    result = RUNNER.invoke(app, ["inspect", str(suite_folder), "--capability", "LC77"])
    assert result.exit_code == 1
    assert "LC77" in result.output


@pytest.mark.parametrize("format", ["jsonl", "csv", "checklist"])
def test_export_keeps_every_case(suite_folder: Path, tmp_path: Path, format: str) -> None:
    out = tmp_path / f"suite.{format}"
    invoke("export", str(suite_folder), "--out", str(out), "--format", format)
    described = json.loads((suite_folder / "suite.json").read_text())
    rows = sum(file["rows"] for file in described["files"].values())
    content = out.read_text(encoding="utf-8")
    if format == "jsonl":
        exported = [json.loads(line) for line in content.splitlines()]
        texts = [row["text"] for row in exported]
        assert {label for row in exported for label in row["labels"]} == {
            "negative",
            "neutral",
            "positive",
        }
    elif format == "csv":
        texts = [row["text"] for row in csv.DictReader(content.splitlines())]
    else:
        tests = json.loads(content)["tests"]
        assert {test["capability"] for test in tests} == set(described["files"])
        texts = [text for test in tests for case in test["data"] for text in case]
        rows -= sum(counts["counterparts"] for counts in described["counts"].values())
        for test in tests:
            assert [len(case) for case in test["data"]] == [len(case) for case in test["labels"]]
    assert len(texts) == rows == len({(n, t) for n, t in enumerate(texts)})


def test_help_is_complete_and_light() -> None:
    script = (
        "import sys; from s2lct.cli.main import app; "
        "import s2lct.builder; "
        "print(sorted({'torch', 'transformers', 'spacy', 'datasets', 'nltk'} & set(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"
    shown = invoke("build", "--help")
    for option in (
        "--corpus",
        "--preset",
        "--seeds",
        "--masks",
        "--masks-per-sentence",
        "--mlm",
    ):
        assert option in shown
