"""Treebanks to train a parser on, NLTK's Penn Treebank sample and GUM, and scores of its trees."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import nltk

_HELD_OUT_TREES = 200
_ROOTS = {"", "TOP", "ROOT"}
_COLLINS_DELETED = {",", ":", "``", "''", "."}
_FUNCTION = re.compile(r"(?<!^)[-=|].*$")


def bracketed(text: str) -> Iterator[nltk.Tree]:
    """Trees of a file in Penn Treebank brackets, one or more lines each."""
    depth = start = 0
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            start = match.start() if depth == 0 else start
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                yield nltk.Tree.fromstring(text[start : match.end()])


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


def clean(text: str) -> list[nltk.Tree]:
    """A file's trees, each under one TOP without traces, function labels and X → X.

    A root over a bare tag or over several children gets a FRAG between; empty trees are left out.
    """
    cleaned: list[nltk.Tree] = []
    for tree in bracketed(text):
        children = _children(tree if tree.label() in _ROOTS else nltk.Tree("TOP", [tree]))
        if len(children) > 1 or (children and isinstance(children[0][0], str)):
            children = [nltk.Tree("FRAG", children)]
        if children:
            cleaned.append(nltk.Tree("TOP", children))
    return cleaned


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
                trees += clean(file.read(name).decode("utf-8"))
    return {
        "train": trees[: -2 * _HELD_OUT_TREES],
        "dev": trees[-2 * _HELD_OUT_TREES : -_HELD_OUT_TREES],
        "test": trees[-_HELD_OUT_TREES:],
    }


def gum(archive: Path, splits: Path) -> dict[str, list[nltk.Tree]]:
    """GUM by its documented splits, wh-phrases unified; GENTLE's documents (test2) are in none.

    ``test_as_published`` holds the test trees with GUM's own wh-labels.
    """
    parts: dict[str, list[nltk.Tree]] = {"train": [], "dev": [], "test": []}
    listed: dict[str, set[str]] = {part: set() for part in (*parts, "test2")}
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
                    trees += clean(file.read(name).decode("utf-8"))
    as_published = [tree.copy(deep=True) for tree in parts["test"]]
    unified = {part: [unify_wh(tree) for tree in trees] for part, trees in parts.items()}
    return unified | {"test_as_published": as_published}


def brackets(tree: nltk.Tree, punctuation: Sequence[bool]) -> Counter[tuple[str, int, int]]:
    """Labelled brackets as evalb counts them, over the words that are no punctuation."""
    counts: Counter[tuple[str, int, int]] = Counter()
    word = position = 0

    def visit(node: nltk.Tree) -> None:
        nonlocal word, position
        if isinstance(node[0], str):
            position += not punctuation[word]
            word += 1
            return
        start = position
        for child in node:
            visit(child)
        if position > start and node.label() not in _ROOTS:
            counts["ADVP" if node.label() == "PRT" else node.label(), start, position] += 1

    visit(tree)
    return counts


def score(gold: Sequence[nltk.Tree], predicted: Sequence[nltk.Tree | None]) -> dict[str, float]:
    """Labelled bracket precision, recall and F1 and tag accuracy; a missing tree has none."""
    matched = in_gold = in_predicted = tags = right_tags = 0
    for right, guess in zip(gold, predicted, strict=True):
        tags += len(right.leaves())
        punctuation = [tag in _COLLINS_DELETED for _, tag in right.pos()]
        gold_brackets = brackets(right, punctuation)
        in_gold += gold_brackets.total()
        if guess is None:
            continue
        guessed_brackets = brackets(guess, punctuation)
        in_predicted += guessed_brackets.total()
        matched += (gold_brackets & guessed_brackets).total()
        right_tags += sum(a[1] == b[1] for a, b in zip(right.pos(), guess.pos(), strict=True))
    precision = 100 * matched / max(1, in_predicted)
    recall = 100 * matched / max(1, in_gold)
    return {
        "precision": round(precision, 2),
        "recall": round(recall, 2),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 2),
        "tag_accuracy": round(100 * right_tags / max(1, tags), 2),
        "sentences": len(gold),
    }
