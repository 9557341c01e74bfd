"""Compute the shipped reference grammar from NLTK's Penn Treebank sample.

Usage::

    python scripts/compute_reference_grammar.py treebank.zip \
        --out builder/data/reference_grammar.parquet
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from nltk import Tree
from provenance import write_computed_table

from s2lct.builder.language.grammar import Rule
from s2lct.errors import CorpusError

_WRAPPERS = frozenset({"", "TOP", "ROOT"})
_TREE_SUFFIXES = (".mrg", ".ptb", ".penn", ".tree", ".trees", ".parse", ".txt")
MEND = "pass a file, folder or zip of bracketed trees, or NLTK's treebank.zip"

_SCHEMA = pa.schema({"lhs": pa.string(), "rhs": pa.list_(pa.string()), "count": pa.int32()})
_SOURCE = "NLTK's Penn Treebank sample (5 % of the Wall Street Journal part, combined trees)"
_LICENCE = (
    "Counts computed from NLTK's Penn Treebank sample, (c) LDC 1995, which is made available "
    "under fair use to illustrate NLTK, for non-commercial use only. No text of it is included."
)


def base_label(label: str) -> str:
    """Strip function labels and co-indexes: ``NP-SBJ-1`` and ``NP=2`` are ``NP``.

    Of a label with alternatives (``ADVP|PRT``), the first is taken. Tags that begin with a
    hyphen (``-LRB-``) are left as they are.
    """
    return label if label.startswith("-") else re.split(r"[-=|]", label, maxsplit=1)[0]


def productions(tree: Tree | str) -> Iterator[Rule]:
    """Yield a tree's productions in preorder, as the reference grammar counts them.

    Raises:
        CorpusError: if the tree is malformed, or has words without part-of-speech tags.
    """
    if isinstance(tree, str):
        try:
            tree = Tree.fromstring(tree)
        except ValueError as error:
            raise CorpusError(f"not a bracketed tree: {tree.strip()[:60]!r}", hint=MEND) from error
    rules: list[Rule] = []
    _collect(tree, rules)
    yield from rules


def read_tree_files(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of the files of bracketed trees at a path, sorted by name.

    Where a folder or zip has ``.mrg`` files (trees with tags, as the Penn Treebank names them),
    only these are read. In an NLTK data folder, ``corpora/treebank`` is.

    Raises:
        CorpusError: if there are none, or they cannot be read.
    """
    for nested in ("corpora/treebank.zip", "corpora/treebank", "treebank.zip"):
        if (path / nested).exists():
            path = path / nested
            break
    try:
        if path.is_dir():
            files = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
            for name in _choose(files):
                yield name, files[name].read_bytes().decode("utf-8")
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in _choose(archive.namelist()):
                    yield name, archive.read(name).decode("utf-8")
        else:
            yield path.name, path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise CorpusError(f"no reference trees at {path}", hint=MEND) from error
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise CorpusError(f"cannot read reference trees {path}: {error}", hint=MEND) from error


def productions_by_tree(name: str, text: str) -> list[list[Rule]]:
    """Productions of each bracketed tree in a file's text.

    Raises:
        CorpusError: naming the file, if brackets do not match, text stands outside them, or a
            tree is malformed.
    """
    from nltk.tokenize import SExprTokenizer

    try:
        trees: list[str] = SExprTokenizer(strict=True).tokenize(text)
        return [list(productions(tree)) for tree in trees if not tree.isspace()]
    except ValueError as error:
        raise CorpusError(f"{name}: brackets do not match: {error}", hint=MEND) from error
    except CorpusError as error:
        raise CorpusError(f"{name}: {error.problem}", hint=error.hint) from error


def _collect(node: Tree, rules: list[Rule]) -> str | None:
    """Append a node's productions to ``rules``; return its label, None for an emptied node."""
    label = base_label(node.label())
    if any(isinstance(child, str) for child in node):
        if len(node) > 1:
            raise CorpusError(
                f"words without part-of-speech tags: {' '.join(str(node).split())[:60]}", hint=MEND
            )
        return None if label == "-NONE-" else label
    place = len(rules)
    rhs = tuple(symbol for child in node if (symbol := _collect(child, rules)) is not None)
    if not rhs:
        return None
    if label not in _WRAPPERS and rhs != (label,):
        rules.insert(place, (label, rhs))
    return label


def _choose(names: Iterable[str]) -> list[str]:
    usual = [name for name in sorted(names) if name.lower().endswith(_TREE_SUFFIXES)]
    return [name for name in usual if name.lower().endswith(".mrg")] or usual


def compute(source: Path) -> pa.Table:
    """The table of productions, sorted by left- and right-hand side."""
    digest = hashlib.sha256()
    counts: Counter[Rule] = Counter()
    trees = 0
    for name, text in read_tree_files(source):
        digest.update(text.encode())
        for rules in productions_by_tree(name, text):
            counts.update(rules)
            trees += 1
    metadata = {
        "source": _SOURCE,
        "licence": _LICENCE,
        "trees": str(trees),
        "source_sha256": digest.hexdigest(),
        "source_sha256_of": "the tree files' bytes, one after the other, sorted by name",
    }
    rows = [(lhs, list(rhs), count) for (lhs, rhs), count in sorted(counts.items())]
    return pa.table(list(zip(*rows, strict=True)), schema=_SCHEMA.with_metadata(metadata))


def summarise(table: pa.Table) -> str:
    return f"{len(table)} productions, {table.schema.metadata[b'trees'].decode()} trees"


if __name__ == "__main__":
    write_computed_table(__doc__, "trees: file, folder or zip", compute, summarise)
