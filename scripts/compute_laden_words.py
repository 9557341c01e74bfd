"""Compute the shipped list of laden words from the lists of VADER and Pattern.

Usage::

    python scripts/compute_laden_words.py --out builder/data/laden_words.txt
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from s2lct.builder.language.lexicon import FUNCTION_WORDS
from s2lct.files import write_text
from s2lct.plain_text import words

LEAST_SUBJECTIVITY, LEAST_POLARITY = 0.5, 0.3
"""Of Pattern's words: from either of them on they are laden."""
COUNT = FUNCTION_WORDS | words("own other same such many more most much several last first next")
"""Pattern has them for subjective, but they count or point."""
_WORD = re.compile(r"[a-z][a-z'-]+")


def laden_words() -> Iterator[str]:
    """Words that VADER has, and those of Pattern that are opinions."""
    from textblob.en import sentiment
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    yield from SentimentIntensityAnalyzer().lexicon
    sentiment.load()
    for word, of_pos in sentiment.items():
        polarity, subjectivity, _ = of_pos[None]
        if subjectivity >= LEAST_SUBJECTIVITY or abs(polarity) >= LEAST_POLARITY:
            yield word


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, required=True)
    found = sorted({word for word in laden_words() if _WORD.fullmatch(word)} - COUNT)
    write_text(arguments.parse_args().out, "".join(f"{word}\n" for word in found))
    print(f"{len(found):,} words")
