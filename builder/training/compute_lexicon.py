"""Compute the shipped word table from the original SentiWordNet file.

Usage::

    python -m s2lct.builder.training.compute_lexicon SentiWordNet_3.0.0.txt \
        --out builder/data/sentiwordnet.parquet
"""

from __future__ import annotations

import argparse
import hashlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.language.sentiwordnet import entries_from_text, read_original
from s2lct.files import whole_file

_SCHEMA = pa.schema(
    {
        "word": pa.string(),
        "pos": pa.string(),
        "score": pa.float32(),
        "pure_neutral": pa.bool_(),
        "senses": pa.uint8(),
    }
)
_SOURCE = (
    "SentiWordNet 3.0 (Baccianella, Esuli & Sebastiani 2010), single words, one entry per "
    "(word, part of speech) by the rules of Colhon et al. (2017)"
)
_LICENCE = (
    "CC BY-SA 3.0 (https://creativecommons.org/licenses/by-sa/3.0/). Adapted from SentiWordNet "
    "3.0, (c) its authors at ISTI-CNR; this table is under the same licence."
)


def compute(source: Path) -> pa.Table:
    """Compute the word table, sorted by word and part of speech, from SentiWordNet."""
    name, content = read_original(source)
    text = io.StringIO(content.decode("utf-8", errors="replace"))
    rows = [
        (word, pos, entry.score, entry.pure_neutral, entry.senses)
        for (word, pos), entry in sorted(entries_from_text(text, name).items())
    ]
    metadata = {
        "source": _SOURCE,
        "licence": _LICENCE,
        "source_file": name,
        "source_sha256": hashlib.sha256(content).hexdigest(),
    }
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA.with_metadata(metadata))


def main() -> None:
    """Write the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="PATH", help="SentiWordNet: text, zip, folder")
    parser.add_argument("--out", type=Path, required=True, help="parquet file to write")
    args = parser.parse_args()
    table = compute(args.source)
    with whole_file(args.out) as file:
        pq.write_table(table, file, compression="zstd", compression_level=19)
    neutral = sum(table.column("pure_neutral").to_pylist())
    print(f"{args.out}: {len(table)} entries, {neutral} pure neutral, {args.out.stat().st_size} B")


if __name__ == "__main__":
    main()
