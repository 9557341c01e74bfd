"""The code goes the ways of a sentence and of a prediction that docs/architecture.md lists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"^( *)\d+\. `([\w/]+\.py):([\w.]+)`", re.MULTILINE)
MOST_CALLS_BETWEEN_FILES = {"The way of a sentence": 20, "The way of a prediction": 12}


def steps_of(way: str) -> list[tuple[int, str, str]]:
    """Of each step the width of its indentation, its file and its function."""
    _, _, section = PAGE.partition(f"## {way}\n")
    section = section.partition("\n## ")[0]
    return [(len(indent), file, name) for indent, file, name in STEP.findall(section)]


def definition(file: str, name: str) -> ast.AST:
    """The definition of a function, or of a method written ``Class.method``."""
    node: ast.AST = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        inside = [n for n in ast.walk(node) if isinstance(n, kinds) and n.name == part]
        assert inside, f"docs/architecture.md names {name}, which {file} does not define"
        node = inside[0]
    return node


def names_in(node: ast.AST) -> set[str]:
    """Every name and attribute that a function uses."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def calls_of(way: str) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Each step with the step that calls it: file and function of both."""
    callers: list[tuple[int, str, str]] = []
    calls = []
    for indent, file, name in steps_of(way):
        while callers and callers[-1][0] >= indent:
            callers.pop()
        if callers:
            calls.append((callers[-1][1:], (file, name)))
        callers.append((indent, file, name))
    return calls


@pytest.mark.parametrize("way", MOST_CALLS_BETWEEN_FILES)
def test_each_step_of_a_way_is_called_by_the_step_that_it_stands_under(way: str) -> None:
    assert len(calls_of(way)) > 5
    for caller, step in calls_of(way):
        definition(*step)
        name = step[1].rpartition(".")[2]
        assert name in names_in(definition(*caller)), f"{caller[1]} does not call {name}"


@pytest.mark.parametrize(("way", "most"), MOST_CALLS_BETWEEN_FILES.items())
def test_a_way_enters_few_files(way: str, most: int) -> None:
    between_files = [caller for caller, step in calls_of(way) if caller[0] != step[0]]
    print(f"{way}: {len(between_files)} calls between files, at most {most}")
    assert len(between_files) <= most
