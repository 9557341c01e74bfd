"""Constituency trees as the stages pass them: brackets whose leaves are token numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_BRACKETS = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a constituency tree.

    Attributes:
        label: phrase label or part-of-speech tag.
        children: empty for a word.
        start, end: token numbers it covers, end exclusive.
    """

    label: str
    children: tuple[Node, ...]
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether this is a part-of-speech tag over one token."""
        return not self.children

    @property
    def child_labels(self) -> tuple[str, ...]:
        """The right-hand side of the node's production."""
        return tuple(child.label for child in self.children)

    def nodes(self) -> Iterator[Node]:
        """The node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.nodes()


@lru_cache(maxsize=4096)
def read_tree(text: str) -> Node:
    """Read ``(NP (DT 0) (NN 1))``.

    Raises:
        ValueError: the brackets do not balance, or a word has no token number.
    """
    tokens = _BRACKETS.findall(text)
    node, end = _read(tokens, 0)
    if end != len(tokens):
        raise ValueError(f"not one tree: {text}")
    return node


def _read(tokens: list[str], at: int) -> tuple[Node, int]:
    if tokens[at] != "(":
        raise ValueError(f"expected a bracket, found {tokens[at]}")
    label = tokens[at + 1]
    at += 2
    if tokens[at] not in "()":
        number = int(tokens[at])
        if tokens[at + 1] != ")":
            raise ValueError(f"expected a closing bracket, found {tokens[at + 1]}")
        return Node(label, (), number, number + 1), at + 2
    children: list[Node] = []
    while tokens[at] == "(":
        child, at = _read(tokens, at)
        children.append(child)
    return Node(label, tuple(children), children[0].start, children[-1].end), at + 1
