"""Treebanks to train a parser on: the Penn Treebank sample of NLTK, and GUM."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nltk

PTB_TEST_TREES = 200
PTB_DEV_TREES = 200
ROOTS = {"", "TOP", "ROOT"}
_FUNCTION = re.compile(r"(?<!^)[-=|].*$")


def bracketed(text: str) -> Iterator[nltk.Tree]:
    """Trees of a file in Penn Treebank brackets, one or more lines each."""
    depth = start = 0
    for position, letter in enumerate(text):
        if letter == "(":
            if depth == 0:
                start = position
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                yield nltk.Tree.fromstring(text[start : position + 1])


def _children(node: nltk.Tree) -> list[nltk.Tree]:
    kept: list[nltk.Tree] = []
    for child in node:
        if isinstance(child[0], str):
            if child.label() != "-NONE-":
                kept.append(nltk.Tree(child.label(), list(child)))
            continue
        label = _FUNCTION.sub("", child.label())
        below = _children(child)
        if len(below) == 1 and below[0].label() == label and not isinstance(below[0][0], str):
            below = list(below[0])
        if below:
            kept.append(nltk.Tree(label, below))
    return kept


def clean(tree: nltk.Tree) -> nltk.Tree | None:
    """The tree under one TOP without traces, function labels and X → X; None if nothing is left.

    A root over a bare tag or over several children gets a FRAG between.
    """
    if tree.label() not in ROOTS:
        tree = nltk.Tree("TOP", [tree])
    children = _children(tree)
    if not children:
        return None
    if len(children) > 1 or isinstance(children[0][0], str):
        children = [nltk.Tree("FRAG", children)]
    return nltk.Tree("TOP", children)


def unify_wh(tree: nltk.Tree) -> nltk.Tree:
    """Relabel the NP that opens a GUM clause with a wh-word WHNP, as the Penn Treebank does.

    GUM calls the same phrase NP (subject relatives, mostly) about as often as WHNP.
    """
    for clause in tree.subtrees(lambda node: node.label() in ("SBAR", "SBARQ")):
        for phrase in clause:
            if phrase.label() == "NP" and phrase.pos()[0][1] in ("WDT", "WP", "WP$"):
                phrase.set_label("WHNP")
    return tree


def penn_treebank(archive: Path) -> dict[str, list[nltk.Tree]]:
    """NLTK's Penn Treebank sample: its last 200 trees test, the 200 before develop."""
    trees: list[nltk.Tree] = []
    with zipfile.ZipFile(archive) as file:
        for name in sorted(file.namelist()):
            if "/combined/" in name and name.endswith(".mrg"):
                trees += bracketed(file.read(name).decode("utf-8"))
    cleaned = [tree for tree in map(clean, trees) if tree is not None]
    held_out = PTB_TEST_TREES + PTB_DEV_TREES
    return {
        "train": cleaned[:-held_out],
        "dev": cleaned[-held_out:-PTB_TEST_TREES],
        "test": cleaned[-PTB_TEST_TREES:],
    }


def gum(archive: Path, splits: Path) -> dict[str, list[nltk.Tree]]:
    """GUM by its documented splits, wh-phrases unified; GENTLE's documents (test2) are in none.

    ``test_as_published`` holds the test trees with GUM's own wh-labels.
    """
    parts: dict[str, list[nltk.Tree]] = {"train": [], "dev": [], "test": []}
    listed: dict[str, set[str]] = {part: set() for part in ("dev", "test", "test2", "train")}
    current = ""
    for line in splits.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"##\s+(\S+)", line):
            current = heading[1]
        elif (item := re.match(r"\s*\*\s+(\S+)", line)) and current in listed:
            listed[current].add(item[1])
    with zipfile.ZipFile(archive) as file:
        for name in sorted(file.namelist()):
            for part, trees in parts.items():
                if name.endswith(".ptb") and Path(name).stem in listed[part]:
                    found = map(clean, bracketed(file.read(name).decode("utf-8")))
                    trees += [tree for tree in found if tree is not None]
    as_published = [tree.copy(deep=True) for tree in parts["test"]]
    unified = {part: [unify_wh(tree) for tree in trees] for part, trees in parts.items()}
    return unified | {"test_as_published": as_published}
