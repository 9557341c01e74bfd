"""Scores of parse trees, by the rules of evalb."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import nltk

from s2lct.builder.training.treebanks import ROOTS

_COLLINS_DELETED = {",", ":", "``", "''", "."}


def brackets(tree: nltk.Tree, punctuation: Sequence[bool]) -> Counter[tuple[str, int, int]]:
    """Labelled brackets as evalb counts them, over the words that are no punctuation."""
    found: Counter[tuple[str, int, int]] = Counter()
    word = 0
    position = 0

    def visit(node: nltk.Tree) -> None:
        nonlocal word, position
        if isinstance(node[0], str):
            position += not punctuation[word]
            word += 1
            return
        start = position
        for child in node:
            visit(child)
        if position > start and node.label() not in ROOTS:
            found["ADVP" if node.label() == "PRT" else node.label(), start, position] += 1

    visit(tree)
    return found


def score(gold: Sequence[nltk.Tree], predicted: Sequence[nltk.Tree | None]) -> dict[str, float]:
    """Labelled bracket precision, recall and F1 and tag accuracy; a missing tree has none."""
    matched = in_gold = in_predicted = tags = right_tags = 0
    for want, got in zip(gold, predicted, strict=True):
        tags += len(want.leaves())
        punctuation = [tag in _COLLINS_DELETED for _, tag in want.pos()]
        wanted = brackets(want, punctuation)
        in_gold += wanted.total()
        if got is None:
            continue
        given = brackets(got, punctuation)
        in_predicted += given.total()
        matched += (wanted & given).total()
        right_tags += sum(a[1] == b[1] for a, b in zip(want.pos(), got.pos(), strict=True))
    precision = 100 * matched / max(1, in_predicted)
    recall = 100 * matched / max(1, in_gold)
    return {
        "precision": round(precision, 2),
        "recall": round(recall, 2),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 2),
        "tag_accuracy": round(100 * right_tags / max(1, tags), 2),
        "sentences": len(gold),
    }
