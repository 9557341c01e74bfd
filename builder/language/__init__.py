"""Rules and lists of English: words and their sentiment, grammar, collocations, natural text."""

from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


@cache
def word_list(file_name: str) -> frozenset[str]:
    """Read the words of a file in `DATA`, one a line; lines that begin with # are comments."""
    lines = (DATA / file_name).read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")
