"""Compute the shipped reference grammar from NLTK's Penn Treebank sample.

Usage::

    python -m s2lct.builder.training.compute_reference_grammar treebank.zip \
        --out builder/data/reference_grammar.parquet
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.language.grammar import Rule, productions_by_tree, read_tree_files
from s2lct.files import whole_file

_SCHEMA = pa.schema({"lhs": pa.string(), "rhs": pa.list_(pa.string()), "count": pa.int32()})
_SOURCE = "NLTK's Penn Treebank sample (5 % of the Wall Street Journal part, combined trees)"
_LICENCE = (
    "Counts computed from NLTK's Penn Treebank sample, (c) LDC 1995, which is made available "
    "under fair use to illustrate NLTK, for non-commercial use only. No text of it is included."
)


def compute(source: Path) -> pa.Table:
    """Compute the table of productions, sorted by left- and right-hand side."""
    digest = hashlib.sha256()
    counts: Counter[Rule] = Counter()
    trees = 0
    for name, text in read_tree_files(source):
        digest.update(text.encode())
        for rules in productions_by_tree(name, text):
            counts.update(rules)
            trees += 1
    rows = sorted(counts.items())
    metadata = {
        "source": _SOURCE,
        "licence": _LICENCE,
        "trees": str(trees),
        "source_sha256": digest.hexdigest(),
        "source_sha256_of": "the tree files' bytes, one after the other, sorted by name",
    }
    columns = [
        pa.array([lhs for (lhs, _), _ in rows], pa.string()),
        pa.array([list(rhs) for (_, rhs), _ in rows], pa.list_(pa.string())),
        pa.array([count for _, count in rows], pa.int32()),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA.with_metadata(metadata))


def main() -> None:
    """Write the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="PATH", help="trees: file, folder or zip")
    parser.add_argument("--out", type=Path, required=True, help="parquet file to write")
    args = parser.parse_args()
    table = compute(args.source)
    with whole_file(args.out) as file:
        pq.write_table(table, file, compression="zstd", compression_level=19)
    trees = table.schema.metadata[b"trees"].decode()
    print(f"{args.out}: {len(table)} productions, {trees} trees, {args.out.stat().st_size} B")


if __name__ == "__main__":
    main()
