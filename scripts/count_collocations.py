r"""Count which words stand side by side in English.

Usage::

    pip install wordsegment==1.3.1
    python scripts/count_collocations.py --out builder/data/collocations.parquet

The web's commonest pairs of words (Norvig 2009, from a trillion words that Google counted in 2006)
come with the PyPI package ``wordsegment``; pairs that reviews have `LEAST_COUNT` times stand beside
them. What is left out has no word that a build could insert.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from provenance import review_rows

from s2lct.builder.config import form_defaults
from s2lct.builder.language.collocations import Pair, pairs_of
from s2lct.builder.language.lexicon import Lexicon, insertable_words
from s2lct.builder.language.tags import FUNCTION_TAGS
from s2lct.builder.models import load_masked_language_model
from s2lct.files import atomic_file

LEAST_COUNT = 4
WORDS_OF_THE_WEB = 1_024_908_267_229
LARGEST = 127


def insertable() -> frozenset[str]:
    """The nouns, verbs, adjectives and adverbs that a build could insert."""
    words = tuple(load_masked_language_model().words)
    tags = set(form_defaults("fluent")["mask_tags"]) - FUNCTION_TAGS
    return frozenset().union(*(insertable_words(words, tag, Lexicon.load()) for tag in tags))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    in_a_million: dict[Pair, float] = {}
    web = files("wordsegment").joinpath("bigrams.txt").read_text(encoding="utf-8")
    for line in web.splitlines():
        both, count = line.split("\t")
        for pair in pairs_of(both):
            in_a_million[pair] = float(count) / WORDS_OF_THE_WEB * 1e6
    reviews = Counter(pair for row in review_rows() for pair in pairs_of(row["text"]))
    total = reviews.total()
    for pair, number in reviews.items():
        if number >= LEAST_COUNT:
            in_a_million[pair] = max(in_a_million.get(pair, 0.0), number / total * 1e6)
    words = insertable()
    rows = sorted(
        (*pair, min(LARGEST, round(8 * math.log2(count))))
        for pair, count in in_a_million.items()
        if not words.isdisjoint(pair)
    )
    first, second, eighths = zip(*rows, strict=True)
    table = pa.table(
        {
            "first": pa.array(first).dictionary_encode(),
            "second": pa.array(second).dictionary_encode(),
            "eighths": pa.array(eighths, pa.int8()),
        }
    )
    with atomic_file(out) as file:
        pq.write_table(table, file, compression="zstd", compression_level=19)
    print(f"{len(rows):,} pairs, {out.stat().st_size:,} B")


if __name__ == "__main__":
    main()
