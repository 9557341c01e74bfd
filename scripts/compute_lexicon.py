"""Compute the shipped word table from the original SentiWordNet file.

Usage::

    python scripts/compute_lexicon.py SentiWordNet_3.0.0.txt \
        --out builder/data/sentiwordnet.parquet
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pyarrow as pa

from s2lct.builder.language.sentiwordnet import entries_from_text, read_original
from provenance import write_computed_table

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
    """The word table, sorted by word and part of speech, from SentiWordNet."""
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
    return pa.table(list(zip(*rows, strict=True)), schema=_SCHEMA.with_metadata(metadata))


def told(table: pa.Table) -> str:
    return f"{len(table)} entries, {sum(table['pure_neutral'].to_pylist())} pure neutral"


if __name__ == "__main__":
    write_computed_table(__doc__, "SentiWordNet: text, zip, folder", compute, told)
