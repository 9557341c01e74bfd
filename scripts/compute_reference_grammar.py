"""Compute the shipped reference grammar from NLTK's Penn Treebank sample.

Usage::

    python scripts/compute_reference_grammar.py treebank.zip \
        --out builder/data/reference_grammar.parquet
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pyarrow as pa

from s2lct.builder.language.grammar import Rule, productions_by_tree, read_tree_files
from provenance import write_computed_table

_SCHEMA = pa.schema({"lhs": pa.string(), "rhs": pa.list_(pa.string()), "count": pa.int32()})
_SOURCE = "NLTK's Penn Treebank sample (5 % of the Wall Street Journal part, combined trees)"
_LICENCE = (
    "Counts computed from NLTK's Penn Treebank sample, (c) LDC 1995, which is made available "
    "under fair use to illustrate NLTK, for non-commercial use only. No text of it is included."
)


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


def told(table: pa.Table) -> str:
    return f"{len(table)} productions, {table.schema.metadata[b'trees'].decode()} trees"


if __name__ == "__main__":
    write_computed_table(__doc__, "trees: file, folder or zip", compute, told)
