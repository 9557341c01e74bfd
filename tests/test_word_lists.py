"""No long list of words that somebody made up decides what a suite holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
BUILDER = ROOT / "builder"
MOST = 40
WORD = re.compile(r"[a-z][a-z'’-]*")
THIRD_PARTY = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")


def lists_in_python(code: str) -> Iterator[list[str]]:
    """The words of each literal list, set, tuple or dict, and of each text that is split."""
    for node in ast.walk(ast.parse(code)):
        parts: list[ast.expr | None] = []
        text = ""
        if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
            parts = list(node.elts)
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr in ("split", "splitlines"):
                parts = [func.value]
            elif isinstance(func, ast.Name) and func.id == "words":
                parts = list(node.args)
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                text += f" {part.value}"
        yield [word for word in text.split() if WORD.fullmatch(word)]


def lists_in_yaml(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        yield [str(key) for key in value]
        for part in value.values():
            yield from lists_in_yaml(part)
    elif isinstance(value, list):
        yield [word for word in value if isinstance(word, str) and WORD.fullmatch(word)]
        for part in value:
            yield from lists_in_yaml(part)
    elif isinstance(value, str):
        words = value.split()
        yield words if all(map(WORD.fullmatch, words)) else []


def long_lists(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8")
    found = lists_in_python(text) if path.suffix == ".py" else lists_in_yaml(yaml.safe_load(text))
    return [words for words in found if len(words) > MOST]


def test_no_code_and_no_capability_has_a_long_list_of_words() -> None:
    files = [
        path
        for suffix in ("*.py", "*.yaml")
        for path in sorted(BUILDER.rglob(suffix))
        if path.parent != BUILDER / "data"
    ]
    assert len(files) > MOST
    assert {path: some for path in files if (some := long_lists(path))} == {}


@pytest.mark.parametrize("path", sorted((BUILDER / "data").glob("*.*")), ids=lambda path: path.name)
def test_every_file_of_data_names_its_source(path: Path) -> None:
    if path.suffix == ".py":
        return
    named = f"builder/data/{path.name}" in THIRD_PARTY
    head = path.read_bytes()[:400].decode("utf-8", "replace")
    assert named or "# Source: " in head


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", "WORDS = words('{}')"),
        ("a.py", "WORDS = '''{}'''.split()"),
        ("a.py", "WORDS = {{{quoted}}}"),
        ("a.py", "def f():\n    return [{quoted}]"),
        ("a.py", "WORDS = {{{pairs}}}"),
        ("a.yaml", "dull: [{commas}]"),
        ("a.yaml", "forms:\n  fluent:\n    dull: {}"),
    ],
)
def test_a_long_list_would_be_found(tmp_path: Path, name: str, content: str) -> None:
    def written(count: int) -> Path:
        words = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(count)]
        path = tmp_path / name
        path.write_text(
            content.format(
                " ".join(words),
                quoted=", ".join(map(repr, words)),
                pairs=", ".join(f"{word!r}: 1" for word in words),
                commas=", ".join(words),
            ),
            encoding="utf-8",
        )
        return path

    assert not long_lists(written(MOST))
    assert long_lists(written(MOST + 1))
