"""What is known of English: words, grammar, trees, what a fluent writer writes."""

from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


@cache
def listed(name: str) -> frozenset[str]:
    """What a list of words in `DATA` holds, one a line; its first lines may say what it is."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")
